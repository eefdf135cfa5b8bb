package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// Tokens of ChatGPT plans, in the form of a JWT.
const (
	jwtA = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnktYSJ9.Y2FuYXJ5LW9mLWE"
	jwtB = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnktYiJ9.Y2FuYXJ5LW9mLWI"
)

// plans makes a route "codex": first people's own ChatGPT plans, then a provider with a
// stored key; and a route of the plans alone.
func plans(e *env.Env) {
	var p struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/providers", map[string]any{
		"name": "plans", "model_provider": "openai", "auth_type": "codex_oauth", "base_url": e.ProviderURL + "/backend-api/codex", "models": []string{"gpt-seat"},
	}), &p)
	e.AddTarget("codex", p.ID, "gpt-seat", 1, nil)
	e.AddTarget("only-plans", p.ID, "gpt-seat", 1, nil)
	keyed := e.AddProvider("keyed", "openai", "gpt-keyed")
	e.AddTarget("codex", keyed, "gpt-keyed", 2, nil)
	e.Live()
}

// codexHeaders is what Codex says of itself and of its account.
var codexHeaders = map[string]string{
	"Chatgpt-Account-Id": "acc-canary", "Originator": "codex_cli_rs", "Session_id": "s-canary", "Session-Id": "s-canary", "Conversation_id": "c-canary", "Version": "0.99.0",
	"Openai-Beta": "responses=experimental", "User-Agent": "codex_cli_rs/0.99.0", "X-Codex-Turn-State": "t-canary", "X-Codex-Beta-Features": "f", "Accept": "text/event-stream",
}

// asCodex asks like Codex signed in with ChatGPT; an empty token is none.
func asCodex(e *env.Env, node int, route, token string) env.Answer {
	header := map[string]string{"Cookie": "c=canary", "X-Forwarded-For": "10.0.0.1"}
	for name, value := range codexHeaders {
		header[name] = value
	}
	if token != "" {
		header["Authorization"] = "Bearer " + token
	}
	return e.Call(node, "/v1/responses", codexBody(route), header)
}

