package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

const (
	tokenA = "sk-ant-oat01-canary-of-a"
	tokenB = "sk-ant-oat01-canary-of-b"
)

// seats makes a route "claude": first people's own Claude subscriptions, then a
// provider with a stored key.
func seats(e *env.Env) {
	var p struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/providers", map[string]any{
		"name": "seats", "model_provider": "anthropic", "auth_type": "claude_oauth", "base_url": e.ProviderURL, "models": []string{"claude-seat"},
	}), &p)
	e.AddTarget("claude", p.ID, "claude-seat", 1, nil)
	e.AddTarget("only-seats", p.ID, "claude-seat", 1, nil)
	keyed := e.AddProvider("keyed", "anthropic", "claude-keyed")
	e.AddTarget("claude", keyed, "claude-keyed", 2, nil)
	e.Live()
}

// asClaude asks like Claude Code on a subscription; an empty token is none.
func asClaude(e *env.Env, node int, route, token string) env.Answer {
	header := map[string]string{
		"Anthropic-Version": "2023-06-01", "Anthropic-Beta": "oauth-2025-04-20,context-1m-2025-08-07", "User-Agent": "claude-cli/2.1.332 (external, cli)",
		"X-App": "cli", "X-Stainless-Lang": "js", "X-Claude-Code-Session-Id": "s-1", "Cookie": "c=1", "X-Forwarded-For": "10.0.0.1",
	}
	if token != "" {
		header["Authorization"] = "Bearer " + token
	}
	return e.Call(node, "/v1/messages?beta=true", fmt.Sprintf(`{ "model":%q, "max_tokens":50,"system":[{"type":"text","text":"x"}],"messages":[{"role":"user","content":"Hello"}]}`, route), header)
}

func attempt(a env.Answer) string { return a.Header.Get("X-Bd-Provider-Route-Attempt") }

// last is the newest request that a model's target saw.
func last(t *testing.T, e *env.Env, model string) provider.Request {
	t.Helper()
	list := e.Provider.Calls()
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Model == model {
			return list[i]
		}
	}
	t.Fatalf("%s was not asked", model)
	return provider.Request{}
}

