package provider

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResponsesOK(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{Usage: &Usage{Input: 10, CacheRead: 3, Output: 7, Reasoning: 4}})
	got := plain(t, read(t, b.ask(t, responsesPath, body(responsesPath, "m", false))))
	for name, want := range map[string]string{
		"object": `"response"`, "status": `"completed"`, "model": `"m"`, "error": `null`, "incomplete_details": `null`,
		"usage": `{"input_tokens":13,"input_tokens_details":{"cached_tokens":3},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":20}`,
	} {
		var value any
		if err := json.Unmarshal([]byte(want), &value); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got[name], value); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if text := fmt.Sprint(got["output"]); !strings.Contains(text, "Hello from m. You said: three <four>") {
		t.Error(text)
	}
}

func TestResponsesTokenLimit(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	_, data := sse(t, read(t, b.ask(t, responsesPath, `{"model":"m","stream":true,"max_output_tokens":1,"input":"hi"}`)))
	last := data[len(data)-1]
	if !strings.HasPrefix(last, `{"type":"response.incomplete",`) || !strings.Contains(last, `"incomplete_details":{"reason":"max_output_tokens"}`) || !strings.Contains(last, `"text":"Hello"`) {
		t.Error(last)
	}
}

func TestResponsesStream(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{Tokens: 2})
	names, data := sse(t, read(t, b.ask(t, responsesPath, body(responsesPath, "m", true))))
	want := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}
	if diff := cmp.Diff(names, want); diff != "" {
		t.Error(diff)
	}
	ids := map[any]bool{}
	for i, d := range data {
		got := plain(t, d)
		if got["type"] != names[i] || got["sequence_number"] != float64(i) {
			t.Errorf("event %d, %s: %s", i, names[i], d)
		}
		if r, whole := got["response"].(map[string]any); whole {
			ids[r["id"]] = true
		}
	}
	if len(ids) != 1 {
		t.Errorf("the response has several ids: %v", ids)
	}
}

// ChatGPT's backend for Codex differs from OpenAI's API in what it refuses and how.
func TestCodex(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	good := body(codexPath, "m", true)
	for name, c := range map[string]struct {
		body   string
		drop   string
		status int
		want   string
	}{
		"OK":        {good, "", 200, `response.completed`},
		"NoToken":   {good, "Authorization", 401, `{"detail":"Unauthorized"}`},
		"NoAccount": {good, "Chatgpt-Account-Id", 400, `{"detail":"Missing chatgpt-account-id header"}`},
		"MaxTokens": {strings.Replace(good, "{", `{"max_output_tokens":5,`, 1), "", 400, `{"detail":"Unsupported parameter: max_output_tokens"}`},
		"Stored":    {strings.Replace(good, `"store":false`, `"store":true`, 1), "", 400, `{"detail":"Store must be set to false"}`},
		"Whole":     {body(codexPath, "m", false), "", 400, `{"detail":"Stream must be set to true"}`},
		"Limit":     {body(codexPath, "limited", true), "", 429, `{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus"`},
		"Error":     {body(codexPath, "broken", true), "", 500, `{"detail":"The server had an error`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.Script("limited", Behavior{Kind: "usage_limit"})
			b.Script("broken", Behavior{Status: 500})
			headers := goodHeaders(codexPath)
			delete(headers, c.drop)
			res := b.do(t, "POST", codexPath, c.body, headers)
			if got := read(t, res); res.StatusCode != c.status || !strings.Contains(got, c.want) {
				t.Errorf("got %d %s, want %d %s", res.StatusCode, got, c.status, c.want)
			}
			used := "12"
			if c.status == 429 {
				used = "100"
			}
			if got := res.Header.Get("X-Codex-Primary-Used-Percent"); got != used {
				t.Errorf("used %s, want %s", got, used)
			}
		})
	}
}

func TestProblemsOfAccounts(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	mixed := map[string]string{"Authorization": "Bearer eyJ.eyJ.sig", "Chatgpt-Account-Id": "acc-1", "X-Codex-Turn-State": "x", "Content-Encoding": "zstd"}
	_ = read(t, b.do(t, "POST", responsesPath, body(responsesPath, "m", false), mixed))
	_ = read(t, b.do(t, "POST", codexPath, body(codexPath, "m", true), goodHeaders(codexPath)))
	want := []string{
		"a credential of another vendor reached the provider",
		"a person's account reached a provider that is not the vendor's: Chatgpt-Account-Id",
		"a person's account reached a provider that is not the vendor's: X-Codex-Turn-State",
		"an encoding that the gateway had decoded reached the provider",
	}
	got := b.Requests()
	if diff := cmp.Diff(got[0].Problems, want); diff != "" {
		t.Error(diff)
	}
	if len(got[1].Problems) > 0 {
		t.Errorf("a person's own: %q", got[1].Problems)
	}
}
