package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// counting is the count of tokens as the bed asks for it.
func counting(family, baseURL, auth string) *dialect {
	return &dialect{
		name: "CountTokens", path: "/v1/messages/count_tokens", family: family, baseURL: baseURL, auth: auth,
		request: `{"model":%q,"stream":%t,"messages":[{"role":"user","content":"How many tokens is this text about nothing?"}]}`,
		whole:   `{"input_tokens":7,"said_by":%q}`,
	}
}

func anthropicCount() *dialect { return counting("anthropic", "http://provider.test", "x_api_key") }

// tokens is the count of an answer.
func (b *bed) tokens(a reply) int64 {
	b.t.Helper()
	var said struct {
		InputTokens int64 `json:"input_tokens"`
	}
	if err := json.Unmarshal([]byte(a.body), &said); err != nil || a.status != http.StatusOK || a.broken != nil {
		b.t.Errorf("status %d, broken %v, %v: %s", a.status, a.broken, err, a.body)
	}
	return said.InputTokens
}

// untouched checks that a count left no trace in health and asked nobody else.
func (b *bed) untouched() {
	b.t.Helper()
	if told := append(b.watch.told("first"), b.watch.told("second")...); len(told) > 0 {
		b.t.Errorf("health heard of a count: %v", told)
	}
	if n := len(b.asked("second")); n > 0 {
		b.t.Errorf("a count failed over: the second target was asked %d times", n)
	}
}

func TestCountIsTheProvidersOwn(t *testing.T) {
	t.Parallel()
	bubble(t, anthropicCount(), pair(node.Mapping{}), func(t *testing.T, b *bed) {
		a := b.ask(false)
		if want := b.answer("first"); a.status != http.StatusOK || a.body != want || a.header.Get("X-Bd-Provider-Route-Attempt") != "1" {
			t.Errorf("status %d by attempt %q: %s, want %s", a.status, a.header.Get("X-Bd-Provider-Route-Attempt"), a.body, want)
		}
		if calls := b.asked("first"); len(calls) != 1 || calls[0].r.URL.Path != b.path || calls[0].r.Header.Get("X-Api-Key") != "k" {
			t.Errorf("the provider was asked wrongly: %+v", calls)
		}
		b.untouched()
	})
}

// Whatever goes wrong at the provider, the caller gets an estimate, and nobody's health
// hears of it.
func TestCountIsEstimatedWhereTheProviderFails(t *testing.T) {
	t.Parallel()
	refuse := func(status int) script { return func(c *call) { c.refuse(status) } }
	for name, c := range map[string]struct {
		script script
		took   time.Duration
	}{
		"401": {refuse(401), 0}, "403": {refuse(403), 0}, "404": {refuse(404), 0}, "405": {refuse(405), 0}, "429": {refuse(429), 0},
		"500": {refuse(500), 0}, "529": {refuse(529), 0}, "302": {refuse(302), 0},
		"QuotaIn400": {func(c *call) {
			c.w.WriteHeader(400)
			c.say(`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`)
		}, 0},
		"HTML": {func(c *call) { c.say("<html>") }, 0}, "Empty": {func(c *call) { c.say("") }, 0}, "NoCount": {func(c *call) { c.say(`{"tokens":3}`) }, 0},
		"Negative": {func(c *call) { c.say(`{"input_tokens":-1}`) }, 0},
		"Reset":    {func(c *call) { c.cut("", true) }, 0},
		"CutShort": {func(c *call) { c.cut("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"input_tokens\":7}", false) }, 0},
		"Hang":     {(*call).hang, 10 * time.Second},
		"Silent":   {func(c *call) { c.say(`{"input_tok`); c.hang() }, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, anthropicCount(), pair(node.Mapping{}), func(t *testing.T, b *bed) {
				b.on("first", c.script)
				a := b.ask(false)
				if got, want := b.tokens(a), llm.Estimate([]byte(b.body("r", false))); got != want {
					t.Errorf("got %d tokens, want the estimate %d", got, want)
				}
				if a.took != c.took {
					t.Errorf("took %s, want %s", a.took, c.took)
				}
				if n := a.header.Get("X-Bd-Provider-Route-Attempt"); n != "" {
					t.Errorf("an estimate is nobody's answer, and says target %s", n)
				}
				b.untouched()
			})
		})
	}
}

func TestCountOfABadRequestIsRefusedAsTheProviderSaysIt(t *testing.T) {
	t.Parallel()
	bubble(t, anthropicCount(), pair(node.Mapping{}), func(t *testing.T, b *bed) {
		b.on("first", func(c *call) { c.refuse(http.StatusBadRequest) })
		if a := b.ask(false); a.status != http.StatusBadRequest || !strings.HasPrefix(a.body, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}`) || a.header.Get("X-Bd-Error-Origin") != "provider" {
			t.Errorf("status %d, origin %q: %s", a.status, a.header.Get("X-Bd-Error-Origin"), a.body)
		}
		b.untouched()
	})
}

// A provider of another dialect has no such count, and is not asked for one.
func TestCountIsEstimatedForOtherDialects(t *testing.T) {
	t.Parallel()
	bubble(t, counting("openai", "http://provider.test/v1", "bearer_api_key"), pair(node.Mapping{}), func(t *testing.T, b *bed) {
		if got, want := b.tokens(b.ask(false)), llm.Estimate([]byte(b.body("r", false))); got != want || b.dials.Load() != 0 {
			t.Errorf("got %d tokens, want the estimate %d; dialed %d times", got, want, b.dials.Load())
		}
		b.untouched()
	})
}
