package clients

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

const (
	codexKeyed = "### Codex on a gateway key"
	codexSeat  = "### Codex on a ChatGPT plan"

	codexRoute = "gpt-5.5" // as in the settings
)

// codex is Codex of a person with a gateway key and, if it has one, the token of a
// ChatGPT plan.
func codex(t *testing.T, e *env.Env, key, token string) *tool {
	t.Helper()
	heading := codexKeyed
	if token != "" {
		heading = codexSeat
	}
	blocks := settings(t, heading, "https://gateway.example.com", e.Info.GatewayURLs[0], "bd-...", key)
	c := newTool(t, "codex", blocks[1])
	write(t, filepath.Join(c.home, ".codex/config.toml"), blocks[0])
	if token != "" {
		login, err := json.Marshal(map[string]any{
			"auth_mode": "chatgpt", "OPENAI_API_KEY": nil, "last_refresh": time.Now().UTC().Format(time.RFC3339),
			"tokens": map[string]any{"id_token": token, "access_token": token, "refresh_token": "rt-" + canary, "account_id": account},
		})
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(c.home, ".codex/auth.json"), string(login))
	}
	return c
}

const account = "00000000-0000-4000-8000-00000000000a"

// planToken is a token of a ChatGPT plan as Codex reads it. Nobody signed it.
func planToken(t *testing.T, who string) string {
	t.Helper()
	claims, err := json.Marshal(map[string]any{
		"email": who + "@example.com", "exp": time.Now().Add(24 * time.Hour).Unix(),
		"https://api.openai.com/auth": map[string]any{"chatgpt_account_id": account, "chatgpt_plan_type": "pro", "chatgpt_user_id": "user-" + who},
	})
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(claims) + "." + canary + "xx"
}

// told is what a run of Codex said to its user.
type told struct {
	outcome
	messages, thoughts, errors []string
}

// askCodex runs `codex exec --json`. What Codex does beside its work it does with
// addresses of its own, and waits long for names that nobody resolves here: all that
// is turned off, or sent to where nothing listens.
func (c *tool) askCodex(t *testing.T, args ...string) told {
	t.Helper()
	out := told{outcome: c.run(t, append([]string{
		"exec", "--json", "--skip-git-repo-check", "--sandbox", "danger-full-access", "--disable", "plugins", "--disable", "apps",
		"-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false", "-c", `chatgpt_base_url="http://127.0.0.1:1/"`,
	}, args...)...)}
	for line := range strings.Lines(out.stdout) {
		var event struct {
			Type, Message string
			Error         struct{ Message string }
			Item          struct{ Type, Text, Message string }
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("codex printed no JSON: %v in %s", err, out)
		}
		switch {
		case event.Item.Type == "agent_message":
			out.messages = append(out.messages, event.Item.Text)
		case event.Item.Type == "reasoning":
			out.thoughts = append(out.thoughts, event.Item.Text)
		case event.Type == "error":
			out.errors = append(out.errors, event.Message)
		case event.Type == "turn.failed":
			out.errors = append(out.errors, event.Error.Message)
		}
	}
	return out
}

var codexCLI = &cli{
	dialect: responsesPath, route: codexRoute,
	start: func(t *testing.T, e *env.Env, key string) *tool { return codex(t, e, key, "") },
	ask: func(t *testing.T, c *tool, model, prompt string, args ...string) reply {
		out := c.askCodex(t, append(args, "--model", model, prompt)...)
		return reply{out.outcome, strings.Join(out.messages[max(0, len(out.messages)-1):], ""), out.thoughts, strings.Join(out.errors, "\n")}
	},
	read: func(t *testing.T, path string) *provider.ToolCall {
		return call(t, "exec_command", map[string]any{"cmd": "cat " + path})
	},
	look: func(t *testing.T, path string) *provider.ToolCall {
		return call(t, "view_image", map[string]any{"path": path})
	},
	ways: []way{
		{name: "Native", first: thinkingGPT},
		{name: "Messages", first: claudeModel},
		{name: "Chat", first: llamaModel, args: []string{"-c", `web_search="disabled"`}},
		{name: "Failover", first: thinkingGPT, then: claudeModel, down: -1},
		{name: "Returns", first: thinkingGPT, then: claudeModel, down: 1},
		{name: "ToNative", first: claudeModel, then: thinkingGPT, down: -1},
	},
	foreign: llamaModel, // which has no search of the web
	hasty: func(*tool) []string { // else it asks again five times five, and waits each time what it is asked to
		return []string{"-c", "model_providers.spillway.request_max_retries=0", "-c", "model_providers.spillway.stream_max_retries=0"}
	},
	says: map[string]string{ // of a 429 that is no plan's, it says the status only
		"OutOfQuota":           "429 Too Many Requests, request id: req_",
		"OutOfQuotaTranslated": "429 Too Many Requests, request id: req_",
		"Forbidden":            "every target of the route failed",
		"Down":                 "every target of the route failed",
		"CannotTranslate":      "no target of the route can be asked for this: tools: the target has no tool",
		"UnknownModel":         "does not exist or you do not have access to it",
		"RefusedKey":           "the gateway key is not valid",
	},
}

func TestCodexShowsErrors(t *testing.T) {
	t.Parallel()
	tellFailures(t, codexCLI)
}

func TestCodex(t *testing.T) {
	t.Parallel()
	tellScenarios(t, codexCLI)
}

