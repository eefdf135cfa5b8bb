package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// thinkers are conversations with a thought of a model in them, by the way of asking, and
// how a provider refuses one that another account's model had.
var thinkers = []struct {
	name, family, path, body string
	refusal, inside          string // as a 400, and as a stream under a 200
	gone, stays              []string
}{
	{
		"Messages", "anthropic", "/v1/messages",
		`{"model":%q,"stream":%t,"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"Hello"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"tool_use","id":"toolu_1","name":"read","input":{"n": 1.50}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}],"tools":[{"name":"read","input_schema":{"type":"object"}}]}`,
		"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}", "",
		[]string{"Hm.", "c2ln", "budget_tokens"}, []string{`"thinking":{"type":"disabled"}`, `{"n": 1.50}`, `"tool_use_id":"toolu_1"`},
	},
	{
		"Responses", responses, "/v1/responses",
		`{"model":%q,"stream":%t,"store":false,"include":["reasoning.encrypted_content"],"input":[{"role":"user","content":"Hello"},
			{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read","arguments":"{\"n\": 1.50}"},
			{"type":"function_call_output","call_id":"call_1","output":"x"}],"tools":[{"type":"function","name":"read","parameters":{"type":"object","properties":{}}}]}`,
		`{"error":{"message":"The encrypted content gAAA could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`,
		"event: response.created\n" + `data: {"type":"response.created","sequence_number":0,"response":{"id":"r","object":"response","status":"in_progress","output":[]}}` + "\n\n" +
			"event: response.failed\n" + `data: {"type":"response.failed","sequence_number":1,"response":{"id":"r","object":"response","status":"failed","output":[],"error":{"code":"invalid_encrypted_content","message":"The encrypted content gAAA could not be verified."}}}` + "\n\n",
		[]string{`"reasoning"`, "gAAA", "fc_1"}, []string{`"include":["reasoning.encrypted_content"]`, `1.50`, `"call_id":"call_1"`},
	},
}

// refusals are what a provider says of a conversation's thoughts.
func refusals(stream bool, refusal, inside string) map[string]provider.Behavior {
	out := map[string]provider.Behavior{"400": {Status: http.StatusBadRequest, Body: refusal}}
	if stream && inside != "" {
		out["200"] = provider.Behavior{Body: inside, Headers: map[string]string{"Content-Type": "text/event-stream"}}
	}
	return out
}

// A provider that cannot read what another account's model thought is asked once more
// without it, with everything else as it came, and that is nobody's failure. What it
// refuses again the caller gets in its own words.
func TestThoughtsOfAnotherAccount(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	type testCase struct {
		route  string
		of     int
		stream bool
		always bool
	}
	var cases []testCase
	for i, c := range thinkers {
		for _, stream := range []bool{false, true} {
			for kind, refusal := range refusals(stream, c.refusal, c.inside) {
				for _, always := range []bool{false, true} {
					route := strings.ToLower(fmt.Sprintf("%s-%t-%s-%t", c.name, stream, kind, always))
					family := strings.Replace(c.family, responses, "openai", 1)
					e.AddTarget(route, e.AddProvider(route+"-a", family, route+"-1"), route+"-1", 1, nil)
					e.AddTarget(route, e.AddProvider(route+"-b", family, route+"-2"), route+"-2", 2, nil)
					once := refusal
					once.Times = 1
					e.Provider.Script(route+"-1", once, provider.Behavior{})
					if always {
						e.Provider.Script(route+"-1", refusal)
					}
					cases = append(cases, testCase{route, i, stream, always})
				}
			}
		}
	}
	e.Live()
	for _, c := range cases {
		d := thinkers[c.of]
		a := e.Call(0, d.path, fmt.Sprintf(d.body, c.route, c.stream), map[string]string{"Anthropic-Version": "2023-06-01"})
		if n := asked(e, c.route+"-1"); n != 2 || asked(e, c.route+"-2") != 0 {
			t.Errorf("%s: the target was asked %d times, the next one %d times", c.route, n, asked(e, c.route+"-2"))
		}
		body := string(last(t, e, c.route+"-1").Body)
		for _, gone := range d.gone {
			if strings.Contains(body, gone) {
				t.Errorf("%s: %s is left in %s", c.route, gone, body)
			}
		}
		for _, stays := range d.stays {
			if !strings.Contains(body, stays) {
				t.Errorf("%s: %s is missing in %s", c.route, stays, body)
			}
		}
		switch {
		case !c.always:
			if a.Status != 200 || attempt(a) != "1" || a.Header.Get("X-Bd-Provider-Failover-Count") != "0" {
				t.Errorf("%s: status %d, headers %v: %s", c.route, a.Status, a.Header, a.Body)
			}
			wantDialect(t, a, d.family, c.stream)
		case strings.Contains(c.route, "-400-"):
			if a.Status != 400 || string(a.Body) != d.refusal || a.Header.Get("X-Bd-Error-Origin") != "provider" {
				t.Errorf("%s: status %d, not the provider's own words: %s", c.route, a.Status, a.Body)
			}
		case a.Status != 200 || !strings.Contains(string(a.Body), "could not be verified") || strings.Count(string(a.Body), endings[d.family].broken) != 1:
			t.Errorf("%s: status %d: %s", c.route, a.Status, a.Body)
		}
	}
	if routes := health(e).Routes; len(routes) != 0 {
		t.Errorf("it was charged to somebody's health: %+v", routes)
	}
}

