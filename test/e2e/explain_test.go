package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

type explanation struct {
	Configuration struct{ Version int64 }
	Health        struct {
		Included bool
		Answered []string
	}
	Steps []struct {
		Position       int
		Decision       string
		Reason         string
		RecoversInSecs int `json:"recovers_in_secs"`
	}
	Outcome struct {
		Kind, Code, Message string
		Status              int
		Headers             map[string]string
		Attempts            []map[string]any
	}
}

func explain(e *env.Env, question map[string]any) (out explanation) {
	e.Must(e.Admin(http.MethodPost, "/explain", question), &out)
	return out
}

// outcome is what a caller gets, as a real answer and an explanation both tell it.
type outcome struct {
	Status   int
	Headers  map[string]string
	Code     string
	Attempts []map[string]any
}

var explainedHeaders = []string{"x-bd-provider-route-attempt", "x-bd-provider-route-count", "x-bd-provider-failover-count", "x-bd-error-origin", "retry-after", "x-should-retry"}

// attemptsWithout drops what only a real attempt has.
func attemptsWithout(list []map[string]any) []map[string]any {
	for _, a := range list {
		delete(a, "duration_ms")
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// real is the outcome of an answer.
func real(a env.Answer, passedOn bool) outcome {
	out := outcome{Status: a.Status, Headers: map[string]string{}}
	for _, name := range explainedHeaders {
		if v := a.Header.Get(name); v != "" {
			out.Headers[name] = v
		}
	}
	var body struct {
		Error struct {
			Code    string
			Details struct {
				ErrorCode string `json:"error_code"`
			}
			Metadata struct{ Attempts []map[string]any }
		}
	}
	if a.Status >= 400 && !passedOn && json.Unmarshal(a.Body, &body) == nil {
		out.Code = body.Error.Code + body.Error.Details.ErrorCode // each dialect has one of them
		out.Attempts = attemptsWithout(body.Error.Metadata.Attempts)
	}
	return out
}

func (x explanation) told() outcome {
	return outcome{x.Outcome.Status, x.Outcome.Headers, x.Outcome.Code, attemptsWithout(x.Outcome.Attempts)}
}

// failed is a provider's error body that both the script and the explanation are given.
func failed(code, message string) string {
	return fmt.Sprintf(`{"error":{"type":%q,"code":%q,"message":%q}}`, code, code, message)
}

// scripted is what a provider does, and how explain is told of it.
type scripted struct {
	real      provider.Behavior
	simulated []map[string]any // one for each try
}

func saysStatus(code int, body string, headers map[string]string) scripted {
	return scripted{provider.Behavior{Status: code, Body: body, Headers: headers}, []map[string]any{{"status": code, "body": body, "headers": headers}}}
}

func does(b provider.Behavior, simulated map[string]any) scripted {
	return scripted{b, []map[string]any{simulated}}
}

// explained is what the two targets of a route do.
type explained struct {
	first, second scripted
	more          map[string]any
	stream        bool // streamed only; else both ways
	whole         bool // not streamed only
	chat          bool // in that dialect only
}

// asked reports whether the case is one for a way to ask.
func (c explained) asked(family string, stream bool) bool {
	return !(c.stream && !stream || c.whole && stream || c.chat && family != "openai")
}

func explainedCases() map[string]explained {
	status, cause, good := saysStatus, does, scripted{}
	limited := status(429, failed("rate_limit_exceeded", "Slow down"), map[string]string{"Retry-After": "7"})
	overloaded := status(529, failed("overloaded_error", "Overloaded"), map[string]string{"Retry-After": "3"})
	html := provider.Behavior{HTML: true}
	tooLong := failed("context_length_exceeded", "Too long")
	return map[string]explained{
		"served":      {first: good, second: good},
		"500":         {first: status(500, failed("server_error", "Oops, see https://llm.example/x"), nil), second: good},
		"429-500":     {first: limited, second: status(500, failed("server_error", "Oops"), nil)},
		"429-429":     {first: limited, second: status(429, failed("rate_limit_exceeded", "Slow"), map[string]string{"Retry-After": "900"})},
		"429-quota":   {first: limited, second: status(429, failed("insufficient_quota", "No quota"), nil)},
		"402-402":     {first: status(402, "{}", nil), second: status(402, "{}", nil)},
		"529-529":     {first: overloaded, second: overloaded},
		"503-503":     {first: status(503, "{}", nil), second: status(503, "unavailable", nil)},
		"401-403":     {first: status(401, failed("invalid_api_key", "sk-secret"), nil), second: status(403, "{}", nil)},
		"401-401":     {first: status(401, "{}", nil), second: status(401, "{}", nil)},
		"404-404":     {first: status(404, failed("not_found", "No such model"), nil), second: status(404, failed("not_found", "No such model"), nil)},
		"400":         {first: status(400, failed("invalid_request_error", "max_tokens"), nil), second: good},
		"500-400":     {first: status(500, "{}", nil), second: status(400, failed("invalid_request_error", "max_tokens"), nil)},
		"400-balance": {first: status(400, failed("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), nil), second: good},
		"418":         {first: status(418, "{}", nil), second: good},
		"reset-html":  {first: cause(provider.Behavior{Reset: true}, map[string]any{"cause": "connection"}), second: cause(html, map[string]any{"cause": "bad_answer"})},
		"html-body":   {first: cause(html, map[string]any{"status": 200, "body": "<html></html>"}), second: status(500, "{}", nil), whole: true},
		"empty":       {first: cause(provider.Behavior{Empty: true}, map[string]any{"status": 200, "body": ""}), second: status(500, "{}", nil), whole: true},
		"retry":       {first: limited, second: good, more: map[string]any{"retry_on_429_count": 1, "retry_on_429_max_wait_secs": 1}},
		"timeout":     {first: cause(provider.Behavior{Hang: true}, map[string]any{"cause": "timeout"}), second: status(500, "{}", nil), more: map[string]any{"request_timeout_secs": 1, "stream_idle_timeout_secs": 1}},
		"error-event": {first: cause(provider.Behavior{ErrorType: "overloaded_error"}, map[string]any{"phase": "stream", "body": `{"error":{"type":"overloaded_error"}}`}), second: good, stream: true},
		"event-400":   {first: cause(provider.Behavior{Body: "data: " + tooLong + "\n\n"}, map[string]any{"phase": "stream", "body": tooLong}), second: good, stream: true, chat: true},
		"inside-400":  {first: cause(provider.Behavior{Body: tooLong}, map[string]any{"status": 200, "body": tooLong}), second: good, whole: true, chat: true},
		"cut-content": {first: cause(provider.Behavior{CutAfter: 8, Tokens: 20}, map[string]any{"phase": "content", "cause": "connection"}), second: good, stream: true},
	}
}

// explainedCrossings are of two vendors: the first target takes the caller's dialect, the
// second does not.
func explainedCrossings() map[string]explained {
	status, cause, good := saysStatus, does, scripted{}
	limited := status(429, failed("rate_limit_exceeded", "Slow down"), map[string]string{"Retry-After": "7"})
	html := provider.Behavior{HTML: true}
	return map[string]explained{
		"across-503":        {first: status(503, "{}", nil), second: good},
		"across-503-429":    {first: status(503, "{}", nil), second: limited},
		"across-503-400":    {first: status(503, "{}", nil), second: status(400, failed("invalid_request_error", "max_tokens"), nil)},
		"across-html-reset": {first: cause(html, map[string]any{"cause": "bad_answer"}), second: cause(provider.Behavior{Reset: true}, map[string]any{"cause": "connection"})},
		"across-503-content": {first: status(503, "{}", nil), stream: true,
			second: cause(provider.Behavior{CutAfter: 8, Tokens: 20}, map[string]any{"phase": "content", "cause": "connection"})},
		"across-503-event": {first: status(503, "{}", nil), stream: true,
			second: cause(provider.Behavior{ErrorType: "overloaded_error"}, map[string]any{"phase": "stream", "body": `{"error":{"type":"overloaded_error","message":"Overloaded"}}`})},
	}
}

var explainEndpoints = map[string]string{"openai": "chat_completions", "anthropic": "messages", responses: "responses"}

// explainRequest is a request that is made, and the question that explain is asked of it.
type explainRequest struct {
	name, route, family string
	stream              bool
	question            map[string]any
}

// script has the targets do what the case says, and says so in the question.
func (c explained) script(e *env.Env, r explainRequest, first, second string) explainRequest {
	answers := []map[string]any{}
	for i, a := range []scripted{c.first, c.second} {
		e.Provider.Script([]string{first, second}[i], a.real)
		for _, s := range a.simulated {
			answers = append(answers, map[string]any{"status": s["status"], "body": s["body"], "headers": s["headers"], "phase": s["phase"], "cause": s["cause"], "position": i + 1})
		}
	}
	r.question = map[string]any{"model": r.route, "endpoint": explainEndpoints[r.family], "stream": r.stream, "answers": answers}
	return r
}

// explainRequests makes the routes of all cases.
func explainRequests(e *env.Env) (out []explainRequest) {
	for _, w := range ways {
		for name, c := range explainedCases() {
			if c.asked(w.family, w.stream) {
				r := explainRequest{name: w.name + "/" + name, route: strings.ToLower(w.name + "-" + name), family: w.family, stream: w.stream}
				first, second := pair(e, r.route, w.family, c.more)
				out = append(out, c.script(e, r, first, second))
			}
		}
	}
	for _, w := range crossings {
		for name, c := range explainedCrossings() {
			if c.asked(w.family, w.stream) {
				r := explainRequest{name: w.name + "/" + name, route: strings.ToLower(w.name + "-" + name), family: w.family, stream: w.stream}
				first, second, _ := crossing(e, r.route, w.native, w.other)
				out = append(out, c.script(e, r, first, second))
			}
		}
	}
	return out
}

// What explain says of scripted answers is what a request of the same answers gets:
// status, headers, the error's code and its list of attempts.
func TestExplainIsWhatHappens(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	requests := explainRequests(e)
	e.Live()
	t.Run("cases", func(t *testing.T) {
		for _, r := range requests {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				x := explain(e, r.question)
				a := call(e, 0, r.family, r.route, r.stream)
				if a.Broken != nil {
					t.Errorf("the answer broke off: %v", a.Broken)
				}
				got := real(a, x.Outcome.Kind == "passed_on")
				if diff := cmp.Diff(got, x.told()); diff != "" {
					t.Errorf("(-happened +explained):\n%s", diff)
				}
			})
		}
	})
}

// Live health is part of it: a target that cools down is skipped, for as long as the
// nodes say, and taken for healthy where asked. Nothing is changed by explaining.
func TestExplainKnowsTheNodesHealth(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	first, second := pair(e, "cools", "openai", map[string]any{"cooldown_failure_threshold": 2, "cooldown_first_secs": 100})
	e.Live()
	for range 3 { // failures that are only made up cool nothing
		explain(e, map[string]any{"model": "cools", "answers": []any{map[string]any{"position": 1, "status": 500}}})
	}
	if n := asked(e, first) + asked(e, second); n != 0 {
		t.Fatalf("explaining asked providers %d times", n)
	}
	if h := health(e); len(h.Routes) != 0 {
		t.Fatalf("explaining was noted: %+v", h.Routes)
	}
	e.Provider.Script(first, provider.Behavior{Status: 500})
	e.Provider.Script(second, provider.Behavior{Status: 429, RetryAfter: "200"}, provider.Behavior{Status: 503})
	for range 2 {
		e.Chat(0, "cools", false)
	}
	question := map[string]any{"model": "cools"}
	var x explanation
	within(t, 5*time.Second, "both nodes to know of both cooldowns", func() bool {
		x = explain(e, question)
		return len(x.Health.Answered) == 2 && x.Outcome.Kind == "failed"
	})
	if s := x.Steps[0]; s.Decision != "skipped" || s.Reason != "cooling_down" || s.RecoversInSecs < 50 || s.RecoversInSecs > 100 {
		t.Errorf("the first target: %+v", s)
	}
	a := e.Chat(0, "cools", false)
	told, happened := x.told(), real(a, false)
	for _, o := range []*outcome{&told, &happened} { // seconds pass between the two
		if secs, err := strconv.Atoi(o.Headers["retry-after"]); err != nil || secs < 50 || secs > 100 {
			t.Errorf("Retry-After %q", o.Headers["retry-after"])
		}
		delete(o.Headers, "retry-after")
		for _, attempt := range o.Attempts {
			delete(attempt, "retry_after_secs")
		}
	}
	if diff := cmp.Diff(happened, told); diff != "" {
		t.Errorf("(-happened +explained):\n%s", diff)
	}
	question["ignore_health"] = true
	if x := explain(e, question); x.Outcome.Kind != "served" || x.Health.Included {
		t.Errorf("with health ignored: %+v", x.Outcome)
	}
}

// A caller's own credential, or its absence, is explained as it is treated.
func TestExplainPassthrough(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	seats(e)
	question := func(own bool, answers ...map[string]any) map[string]any {
		return map[string]any{"model": "claude", "endpoint": "messages", "own_credential": own, "answers": answers}
	}
	for name, c := range map[string]struct {
		token     string
		real      provider.Behavior
		simulated map[string]any
	}{
		"missing":  {"", provider.Behavior{}, nil},
		"served":   {tokenA + "-1", provider.Behavior{}, nil},
		"limited":  {tokenA + "-2", provider.Behavior{Status: 429, Body: "{}"}, map[string]any{"position": 1, "status": 429, "body": "{}"}},
		"rejected": {tokenA + "-3", provider.Behavior{Status: 401, Body: "{}"}, map[string]any{"position": 1, "status": 401, "body": "{}"}},
	} {
		var answers []map[string]any
		if c.simulated != nil {
			e.Provider.ScriptKey("claude-seat", c.token, c.real)
			answers = append(answers, c.simulated)
		}
		x := explain(e, question(c.token != "", answers...))
		if diff := cmp.Diff(real(asClaude(e, 0, "claude", c.token), false), x.told()); diff != "" {
			t.Errorf("%s (-happened +explained):\n%s", name, diff)
		}
	}
}

// What is refused before there is a route, and every endpoint, served or not.
func TestExplainRefusalsAreTheNodes(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	var key struct{ ID, Key string }
	e.Must(e.Admin(http.MethodPost, "/api-keys", map[string]any{"name": "off"}), &key)
	e.Must(e.Admin(http.MethodPatch, "/api-keys/"+key.ID, map[string]any{"disabled": true}), nil)
	e.Live()
	body := map[string]string{"responses": `{"model":%q,"input":"Hello"}`}
	for _, endpoint := range []string{"chat_completions", "messages"} {
		body[endpoint] = `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"Hello"}]}`
	}
	for _, c := range []struct{ endpoint, path, model, keyID, key string }{
		{"chat_completions", "/v1/chat/completions", "demo", "", ""}, {"messages", "/v1/messages", "demo", "", ""}, {"responses", "/v1/responses", "demo", "", ""},
		{"chat_completions", "/v1/chat/completions", "nothing", "", ""}, {"messages", "/v1/messages", "nothing/here", "", ""},
		{"chat_completions", "/v1/chat/completions", "demo", key.ID, key.Key}, {"messages", "/v1/messages", "nothing", key.ID, key.Key},
	} {
		question, header := map[string]any{"model": c.model, "endpoint": c.endpoint}, map[string]string{}
		if c.endpoint == "messages" {
			header["Anthropic-Version"] = "2023-06-01"
		}
		if c.keyID != "" {
			question["api_key_id"], header["X-Bd-Api-Key"] = c.keyID, c.key
		}
		x := explain(e, question)
		a := e.Call(0, c.path, fmt.Sprintf(body[c.endpoint], c.model), header)
		if diff := cmp.Diff(real(a, false), x.told()); diff != "" {
			t.Errorf("%+v (-happened +explained):\n%s\n%s", c, diff, a.Body)
		}
		if x.Outcome.Kind == "refused" && !strings.Contains(string(a.Body), strconv.Quote(x.Outcome.Message)[1:9]) {
			t.Errorf("%+v: message %q, the body is %s", c, x.Outcome.Message, a.Body)
		}
	}
}
