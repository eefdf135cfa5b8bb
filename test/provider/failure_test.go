package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said is what of an error a client goes by.
func said(t *testing.T, path, raw string) string {
	t.Helper()
	var doc struct {
		Type  string `json:"type"`
		Error struct {
			Type    string  `json:"type"`
			Code    *string `json:"code"`
			Message string  `json:"message"`
		} `json:"error"`
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(raw), &doc); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if doc.Error.Message == "" || (path == messagesPath && (doc.Type != "error" || doc.RequestID == "")) {
		t.Errorf("not the dialect's envelope: %s", raw)
	}
	if doc.Error.Code != nil {
		return doc.Error.Type + "/" + *doc.Error.Code
	}
	return doc.Error.Type
}

func TestFailures(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for _, c := range []struct {
		behavior       string
		chat, messages string
	}{
		{`{"status":400}`, "400 invalid_request_error/invalid_value", "400 invalid_request_error"},
		{`{"status":401}`, "401 invalid_request_error/invalid_api_key", "401 authentication_error"},
		{`{"kind":"invalid_key"}`, "401 invalid_request_error/invalid_api_key", "401 authentication_error"},
		{`{"status":402}`, "402 unknown_error/invalid_request_error", "402 billing_error"},
		{`{"status":403}`, "403 invalid_request_error", "403 permission_error"},
		{`{"status":404}`, "404 invalid_request_error/model_not_found", "404 not_found_error"},
		{`{"kind":"model_not_found"}`, "404 invalid_request_error/model_not_found", "404 not_found_error"},
		{`{"status":408}`, "408 timeout", "408 timeout_error"},
		{`{"status":413}`, "413 invalid_request_error/request_too_large", "413 request_too_large"},
		{`{"status":418}`, "418 unknown_error", "418 unknown_error"},
		{`{"status":422}`, "422 invalid_request_error", "422 invalid_request_error"},
		{`{"status":429}`, "429 requests/rate_limit_exceeded", "429 rate_limit_error"},
		{`{"kind":"rate_limit"}`, "429 requests/rate_limit_exceeded", "429 rate_limit_error"},
		{`{"kind":"long_context"}`, "429 requests/rate_limit_exceeded", "429 rate_limit_error"},
		{`{"kind":"insufficient_quota"}`, "429 insufficient_quota/insufficient_quota", "400 invalid_request_error"},
		{`{"kind":"insufficient_quota","status":403}`, "403 insufficient_quota/insufficient_quota", "403 invalid_request_error"},
		{`{"kind":"credit_balance"}`, "429 insufficient_quota/credit_balance_exhausted", "400 invalid_request_error"},
		{`{"kind":"usage_limit"}`, "429 insufficient_quota/organization_usage_limit_exceeded", "400 invalid_request_error"},
		{`{"status":500}`, "500 server_error", "500 api_error"},
		{`{"status":502}`, "502 server_error", "502 api_error"},
		{`{"status":503}`, "503 server_error/service_unavailable", "503 api_error"},
		{`{"status":529}`, "529 overloaded_error/overloaded_error", "529 overloaded_error"},
		{`{"kind":"overloaded"}`, "529 overloaded_error/overloaded_error", "529 overloaded_error"},
		{`{"kind":"stream_error"}`, "200 server_error/overloaded_error", "200 overloaded_error"},
	} {
		for path, want := range map[string]string{
			chatPath: c.chat, messagesPath: c.messages, responsesPath: strings.Replace(c.chat, "server_error/overloaded_error", "server_error/server_is_overloaded", 1),
		} {
			t.Run(strings.TrimPrefix(path, "/v1/")+c.behavior, func(t *testing.T) {
				t.Parallel()
				name := path + c.behavior
				b.Script(name, parse(t, c.behavior))
				res := b.ask(t, path, body(path, name, false))
				if got := fmt.Sprint(res.StatusCode, " ", said(t, path, read(t, res))); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

func parse(t *testing.T, raw string) Behavior {
	t.Helper()
	var b Behavior
	if err := json.Unmarshal([]byte(raw), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFailureWording(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for kind, want := range map[string]string{
		"usage_limit":    "You have reached your specified API usage limits. You will regain access on",
		"credit_balance": "Your credit balance is too low to access the Anthropic API",
		"long_context":   "Extra usage is required for long context requests.",
	} {
		b.Script(kind, Behavior{Kind: kind})
		if got := read(t, b.ask(t, messagesPath, body(messagesPath, kind, true))); !strings.Contains(got, want) {
			t.Errorf("%s: %s", kind, got)
		}
	}
}

func TestRetryAfterAndHeaders(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{Status: 429, RetryAfter: "20", Headers: map[string]string{"Retry-After-Ms": "1500", "X-Ratelimit-Limit-Requests": "7"}})
	h := b.ask(t, chatPath, body(chatPath, "m", false)).Header
	got := []string{h.Get("Retry-After"), h.Get("Retry-After-Ms"), h.Get("X-Ratelimit-Limit-Requests"), h.Get("X-Ratelimit-Remaining-Requests")}
	if diff := cmp.Diff(got, []string{"20", "1500", "7", "0"}); diff != "" {
		t.Error(diff)
	}
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for _, path := range []string{chatPath, messagesPath, responsesPath} {
		for _, stream := range []bool{false, true} {
			ask := func(behavior Behavior) (*http.Response, string) {
				b.Script("m", behavior)
				res := b.ask(t, path, body(path, "m", stream))
				return res, read(t, res)
			}
			res, got := ask(Behavior{HTML: true})
			if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(got, "<!DOCTYPE html>") {
				t.Error(res.StatusCode, res.Header, got)
			}
			if res, got := ask(Behavior{HTML: true, Status: 502}); res.StatusCode != 502 || !strings.Contains(got, "502 Bad Gateway") {
				t.Error(res.StatusCode, got)
			}
			if res, got := ask(Behavior{Empty: true}); res.StatusCode != 200 || got != "" || res.ContentLength != 0 {
				t.Error(res.StatusCode, got)
			}
			res, got = ask(Behavior{Malformed: true})
			if res.StatusCode != 200 || json.Valid([]byte(strings.TrimPrefix(got, "data: "))) || strings.HasPrefix(got, "data: ") != stream {
				t.Error(res.StatusCode, got)
			}
			if res, got := ask(Behavior{Body: "whatever"}); res.StatusCode != 200 || got != "whatever" {
				t.Error(res.StatusCode, got)
			}
		}
	}
}

func TestErrorEvent(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for _, c := range []struct {
		path  string
		after int
		want  []string // event names, or what the data is
	}{
		{messagesPath, 0, []string{"error"}},
		{messagesPath, 1, []string{"message_start", "ping", "content_block_start", "content_block_delta", "error"}},
		{messagesPath, 9, []string{"message_start", "ping", "content_block_start", "content_block_delta", "content_block_delta", "error"}},
		{chatPath, 0, []string{"error"}},
		{chatPath, 1, []string{"chunk", "chunk", "error"}},
		{chatPath, 9, []string{"chunk", "chunk", "chunk", "error"}},
		{chatPath, -1, []string{"chunk", "error"}},
		{messagesPath, -1, []string{"message_start", "ping", "content_block_start", "error"}},
		{responsesPath, 0, []string{"response.failed"}},
		{responsesPath, -1, []string{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.failed"}},
		{responsesPath, 1, []string{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta", "response.failed"}},
	} {
		b.Script("m", Behavior{ErrorType: "overloaded_error", ErrorEventAfter: c.after, Tokens: 2})
		names, data := sse(t, read(t, b.ask(t, c.path, body(c.path, "m", true))))
		for i := range names {
			switch {
			case c.path != chatPath:
			case strings.HasPrefix(data[i], `{"error":`):
				names[i] = "error"
			default:
				names[i] = "chunk"
			}
		}
		if diff := cmp.Diff(names, c.want); diff != "" {
			t.Errorf("%s after %d: %s", c.path, c.after, diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{APIKeys: []string{"good"}})
	version := map[string]string{"Anthropic-Version": "2023-06-01"}
	for _, c := range []struct {
		name, path, body string
		headers          map[string]string
		want             string
	}{
		{"NoKey", chatPath, `{}`, nil, "401 invalid_request_error"},
		{"XAPIKeyIsNone", chatPath, `{}`, map[string]string{"X-Api-Key": "good"}, "401 invalid_request_error"},
		{"WrongKey", chatPath, `{}`, map[string]string{"Authorization": "Bearer bad"}, "401 invalid_request_error/invalid_api_key"},
		{"NoKey", messagesPath, `{}`, version, "401 authentication_error"},
		{"WrongKey", messagesPath, `{}`, map[string]string{"X-Api-Key": "bad", "Anthropic-Version": "1"}, "401 authentication_error"},
		{"NoVersion", messagesPath, `{}`, map[string]string{"Authorization": "Bearer good"}, "400 invalid_request_error"},
		{"BadJSON", chatPath, `{`, nil, "400 invalid_request_error"},
		{"NoModel", chatPath, `{"messages":[{"role":"user","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"NoMessages", chatPath, `{"model":"m"}`, nil, "400 invalid_request_error"},
		{"BadRole", chatPath, `{"model":"m","messages":[{"role":"x","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"OrphanTool", chatPath, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"1","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"CallWithoutResult", chatPath, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"1"},{"id":"2"}]},{"role":"tool","tool_call_id":"2","content":"x"},{"role":"user","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"RuleBeforeResult", chatPath, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"1"}]},{"role":"system","content":"x"},{"role":"tool","tool_call_id":"1","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"LongID", chatPath, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"` + strings.Repeat("a", 41) + `"}]},{"role":"tool","tool_call_id":"` + strings.Repeat("a", 41) + `","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"LongID", responsesPath, `{"model":"m","input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"` + strings.Repeat("a", 65) + `","name":"f","arguments":"{}"}]}`, nil, "400 invalid_request_error"},
		{"StreamOptions", chatPath, `{"model":"m","stream_options":{},"messages":[{"role":"user","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"Missing", chatPath, body(chatPath, "missing-1", true), nil, "404 invalid_request_error/model_not_found"},
		{"Missing", messagesPath, body(messagesPath, "missing-1", true), nil, "404 not_found_error"},
		{"NoKey", responsesPath, `{}`, nil, "401 invalid_request_error"},
		{"NoModel", responsesPath, `{"input":"x"}`, nil, "400 invalid_request_error"},
		{"NoInput", responsesPath, `{"model":"m"}`, nil, "400 invalid_request_error"},
		{"EmptyInput", responsesPath, `{"model":"m","input":[]}`, nil, "400 invalid_request_error"},
		{"ChatParameter", responsesPath, `{"model":"m","input":"x","messages":[]}`, nil, "400 invalid_request_error"},
		{"BadRole", responsesPath, `{"model":"m","input":[{"role":"tool","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"OrphanOutput", responsesPath, `{"model":"m","input":[{"role":"user","content":"x"},{"type":"function_call_output","call_id":"1","output":"x"}]}`, nil, "400 invalid_request_error"},
		{"Missing", responsesPath, body(responsesPath, "missing-1", true), nil, "404 invalid_request_error/model_not_found"},
		{"NoMaxTokens", messagesPath, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"OpenAIParameter", messagesPath, `{"model":"m","max_tokens":1,"n":1,"messages":[{"role":"user","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"ToolRole", messagesPath, `{"model":"m","max_tokens":1,"messages":[{"role":"tool","content":"x"}]}`, nil, "400 invalid_request_error"},
		{"ToolUseWithoutResult", messagesPath, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},
			{"role":"assistant","content":[{"type":"tool_use","id":"a"},{"type":"tool_use","id":"b"}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, nil, "400 invalid_request_error"},
	} {
		t.Run(c.path+c.name, func(t *testing.T) {
			t.Parallel()
			headers := c.headers
			if headers == nil && c.name != "NoKey" {
				headers = map[string]string{"Authorization": "Bearer good", "Anthropic-Version": "2023-06-01"}
			}
			res := b.do(t, "POST", c.path, c.body, headers)
			if got := fmt.Sprint(res.StatusCode, " ", said(t, c.path, read(t, res))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestParallelToolTurnAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for path, sent := range map[string]string{
		responsesPath: `{"model":"m","input":[{"role":"user","content":"x"},{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
			{"type":"function_call","call_id":"2","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"x"},
			{"type":"function_call_output","call_id":"2","output":"x"}]}`,
		chatPath: `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"1"},{"id":"2"}]},
			{"role":"tool","tool_call_id":"1","content":"x"},{"role":"tool","tool_call_id":"2","content":"x"}]}`,
		messagesPath: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"},
			{"role":"assistant","content":[{"type":"tool_use","id":"a"},{"type":"tool_use","id":"b"}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b"},{"type":"text","text":"go on"}]}]}`,
	} {
		if res := b.ask(t, path, sent); res.StatusCode != 200 {
			t.Errorf("%s: %s", path, read(t, res))
		}
	}
}