// codexBody is shaped like what Codex sends.
func codexBody(route string) string {
	return fmt.Sprintf(`{ "model":%q,"instructions":"","input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"x"}]},`+
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}],"tools":[{"type":"namespace","name":"n","tools":[]}],"reasoning":{"effort":"medium"},`+
		`"store":false,"stream":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"s"}`, route)
}

// A caller's own token goes to ChatGPT with what the tool says of itself; on failover
// the keyed target gets neither, and nothing of the account.
func TestOwnPlanGoesToItsVendorOnly(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	plans(e)
	a := asCodex(e, 0, "codex", jwtA)
	if a.Status != 200 || attempt(a) != "1" || !strings.Contains(string(a.Body), "event: response.completed") || a.Header.Get("X-Codex-Primary-Used-Percent") != "12" {
		t.Fatalf("status %d, headers %v: %s", a.Status, a.Header, a.Body)
	}
	seat := last(t, e, "gpt-seat")
	for name, want := range codexHeaders {
		if got := seat.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"Authorization": "Bearer " + jwtA, "X-Bd-Api-Key": "", "X-Api-Key": "", "Cookie": "", "X-Forwarded-For": ""} {
		if got := seat.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if want := codexBody("gpt-seat"); string(seat.Body) != want || seat.Path != "/backend-api/codex/responses" {
		t.Errorf("%s got %s, want %s", seat.Path, seat.Body, want)
	}

	e.Provider.Script("gpt-seat", provider.Behavior{Status: 500})
	a = asCodex(e, 0, "codex", jwtA)
	if a.Status != 200 || attempt(a) != "2" || a.Header.Get("X-Codex-Primary-Used-Percent") != "" {
		t.Fatalf("status %d, headers %v: %s", a.Status, a.Header, a.Body)
	}
	keyed := last(t, e, "gpt-keyed")
	if got := keyed.Header.Get("Authorization"); got != "Bearer upstream-secret-of-keyed" || len(keyed.Problems) > 0 {
		t.Errorf("the keyed target got credential %q, problems %q", got, keyed.Problems)
	}
	for name, values := range keyed.Header {
		if strings.Contains(strings.Join(values, " "), "canary") {
			t.Errorf("the keyed target was sent %s: %s", name, values)
		}
	}
	if logs := e.Logs(); strings.Contains(logs, jwtA) || strings.Contains(logs, "canary") {
		t.Error("the log holds something of a caller's account")
	}
}

// Codex sends its body compressed; the vendor is sent it as it was before.
func TestCompressedBodyReachesTheVendorPlain(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	plans(e)
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	header := map[string]string{"Authorization": "Bearer " + jwtA, "Chatgpt-Account-Id": "acc-canary", "Content-Encoding": "zstd"}
	a := e.Call(0, "/v1/responses", string(w.EncodeAll([]byte(codexBody("only-plans")), nil)), header)
	seat := last(t, e, "gpt-seat")
	if a.Status != 200 || string(seat.Body) != codexBody("gpt-seat") || len(seat.Problems) > 0 {
		t.Errorf("status %d, sent %s, problems %q: %s", a.Status, seat.Body, seat.Problems, a.Body)
	}
}

// What the plan's backend refuses comes back as it said it: Codex reads "detail".
func TestDetailComesBackAsItIs(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	plans(e)
	body := strings.Replace(codexBody("codex"), "{", `{"max_output_tokens":9,`, 1)
	a := e.Call(0, "/v1/responses", body, map[string]string{"Authorization": "Bearer " + jwtA, "Chatgpt-Account-Id": "acc-canary"})
	if a.Status != 400 || string(a.Body) != `{"detail":"Unsupported parameter: max_output_tokens"}` || a.Header.Get("X-Bd-Error-Origin") != "provider" {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
	if n := asked(e, "gpt-keyed"); n != 0 {
		t.Errorf("the keyed target was asked %d times", n)
	}
}

// Without a token of ChatGPT's the answer is a 401 at once: a Claude token is none,
// and goes nowhere; nor does a ChatGPT token go to Claude.
func TestForeignTokenIsNone(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	plans(e)
	var p struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/providers", map[string]any{
		"name": "seats", "model_provider": "anthropic", "auth_type": "claude_oauth", "base_url": e.ProviderURL, "models": []string{"claude-seat"},
	}), &p)
	e.AddTarget("codex", p.ID, "claude-seat", 0, nil) // both kinds on one route
	e.AddTarget("claude", p.ID, "claude-seat", 1, nil)
	e.Live()
	for name, token := range map[string]string{"None": "", "Claude": tokenA, "OpenAIKey": "sk-proj-canary", "NoJWT": "eyJhbGciOiJSUzI1NiJ9.only-two"} {
		a := asCodex(e, 0, "codex", token)
		if a.Status != 401 || a.Header.Get("X-Should-Retry") != "false" || a.Header.Get("X-Bd-Error-Origin") != "gateway" ||
			!strings.Contains(string(a.Body), `"code":"upstream_credential_missing"`) || !strings.Contains(string(a.Body), "ChatGPT subscription") {
			t.Errorf("%s: status %d, headers %v: %s", name, a.Status, a.Header, a.Body)
		}
	}
	if a := asClaude(e, 0, "claude", jwtA); a.Status != 401 || !strings.Contains(string(a.Body), "Claude subscription") {
		t.Errorf("a ChatGPT token for Claude: status %d: %s", a.Status, a.Body)
	}
	if n := len(e.Provider.Calls()); n != 0 {
		t.Errorf("%d requests went upstream", n)
	}
	// On the same route each tool gets its own vendor.
	if a := asCodex(e, 0, "codex", jwtA); a.Status != 200 || attempt(a) != "2" {
		t.Errorf("Codex: status %d, attempt %s: %s", a.Status, attempt(a), a.Body)
	}
	if a := asClaude(e, 0, "codex", tokenA); a.Status != 200 || attempt(a) != "1" {
		t.Errorf("Claude: status %d, attempt %s: %s", a.Status, attempt(a), a.Body)
	}
}

// One person's used-up plan cools down for that person only, on every node.
func TestUsedUpPlanConcernsItsOwnerOnly(t *testing.T) {
	t.Parallel()
	for name, behavior := range map[string]provider.Behavior{
		"RateLimit":  {Status: 429}, // with x-codex windows that are used up
		"UsageLimit": {Kind: "usage_limit"},
		"InStream":   {ErrorType: "insufficient_quota", ErrorEventAfter: -1},
		"Rejected":   {Status: 401},
		"Forbidden":  {Status: 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := env.Start(t, env.Options{Nodes: 2})
			plans(e)
			e.Provider.ScriptKey("gpt-seat", jwtA, behavior)
			if a := asCodex(e, 0, "codex", jwtA); a.Status != 200 || attempt(a) != "2" {
				t.Fatalf("status %d, attempt %s: %s", a.Status, attempt(a), a.Body)
			}
			within(t, 2*time.Second, "node 2 to know of the plan", func() bool {
				return asCodex(e, 1, "codex", jwtA).Header.Get("X-Bd-Provider-Failover-Count") == "0"
			})
			before := asked(e, "gpt-seat")
			for node := range 2 {
				a := asCodex(e, node, "only-plans", jwtA)
				switch rejected := behavior.Status == 401 || behavior.Status == 403; {
				case rejected && (a.Status != 401 || !strings.Contains(string(a.Body), "upstream_credential_rejected")):
					t.Errorf("node %d: a rejected plan: status %d: %s", node, a.Status, a.Body)
				case !rejected && (a.Status != 429 || a.Header.Get("Retry-After") == ""):
					t.Errorf("node %d: status %d, Retry-After %q: %s", node, a.Status, a.Header.Get("Retry-After"), a.Body)
				}
			}
			if n := asked(e, "gpt-seat"); n != before {
				t.Errorf("the plan was asked %d times more", n-before)
			}
			for node := range 2 {
				if a := asCodex(e, node, "codex", jwtB); a.Status != 200 || attempt(a) != "1" {
					t.Errorf("node %d: another person: status %d, attempt %s: %s", node, a.Status, attempt(a), a.Body)
				}
			}
		})
	}
}

// A server that fails is no matter of one person's.
func TestServerErrorsOfPlansConcernEveryone(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	plans(e)
	e.Provider.ScriptKey("gpt-seat", jwtA, provider.Behavior{ErrorType: "overloaded_error", ErrorEventAfter: -1, RetryAfter: "100"})
	if a := asCodex(e, 0, "codex", jwtA); a.Status != 200 || attempt(a) != "2" {
		t.Fatalf("status %d, attempt %s: %s", a.Status, attempt(a), a.Body)
	}
	if a := asCodex(e, 0, "codex", jwtB); a.Status != 200 || attempt(a) != "2" || a.Header.Get("X-Bd-Provider-Failover-Count") != "0" {
		t.Errorf("status %d, attempt %s, failovers %s", a.Status, attempt(a), a.Header.Get("X-Bd-Provider-Failover-Count"))
	}
}

// A plan has no chat completions: on that surface the target is skipped, whatever the
// caller brought.
func TestPlansTakeResponsesOnly(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	plans(e)
	if a := e.Chat(0, "codex", false); a.Status != 200 || attempt(a) != "2" {
		t.Errorf("status %d, attempt %s: %s", a.Status, attempt(a), a.Body)
	}
	if a := e.Chat(0, "only-plans", false); a.Status != 400 || !strings.Contains(string(a.Body), "endpoint_not_supported") {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
}

// What Codex tries first, over a real connection.
func TestWebSocketUpgradeIsRefused(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.Info.GatewayURLs[0]+"/v1/responses", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUpgradeRequired || resp.Header.Get("Upgrade") == "" {
		t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
	}
}