// answered fails the test unless the person got the answer of a model, last.
func (o told) answered(t *testing.T, model string) {
	t.Helper()
	if o.code != 0 || len(o.errors) > 0 || len(o.messages) == 0 || !strings.Contains(o.messages[len(o.messages)-1], "Hello from "+model) {
		t.Fatalf("no answer of %s but %q and errors %q; %s", model, o.messages, o.errors, o.outcome)
	}
}

func keyedCodex(t *testing.T) *env.Env {
	t.Helper()
	e := env.Start(t, env.Options{})
	e.AddTarget(codexRoute, e.AddProvider("keyed", "openai", "gpt-keyed"), "gpt-keyed", 1, nil)
	e.Live()
	return e
}

func TestCodexOnAGatewayKey(t *testing.T) {
	t.Parallel()
	e := keyedCodex(t)
	codex(t, e, e.APIKey, "").askCodex(t, "Hello").answered(t, "gpt-keyed")
	asked(t, e, map[string][]string{"gpt-keyed": {"upstream-secret-of-keyed"}})
}

// words is an MCP server with one tool.
const words = `import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const result = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "words", version: "1" } },
    "tools/list": { tools: [{ name: "secret_word", description: "Tells the secret word", inputSchema: { type: "object", properties: {} } }] },
    "tools/call": { content: [{ type: "text", text: "the word is xylophone" }] },
  }[method] ?? {};
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n");
}
`

// Codex does not show a model the tools of MCP servers: the model searches them, with a
// tool that only OpenAI's dialect has. Another vendor's model finds and calls them too.
func TestCodexSearchesToolsForAnotherVendor(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	o := way{first: claudeModel}.open(e, codexRoute+"-search",
		provider.Behavior{Tool: call(t, "tool_search", map[string]any{"query": "secret word"})},
		provider.Behavior{Tool: call(t, "mcp__words__secret_word", map[string]any{})}, provider.Behavior{})
	e.Live()
	c := codex(t, e, e.APIKey, "")
	server := filepath.Join(c.work, "words.mjs")
	write(t, server, words)
	got := c.askCodex(t, "-c", `mcp_servers.words.command="node"`, "-c", `mcp_servers.words.args=["`+server+`"]`,
		"-c", `mcp_servers.words.default_tools_approval_mode="approve"`, "--model", o.route, "What is the secret word?")
	got.answered(t, o.first.model)
	asked := o.asked(t, e, 3)
	for i, part := range []string{`{"name":"tool_search"`, `{"name":"mcp__words__secret_word"`, "the word is " + secret} {
		if !strings.Contains(string(asked[i].Body), part) || i > 0 && strings.Contains(string(asked[i-1].Body), part) {
			t.Errorf("request %d is not the first with %s", i, part)
		}
	}
}

// plans makes a route: first people's own ChatGPT plans, then a provider
// with a stored key.
func plans(t *testing.T) *env.Env {
	t.Helper()
	e := env.Start(t, env.Options{})
	var p struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/providers", map[string]any{
		"name": "plans", "model_provider": "openai", "auth_type": "codex_oauth", "base_url": e.ProviderURL + "/backend-api/codex", "models": []string{"gpt-plan"},
	}), &p)
	e.AddTarget(codexRoute, p.ID, "gpt-plan", 1, nil)
	e.AddTarget(codexRoute, e.AddProvider("keyed", "openai", "gpt-keyed"), "gpt-keyed", 2, nil)
	e.Live()
	return e
}

// As with Claude Code: a plan that is used up is its owner's alone, who goes on on the
// stored key.
func TestCodexGoesOnWhenItsPlanIsUsedUp(t *testing.T) {
	t.Parallel()
	e := plans(t)
	tokenA, tokenB := planToken(t, "a"), planToken(t, "b")
	a, b := codex(t, e, e.APIKey, tokenA), codex(t, e, secondKey(e), tokenB)
	first := a.askCodex(t, "Hello")
	first.answered(t, "gpt-plan")
	if strings.Contains(first.stderr, "ERROR") {
		t.Errorf("codex complains: %s", first.stderr)
	}
	asked(t, e, map[string][]string{"gpt-plan": {tokenA}})

	e.Provider.Reset()
	e.Provider.ScriptKey("gpt-plan", tokenA, provider.Behavior{Kind: "usage_limit"})
	a.askCodex(t, "Hello").answered(t, "gpt-keyed")
	asked(t, e, map[string][]string{"gpt-plan": {tokenA}, "gpt-keyed": {"upstream-secret-of-keyed"}})

	b.askCodex(t, "Hello").answered(t, "gpt-plan")
	a.askCodex(t, "Hello").answered(t, "gpt-keyed")
	asked(t, e, map[string][]string{"gpt-plan": {tokenA, tokenB}, "gpt-keyed": {"upstream-secret-of-keyed", "upstream-secret-of-keyed"}})
}

// A stream that breaks after content is told to Codex, which asks again.
func TestCodexAsksAgainAfterABrokenStream(t *testing.T) {
	t.Parallel()
	e := keyedCodex(t)
	e.Provider.Script("gpt-keyed", provider.Behavior{CutAfter: 8, CleanEnd: true, Times: 1, EventDelay: 250 * time.Millisecond}, provider.Behavior{})
	got := codex(t, e, e.APIKey, "").askCodex(t, "Hello")
	if n := len(e.Provider.Calls()); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
	if len(got.messages) != 1 || got.code != 0 || !strings.HasSuffix(got.messages[0], "You said: Hello") {
		t.Errorf("got %q; %s", got.messages, got.outcome)
	}
}
