package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// crossings are the ways to ask, each with a vendor that takes it and one that does not,
// and where that one is asked instead.
var crossings = []struct {
	name, family  string
	stream        bool
	native, other string // families of providers
	path          string
}{
	{"Chat", "openai", false, "openai", "anthropic", "/v1/messages"},
	{"ChatStreamed", "openai", true, "openai", "anthropic", "/v1/messages"},
	{"Messages", "anthropic", false, "anthropic", "openai", "/v1/chat/completions"},
	{"MessagesStreamed", "anthropic", true, "anthropic", "openai", "/v1/chat/completions"},
	{"Responses", responses, false, "openai", "anthropic", "/v1/messages"},
	{"ResponsesStreamed", responses, true, "openai", "anthropic", "/v1/messages"},
	{"ResponsesToChat", responses, false, "openai", "groq", "/v1/chat/completions"},
	{"ResponsesToChatStreamed", responses, true, "openai", "groq", "/v1/chat/completions"},
}

// crossing makes two routes: name, over a target that takes the caller's dialect and one
// of another vendor, and "<name>-only", over that vendor alone. It returns the three
// models.
func crossing(e *env.Env, name, native, other string) (first, second, only string) {
	name = strings.ToLower(name)
	first, second, only = name+"-native", name+"-other", name+"-alone"
	id := e.AddProvider(name+"-a", native, first)
	e.AddTarget(name, id, first, 1, nil)
	id = e.AddProvider(name+"-b", other, second, only)
	e.AddTarget(name, id, second, 2, nil)
	e.AddTarget(name+"-only", id, only, 1, nil)
	return first, second, only
}

// envelopes are how the errors of each way to ask begin.
var envelopes = map[string]string{"openai": `{"error":{"message":`, responses: `{"error":{"message":`, "anthropic": `{"type":"error","error":{"type":`}

// A target of another vendor answers in the caller's dialect: after the caller's own
// vendor failed, and alone.
func TestAnotherVendorAnswers(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, c := range crossings {
		first, _, _ := crossing(e, c.name, c.native, c.other)
		e.Provider.Script(first, provider.Behavior{Status: 503})
	}
	e.Live()
	for _, c := range crossings {
		t.Run(c.name, func(t *testing.T) {
			route := strings.ToLower(c.name)
			a := call(e, 0, c.family, route, c.stream)
			wantServed(t, a, "Hello")
			wantDialect(t, a, c.family, c.stream)
			a = call(e, 0, c.family, route+"-only", c.stream)
			if a.Status != http.StatusOK || !strings.Contains(said(t, c.family, c.stream, a.Body), "Hello from "+route+"-alone. You said: Hello") {
				t.Errorf("alone: status %d: %s", a.Status, a.Body)
			}
			if got := a.Header.Get("X-Bd-Provider-Route-Attempt") + a.Header.Get("X-Bd-Provider-Failover-Count"); got != "10" {
				t.Errorf("headers: %v", a.Header)
			}
			wantDialect(t, a, c.family, c.stream)
			for _, model := range []string{route + "-other", route + "-alone"} {
				if r := last(t, e, model); r.Path != c.path || len(r.Problems) > 0 || r.Stream != c.stream {
					t.Errorf("%s was asked at %s, streaming %t: %v", model, r.Path, r.Stream, r.Problems)
				}
			}
		})
	}
}

// wantDialect checks that an answer is one of the caller's dialect, and whole.
func wantDialect(t *testing.T, a env.Answer, family string, stream bool) {
	t.Helper()
	kind, begins := "application/json", map[string]string{"openai": `"object":"chat.completion"`, "anthropic": `"type":"message"`, responses: `"object":"response"`}[family]
	if stream {
		kind, begins = "text/event-stream", map[string]string{"openai": `"object":"chat.completion.chunk"`, "anthropic": "event: message_start", responses: "event: response.created"}[family]
		if body := string(a.Body); strings.Count(body, endings[family].good) == 0 || strings.Contains(body, endings[family].broken) {
			t.Errorf("the stream does not end well: %s", body)
		}
	}
	if !strings.HasPrefix(a.Header.Get("Content-Type"), kind) || !strings.Contains(string(a.Body), begins) {
		t.Errorf("Content-Type %q, want %s and %s: %s", a.Header.Get("Content-Type"), kind, begins, a.Body)
	}
}

