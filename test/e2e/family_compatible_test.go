package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// compatibles are the families that say they are compatible with OpenAI's chat, each with
// the path of its API, and its errors as they are scripted: those after which another
// target answers, and those that are the caller's own, with words that have to reach it.
var compatibles = []struct {
	family, path string
	embeds       bool
	busy         string // what it says with a 503
	fails        map[string]provider.Behavior
	refuses      map[string]refused
}{
	{"groq", "/openai/v1", false, "overloaded with other requests", map[string]provider.Behavior{"key": {Status: 401}, "large": {Status: 413}, "rate": {Status: 429}, "flex": {Status: 498}, "busy": {Status: 503}},
		map[string]refused{"invalid": {provider.Behavior{Status: 400}, "discriminator property 'role'"}}},
	{"together", "/v1", true, "overloaded with other requests", map[string]provider.Behavior{"key": {Status: 401}, "credit": {Status: 402}, "missing": {Status: 404}, "rate": {Status: 429}, "busy": {Status: 503}},
		map[string]refused{"long": {provider.Behavior{Status: 403}, "must be <= 4097"}}},
	{"mistral", "/v1", true, "Service tier capacity exceeded", map[string]provider.Behavior{"key": {Status: 401}, "rate": {Status: 429}, "busy": {Status: 503}, "missing": {Status: 400, Kind: "model_not_found"}},
		map[string]refused{"invalid": {provider.Behavior{Status: 400}, "Expected last role User or Tool"}, "field": {provider.Behavior{Status: 422}, "Field required"},
			"detail": {provider.Behavior{Status: 422, Body: `{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required"}]}`}, "Field required"}}},
	{"xai", "/v1", false, "at capacity", map[string]provider.Behavior{"key": {Status: 400, Kind: "invalid_key"}, "credit": {Status: 403}, "rate": {Status: 429}, "busy": {Status: 503}},
		map[string]refused{"invalid": {provider.Behavior{Status: 400}, "Argument not supported on this model: stop"}}},
	{"fireworks", "/inference/v1", true, "Service temporarily overloaded", map[string]provider.Behavior{"missing": {Status: 404}, "suspended": {Status: 412}, "rate": {Status: 429}, "busy": {Status: 503}},
		map[string]refused{"invalid": {provider.Behavior{Status: 400}, "Extra inputs are not permitted"}}},
	{"perplexity", "", false, "The model is overloaded", map[string]provider.Behavior{"key": {Status: 401, HTML: true}, "missing": {Status: 400, Kind: "model_not_found"}, "rate": {Status: 429}, "busy": {Status: 503}},
		map[string]refused{"invalid": {provider.Behavior{Status: 400}, "should alternate with assistant message(s)"}}},
	{"openrouter", "/api/v1", true, "No available model provider", map[string]provider.Behavior{"credit": {Status: 402}, "rate": {Status: 429}, "down": {Status: 502}, "none": {Status: 503}, "choice": {ErrorType: "502"}, "limited": {ErrorType: "429"}},
		map[string]refused{"flagged": {provider.Behavior{Status: 403}, "Your input was flagged"}, "invalid": {provider.Behavior{Status: 400}, "is not a valid model ID"}}},
	{"deepseek", "/v1", false, "Service is too busy", map[string]provider.Behavior{"key": {Status: 401}, "balance": {Status: 402}, "rate": {Status: 429}, "busy": {Status: 503}},
		map[string]refused{"invalid": {provider.Behavior{Status: 422}, "Failed to deserialize the JSON body"}}},
	{"cohere", "/compatibility/v1", true, "service unavailable", map[string]provider.Behavior{"key": {Status: 401}, "trial": {Status: 429}, "busy": {Status: 503}},
		map[string]refused{"invalid": {provider.Behavior{Status: 400}, "temperature must be between"}}},
	{"google_ai", "/v1beta/openai", true, "The model is overloaded", map[string]provider.Behavior{"key": {Status: 400, Kind: "invalid_key"}, "rate": {Status: 429}, "busy": {Status: 503}},
		map[string]refused{"invalid": {provider.Behavior{Status: 400}, "Unknown name"}}},
	{"custom", "/v1", true, "The engine is dead", map[string]provider.Behavior{"missing": {Status: 404}, "dead": {Status: 503}, "page": {Status: 502, HTML: true}},
		map[string]refused{"invalid": {provider.Behavior{Status: 400}, "maximum context length is 4096"}}},
}

// refused is an error that comes back to the caller.
type refused struct {
	provider.Behavior
	words string
}

