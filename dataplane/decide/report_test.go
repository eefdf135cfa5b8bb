package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/api/node"
)

// twoPolicies is an organization with two routes over one upstream model: "strict"
// cools down after 2 failures, "lax" after 100.
func twoPolicies(t testing.TB, b *Board) (org *Org, strict, lax node.Cooldown) {
	t.Helper()
	strict, lax = node.DefaultCooldown(), node.DefaultCooldown()
	strict.FailureThreshold, lax.FailureThreshold = 2, 100
	s := &node.Snapshot{OrganizationID: uuid.UUID{1}, Version: 7, Providers: []node.Provider{
		{ID: uuid.UUID{2}, Name: "P", Family: "openai", BaseURL: "https://llm.example/v1", AuthType: "bearer_api_key", Enabled: true, Serving: true, Credential: &node.Sealed{}},
	}}
	for i, m := range []node.Mapping{
		{Alias: "m", Cooldown: &lax}, {Alias: "strict", BareAlias: true, Cooldown: &strict}, {Alias: "lax", BareAlias: true, Cooldown: &lax},
	} {
		m.ID, m.ProviderID, m.UpstreamModel, m.Enabled = uuid.UUID{3, byte(i)}, uuid.UUID{2}, "m", true
		s.Mappings = append(s.Mappings, m)
	}
	org, err := Compile(s, b)
	if err != nil {
		t.Fatal(err)
	}
	return org, strict, lax
}

func judgements(r node.RecordHealth) map[int]node.Judgement {
	out := map[int]node.Judgement{}
	for _, p := range r.Policies {
		out[p.Policy.FailureThreshold] = p.Judgement
	}
	return out
}

// A record is reported as each policy in use judges it, and by the strictest of them
// first. A policy that no target has any more says nothing.
func TestReportByPolicy(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	org, strict, _ := twoPolicies(t, b)
	if got := org.Report(now); len(got) != 0 {
		t.Errorf("before anything happened: %+v", got)
	}
	cell := org.Resolve("strict").Targets[0].Health.Cell
	gone := strict
	gone.FailureThreshold, gone.FirstSecs = 1, 300
	cell.View(gone)
	cell.Fold(own(0, node.HealthFailure))
	cell.Fold(own(1, node.HealthFailure))
	got := org.Report(at(2))
	if len(got) != 1 || len(got[0].Policies) != 2 {
		t.Fatalf("got %+v", got)
	}
	cooled := node.Judgement{State: node.StateEjected, Reason: "provider_errors", Multiplier: 1, RemainingMilli: 29_000,
		Transitions: []node.Transition{{From: "healthy", To: "ejected", Reason: "provider_errors", WindowMilli: 30_000, AgeMilli: 1000}}}
	if diff := cmp.Diff(cooled, got[0].Judgement); diff != "" {
		t.Errorf("the strictest (-want +got):\n%s", diff)
	}
	want := map[int]node.Judgement{2: cooled, 100: {State: node.StateHealthy, Failures: 2, Multiplier: 1}}
	if diff := cmp.Diff(want, judgements(got[0])); diff != "" {
		t.Errorf("by policy (-want +got):\n%s", diff)
	}
}

// What nodes report is put on another board: each policy judges there as it did, and
// is reported alike.
func TestAssumeIsTheReportBackwards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b := NewBoard()
		org, _, _ := twoPolicies(t, b)
		cell := org.Resolve("lax").Targets[0].Health.Cell
		secs := 0.0
		for range rapid.IntRange(1, 30).Draw(rt, "events") {
			secs += float64(rapid.IntRange(0, 20).Draw(rt, "gap"))
			cell.Fold(own(secs, rapid.SampledFrom(kinds).Draw(rt, "kind")))
		}
		moment := at(secs + float64(rapid.IntRange(0, 400).Draw(rt, "later")))
		for range rapid.IntRange(0, 4).Draw(rt, "probes") {
			org.Resolve("strict").Targets[0].Health.Admit(moment, 0)
		}
		reported := org.Report(moment)

		elsewhere := NewBoard()
		copied, _, _ := twoPolicies(t, elsewhere)
		elsewhere.Assume(org.ID, reported, moment)
		for _, name := range []string{"strict", "lax"} {
			there, here := copied.Resolve(name).Targets[0].Health, org.Resolve(name).Targets[0].Health
			if diff := cmp.Diff(here.judgement(moment), there.judgement(moment), cmpopts.IgnoreFields(node.Judgement{}, "Transitions")); diff != "" {
				rt.Errorf("%s (-reported +assumed):\n%s", name, diff)
			}
			got, want := there.Admit(moment, 0), here.Admit(moment, 0)
			if got.OK != want.OK || got.Reason != want.Reason || got.Until.Sub(want.Until).Abs() > time.Millisecond {
				rt.Errorf("%s: admits %+v, want %+v", name, got, want)
			}
		}
	})
}

// The strictest of two judgements keeps most requests away.
func TestStricter(t *testing.T) {
	t.Parallel()
	ordered := []node.Judgement{
		{State: node.StateEjected, RemainingMilli: 2}, {State: node.StateEjected, RemainingMilli: 1}, {State: node.StateHalfOpen},
		{State: node.StateHealthy, Failures: 2}, {State: node.StateHealthy},
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := Stricter(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%+v against %+v: got %d", a, b, got)
			}
		}
	}
}
