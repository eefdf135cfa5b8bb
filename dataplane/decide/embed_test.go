package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Vectors of two models must never mix: whatever happens to the targets of the route's
// model, those of another are not asked.
func TestEmbeddingsStayWithOneModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*Route)
		want    []string // what becomes of the targets, each of which fails
		status  int
		after   int // Retry-After
	}{
		"AllFail": {func(*Route) {}, []string{"1 server_error", "2 different_embedding_model", "3 server_error", "4 different_embedding_model"}, 503, 0},
		"AllCool": {func(r *Route) {
			for _, i := range []int{0, 2} {
				r.Targets[i].Health.Cell.Own(happened{0, node.HealthRateLimited, 0, 20}.event())
			}
		}, []string{"1 cooling_down", "2 different_embedding_model", "3 cooling_down", "4 different_embedding_model"}, 429, 20},
		"FirstCools": {func(r *Route) { r.Targets[0].Health.Cell.Own(happened{0, node.HealthRateLimited, 0, 20}.event()) },
			[]string{"1 cooling_down", "2 different_embedding_model", "3 server_error", "4 different_embedding_model"}, 503, 0},
		"FirstDisabled": {func(r *Route) { r.Targets[0].Unservable = TargetDisabled },
			[]string{"1 target_disabled", "2 server_error", "3 different_embedding_model", "4 server_error"}, 503, 0},
		"FirstTakesNone": {func(r *Route) { r.Targets[0].Provider.Endpoints = takes(llm.Messages) },
			[]string{"1 dialect_not_supported", "2 server_error", "3 different_embedding_model", "4 server_error"}, 503, 0},
		// The one that is entered says whether it may be.
		"OtherMayStandIn": {func(r *Route) { r.Targets[1].AnyVectors = true },
			[]string{"1 server_error", "2 server_error", "3 server_error", "4 different_embedding_model"}, 503, 0},
		"OtherStandsInForCooling": {func(r *Route) {
			r.Targets[3].AnyVectors = true
			for _, i := range []int{0, 2} {
				r.Targets[i].Health.Cell.Own(happened{0, node.HealthRateLimited, 0, 20}.event())
			}
		}, []string{"1 cooling_down", "2 different_embedding_model", "3 cooling_down", "4 server_error"}, 503, 0},
		// One that may stand in opens no way for those after it, of its own model neither.
		"FirstMayBeLeft": {func(r *Route) { r.Targets[0].AnyVectors = true },
			[]string{"1 server_error", "2 different_embedding_model", "3 server_error", "4 different_embedding_model"}, 503, 0},
		"StandInFirst": {func(r *Route) { r.Targets[0].Unservable, r.Targets[2].AnyVectors = TargetDisabled, true },
			[]string{"1 target_disabled", "2 server_error", "3 server_error", "4 server_error"}, 503, 0},
		"NoneTakes": {func(r *Route) {
			for _, t := range r.Targets {
				t.Provider.Endpoints = takes(llm.Chat)
			}
		}, []string{"1 dialect_not_supported", "2 dialect_not_supported", "3 dialect_not_supported", "4 dialect_not_supported"}, 400, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := route(4)
			for i, target := range r.Targets {
				target.UpstreamModel = []string{"small", "large"}[i%2]
				target.Provider.Endpoints = takes(llm.Chat, llm.Embeddings)
			}
			c.prepare(r)
			run := NewRun(r, llm.Embeddings, 1, Own{}, nil)
			for {
				target, _, ok := run.Next(now)
				if !ok {
					break
				}
				run.Fail(target, verdict(503), 0)
			}
			e := run.Exhausted() // puts the attempts in order
			var got []string
			for _, a := range run.Attempts {
				got = append(got, string(rune('0'+a.Position))+" "+a.Reason)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if e.Status != c.status || e.RetryAfter != c.after {
				t.Errorf("got status %d after %d s, want %d after %d s", e.Status, e.RetryAfter, c.status, c.after)
			}
		})
	}
}