// withCompatibles starts a system with a route for each family, of its name, over a model on
// its scripted double, "<family>-1", and where backed over another vendor's after it.
func withCompatibles(t *testing.T, backed bool) *env.Env {
	t.Helper()
	e := env.Start(t, env.Options{})
	second := e.AddProvider("openai", "openai", "gpt-second")
	for _, c := range compatibles {
		model := c.family + "-1"
		id := e.AddProviderAt(c.family, c.family, e.ProviderURL+"/family/"+c.family+c.path, model)
		e.AddTarget(c.family, id, model, 1, map[string]any{"cooldown_failure_threshold": 0})
		if backed {
			e.AddTarget(c.family, second, "gpt-second", 2, nil)
		}
	}
	e.Live()
	return e
}

// wantNoProblems checks that no vendor was sent what it is known to refuse, or what is
// another's.
func wantNoProblems(t *testing.T, e *env.Env) {
	t.Helper()
	for _, r := range e.Provider.Calls() {
		if len(r.Problems) > 0 {
			t.Errorf("%s was asked at %s: %q\n%s", r.Model, r.Path, r.Problems, r.Body)
		}
	}
}

// Every family answers on every surface, at the path of its own API, with its key and
// nothing else of who asks, and what it used reaches the caller.
func TestCompatiblesAnswer(t *testing.T) {
	t.Parallel()
	e := withCompatibles(t, false)
	for _, c := range compatibles {
		e.Provider.Script(c.family+"-1", provider.Behavior{Usage: &provider.Usage{Input: 431, Output: 77}})
		onEverySurface(t, e, c.family, c.family+"-1", func(_ bool, r provider.Request) {
			if got := r.Header.Get("Authorization"); got != "Bearer upstream-secret-of-"+c.family || r.Path != "/family/"+c.family+c.path+"/chat/completions" {
				t.Errorf("%s was asked at %s with %q", c.family, r.Path, got)
			}
		})
		for _, stream := range []bool{false, true} {
			if a := call(e, 0, "anthropic", c.family, stream); !strings.Contains(string(a.Body), `"output_tokens":77`) || !strings.Contains(string(a.Body), `"input_tokens":431`) {
				t.Errorf("%s, streamed %t, does not tell what it used: %s", c.family, stream, a.Body)
			}
		}
		if !c.embeds {
			continue
		}
		if a := e.Call(0, "/v1/embeddings", fmt.Sprintf(`{"model":%q,"input":"x"}`, c.family), nil); a.Status != 200 {
			t.Errorf("%s embeddings: status %d: %s", c.family, a.Status, a.Body)
		}
	}
	wantNoProblems(t, e)
}

// agents are a turn of an agent with what not every family takes, in the dialects that are
// translated: instructions in parts and in the middle, turns that do not alternate, content
// in parts, thinking, who the user is and, where the second %s is them, tools.
var agents = map[string]struct{ path, body, tools string }{
	"anthropic": {"/v1/messages", `{"model":%q,"stream":%t,"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"metadata":{"user_id":"u"}%s,
		"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral"}}],
		"messages":[{"role":"user","content":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]},{"role":"user","content":"Three."},
			{"role":"assistant","content":"Yes."},{"role":"user","content":[{"type":"text","text":"Four."},{"type":"text","text":"Five."}]}]}`,
		`,"tools":[{"name":"read","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]`},
	responses: {"/v1/responses", `{"model":%q,"stream":%t,"max_output_tokens":2000,"reasoning":{"effort":"low"},"store":false,"prompt_cache_key":"k","safety_identifier":"u","metadata":{"a":"b"},"instructions":"Be brief."%s,
		"input":[{"role":"user","content":[{"type":"input_text","text":"One."},{"type":"input_text","text":"Two."}]},{"role":"developer","content":"Be kind."},{"role":"user","content":"Three."}]}`,
		`,"tools":[{"type":"function","name":"read","parameters":{"type":"object"}}]`},
}

// What an agent says in another dialect reaches each family in words that it takes.
func TestCompatiblesGetWhatTheyTake(t *testing.T) {
	t.Parallel()
	e := withCompatibles(t, false)
	for _, c := range compatibles {
		e.Provider.Script(c.family+"-1", provider.Behavior{Thinks: "Hm, well."})
		for family, ask := range agents {
			for _, stream := range []bool{false, true} {
				tools := ask.tools
				if c.family == "perplexity" { // calls none, which is refused before it is asked
					tools = ""
				}
				a := e.Call(0, ask.path, fmt.Sprintf(ask.body, c.family, stream, tools), map[string]string{"Anthropic-Version": "2023-06-01", "Anthropic-Beta": "b-1"})
				body := string(a.Body)
				if a.Status != 200 || !strings.Contains(body, "Hm,") || !strings.Contains(said(t, family, stream, a.Body), "Hello from") {
					t.Errorf("%s as %s, streamed %t: status %d: %s", c.family, family, stream, a.Status, body)
					continue
				}
				wantDialect(t, a, family, stream)
			}
		}
	}
	wantNoProblems(t, e)
}

