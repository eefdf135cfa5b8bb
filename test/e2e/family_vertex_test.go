package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

const vertexAccount = "gateway@proj.iam.gserviceaccount.com"

// addVertex makes a provider on the scripted Google with a service account's key.
func addVertex(t *testing.T, e *env.Env, name string, models ...string) (id string) {
	t.Helper()
	var p struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/providers", map[string]any{
		"name": name, "model_provider": "vertex", "auth_type": "google_service_account", "base_url": e.ProviderURL + "/v1", "models": models,
		"settings": map[string]any{"project": "proj", "location": "us-east5"}, "credentials": e.Provider.GoogleServiceAccount(name + "-" + vertexAccount),
		"enforce_health_check": false, // while the token service fails nobody would be asked
	}), &p)
	return p.ID
}

// addVertexRoute makes a route over one model of Vertex AI's and one of Anthropic's own.
func addVertexRoute(e *env.Env, vertex, anthropic, route, model string) {
	e.AddTarget(route, vertex, model, 1, nil)
	e.AddTarget(route, anthropic, route+"-second", 2, nil)
}

// vertexPaths are where the models of the test are asked, streamed or not.
func vertexPath(model string, stream bool) string {
	const place = "/v1/projects/proj/locations/us-east5"
	switch {
	case !strings.HasPrefix(model, "claude"):
		return place + "/endpoints/openapi/chat/completions"
	case stream:
		return place + "/publishers/anthropic/models/" + model + ":streamRawPredict"
	}
	return place + "/publishers/anthropic/models/" + model + ":rawPredict"
}

// Anthropic's models and Google's answer on every surface, with a token that was got with
// the key and is got once.
func TestVertexAnswers(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	models := map[string]string{"claude": "claude-opus-4-6@default", "gemini": "gemini-2.5-pro"}
	vertex := addVertex(t, e, "vertex", models["claude"], models["gemini"])
	for route, model := range models {
		e.AddTarget(route, vertex, model, 1, nil)
	}
	e.Live()
	for route, model := range models {
		wire := model
		if route == "gemini" {
			wire = "google/" + model
		}
		onEverySurface(t, e, route, wire, func(stream bool, r provider.Request) {
			if r.Path != vertexPath(model, stream) {
				t.Errorf("asked at %s", r.Path)
			}
			if got := e.Provider.GoogleTokenOf(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); got != "vertex-"+vertexAccount {
				t.Errorf("the token is of %q", got)
			}
		})
	}
	granted := 0
	for _, r := range e.Provider.Calls() {
		if r.Path == provider.GoogleTokenPath {
			granted++
			if len(r.Problems) > 0 {
				t.Errorf("the token service: %q", r.Problems)
			}
		}
	}
	if granted != 1 {
		t.Errorf("got %d tokens, want one for all requests", granted)
	}
}