// said is the text of an answer.
func said(t *testing.T, family string, stream bool, body []byte) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		if stream {
			var isData bool
			if line, isData = strings.CutPrefix(line, "data: "); !isData || line == "[DONE]" {
				continue
			}
		}
		if line == "" { // DeepSeek writes blank lines while it is waited for
			continue
		}
		var m struct {
			Type    string
			Choices []struct{ Message, Delta struct{ Content string } }
			Content []struct{ Text string }
			Delta   json.RawMessage
			Output  []struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, c := range m.Choices {
			out.WriteString(c.Message.Content + c.Delta.Content)
		}
		for _, c := range m.Content {
			out.WriteString(c.Text)
		}
		for _, o := range m.Output {
			for _, c := range o.Content {
				out.WriteString(c.Text)
			}
		}
		var delta struct{ Text string }
		var plain string
		switch {
		case family == responses && m.Type == "response.output_text.delta" && json.Unmarshal(m.Delta, &plain) == nil:
			out.WriteString(plain)
		case family == "anthropic" && m.Delta != nil && json.Unmarshal(m.Delta, &delta) == nil:
			out.WriteString(delta.Text)
		}
	}
	return out.String()
}

// An error of another vendor's comes in the caller's envelope, with the vendor's own
// words and status.
func TestAnotherVendorsErrors(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, c := range crossings {
		_, _, only := crossing(e, c.name, c.native, c.other)
		e.Provider.Script(only, provider.Behavior{Status: 400, Body: `{"error":{"type":"invalid_request_error","message":"max tokens is beyond the limit"}}`,
			Headers: map[string]string{"Openai-Version": "2020-10-01", "X-Ratelimit-Remaining-Requests": "7"}})
	}
	e.Live()
	for _, c := range crossings {
		a := call(e, 0, c.family, strings.ToLower(c.name)+"-only", c.stream)
		if a.Status != 400 || !strings.HasPrefix(string(a.Body), envelopes[c.family]) || !strings.Contains(string(a.Body), "max tokens is beyond the limit") {
			t.Errorf("%s: status %d: %s", c.name, a.Status, a.Body)
		}
		got := map[string]string{}
		for _, name := range []string{"X-Bd-Error-Origin", "Content-Type", "Openai-Version", "X-Ratelimit-Remaining-Requests"} {
			got[name] = a.Header.Get(name)
		}
		if diff := cmp.Diff(map[string]string{"X-Bd-Error-Origin": "provider", "Content-Type": "application/json", "Openai-Version": "", "X-Ratelimit-Remaining-Requests": "7"}, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// A stream of another vendor's that breaks after content ends in the caller's error
// event; before content another target answers, whatever the break.
func TestAnotherVendorsStreamBreaks(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	breaks := map[string]provider.Behavior{
		"cut": {CutAfter: 8, Tokens: 20}, "clean": {CutAfter: 8, Tokens: 20, CleanEnd: true}, "error": {ErrorType: "overloaded_error", ErrorEventAfter: 3, Tokens: 20},
	}
	early := map[string]provider.Behavior{
		"cut": {CutAfter: -1}, "error": {ErrorType: "overloaded_error", ErrorEventAfter: -1}, "html": {HTML: true}, "empty": {Empty: true}, "malformed": {Malformed: true}, "reset": {Reset: true},
	}
	type testCase struct {
		route, family string
		before        bool
	}
	var cases []testCase
	for _, c := range crossings {
		if !c.stream {
			continue
		}
		for before, behaviors := range map[bool]map[string]provider.Behavior{false: breaks, true: early} {
			for kind, b := range behaviors {
				route := strings.ToLower(fmt.Sprintf("%s-%s-%t", c.name, kind, before))
				id := e.AddProvider(route+"-b", c.other, route+"-1")
				e.AddTarget(route, id, route+"-1", 1, nil)
				id = e.AddProvider(route+"-a", c.native, route+"-2")
				e.AddTarget(route, id, route+"-2", 2, nil)
				e.Provider.Script(route+"-1", b)
				cases = append(cases, testCase{route, c.family, before})
			}
		}
	}
	e.Live()
	for _, c := range cases {
		t.Run(c.route, func(t *testing.T) {
			a := call(e, 0, c.family, c.route, true)
			if c.before {
				wantServed(t, a, c.route+"-2")
				return
			}
			body := string(a.Body)
			if a.Status != 200 || a.Broken != nil || !strings.Contains(said(t, c.family, true, a.Body), "Hello") {
				t.Errorf("status %d, broken %v: %s", a.Status, a.Broken, body)
			}
			if strings.Count(body, endings[c.family].broken) != 1 || strings.Contains(body, endings[c.family].good) {
				t.Errorf("the stream does not end in one error event: %s", body)
			}
		})
	}
}

// toolRequests offer one tool, in each dialect.
var toolRequests = map[string]struct{ path, body string }{
	"openai": {"/v1/chat/completions", `{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Read it"}],
		"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]}`},
	"anthropic": {"/v1/messages", `{"model":%q,"stream":%t,"max_tokens":100,"messages":[{"role":"user","content":"Read it"}],
		"tools":[{"name":"read","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}]}`},
	responses: {"/v1/responses", `{"model":%q,"stream":%t,"input":"Read it",
		"tools":[{"type":"function","name":"read","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}]}`},
}

// A call of the caller's tool crosses, and so does the tool itself.
func TestAnotherVendorCallsATool(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, c := range crossings {
		_, _, only := crossing(e, c.name, c.native, c.other)
		e.Provider.Script(only, provider.Behavior{Tokens: 2, Tool: &provider.ToolCall{Name: "read", Input: json.RawMessage(`{"path":"a.txt"}`)}})
	}
	e.Live()
	stops := map[string]string{"openai": `"finish_reason":"tool_calls"`, "anthropic": `"stop_reason":"tool_use"`, responses: `"type":"function_call"`}
	for _, c := range crossings {
		r := toolRequests[c.family]
		route := strings.ToLower(c.name) + "-only"
		a := e.Call(0, r.path, fmt.Sprintf(r.body, route, c.stream), map[string]string{"Anthropic-Version": "2023-06-01"})
		body := strings.ReplaceAll(string(a.Body), `\`, "")
		if a.Status != 200 || !strings.Contains(body, stops[c.family]) || !strings.Contains(body, `"name":"read"`) || !strings.Contains(body, "a.txt") {
			t.Errorf("%s: status %d: %s", c.name, a.Status, a.Body)
		}
		asked := last(t, e, strings.ToLower(c.name)+"-alone")
		if !strings.Contains(string(asked.Body), `"read"`) || !strings.Contains(string(asked.Body), `"properties":{"path":{"type":"string"}}`) {
			t.Errorf("%s: the tool did not cross: %s", c.name, asked.Body)
		}
	}
}

// Nothing that a tool says to its own vendor reaches another, which gets what its own
// dialect needs; the caller's own vendor still gets all of it.
func TestAnotherVendorGetsNoHeadersOfTheFirst(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, c := range crossings {
		first, _, _ := crossing(e, c.name, c.native, c.other)
		e.Provider.Script(first, provider.Behavior{Status: 503})
	}
	e.Live()
	for _, c := range crossings {
		r := toolRequests[c.family]
		header := map[string]string{"Anthropic-Version": "2023-01-01", "Anthropic-Beta": "a-1", "Openai-Beta": "b-1", "Openai-Organization": "o", "Anthropic-Dangerous-Direct-Browser-Access": "true", "X-Stainless-Lang": "js", "Content-Type": "application/json; charset=utf-8"}
		route := strings.ToLower(c.name)
		a := e.Call(0, r.path+"?beta=true", fmt.Sprintf(r.body, route, c.stream), header)
		if a.Status != 200 {
			t.Errorf("%s: status %d: %s", c.name, a.Status, a.Body)
		}
		got := map[string]string{}
		asked := last(t, e, route+"-other")
		for name := range asked.Header {
			if strings.HasPrefix(name, "Anthropic-") || strings.HasPrefix(name, "Openai-") || strings.HasPrefix(name, "X-Stainless-") || name == "Content-Type" {
				got[name] = asked.Header.Get(name)
			}
		}
		want := map[string]string{"Content-Type": "application/json"}
		if c.other == "anthropic" {
			want["Anthropic-Version"] = "2023-06-01"
		}
		if diff := cmp.Diff(want, got); diff != "" || asked.Query != "" {
			t.Errorf("%s: query %q, headers (-want +got):\n%s", c.name, asked.Query, diff)
		}
		if beta := last(t, e, route+"-native").Header.Get("Anthropic-Beta"); beta != "a-1" {
			t.Errorf("%s: its own vendor got the beta %q", c.name, beta)
		}
	}
}

// What another dialect has no words for is no failure of the target: it is skipped, and
// where no other is left the caller is told which field it is.
func TestAnotherVendorCannotBeAsked(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	first, second, only := crossing(e, "two", "openai", "anthropic")
	e.Provider.Script(first, provider.Behavior{}, provider.Behavior{Status: 503})
	e.Live()
	body := `{"model":%q,"n":2,"messages":[{"role":"user","content":"Hello"}]}`
	ask := func(route string) (env.Answer, string, []string) {
		a := e.Call(0, "/v1/chat/completions", fmt.Sprintf(body, route), nil)
		var out struct {
			Error struct {
				Message, Code, Param string
				Metadata             struct {
					Attempts []struct{ Outcome, Reason, Message string }
				}
			}
		}
		if err := json.Unmarshal(a.Body, &out); err != nil {
			t.Fatalf("%v in %s", err, a.Body)
		}
		var attempts []string
		for _, at := range out.Error.Metadata.Attempts {
			attempts = append(attempts, at.Outcome+" "+at.Reason)
			if at.Reason == "cannot_translate" && !strings.HasPrefix(at.Message, "n: ") {
				t.Errorf("the attempt's message is %q", at.Message)
			}
		}
		return a, out.Error.Code + " " + out.Error.Param, attempts
	}
	if a, _, _ := ask("two"); a.Status != 200 {
		t.Errorf("its own vendor: status %d: %s", a.Status, a.Body)
	}
	a, code, attempts := ask("two")
	if diff := cmp.Diff([]string{"failed server_error", "skipped cannot_translate"}, attempts); diff != "" || a.Status != 503 || code != "all_targets_failed " {
		t.Errorf("after its own vendor failed: status %d, %s: %s", a.Status, code, diff)
	}
	a, code, attempts = ask("two-only")
	if diff := cmp.Diff([]string{"skipped cannot_translate"}, attempts); diff != "" || a.Status != 400 || code != "cannot_translate n" || a.Header.Get("X-Bd-Error-Origin") != "gateway" {
		t.Errorf("alone: status %d, %s: %s\n%s", a.Status, code, diff, a.Body)
	}
	if n := asked(e, second) + asked(e, only); n != 0 {
		t.Errorf("the other vendor was asked %d times", n)
	}
	for _, h := range health(e).Routes {
		if h.UpstreamModel != first {
			t.Errorf("it was charged to the target's health: %+v", h)
		}
	}
}

// After a person's own subscription another vendor may answer, with its stored key and
// nothing of the account; the subscription itself is asked in its tool's dialect only.
func TestAnotherVendorAfterASubscription(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	seats(e)
	id := e.AddProvider("keyed-openai", "openai", "gpt-keyed")
	e.AddTarget("claude", id, "gpt-keyed", 3, nil)
	e.Live()
	e.Provider.Script("claude-seat", provider.Behavior{Status: 503})
	e.Provider.Script("claude-keyed", provider.Behavior{Status: 503})
	if a := asClaude(e, 0, "claude", tokenA); a.Status != 200 || attempt(a) != "3" || !strings.Contains(string(a.Body), `"type":"message"`) {
		t.Fatalf("status %d, attempt %s: %s", a.Status, attempt(a), a.Body)
	}
	keyed := last(t, e, "gpt-keyed")
	if got := keyed.Header.Get("Authorization"); got != "Bearer upstream-secret-of-keyed-openai" || len(keyed.Problems) > 0 {
		t.Errorf("the credential is %q, problems %v", got, keyed.Problems)
	}
	for name, values := range keyed.Header {
		if text := strings.Join(values, " "); strings.Contains(text, "canary") || strings.HasPrefix(name, "Anthropic-") || strings.HasPrefix(name, "X-Claude-") || name == "X-App" {
			t.Errorf("the other vendor was sent %s: %s", name, text)
		}
	}
	seen := asked(e, "claude-seat")
	if a := e.Chat(0, "claude", false); a.Status != 200 || asked(e, "claude-seat") != seen {
		t.Errorf("status %d, the seat was asked %d times more: %s", a.Status, asked(e, "claude-seat")-seen, a.Body)
	}
	a := e.Chat(0, "only-seats", false)
	if a.Status != 400 || !strings.Contains(string(a.Body), "endpoint_not_supported") {
		t.Errorf("over subscriptions only: status %d: %s", a.Status, a.Body)
	}
}

// What another vendor's model thought is not sent to the caller's own vendor, which
// would refuse it for its signature. All else goes byte for byte.
func TestThoughtsOfAnotherVendorStayOut(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	first, second, _ := crossing(e, "thinks", "anthropic", "openai")
	e.Live()
	e.Provider.Script(first, provider.Behavior{Status: 503, Times: 1}, provider.Behavior{})
	e.Provider.Script(second, provider.Behavior{Body: `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"Hm.","content":"Yes."},"finish_reason":"stop"}]}`})
	header := map[string]string{"Anthropic-Version": "2023-06-01"}
	start := `{"model":"thinks","max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2000}, "x":1.50,"messages":[{"role":"user","content":"Really?"}`
	a := e.Call(0, "/v1/messages", start+"]}", header)
	var answer struct{ Content json.RawMessage }
	if err := json.Unmarshal(a.Body, &answer); err != nil || a.Status != 200 || attempt(a) != "2" || !strings.Contains(string(answer.Content), "Hm.") {
		t.Fatalf("status %d, attempt %s: %s", a.Status, attempt(a), a.Body)
	}
	next := fmt.Sprintf(`%s,{"role":"assistant","content":%s},{"role":"user","content":"Sure?"}]}`, start, answer.Content)
	if a = e.Call(0, "/v1/messages", next, header); a.Status != 200 || attempt(a) != "1" {
		t.Fatalf("status %d, attempt %s: %s", a.Status, attempt(a), a.Body)
	}
	body := string(last(t, e, first).Body)
	if strings.Contains(body, "Hm.") || !strings.Contains(body, "Yes.") || !strings.Contains(body, `"x":1.50`) || !strings.Contains(body, `"budget_tokens":2000`) {
		t.Errorf("its own vendor got %s", body)
	}
}

// What a vendor's chat is known not to take is not sent to it, and what it alone takes is:
// each gets the same conversation in its own way.
func TestVendorsOfChatGetWhatTheyTake(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	vendors := []struct {
		family, model string
		has, hasNot   []string
		cannotCall    bool
	}{
		{family: "openai", model: "gpt-4o", has: []string{`"max_completion_tokens":64`, `"stream_options":{"include_usage":true}`}, hasNot: []string{"cache_control", `"max_tokens"`}},
		{family: "openrouter", model: "anthropic/claude-sonnet-4.5", has: []string{
			`{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral","ttl":"1h"}}`, `{"type":"text","text":"Hello","cache_control":{"type":"ephemeral"}}`,
			`"parameters":{"type":"object","properties":{}}},"cache_control":{"type":"ephemeral"}}`, `"max_tokens":64`, `"reasoning_effort":"low"`,
		}},
		{family: "mistral", model: "mistral-large-latest", has: []string{`"max_tokens":64`}, hasNot: []string{"stream_options", "cache_control", "reasoning_effort", `"user":"u"`}},
		{family: "deepseek", model: "deepseek-v4-pro", has: []string{`"content":"Be brief.\n\nBe kind."`, `"max_tokens":64`, `"reasoning_effort":"low"`}, hasNot: []string{"cache_control", `"type":"text"`}},
		{family: "custom", model: "llama-9", has: []string{`"content":"Be brief.\n\nBe kind."`, `"max_tokens":64`}, hasNot: []string{"cache_control", "reasoning_effort", `"user":"u"`, `"type":"text"`}},
		{family: "perplexity", model: "sonar", cannotCall: true},
	}
	for _, v := range vendors {
		e.AddTarget("to-"+v.family, e.AddProvider(v.family, v.family, v.model), v.model, 1, nil)
	}
	e.Live()
	for _, v := range vendors {
		for _, stream := range []bool{false, true} {
			a := e.Call(0, "/v1/messages", fmt.Sprintf(`{"model":"to-%s","max_tokens":64,"stream":%t,"thinking":{"type":"enabled","budget_tokens":1024},"metadata":{"user_id":"u"},
				"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
				"tools":[{"name":"read","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],
				"messages":[{"role":"user","content":[{"type":"text","text":"Hello","cache_control":{"type":"ephemeral"}}]}]}`, v.family, stream), map[string]string{"Anthropic-Version": "2023-06-01"})
			if v.cannotCall {
				if a.Status != 400 || !strings.Contains(string(a.Body), "tools: the target calls no tools") || asked(e, v.model) != 0 {
					t.Errorf("%s: status %d: %s", v.family, a.Status, a.Body)
				}
				continue
			}
			if a.Status != 200 {
				t.Errorf("%s: status %d: %s", v.family, a.Status, a.Body)
				continue
			}
			wantDialect(t, a, "anthropic", stream)
			body := string(last(t, e, v.model).Body)
			for _, want := range v.has {
				if !strings.Contains(body, want) && (stream || !strings.Contains(want, "stream_options")) {
					t.Errorf("%s: %s is missing in %s", v.family, want, body)
				}
			}
			for _, wrong := range v.hasNot {
				if strings.Contains(body, wrong) {
					t.Errorf("%s: got %s in %s", v.family, wrong, body)
				}
			}
		}
	}
}
