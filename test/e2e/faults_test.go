package e2e

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// Ten thousand requests, of which three in ten meet a fault at their first target:
// with one healthy target on the route, no caller sees any of it.
func TestFaultsAreInvisibleToCallers(t *testing.T) {
	t.Parallel()
	const requests, callers, seed = 10_000, 32, 20261129
	e := env.Start(t, env.Options{Nodes: 2})
	faults := []provider.Behavior{
		{Status: 500}, {Status: 503}, {Status: 429, RetryAfter: "0"}, {Status: 529, RetryAfter: "0"}, {Status: 404}, {Reset: true}, {HTML: true}, {Empty: true},
		{Malformed: true}, {ErrorType: "overloaded_error"}, {CutAfter: -1}, {Kind: "long_context"},
	}
	chance := rand.New(rand.NewPCG(seed, seed))
	script := func() (list []provider.Behavior) {
		for range requests / 2 {
			b := provider.Behavior{}
			if chance.IntN(10) < 3 {
				b = faults[chance.IntN(len(faults))]
			}
			list = append(list, b)
		}
		return append(list, provider.Behavior{})
	}
	for _, family := range slices.Sorted(maps.Keys(endings)) { // the same faults for the same seed
		id := e.AddProvider(family, vendor(family), family+"-bad", family+"-worse", family+"-good")
		for i, model := range []string{"-bad", "-worse", "-good"} {
			// Without cooldowns, so that the faulty targets go on being asked.
			e.AddTarget(family, id, family+model, i, map[string]any{"cooldown_failure_threshold": 0})
		}
		e.Provider.Script(family+"-bad", script()...)
		e.Provider.Script(family+"-worse", script()...)
	}
	e.Live()
	var next, failedOver atomic.Int64
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for i := next.Add(1); i <= requests && !t.Failed(); i = next.Add(1) {
				family, stream := [...]string{"openai", "anthropic", responses}[i%3], i%4 < 2
				a := call(e, int(i)%2, family, family, stream)
				end := endings[family].good
				if a.Status != 200 || a.Broken != nil || stream && !strings.Contains(string(a.Body), end) || !strings.Contains(string(a.Body), "Hello from") && !stream {
					t.Errorf("seed %d, request %d (%s, stream %v): status %d, broken %v: %s", seed, i, family, stream, a.Status, a.Broken, a.Body)
				}
				if a.Header.Get("X-Bd-Provider-Failover-Count") != "0" {
					failedOver.Add(1)
				}
			}
		})
	}
	running.Wait()
	if n := failedOver.Load(); n < requests/5 {
		t.Errorf("only %d requests failed over: the faults were not injected", n)
	}
}