// What another model thought comes back with the conversation of a tool that speaks chat. It
// reaches the families that take it as it is, and none that would refuse it.
func TestCompatiblesAndThoughtsOfOthers(t *testing.T) {
	t.Parallel()
	e := withCompatibles(t, false)
	const body = `{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Hello"},{"role":"assistant","reasoning_content":"Hm.",%s"content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"call_1","content":"x"}]}`
	takes := map[string]bool{"together": true, "xai": true, "fireworks": true, "openrouter": true, "deepseek": true, "custom": true}
	for _, c := range compatibles {
		for _, stream := range []bool{false, true} {
			for _, more := range []string{"", `"reasoning_details":[{"type":"reasoning.text","text":"Hm."}],`} {
				a := e.Call(0, "/v1/chat/completions", fmt.Sprintf(body, c.family, stream, more), nil)
				got := string(last(t, e, c.family+"-1").Body)
				if want := fmt.Sprintf(body, c.family+"-1", stream, more); a.Status != 200 || takes[c.family] && got != want || strings.Contains(got, "Hm.") != takes[c.family] {
					t.Errorf("%s, streamed %t: status %d, was asked %s", c.family, stream, a.Status, got)
				}
			}
		}
	}
	wantNoProblems(t, e)
}

// mixed are conversations that went through several vendors' hands before: a call has an id
// that some do not take, its result does not stand next to it, and the user speaks right
// after one.
var mixed = map[string]struct{ path, body string }{
	"openai": {"/v1/chat/completions", `{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Hello"},
		{"role":"assistant","content":"","tool_calls":[{"id":"call_%[3]s","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_%[3]s","content":"x"},{"role":"user","content":"So?"}],
		"tools":[{"type":"function","function":{"name":"read"}}]}`},
	"anthropic": {"/v1/messages", `{"model":%q,"stream":%t,"max_tokens":2000,"messages":[{"role":"user","content":"Hello"},
		{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%[3]s","name":"read","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%[3]s","content":"x"},{"type":"text","text":"So?"}]}],"tools":[{"name":"read","input_schema":{"type":"object"}}]}`},
	responses: {"/v1/responses", `{"model":%q,"stream":%t,"input":[{"role":"user","content":"Hello"},{"type":"function_call","call_id":"fc_%[3]s","name":"read","arguments":"{}"},
		{"role":"developer","content":"The sandbox is slow."},{"type":"function_call_output","call_id":"fc_%[3]s","output":"x"},{"role":"user","content":"So?"}],"tools":[{"type":"function","name":"read"}]}`},
}

// maxCallID is how long an id is in responses.
const maxCallID = 64

// A conversation that other vendors' models were in is one that every family takes, in the
// dialect that it speaks too: the doubles check it as the vendors do.
func TestCompatiblesTakeMixedConversations(t *testing.T) {
	t.Parallel()
	e := withCompatibles(t, false)
	e.AddTarget("openai-alone", e.AddProvider("own", "openai", "own-1"), "own-1", 1, nil)
	e.Live()
	families := []string{"openai-alone"}
	for _, c := range compatibles {
		if c.family != "perplexity" { // calls no tools
			families = append(families, c.family)
		}
	}
	for _, family := range families {
		for caller, ask := range mixed {
			for _, stream := range []bool{false, true} {
				for _, length := range []int{8, 70} {
					if family == "openai-alone" && caller == responses && length > maxCallID {
						continue // in its own dialect, where all ids are its own or were translated for it
					}
					a := e.Call(0, ask.path, fmt.Sprintf(ask.body, family, stream, strings.Repeat("a", length)), nil)
					if a.Status != 200 || !strings.Contains(said(t, caller, stream, a.Body), "Hello from") {
						t.Errorf("%s as %s, streamed %t, ids of %d: status %d: %s", family, caller, stream, length, a.Status, a.Body)
					}
				}
			}
		}
	}
	wantNoProblems(t, e)
}

