package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// A request that waits out a rate limit does not come back to a target that has begun to
// cool down meanwhile: it goes on to the next one.
func TestAWaitingRetryLeavesACoolingTarget(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	first, _ := pair(e, "waits", "openai", map[string]any{"retry_on_429_count": 3, "retry_on_429_max_wait_secs": 5})
	e.Live()
	e.Provider.Script(first, provider.Behavior{Status: 429, RetryAfter: "60"})
	waited := make(chan env.Answer, 1)
	go func() { waited <- e.Chat(0, "waits", false) }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := e.Provider.Await(ctx, func([]provider.Request) bool { return len(e.Provider.Calls()) > 0 }); err != nil {
		t.Fatal(err)
	}
	if a := e.Chat(0, "waits/"+first, false); a.Status != 429 {
		t.Fatalf("got %d: %s", a.Status, a.Body)
	}
	a := <-waited
	if a.Status != 200 || a.Header.Get("X-Bd-Provider-Route-Attempt") != "2" || a.Header.Get("X-Bd-Provider-Failover-Count") != "1" || asked(e, first) != 2 {
		t.Errorf("status %d by attempt %s after %d requests to the first: %s", a.Status, a.Header.Get("X-Bd-Provider-Route-Attempt"), asked(e, first), a.Body)
	}
}
