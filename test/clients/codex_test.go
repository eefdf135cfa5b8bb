package clients

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
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

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// told is what a run of Codex said to its user.
type told struct {
	outcome
	messages, errors []string
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
		case event.Type == "error":
			out.errors = append(out.errors, event.Message)
		case event.Type == "turn.failed":
			out.errors = append(out.errors, event.Error.Message)
		}
	}
	return out
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

// The model asks for a command, Codex runs it, and the model gets what it prints.
func TestCodexUsesATool(t *testing.T) {
	t.Parallel()
	e := keyedCodex(t)
	c := codex(t, e, e.APIKey, "")
	write(t, filepath.Join(c.work, "word.txt"), "the word is xylophone\n")
	e.Provider.Script("gpt-keyed", provider.Behavior{Tool: call(t, "exec_command", map[string]any{"cmd": "cat word.txt"})}, provider.Behavior{})
	c.askCodex(t, "Which word is in word.txt?").answered(t, "gpt-keyed")
	list := e.Provider.Calls()
	if len(list) != 2 || strings.Contains(string(list[0].Body), "xylophone") || !strings.Contains(string(list[1].Body), "the word is xylophone") {
		t.Errorf("the model was asked %d times and did not get the file: %s", len(list), list[len(list)-1].Body)
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

// What goes wrong is said in words. Of a 429 that is no plan's, Codex says the status
// only.
func TestCodexShowsErrors(t *testing.T) {
	t.Parallel()
	e := keyedCodex(t)
	e.AddTarget("limited", e.AddProvider("limited", "openai", "gpt-limited"), "gpt-limited", 1, nil)
	e.AddTarget("down", e.AddProvider("down", "openai", "gpt-down"), "gpt-down", 1, nil)
	e.Live()
	e.Provider.Script("gpt-limited", provider.Behavior{Kind: "insufficient_quota"})
	e.Provider.Script("gpt-down", provider.Behavior{Status: 503})
	wrongKey := e.APIKey[:len(e.APIKey)-1] + "~"
	for _, c := range []struct{ name, key, model, says string }{
		{"AllTargetsOutOfQuota", e.APIKey, "limited", "429 Too Many Requests, request id: req_"},
		{"AllTargetsDown", e.APIKey, "down", "every target of the route failed"},
		{"UnknownModel", e.APIKey, "nonsense", `the model "nonsense" does not exist`},
		{"RefusedKey", wrongKey, codexRoute, "the gateway key is not valid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			person := codex(t, e, c.key, "")
			// Else it asks again five times five, and waits each time what it is asked to.
			got := person.askCodex(t, "-c", "model_providers.spillway.request_max_retries=0", "-c", "model_providers.spillway.stream_max_retries=0",
				"--model", c.model, "Hello")
			if said := strings.Join(got.errors, "\n"); got.code != 1 || !strings.Contains(strings.ToLower(said), strings.ToLower(c.says)) {
				t.Errorf("says %q, want %q; %s", said, c.says, got.outcome)
			}
		})
	}
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