// Where there is no thought to leave out, the refusal is passed on at once.
func TestRefusedThoughtsThatAreNotThere(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, c := range thinkers {
		for kind, refusal := range refusals(true, c.refusal, c.inside) {
			route := strings.ToLower(c.name) + kind
			e.AddTarget(route, e.AddProvider(route, strings.Replace(c.family, responses, "openai", 1), route+"-1"), route+"-1", 1, nil)
			e.Provider.Script(route+"-1", refusal)
		}
	}
	e.Live()
	for _, c := range thinkers {
		for kind := range refusals(true, c.refusal, c.inside) {
			route := strings.ToLower(c.name) + kind
			a := call(e, 0, c.family, route, kind == "200")
			if n := asked(e, route+"-1"); n != 1 || !strings.Contains(string(a.Body), "thinking` block") && !strings.Contains(string(a.Body), "could not be verified") {
				t.Errorf("%s: asked %d times, status %d: %s", route, n, a.Status, a.Body)
			}
		}
	}
}

// Only the target that refused the thoughts is asked without them: the next one, which may
// be their own vendor, gets them as they came, and may refuse them in its turn.
func TestThoughtsOfAnotherAccountOnTheNextTarget(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, c := range thinkers {
		route := strings.ToLower(c.name)
		for n, model := range []string{route + "-1", route + "-2", route + "-3"} {
			e.AddTarget(route, e.AddProvider(model, strings.Replace(c.family, responses, "openai", 1), model), model, n+1, nil)
		}
		refusal := provider.Behavior{Status: 400, Body: c.refusal, Times: 1}
		e.Provider.Script(route+"-1", refusal, provider.Behavior{Status: 503})
		e.Provider.Script(route+"-2", provider.Behavior{Status: 503})
		e.Provider.Script(route+"-3", refusal, provider.Behavior{})
	}
	e.Live()
	for _, c := range thinkers {
		route := strings.ToLower(c.name)
		a := e.Call(0, c.path, fmt.Sprintf(c.body, route, false), map[string]string{"Anthropic-Version": "2023-06-01"})
		if a.Status != 200 || attempt(a) != "3" || a.Header.Get("X-Bd-Provider-Failover-Count") != "2" {
			t.Errorf("%s: status %d, attempt %s: %s", route, a.Status, attempt(a), a.Body)
		}
		if want := strings.Replace(fmt.Sprintf(c.body, route, false), `"`+route+`"`, `"`+route+`-2"`, 1); string(last(t, e, route+"-2").Body) != want {
			t.Errorf("the next target got %s", last(t, e, route+"-2").Body)
		}
		if n := asked(e, route+"-1") + asked(e, route+"-3"); n != 4 {
			t.Errorf("%s: those that refused were asked %d times together", route, n)
		}
	}
}

// A subscription is asked again in the same way: its tool has no other way on.
func TestThoughtsOfAnotherAccountOnASubscription(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	seats(e)
	e.Live()
	d := thinkers[0]
	e.Provider.Script("claude-seat", provider.Behavior{Status: 400, Body: d.refusal, Times: 1}, provider.Behavior{})
	a := e.Call(0, d.path, fmt.Sprintf(d.body, "claude", false), map[string]string{"Anthropic-Version": "2023-06-01", "Authorization": "Bearer " + tokenA, "Anthropic-Beta": "oauth-2025-04-20"})
	if n := asked(e, "claude-seat"); a.Status != 200 || attempt(a) != "1" || n != 2 {
		t.Fatalf("status %d, attempt %s, asked %d times: %s", a.Status, attempt(a), n, a.Body)
	}
	var bodies []string
	for _, r := range e.Provider.Calls() {
		if r.Model == "claude-seat" {
			bodies = append(bodies, string(r.Body))
		}
	}
	if want := strings.Replace(fmt.Sprintf(d.body, "claude", false), `"claude"`, `"claude-seat"`, 1); bodies[0] != want && bodies[1] != want {
		t.Errorf("neither came byte for byte: %q", bodies)
	}
	if got := last(t, e, "claude-seat"); strings.Contains(string(got.Body), "Hm.") || got.Header.Get("Authorization") != "Bearer "+tokenA || len(got.Problems) > 0 {
		t.Errorf("problems %v, header %v: %s", got.Problems, got.Header, got.Body)
	}
}
