package provider

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// wrong is a request that a family refuses.
type wrong struct {
	body   string // %q is the model
	status int
	says   string
}

const (
	hello    = `"messages":[{"role":"user","content":"hi"}]`
	listed   = `{"model":%q,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`
	thought  = `{"model":%q,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a","reasoning_content":"Hm."},{"role":"user","content":"b"}]}`
	called   = `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]`
	shortIDs = `{"model":%q,` + called + `}`
	unheard  = `{"model":%q,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"id":"abcdefGH9","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefGH9","content":"x"},{"role":"user","content":"So?"}]}`
	lateRule = `{"model":%q,"messages":[{"role":"user","content":"hi"},{"role":"system","content":"Be brief."}]}`
	usageOpt = `{"model":%q,"stream":true,"stream_options":{"include_usage":true},` + hello + `}`
)

// doubles are what each family's double refuses, and how it tells of errors: as an answer
// of 503, as one of 200, and as an event of a stream.
var doubles = map[string]struct {
	refuses               []wrong
	takes                 []string // what others refuse
	busy, inside, instead string   // parts of the three; inside empty: as busy
}{
	"groq": {refuses: []wrong{{`{"model":%q,"logprobs":true,` + hello + `}`, 400, `{"error":{"message":"Extra inputs are not permitted"`}, {thought, 400, "property 'reasoning_content' is unsupported"}},
		takes: []string{listed, usageOpt, lateRule}, busy: `{"error":{"message":"The server is currently overloaded`, instead: `data: {"error":{"message":"The server`},
	"together": {takes: []string{listed, usageOpt, lateRule, thought}, busy: `{"error":{"message":"The server is currently overloaded`, instead: `data: {"error":{"message":"The server`},
	"mistral": {refuses: []wrong{{usageOpt, 422, `"msg":"Extra inputs are not permitted"`}, {lateRule, 422, "Unexpected role 'system' after role 'user'"}, {thought, 422, "'reasoning_content' is unsupported"},
		{shortIDs, 422, "with a length of 9"}, {unheard, 422, "Unexpected role 'user' after role 'tool'"}},
		takes: []string{listed, strings.TrimSuffix(unheard, `,{"role":"user","content":"So?"}]}`) + "]}"}, busy: `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_unavailable","param":null,"code":"1700"}`, instead: `data: {"object":"error","message":"Service tier`},
	"xai": {takes: []string{listed, usageOpt, lateRule, thought}, busy: `{"code":"The service is currently unavailable","error":"The model is at capacity."}`, instead: `data: {"code":"The service`},
	"fireworks": {refuses: []wrong{{`{"model":%q,"metadata":{},` + hello + `}`, 400, `"message":"Extra inputs are not permitted"`}},
		takes: []string{listed, usageOpt, lateRule, thought}, busy: `{"error":{"object":"error","type":"internal","code":"UNAVAILABLE","message":"Service temporarily overloaded"}}`, instead: `data: {"error":{"object":"error","type":"internal"`},
	"perplexity": {refuses: []wrong{{usageOpt, 400, "Extra inputs"}, {`{"model":%q,"tools":[],` + hello + `}`, 400, "Extra inputs"}, {listed, 400, "expected a string"}, {lateRule, 400, "Unexpected role"},
		{`{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`, 400, "should alternate"}},
		busy: `{"error":{"message":"The model is overloaded.","type":"service_unavailable","code":503}}`, instead: `data: {"error":{"message":"The model`},
	"openrouter": {takes: []string{listed, usageOpt, lateRule, thought}, busy: `{"error":{"code":503,"message":"No available model provider`, inside: `"finish_reason":"error","error":{"code":503`, instead: `"chat.completion.chunk","error":{"code":503`},
	"deepseek": {refuses: []wrong{{listed, 400, "expected a string"}, {`{"model":%q,"response_format":{"type":"json_schema"},` + hello + `}`, 400, "unavailable now"},
		{`{"model":%q,` + called + `}`, 400, "must be passed back"}},
		takes: []string{usageOpt, lateRule, thought,
			`{"model":%q,"thinking":{"type":"disabled"},` + called + `}`},
		busy: `"message":"Service is too busy.`, instead: `data: {"error":{"message":"Service is too busy.`},
	"cohere": {refuses: []wrong{{usageOpt, 400, `"message":"Extra inputs are not permitted"}`}, {listed, 400, "expected a string"}}, takes: []string{lateRule, thought},
		busy: `"message":"service unavailable"}`, instead: `"message":"service unavailable"}`},
	"google_ai": {refuses: []wrong{{`{"model":%q,"user":"u",` + hello + `}`, 400, `[{"error":{"code":400,"message":"Extra inputs`}, {thought, 400, "is unsupported"}}, takes: []string{listed, usageOpt, lateRule},
		busy: `[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`, instead: `data: [{"error":{"code":503`},
	"custom": {refuses: []wrong{{listed, 400, `{"object":"error","message":"invalid type`}}, takes: []string{usageOpt, lateRule, thought},
		busy: `{"object":"error","message":"The engine is dead.","type":"ServiceUnavailableError","param":null,"code":503}`, instead: `data: {"object":"error","message":"The engine`},
}