// A caller's own token goes to its vendor with what the tool says of itself; the
// gateway key does not, and on another target neither does the token.
func TestOwnTokenGoesToItsVendorOnly(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	seats(e)
	if a := asClaude(e, 0, "claude", tokenA); a.Status != 200 || attempt(a) != "1" {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	seat := last(t, e, "claude-seat")
	for name, want := range map[string]string{
		"Authorization": "Bearer " + tokenA, "Anthropic-Beta": "oauth-2025-04-20,context-1m-2025-08-07", "User-Agent": "claude-cli/2.1.332 (external, cli)",
		"X-App": "cli", "X-Stainless-Lang": "js", "X-Claude-Code-Session-Id": "s-1", "X-Api-Key": "", "X-Bd-Api-Key": "", "Cookie": "", "X-Forwarded-For": "",
	} {
		if got := seat.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if seat.Query != "beta=true" || !strings.HasPrefix(string(seat.Body), `{ "model":"claude-seat", "max_tokens"`) {
		t.Errorf("query %q, body %s", seat.Query, seat.Body)
	}

	e.Provider.Script("claude-seat", provider.Behavior{Status: 503})
	a := asClaude(e, 0, "claude", tokenA)
	if a.Status != 200 || attempt(a) != "2" {
		t.Fatalf("status %d, attempt %s: %s", a.Status, attempt(a), a.Body)
	}
	keyed := last(t, e, "claude-keyed")
	if got := keyed.Header.Get("X-Api-Key"); got != "upstream-secret-of-keyed" {
		t.Errorf("the keyed target got credential %q", got)
	}
	for name, values := range keyed.Header {
		if text := strings.Join(values, " "); strings.Contains(text, "canary") || strings.Contains(text, "oauth-") {
			t.Errorf("the keyed target was sent %s: %s", name, text)
		}
	}
	if got := keyed.Header.Get("Anthropic-Beta"); got != "context-1m-2025-08-07" {
		t.Errorf("the keyed target got betas %q", got)
	}
	if logs := e.Logs(); strings.Contains(logs, "canary") {
		t.Error("the log holds a caller's token")
	}
}

// Without a token a passthrough target is a 401 at once; the rest of the route is
// not walked, since it would answer from another account than the tool asked for.
func TestPassthroughWithoutTokenIs401(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	seats(e)
	a := asClaude(e, 0, "claude", "")
	if a.Status != 401 || a.Header.Get("X-Should-Retry") != "false" || a.Header.Get("X-Bd-Error-Origin") != "gateway" || !strings.Contains(string(a.Body), "authentication_error") {
		t.Errorf("status %d, headers %v: %s", a.Status, a.Header, a.Body)
	}
	if n := len(e.Provider.Calls()); n != 0 {
		t.Errorf("%d requests went upstream", n)
	}
}

// One person's exhausted seat cools down for that person only, on every node; the
// next person's is not touched.
func TestExhaustedSeatConcernsItsOwnerOnly(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	seats(e)
	e.Provider.ScriptKey("claude-seat", tokenA, provider.Behavior{Status: 429, RetryAfter: "250", Headers: map[string]string{
		"Anthropic-Ratelimit-Unified-Status": "rejected", "Anthropic-Ratelimit-Unified-Reset": fmt.Sprint(time.Now().Add(4 * time.Hour).Unix())}})
	a := asClaude(e, 0, "claude", tokenA)
	if a.Status != 200 || attempt(a) != "2" || a.Header.Get("Anthropic-Ratelimit-Unified-Status") != "" {
		t.Fatalf("status %d, attempt %s, headers %v: %s", a.Status, attempt(a), a.Header, a.Body)
	}
	before := asked(e, "claude-seat")
	within(t, 2*time.Second, "node 2 to know of the seat", func() bool {
		return asClaude(e, 1, "claude", tokenA).Header.Get("X-Bd-Provider-Failover-Count") == "0"
	})
	seen := asked(e, "claude-seat")
	if seen > before+1 { // at most one that was faster than the bus
		t.Errorf("the exhausted seat was asked %d times more", seen-before)
	}
	for node := range 2 {
		if a := asClaude(e, node, "claude", tokenA); attempt(a) != "2" {
			t.Errorf("node %d: attempt %s", node, attempt(a))
		}
		if a := asClaude(e, node, "claude", tokenB); a.Status != 200 || attempt(a) != "1" {
			t.Errorf("node %d: another person's seat: status %d, attempt %s: %s", node, a.Status, attempt(a), a.Body)
		}
	}
	only := asClaude(e, 0, "only-seats", tokenA)
	if only.Status != 429 || only.Header.Get("Retry-After") == "" {
		t.Errorf("a route of seats alone: status %d, Retry-After %q: %s", only.Status, only.Header.Get("Retry-After"), only.Body)
	}
}

// A token that the provider rejects is not sent again and again, and its owner is
// told to sign in.
func TestRejectedTokenConcernsItsOwnerOnly(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	seats(e)
	e.Provider.ScriptKey("claude-seat", tokenA, provider.Behavior{Status: 401})
	if a := asClaude(e, 0, "only-seats", tokenA); a.Status != 401 || a.Header.Get("X-Bd-Error-Origin") != "provider" {
		t.Errorf("status %d from %s: %s", a.Status, a.Header.Get("X-Bd-Error-Origin"), a.Body)
	}
	before := asked(e, "claude-seat")
	a := asClaude(e, 0, "only-seats", tokenA)
	if a.Status != 401 || !strings.Contains(string(a.Body), "upstream_credential_rejected") || asked(e, "claude-seat") != before {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
	if a := asClaude(e, 0, "claude", tokenA); a.Status != 200 || attempt(a) != "2" {
		t.Errorf("with another target: status %d, attempt %s: %s", a.Status, attempt(a), a.Body)
	}
	if a := asClaude(e, 0, "only-seats", tokenB); a.Status != 200 {
		t.Errorf("another person: status %d: %s", a.Status, a.Body)
	}
}

// Who brought a credential with a key of their own is told how it stands, and it is nobody else's
// business: not of who reads the routes as a machine.
func TestPeopleAreToldOfTheirOwnCredential(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	seats(e)
	ask := asAdministrator(t, e)
	var me struct{ ID string }
	ask("/user/profile", &me)
	var laptop struct{ Key string }
	e.Must(e.Admin(http.MethodPost, "/api-keys", map[string]any{"name": "laptop", "user_id": me.ID}), &laptop)
	e.APIKey = laptop.Key
	e.Live()
	e.Provider.ScriptKey("claude-seat", tokenA, provider.Behavior{Status: 401})
	if a := asClaude(e, 1, "only-seats", tokenA); a.Status != 401 {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	type health struct{ Scope, Reason string }
	within(t, 10*time.Second, "the person to be told", func() bool {
		var own struct {
			Models []struct {
				Alias  string  `json:"model_alias"`
				Health *health `json:"route_health_status"`
			}
		}
		ask("/user/models", &own)
		for _, m := range own.Models {
			if m.Alias == "only-seats" {
				return m.Health != nil && *m.Health == health{"current_credential", "auth_failed"}
			}
		}
		return false
	})
	var route struct {
		Targets []struct {
			Health *health `json:"route_health_status"`
		}
	}
	if e.Must(e.Admin(http.MethodGet, "/routes/only-seats", nil), &route); len(route.Targets) != 1 || route.Targets[0].Health != nil {
		t.Errorf("a machine is told %+v", route.Targets)
	}
}

// A server that fails is no matter of one person's.
func TestServerErrorsOfSeatsConcernEveryone(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	seats(e)
	e.Provider.ScriptKey("claude-seat", tokenA, provider.Behavior{Status: 529, RetryAfter: "100"})
	asClaude(e, 0, "claude", tokenA)
	if a := asClaude(e, 0, "claude", tokenB); a.Status != 200 || attempt(a) != "2" || a.Header.Get("X-Bd-Provider-Failover-Count") != "0" {
		t.Errorf("status %d, attempt %s, failovers %s", a.Status, attempt(a), a.Header.Get("X-Bd-Provider-Failover-Count"))
	}
}