// A conversation in which another model called tools lacks the thoughts that DeepSeek's
// wants with every call: it is asked once more without thinking, and the caller served.
func TestDeepSeekGoesOnWithCallsOfOthers(t *testing.T) {
	t.Parallel()
	e := withCompatibles(t, false)
	for _, stream := range []bool{false, true} {
		a := e.Call(0, "/v1/chat/completions", fmt.Sprintf(`{"model":"deepseek","stream":%t,"reasoning_effort":"high","messages":[{"role":"user","content":"Hello"},
			{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"x"}]}`, stream), nil)
		calls := e.Provider.Calls()
		again := string(calls[len(calls)-1].Body)
		if a.Status != 200 || len(calls)%2 != 0 || !strings.Contains(again, `"thinking":{"type":"disabled"}`) || strings.Contains(again, "reasoning_effort") {
			t.Errorf("streamed %t: status %d after %d calls, the last %s", stream, a.Status, len(calls), again)
		}
	}
	if routes := health(e).Routes; len(routes) != 0 {
		t.Errorf("it was charged to somebody's health: %+v", routes)
	}
	wantNoProblems(t, e)
}

// A family's errors are understood, whatever they look like: another target answers, or
// the caller reads in its own envelope what the vendor said.
func TestCompatiblesFail(t *testing.T) {
	t.Parallel()
	e := withCompatibles(t, true)
	for _, c := range compatibles {
		for _, way := range ways {
			for name, b := range c.fails {
				e.Provider.Script(c.family+"-1", b)
				seen := asked(e, c.family+"-1")
				if a := call(e, 0, way.family, c.family, way.stream); a.Status != 200 || attempt(a) != "2" || asked(e, c.family+"-1") != seen+1 {
					t.Errorf("%s, %s, as %s: status %d, attempt %s: %s", c.family, name, way.name, a.Status, attempt(a), a.Body)
				}
			}
			for name, r := range c.refuses {
				e.Provider.Script(c.family+"-1", r.Behavior)
				a := call(e, 0, way.family, c.family, way.stream)
				if says := messageIn(t, way.family, a); a.Status != r.Status || !strings.Contains(says, r.words) {
					t.Errorf("%s, %s, as %s: status %d, says %q: %s", c.family, name, way.name, a.Status, says, a.Body)
				}
			}
		}
	}
	wantNoProblems(t, e)
}

// messageIn is what an error says, where the clients of the dialect read it.
func messageIn(t *testing.T, family string, a env.Answer) string {
	t.Helper()
	var out struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal(a.Body, &out); err != nil || out.Error.Type == "" || (out.Type == "error") != (family == "anthropic") {
		t.Errorf("not an error of %s: %s", family, a.Body)
	}
	return out.Error.Message
}

// A family's error inside a stream: before content another target answers, after content
// it ends the caller's stream in one error event of the caller's.
func TestCompatiblesBreak(t *testing.T) {
	t.Parallel()
	e := withCompatibles(t, true)
	for _, c := range compatibles {
		for _, way := range ways {
			if !way.stream {
				continue
			}
			for name, events := range map[string]int{"first": 0, "early": -1} {
				e.Provider.Script(c.family+"-1", provider.Behavior{ErrorType: "503", ErrorEventAfter: events})
				if a := call(e, 0, way.family, c.family, true); a.Status != 200 || attempt(a) != "2" {
					t.Errorf("%s, %s, as %s: status %d, attempt %s: %s", c.family, name, way.name, a.Status, attempt(a), a.Body)
				}
			}
			e.Provider.Script(c.family+"-1", provider.Behavior{ErrorType: "503", ErrorEventAfter: 3, Tokens: 20})
			a := call(e, 0, way.family, c.family, true)
			body := string(a.Body)
			if a.Status != 200 || attempt(a) != "1" || a.Broken != nil || !strings.Contains(said(t, way.family, true, a.Body), "Hello from") {
				t.Errorf("%s as %s: status %d, attempt %s, broken %v: %s", c.family, way.name, a.Status, attempt(a), a.Broken, body)
			}
			if !strings.Contains(body, c.busy) {
				t.Errorf("%s as %s: its own words are missing: %s", c.family, way.name, body)
			}
			// An error that its vendor's clients read comes as it was sent, which may be inside a chunk.
			if ends := endings[way.family]; strings.Count(body, ends.broken)+strings.Count(body, `chunk","error":{`) != 1 || strings.Contains(body, ends.good) {
				t.Errorf("%s as %s does not end in one error event: %s", c.family, way.name, body)
			}
		}
	}
	wantNoProblems(t, e)
}
