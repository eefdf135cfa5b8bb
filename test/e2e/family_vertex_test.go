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
		for _, family := range []string{"openai", "anthropic", responses} {
			for _, stream := range []bool{false, true} {
				a := call(e, 0, family, route, stream)
				if a.Status != 200 || !strings.Contains(said(t, family, stream, a.Body), "Hello from "+wire) {
					t.Errorf("%s as %s, streamed %t: status %d: %s", route, family, stream, a.Status, a.Body)
					continue
				}
				wantDialect(t, a, family, stream)
				r := last(t, e, wire)
				if r.Path != vertexPath(model, stream) || len(r.Problems) > 0 {
					t.Errorf("asked at %s: %q", r.Path, r.Problems)
				}
				if got := e.Provider.GoogleTokenOf(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); got != "vertex-"+vertexAccount {
					t.Errorf("the token is of %q", got)
				}
			}
		}
	}
	granted := 0
	for _, r := range e.Provider.Requests() {
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
