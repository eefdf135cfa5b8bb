package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

const (
	claudeKeyed = "### Claude Code on a gateway key"
	claudeSeat  = "### Claude Code on a Claude subscription"

	claudeRoute = "claude-sonnet-4-5" // as in the settings

	tokenA = "sk-ant-oat01-canary-of-a"
	tokenB = "sk-ant-oat01-canary-of-b"
)

// claude is Claude Code of a person with a gateway key and, if it has one, the token
// of a subscription.
func claude(t *testing.T, e *env.Env, key, token string) *tool {
	t.Helper()
	heading, pairs := claudeKeyed, []string{"https://gateway.example.com", e.Info.GatewayURLs[0], "bd-...", key}
	if token != "" {
		heading, pairs = claudeSeat, append(pairs, "sk-ant-oat01-...", token)
	}
	c := newTool(t, "claude", settings(t, heading, pairs...)[0])
	c.env = append(c.env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	return c
}

// said is the last word of a run of Claude Code.
type said struct {
	outcome
	IsError  bool   `json:"is_error"`
	Result   string `json:"result"`
	Status   int    `json:"api_error_status"`
	thoughts []string
}

// ask runs `claude -p` and reads the result at the end of what it prints.
func (c *tool) askClaude(t *testing.T, args ...string) said {
	t.Helper()
	out := said{outcome: c.run(t, append([]string{"-p", "--output-format", "stream-json", "--verbose"}, args...)...)}
	for line := range strings.Lines(out.stdout) {
		var event struct {
			Type    string
			Message struct{ Content json.RawMessage } // a text, or a list of blocks
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("claude printed no JSON: %v in %s", err, out)
		}
		var blocks []struct{ Thinking string }
		if event.Type == "assistant" && json.Unmarshal(event.Message.Content, &blocks) == nil {
			for _, b := range blocks {
				if b.Thinking != "" {
					out.thoughts = append(out.thoughts, b.Thinking)
				}
			}
		}
		if event.Type == "result" {
			if err := json.Unmarshal([]byte(line), &out); err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	t.Fatalf("claude printed no result: %s", out)
	return out
}

func readCall(t *testing.T, path string) *provider.ToolCall {
	return call(t, "Read", map[string]any{"file_path": path})
}

var claudeCLI = &cli{
	dialect: messagesPath, route: claudeRoute,
	start: func(t *testing.T, e *env.Env, key string) *tool { return claude(t, e, key, "") },
	ask: func(t *testing.T, c *tool, model, prompt string, args ...string) reply {
		out := c.askClaude(t, append(args, "--model", model, prompt)...)
		got := reply{outcome: out.outcome, words: out.Result, thoughts: out.thoughts}
		if out.IsError {
			got.words, got.failure = "", out.Result
		}
		return got
	},
	read: readCall, look: readCall,
	ways: []way{
		{name: "Native", first: claudeModel},
		{name: "Chat", first: gptModel},
		{name: "Responses", first: thinkingGPT},
		{name: "Failover", first: claudeModel, then: gptModel, down: -1},
		{name: "Returns", first: claudeModel, then: thinkingGPT, down: 1},
		{name: "ToNative", first: llamaModel, then: claudeModel, down: -1},
	},
	foreign: gptModel, foreignEnv: []string{`CLAUDE_CODE_EXTRA_BODY={"inference_geo":"eu"}`},
	hasty: func(c *tool) []string {
		c.env = append(c.env, "CLAUDE_CODE_MAX_RETRIES=1") // else three minutes of a 503
		return nil
	},
	says: map[string]string{
		"OutOfQuota":           "every target of the route is rate-limited, out of quota or cooling down",
		"OutOfQuotaTranslated": "every target of the route is rate-limited, out of quota or cooling down",
		"Forbidden":            "every target of the route failed",
		"Down":                 "every target of the route failed",
		"CannotTranslate":      "no target of the route can be asked for this: inference_geo: ",
		"UnknownModel":         "There's an issue with the selected model (claude-sonnet-4-5-unknownmodel)", // its own words
		"RefusedKey":           "the gateway key is not valid",
	},
}

func TestClaudeCodeShowsErrors(t *testing.T) {
	t.Parallel()
	tellFailures(t, claudeCLI)
}

func TestClaudeCode(t *testing.T) {
	t.Parallel()
	tellScenarios(t, claudeCLI)
}

// answered fails the test unless the person got the answer of a model.
func (s said) answered(t *testing.T, model string) {
	t.Helper()
	if s.code != 0 || s.IsError || !strings.Contains(s.Result, "Hello from "+model) {
		t.Fatalf("no answer of %s but %q, %s", model, s.Result, s.outcome)
	}
}

// The route has the name of the model behind it, as people will have it.
func TestClaudeCodeOnAGatewayKey(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	e.AddTarget(claudeRoute, e.AddProvider("keyed", "anthropic", claudeRoute), claudeRoute, 1, map[string]any{"bare_alias": true})
	e.Live()
	got := claude(t, e, e.APIKey, "").askClaude(t, "Hello")
	got.answered(t, claudeRoute)
	if got.stderr != "" {
		t.Errorf("claude complains: %s", got.stderr)
	}
	asked(t, e, map[string][]string{claudeRoute: {"upstream-secret-of-keyed"}})
}

// seats makes a route: first people's own Claude subscriptions, then a
// provider with a stored key.
func seats(t *testing.T) *env.Env {
	t.Helper()
	e := env.Start(t, env.Options{})
	var p struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/providers", map[string]any{
		"name": "seats", "model_provider": "anthropic", "auth_type": "claude_oauth", "base_url": e.ProviderURL, "models": []string{"claude-seat"},
	}), &p)
	e.AddTarget(claudeRoute, p.ID, "claude-seat", 1, nil)
	e.AddTarget(claudeRoute, e.AddProvider("keyed", "anthropic", "claude-keyed"), "claude-keyed", 2, nil)
	e.Live()
	return e
}