// A tool's call and its result cross to both kinds of models and back.
func TestVertexCallsATool(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	vertex := addVertex(t, e, "vertex", "claude-opus-4-6", "gemini-2.5-pro")
	e.AddTarget("claude", vertex, "claude-opus-4-6", 1, nil)
	e.AddTarget("gemini", vertex, "gemini-2.5-pro", 1, nil)
	tool := provider.Behavior{Tokens: 2, Tool: &provider.ToolCall{Name: "read", Input: json.RawMessage(`{"path":"a.txt"}`)}}
	e.Provider.Script("claude-opus-4-6", tool)
	e.Provider.Script("google/gemini-2.5-pro", tool)
	e.Live()
	stops := map[string]string{"openai": `"finish_reason":"tool_calls"`, "anthropic": `"stop_reason":"tool_use"`, responses: `"type":"function_call"`}
	for _, route := range []string{"claude", "gemini"} {
		for family, r := range toolRequests {
			for _, stream := range []bool{false, true} {
				a := e.Call(0, r.path, fmt.Sprintf(r.body, route, stream), map[string]string{"Anthropic-Version": "2023-06-01"})
				body := strings.ReplaceAll(string(a.Body), `\`, "")
				if a.Status != 200 || !strings.Contains(body, stops[family]) || !strings.Contains(body, "a.txt") {
					t.Errorf("%s as %s, streamed %t: status %d: %s", route, family, stream, a.Status, a.Body)
				}
			}
		}
		result := fmt.Sprintf(`{"model":%q,"max_tokens":100,"messages":[{"role":"user","content":"Read it"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"text"}]}],"tools":[{"name":"read","input_schema":{"type":"object"}}]}`, route)
		if a := e.Call(0, "/v1/messages", result, map[string]string{"Anthropic-Version": "2023-06-01"}); a.Status != 200 {
			t.Errorf("%s: the result: status %d: %s", route, a.Status, a.Body)
		}
	}
}

// What Google says, in either of its shapes, is understood: the next target answers, or the
// caller reads why not.
func TestVertexFails(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	vertex := addVertex(t, e, "vertex", "claude-opus-4-6", "gemini-2.5-pro")
	anthropic := e.AddProvider("anthropic", "anthropic", "claude-second", "gemini-second")
	addVertexRoute(e, vertex, anthropic, "claude", "claude-opus-4-6")
	addVertexRoute(e, vertex, anthropic, "gemini", "gemini-2.5-pro")
	e.Live()
	wires := map[string]string{"claude": "claude-opus-4-6", "gemini": "google/gemini-2.5-pro"}
	for name, b := range map[string]provider.Behavior{
		"NotFound": {Status: 404}, "NotFoundList": {Status: 404, Body: `[{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}]`},
		"Denied": {Status: 403}, "Exhausted": {Status: 429}, "Unavailable": {Status: 503}, "Internal": {Status: 500}, "Overloaded": {Status: 529},
		"ErrorFirst": {ErrorType: "overloaded_error"}, "ErrorBeforeContent": {ErrorType: "overloaded_error", ErrorEventAfter: -1}, "Cut": {CutAfter: -1}, "Reset": {Reset: true}, "HTML": {HTML: true},
	} {
		for route, wire := range wires {
			for _, family := range []string{"openai", "anthropic", responses} {
				for _, stream := range []bool{false, true} {
					e.Provider.Script(wire, b)
					resetHealth(t, e, vertex)
					if a := call(e, 0, family, route, stream); a.Status != 200 || a.Header.Get("X-Bd-Provider-Route-Attempt") != "2" {
						t.Errorf("%s: %s as %s, streamed %t: status %d by %s: %s", name, route, family, stream, a.Status, a.Header.Get("X-Bd-Provider-Route-Attempt"), a.Body)
					}
				}
			}
		}
	}
}

// resetHealth makes every model of a provider healthy.
func resetHealth(t *testing.T, e *env.Env, provider string) {
	t.Helper()
	for _, model := range []string{"claude-opus-4-6", "gemini-2.5-pro"} {
		if a := e.Admin(http.MethodPost, "/llm-gw/route-health/"+provider+"/reset", map[string]any{"upstream_model": model}); a.Status > 299 {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
	}
}

// What Claude Code says to Anthropic itself, Google takes: all but what it would refuse the
// whole request for. Its count of tokens is Google's own.
func TestVertexTakesClaudeCode(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	e.AddTarget("claude", addVertex(t, e, "vertex", "claude-opus-4-6@default"), "claude-opus-4-6@default", 1, nil)
	e.Live()
	const request = `{"model":"claude","max_tokens":128000,"stream":%t,"system":[{"type":"text","text":"You are Claude Code.","cache_control":{"type":"ephemeral","ttl":"1h","scope":"global"}}],
		"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":"","output_config":{"effort":"high"}},{"role":"system","content":"Auto mode is on."}],
		"tools":[{"name":"Read","input_schema":{"type":"object"},"eager_input_streaming":true,"defer_loading":true}],"metadata":{"user_id":"{}"},
		"thinking":{"type":"adaptive","display":"summarized"},"context_management":{"edits":[]},"output_config":{"effort":"medium"},"safeguards":{"x":1},"diagnostics":{"previous_message_id":"m"}}`
	header := map[string]string{"Anthropic-Version": "2023-06-01", "Anthropic-Beta": "claude-code-20250219,interleaved-thinking-2025-05-14,effort-2025-11-24,prompt-caching-scope-2026-01-05," +
		"advanced-tool-use-2025-11-20,context-1m-2025-08-07,mid-conversation-system-2026-04-07"}
	for _, stream := range []bool{false, true} {
		a := e.Call(0, "/v1/messages?beta=true", fmt.Sprintf(request, stream), header)
		if a.Status != 200 {
			t.Fatalf("streamed %t: status %d: %s", stream, a.Status, a.Body)
		}
		r := last(t, e, "claude-opus-4-6@default")
		const betas = "claude-code-20250219,interleaved-thinking-2025-05-14,tool-search-tool-2025-10-19,context-management-2025-06-27"
		if got := r.Header.Get("Anthropic-Beta"); got != betas || len(r.Problems) > 0 {
			t.Errorf("betas %q, problems %q", got, r.Problems)
		}
		for text, there := range map[string]bool{`"anthropic_beta":["context-1m-2025-08-07"]`: true, `"output_config":{"effort":"medium"}`: true, `"defer_loading":true`: true, `"ttl":"1h"`: true,
			`"user_id":"{}"`: true, `"scope"`: false, `"safeguards"`: false, `"model"`: false, `"high"`: false, `<system>\nAuto mode is on.\n</system>`: true, `"role":"system"`: false} {
			if strings.Contains(string(r.Body), text) != there {
				t.Errorf("%s there: want %t: %s", text, there, r.Body)
			}
		}
	}
	a := e.Call(0, countPath+"?beta=true", `{"model":"claude","messages":[{"role":"user","content":"hi"}]}`, header)
	tokens(t, e, a)
	r := last(t, e, "claude-opus-4-6")
	if r.Path != "/v1/projects/proj/locations/us-east5/publishers/anthropic/models/count-tokens:rawPredict" || r.Status != 200 || len(r.Problems) > 0 || attempt(a) != "1" {
		t.Errorf("counted at %s, status %d: %q", r.Path, r.Status, r.Problems)
	}
}

// A token service that refuses the credential or fails is a failed provider: the next
// target answers, and nothing of the credential shows.
func TestVertexTokenServiceFails(t *testing.T) {
	t.Parallel()
	for reason, b := range map[string]provider.Behavior{"auth_rejected": {Status: 400}, "connection": {Status: 503}} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			e := env.Start(t, env.Options{})
			e.Provider.Script(provider.GoogleTokenPath, b) // before the connection's own check gets a token
			vertex := addVertex(t, e, "vertex", "claude-opus-4-6")
			addVertexRoute(e, vertex, e.AddProvider("anthropic", "anthropic", "claude-second"), "claude", "claude-opus-4-6")
			e.AddTarget("alone", vertex, "claude-opus-4-6", 1, nil)
			e.Live()
			for _, family := range []string{"openai", "anthropic", responses} {
				if a := call(e, 0, family, "claude", true); a.Status != 200 || attempt(a) != "2" {
					t.Errorf("%s: status %d: %s", family, a.Status, a.Body)
				}
			}
			a := call(e, 0, "anthropic", "alone", false)
			if !strings.Contains(string(a.Body), `"reason":"`+reason+`"`) || strings.Contains(string(a.Body), vertexAccount) {
				t.Errorf("status %d: %s", a.Status, a.Body)
			}
			if logs := e.Logs(); strings.Contains(logs, "PRIVATE KEY") || strings.Contains(logs, "Invalid JWT") {
				t.Error("the logs show the credential, or what the service said of it")
			}
		})
	}
}

// A stream that breaks or reports an error after content ends in the caller's error event.
func TestVertexBreaksAfterContent(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	vertex := addVertex(t, e, "vertex", "claude-opus-4-6", "gemini-2.5-pro")
	for route, model := range map[string]string{"claude": "claude-opus-4-6", "gemini": "gemini-2.5-pro"} {
		e.AddTarget(route, vertex, model, 1, map[string]any{"cooldown_failure_threshold": 0, "cooldown_overloaded_secs": 0})
	}
	e.Live()
	for name, b := range map[string]provider.Behavior{
		"Cut": {CutAfter: 8, Tokens: 20}, "CleanEnd": {CutAfter: 8, Tokens: 20, CleanEnd: true}, "Error": {ErrorType: "503", ErrorEventAfter: 3, Tokens: 20},
	} {
		for route, wire := range map[string]string{"claude": "claude-opus-4-6", "gemini": "google/gemini-2.5-pro"} {
			for _, family := range []string{"openai", "anthropic", responses} {
				e.Provider.Script(wire, b)
				a := call(e, 0, family, route, true)
				body := string(a.Body)
				if a.Status != 200 || a.Broken != nil || !strings.Contains(said(t, family, true, a.Body), "Hello") ||
					strings.Count(body, endings[family].broken) != 1 || strings.Contains(body, endings[family].good) {
					t.Errorf("%s: %s as %s: status %d, broken %v: %s", name, route, family, a.Status, a.Broken, body)
				}
			}
		}
	}
}

// The nodes' own identity is not to be had unless the operator allows it, and the reason is
// told in words.
func TestVertexAmbientIsForbidden(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	var p struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/providers", map[string]any{"name": "adc", "model_provider": "vertex", "base_url": e.ProviderURL, "models": []string{"claude-opus-4-6"},
		"settings": map[string]any{"project": "proj", "location": "us-east5"}}), &p)
	e.AddTarget("claude", p.ID, "claude-opus-4-6", 1, nil)
	e.Live()
	a := call(e, 0, "anthropic", "claude", false)
	if a.Status != 502 || !strings.Contains(string(a.Body), `"reason":"ambient_credentials_not_allowed"`) || !strings.Contains(string(a.Body), "the operator does not let") || len(e.Provider.Calls()) > 0 {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
}
