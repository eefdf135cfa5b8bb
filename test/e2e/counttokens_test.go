package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

const countPath = "/v1/messages/count_tokens"

// count asks for a route's count of tokens like Claude Code.
func count(e *env.Env, base, route string, header map[string]string) env.Answer {
	return e.Call(0, base+countPath+"?beta=true", fmt.Sprintf(`{ "model":%q,"messages":[{"role":"user","content":"Hello"}]}`, route), header)
}

func tokens(t *testing.T, e *env.Env, a env.Answer) int64 {
	t.Helper()
	var said struct {
		InputTokens int64 `json:"input_tokens"`
	}
	e.Must(a, &said)
	if said.InputTokens <= 0 {
		t.Errorf("no tokens in %s", a.Body)
	}
	return said.InputTokens
}

// A count is the provider's own, with the credential that a message would go with.
func TestCountGoesWhereAMessageWould(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	seats(e)
	own := map[string]string{"Authorization": "Bearer " + tokenA, "Anthropic-Beta": "oauth-2025-04-20", "Anthropic-Version": "2023-06-01"}
	a := count(e, "/api/llm-gateway", "claude", own)
	tokens(t, e, a)
	seat := last(t, e, "claude-seat")
	if attempt(a) != "1" || seat.Path != countPath || seat.Query != "beta=true" || seat.Header.Get("Authorization") != "Bearer "+tokenA || len(seat.Problems) > 0 {
		t.Errorf("attempt %s by %s?%s with %q: %q", attempt(a), seat.Path, seat.Query, seat.Header.Get("Authorization"), seat.Problems)
	}
	if got, want := string(seat.Body), `{ "model":"claude-seat","messages":[{"role":"user","content":"Hello"}]}`; got != want {
		t.Errorf("the provider got %s, want %s", got, want)
	}
	a = count(e, "", "keyed/claude-keyed", map[string]string{"Anthropic-Version": "2023-06-01"})
	tokens(t, e, a)
	if keyed := last(t, e, "claude-keyed"); keyed.Path != countPath || keyed.Header.Get("X-Api-Key") != "upstream-secret-of-keyed" || len(keyed.Problems) > 0 {
		t.Errorf("%s with %q: %q", keyed.Path, keyed.Header.Get("X-Api-Key"), keyed.Problems)
	}
	for name, c := range map[string]struct {
		route  string
		header map[string]string
		status int
		says   string
	}{
		"UnknownModel": {"nothing", nil, 404, "not_found_error"},
		"BadKey":       {"claude", map[string]string{"X-Bd-Api-Key": "bd-nobody"}, 401, "authentication_error"},
	} {
		if a := count(e, "", c.route, c.header); a.Status != c.status || !strings.Contains(string(a.Body), c.says) {
			t.Errorf("%s: status %d: %s", name, a.Status, a.Body)
		}
	}
}

// A provider that does not count, however often it is asked, serves as before.
func TestCountsThatFailTouchNoHealth(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	first, _ := pair(e, "counted", "anthropic", map[string]any{"cooldown_failure_threshold": 1})
	e.Live()
	for _, status := range []int{404, 401, 429, 500} {
		e.Provider.Script(countPath, provider.Behavior{Status: status})
		var all sync.WaitGroup
		for range 25 { // as many as Claude Code asks at once
			all.Go(func() { tokens(t, e, count(e, "", "counted", nil)) })
		}
		all.Wait()
		if a := e.Messages(0, "counted", false); a.Status != 200 || attempt(a) != "1" {
			t.Errorf("after counts that were answered %d: status %d by attempt %s", status, a.Status, attempt(a))
		}
	}
	if list := health(e).Routes; len(list) > 0 {
		t.Errorf("health has records: %+v", list)
	}
	if n := asked(e, first); n != 4*25+4 {
		t.Errorf("the first target was asked %d times", n)
	}
}

func TestAnthropicSDKsCountTokens(t *testing.T) {
	t.Parallel()
	if err := installClients(); err != nil {
		t.Fatal(err)
	}
	e := env.Start(t, env.Options{})
	pair(e, "own-count", "anthropic", nil)
	pair(e, "estimate", "openai", nil)
	e.Live()
	for name, ask := range map[string]func(context.Context, sdkCall) (sdkOutcome, error){
		"anthropic-go": askCount, "anthropic-node": startNode(t, "anthropic.mjs", "@anthropic-ai/sdk").ask,
	} {
		for route, attempt := range map[string]string{"own-count": "1", "estimate": ""} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			got, err := ask(ctx, sdkCall{"count", e.Info.GatewayURLs[0], e.APIKey, route})
			cancel()
			if err != nil || got.Error != nil || got.Tokens <= 0 || got.Route != (routeHeader{attempt, "2", "0"}) {
				t.Errorf("%s of %s: %+v, %v, %v", name, route, got, got.Error, err)
			}
		}
	}
}

func askCount(ctx context.Context, c sdkCall) (got sdkOutcome, _ error) {
	client := anthropic.NewClient(anthropicoption.WithoutEnvironmentDefaults(), anthropicoption.WithBaseURL(c.BaseURL),
		anthropicoption.WithAPIKey(c.Key), anthropicoption.WithMaxRetries(0))
	var resp *http.Response
	n, err := client.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: c.Model,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello"))}}, anthropicoption.WithResponseInto(&resp))
	if err != nil {
		return got, got.fail(err)
	}
	got.Tokens = n.InputTokens
	got.read(resp)
	return got, nil
}