// secondKey is the gateway key of another person of the organization.
func secondKey(e *env.Env) string {
	var key struct{ Key string }
	e.Must(e.Admin(http.MethodPost, "/api-keys", map[string]any{"name": "second"}), &key)
	e.Live()
	return key.Key
}

// One person's subscription is used up: that person goes on on the stored key and
// sees nothing of it, and the next run does not ask the subscription again. Another
// person's subscription is asked as before.
func TestClaudeCodeGoesOnWhenItsSeatIsUsedUp(t *testing.T) {
	t.Parallel()
	e := seats(t)
	a, b := claude(t, e, e.APIKey, tokenA), claude(t, e, secondKey(e), tokenB)
	a.askClaude(t, "Hello").answered(t, "claude-seat")
	asked(t, e, map[string][]string{"claude-seat": {tokenA}})

	e.Provider.Reset()
	e.Provider.ScriptKey("claude-seat", tokenA, provider.Behavior{Status: 429, Headers: map[string]string{
		"Anthropic-Ratelimit-Unified-Status": "rejected", "Anthropic-Ratelimit-Unified-Reset": fmt.Sprint(time.Now().Add(4 * time.Hour).Unix()),
		"Anthropic-Ratelimit-Unified-Representative-Claim": "five_hour",
	}})
	got := a.askClaude(t, "Hello")
	got.answered(t, "claude-keyed")
	for _, word := range []string{"api_retry", "rejected", "limit reached", "API Error", "429"} {
		if strings.Contains(got.stdout+got.stderr, `"`+word) {
			t.Errorf("the person sees %q: %s", word, got)
		}
	}
	asked(t, e, map[string][]string{"claude-seat": {tokenA}, "claude-keyed": {"upstream-secret-of-keyed"}})

	b.askClaude(t, "Hello").answered(t, "claude-seat")
	a.askClaude(t, "Hello").answered(t, "claude-keyed")
	asked(t, e, map[string][]string{"claude-seat": {tokenA, tokenB}, "claude-keyed": {"upstream-secret-of-keyed", "upstream-secret-of-keyed"}})
}

// A stream that breaks after content is told to Claude Code, which asks again without
// a stream; a half answer is never taken for a whole one. What broke may cool down
// meanwhile, and the next target answers.
func TestClaudeCodeAsksAgainAfterABrokenStream(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	spare := e.AddProvider("spare", "openai", "gpt-4.1-spare")
	for _, c := range []struct {
		route, family string
		broken        provider.Behavior
		then          string // the model that answers in the end
	}{
		{"ends", "anthropic", provider.Behavior{CutAfter: 8, CleanEnd: true}, "gpt-4.1-of-ends"},
		{"overloaded", "anthropic", provider.Behavior{ErrorType: "overloaded_error", ErrorEventAfter: 5}, "gpt-4.1-spare"},
		{"claude-opus-4-6-translated", "openai", provider.Behavior{CutAfter: 8, CleanEnd: true}, "gpt-4.1-of-claude-opus-4-6-translated"},
	} {
		model := "gpt-4.1-of-" + c.route
		c.broken.Times = 1
		// A second between the first content and the end: what comes in one read with
		// its end has not started, and fails over.
		c.broken.EventDelay = 250 * time.Millisecond
		e.Provider.Script(model, c.broken, provider.Behavior{})
		e.AddTarget(c.route, e.AddProvider(c.route, c.family, model), model, 1, nil)
		e.AddTarget(c.route, spare, "gpt-4.1-spare", 2, nil)
		e.Live()
		before := len(e.Provider.Calls())
		got := claude(t, e, e.APIKey, "").askClaude(t, "--model", c.route, "Hello")
		got.answered(t, c.then)
		if !strings.Contains(got.Result, "You said:") {
			t.Errorf("%s: half an answer: %q", c.route, got.Result)
		}
		list := e.Provider.Calls()[before:]
		if len(list) != 2 || !list[0].Stream || list[1].Stream || list[0].Model != model || list[1].Model != c.then {
			t.Errorf("%s: %d requests, want one streamed and then one of %s not", c.route, len(list), c.then)
		}
		// Without a stream it asks for more than the other vendor's model can say.
		if c.family == "openai" && !bytes.Contains(list[1].Body, []byte(`"max_completion_tokens":32768}`)) {
			t.Errorf("%s: not with the model's own limit: %s", c.route, list[1].Body)
		}
	}
}
