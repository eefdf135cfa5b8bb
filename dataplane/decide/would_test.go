package decide

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Would is what Next would find, on any route in any health, and leaves no trace.
func TestWouldIsWhatNextFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, at := route(4), now
		for _, target := range r.Targets {
			target.board = NewBoard()
			switch rapid.SampledFrom([]string{"Healthy", "Cooling", "Recovering", "Returning", "Disabled", "Dialect", "Seat"}).Draw(t, "state") {
			case "Cooling":
				target.Health.Cell.Own(happened{0, node.HealthRateLimited, 0, 100}.event())
			case "Recovering":
				target.Health.Cell.Own(happened{-60, node.HealthRateLimited, -60, 30}.event())
			case "Returning":
				h := target.Health.Health()
				h.ramp, h.healed = true, at.Add(-time.Second)
				target.Health.now.Store(&h)
			case "Disabled":
				target.Unservable = TargetDisabled
			case "Dialect":
				target.Provider.Endpoints = takes(llm.Messages)
			case "Seat":
				target.Provider.Auth = ClaudeOAuth
			}
		}
		var own Own
		if rapid.Bool().Draw(t, "own") {
			own = Own{Vendor: Claude, Hash: "h"}
		}
		seed := rapid.Uint64().Draw(t, "seed") * 0x9e3779b97f4a7c15 // else most are small: a chance of nearly 0
		asked := NewRun(r, llm.Chat, seed, own, nil)
		would := asked.Would(at)
		if len(asked.Attempts) != 0 || asked.at != 0 {
			t.Fatalf("a question left a trace: %+v", asked.Attempts)
		}
		for _, target := range r.Targets {
			if target.Health.Cell.probes != 0 {
				t.Fatal("a question took a probe's slot")
			}
		}
		run := NewRun(r, llm.Chat, seed, own, nil)
		next, admission, ok := run.Next(at)
		if ok {
			admission.Release()
		}
		if would != next {
			t.Fatalf("Would found %+v, Next %+v", would, next)
		}
	})
}