// A double answers what its vendor takes and refuses what its vendor refuses, in the
// vendor's words, and says so of the request.
func TestFamilies(t *testing.T) {
	t.Parallel()
	for name, v := range vendors {
		c, described := doubles[name]
		if !described {
			t.Errorf("nothing is said of %s", name)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, Config{})
			path := "/family/" + name + v.path + "/chat/completions"
			ask := func(body string, headers map[string]string) (int, string) {
				res := b.do(t, http.MethodPost, path, strings.ReplaceAll(body, "%q", `"m"`), headers)
				return res.StatusCode, read(t, res)
			}
			last := func() Request { calls := b.Calls(); return calls[len(calls)-1] }
			good := goodHeaders(chatPath)
			for _, body := range append(c.takes, `{"model":%q,`+hello+`}`, `{"model":%q,"stream":true,`+hello+`}`) {
				status, text := ask(body, good)
				if stream := strings.Contains(body, `"stream":true`); status != 200 || strings.HasSuffix(text, "data: [DONE]\n\n") != stream || !strings.Contains(text, `"usage":{`) && stream && v.usage {
					t.Errorf("%s: status %d: %s", body, status, text)
				}
				if p := last().Problems; len(p) > 0 {
					t.Errorf("%s: problems %q", body, p)
				}
			}
			for _, w := range c.refuses {
				if status, text := ask(w.body, good); status != w.status || !strings.Contains(text, w.says) {
					t.Errorf("%s: status %d, want %d: %s", w.body, status, w.status, text)
				}
				if p := last().Problems; len(p) == 0 && !strings.Contains(w.says, "passed back") {
					t.Errorf("%s: it is no problem", w.body)
				}
			}
			if status, text := ask(`{"model":%q,`+hello+`}`, nil); status != 401 || !strings.Contains(text, "message") && !strings.Contains(text, "error") {
				t.Errorf("without a key: status %d: %s", status, text)
			}
			headers := map[string]string{"Authorization": "Bearer sk-1", "Anthropic-Version": "2023-06-01"}
			if _, _ = ask(`{"model":%q,`+hello+`}`, headers); len(last().Problems) == 0 {
				t.Error("another vendor's header is no problem")
			}
			wantErrors(t, b, c.busy, c.inside, c.instead, ask)
		})
	}
}

// wantErrors checks how a double tells of a 503 that it is told to have.
func wantErrors(t *testing.T, b *bundle, busy, inside, instead string, ask func(body string, headers map[string]string) (int, string)) {
	t.Helper()
	if inside == "" {
		inside = busy
	}
	good := goodHeaders(chatPath)
	for _, c := range []struct {
		does   Behavior
		stream bool
		status int
		says   string
	}{
		{Behavior{Status: 503}, false, 503, busy}, {Behavior{ErrorType: "503"}, false, 200, inside},
		{Behavior{ErrorType: "503"}, true, 200, instead}, {Behavior{ErrorType: "503", ErrorEventAfter: 2}, true, 200, instead},
	} {
		b.Script("m", c.does)
		status, text := ask(fmt.Sprintf(`{"model":%%q,"stream":%t,%s}`, c.stream, hello), good)
		if status != c.status || strings.Count(text, c.says) != 1 || strings.Contains(text, "[DONE]") {
			t.Errorf("%+v: status %d, want %s in %s", c.does, status, c.says, text)
		}
		if begun := strings.Contains(text, `"delta":{"content":`); begun != (c.does.ErrorEventAfter == 2) && instead != "" && !strings.Contains(instead, "chunk") {
			t.Errorf("%+v: content came: %t: %s", c.does, begun, text)
		}
	}
}

// Nothing stands at addresses that the vendor does not have.
func TestFamiliesAtOtherAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for _, path := range []string{"/family/groq/v1/chat/completions", "/family/groq/openai/v1/embeddings", "/family/nobody/v1/chat/completions", "/family/perplexity/v1/chat/completions"} {
		if res := b.do(t, http.MethodPost, path, `{"model":"m",`+hello+`}`, goodHeaders(chatPath)); res.StatusCode != 404 {
			t.Errorf("%s: status %d", path, res.StatusCode)
		}
	}
	for _, r := range b.Calls() {
		if len(r.Problems) == 0 {
			t.Errorf("%s is no problem", r.Path)
		}
	}
}
