package decide

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// outboxOf returns an outbox and a target whose results it takes.
func outboxOf() (*Outbox, *Target) {
	r := route(1)
	return NewOutbox("n", uuid.New), r.Targets[0]
}

// claude is a caller's own credential that the targets here are asked with.
func claude(hash string) Own { return Own{Vendor: Claude, Hash: hash} }

func observe(o *Outbox, target *Target, status int, secs float64) bool {
	a := target.Health.Admit(at(secs), 0)
	defer a.Release()
	return o.Observe(target, &a, verdict(status), Own{}, at(secs))
}

func TestOutboxTellsUntilEchoed(t *testing.T) {
	t.Parallel()
	o, target := outboxOf()
	if observe(o, target, 200, 0) || observe(o, target, 404, 0) || observe(o, target, 400, 0) {
		t.Fatal("nothing of this is health")
	}
	for range 3 {
		if !observe(o, target, 500, 0) {
			t.Fatal("a failure is due")
		}
	}
	due := o.Due(at(0.02))
	if len(due) != 1 || due[0].Count != 3 || due[0].AgeMillis != 20 || due[0].BeganMillisAgo != 20 {
		t.Fatalf("got %+v, want one event of three", due)
	}
	observe(o, target, 500, 0.03)
	if more := o.Due(at(0.04)); len(more) != 1 || more[0].Count != 1 || more[0].ID == due[0].ID {
		t.Fatalf("got %+v: what happens after the sending is another event", more)
	}
	if again := o.Due(at(5)); len(again) != 0 {
		t.Fatalf("sent again too soon: %+v", again)
	}
	again := o.Due(at(5.02))
	if len(again) != 1 || again[0].ID != due[0].ID || again[0].AgeMillis != 5020 {
		t.Fatalf("got %+v, want the first once more", again)
	}
	o.NotSent(again...)
	if again = o.Due(at(5.03)); len(again) != 1 {
		t.Fatalf("got %+v: it could not be sent", again)
	}
	o.Echoed(due[0].ID)
	if o.Waiting() != 1 || len(o.Due(at(5.035))) != 0 || len(o.Due(at(5.05))) != 1 {
		t.Fatal("only what was not echoed is sent again")
	}
	o.LogLost()
	if len(o.Due(at(5.06))) != 1 {
		t.Fatal("a log that was lost echoes nothing")
	}
}

// Different things stay apart, and so do equal ones that are a second apart.
func TestOutboxGathersEqualEventsOnly(t *testing.T) {
	t.Parallel()
	o, target := outboxOf()
	observe(o, target, 500, 0)
	observe(o, target, 502, 0.5)
	observe(o, target, 529, 0.5)
	observe(o, target, 500, 1)
	due := o.Due(at(1))
	if len(due) != 3 || due[0].Count != 2 || due[1].Kind != node.HealthOverloaded || due[2].Count != 1 {
		t.Fatalf("%+v", due)
	}
}

// By when its request began a report is told from a late one, on this node and on the
// others.
func TestOutboxSaysWhenTheRequestBegan(t *testing.T) {
	t.Parallel()
	o, target := outboxOf()
	early := target.Health.Admit(at(0), 0)
	observe(o, target, 429, 1) // cools until 31
	probe := target.Health.Admit(at(32), 0)
	o.Observe(target, &early, verdict(500), Own{}, at(33))
	if h := target.Health.Health(); h.level != 0 {
		t.Fatal("a request that began before the cooldown escalated it")
	}
	o.Observe(target, &probe, verdict(500), Own{}, at(35))
	if h := target.Health.Health(); h.level != 1 {
		t.Fatal("a probe that failed did not")
	}
	due := o.Due(at(36))
	if len(due) != 3 || due[1].BeganMillisAgo != 36_000 || due[1].AgeMillis != 3_000 || due[2].BeganMillisAgo != 4_000 || due[2].AgeMillis != 1_000 {
		t.Fatalf("%+v", due)
	}
}

// A result of a caller's own record is judged by when that record admitted it, which
// may have been in another episode than the target's.
func TestOutboxReportsOwnCredentialsByTheirOwnAdmission(t *testing.T) {
	t.Parallel()
	o, target := outboxOf()
	target.Provider.Auth, target.board = ClaudeOAuth, NewBoard()
	a := target.Health.Admit(at(0), 0)
	o.Observe(target, &a, verdict(429), claude("h"), at(0)) // cools until 30
	ask := func(secs float64) *Admission {
		a := target.Health.Admit(at(secs), 0)
		own := target.OwnHealth("h").Admit(at(secs), 0)
		if !own.OK || !own.Probe() {
			t.Fatalf("at %v: %+v", secs, own)
		}
		a.Own = &own
		return &a
	}
	probe := ask(31)
	o.Observe(target, probe, verdict(200), claude("h"), at(32))
	o.Observe(target, probe, verdict(500), claude("h"), at(33)) // concerns everyone, and is no probe of theirs
	probe.Own.Episode = 7
	o.Observe(target, probe, verdict(429), claude("h"), at(33))
	probe.Own.Episode = 8
	o.Observe(target, probe, verdict(429), claude("h"), at(33))
	var kinds []node.HealthKind
	for _, e := range o.Due(at(33)) {
		kinds = append(kinds, e.Kind)
		if (e.Credential == "") != (e.Kind == node.HealthFailure) {
			t.Errorf("%+v", e)
		}
	}
	want := []node.HealthKind{node.HealthRateLimited, node.HealthProbeOK, node.HealthFailure, node.HealthRateLimited, node.HealthRateLimited}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

// What providers ask for stays apart too: the longest wait must not pass for the first.
func TestDifferentWaitsAreDifferentEvents(t *testing.T) {
	t.Parallel()
	o, target := outboxOf()
	a := target.Health.Admit(at(0), 0)
	for _, secs := range []string{"5", "200", "5"} {
		v := Classify(Evidence{Phase: Answered, Status: 429, Header: http.Header{"Retry-After": {secs}}, Now: now})
		o.Observe(target, &a, v, Own{}, at(0))
	}
	due := o.Due(at(0))
	if len(due) != 2 || *due[0].RetryAfterMillis != 5000 || due[0].Count != 2 || *due[1].RetryAfterMillis != 200_000 || due[1].Count != 1 {
		t.Errorf("got %+v", due)
	}
	h := target.Health.Health()
	check(t, h, 199.9, StandingCooling)
}

// Also on the node that saw it, before anyone is told, the failure of a request that began
// before the cooldown is no failed probe.
func TestOwnLateReportsChangeNothing(t *testing.T) {
	t.Parallel()
	o, target := outboxOf()
	late := target.Health.Admit(at(-1), 0)
	target.Health.Cell.Fold(own(0, node.HealthRateLimited))
	probe := target.Health.Admit(at(31), 0)
	before := target.Health.Health()
	o.Observe(target, &late, verdict(500), Own{}, at(32))
	if after := target.Health.Health(); !after.Equal(&before) {
		t.Errorf("got %+v, want %+v", after, before)
	}
	o.Observe(target, &probe, verdict(500), Own{}, at(32))
	h := target.Health.Health()
	check(t, h, 91.9, StandingCooling)
	check(t, h, 92, StandingRecovering)
}

// What nobody can be told in time is not gone by; and what waits has a bound.
func TestOutboxGivesUp(t *testing.T) {
	t.Parallel()
	o, target := outboxOf()
	for range 10 {
		observe(o, target, 500, 0)
	}
	if h := target.Health.Health(); h.At(at(1)) != StandingCooling {
		t.Fatal("own events count at once")
	}
	if len(o.Due(at(3600))) != 1 || len(o.Due(at(3601))) != 0 || o.Waiting() != 0 {
		t.Fatal("told after an hour")
	}
	if h := target.Health.Health(); h.active {
		t.Fatal("still goes by what it will tell nobody")
	}
	for i := range maxUntold + 10 {
		observe(o, target, 500, 4000+2*float64(i))
	}
	if o.Waiting() != maxUntold || len(target.Health.Cell.own) != maxUntold || len(o.queue) != maxUntold {
		t.Fatalf("%d events wait, %d are kept", o.Waiting(), len(o.queue))
	}
}

// A caller who sends a new token with every request fills neither the log nor another
// organization's share of it, and is cooled down all the same.
func TestOutboxBoundsEventsOfOwnCredentials(t *testing.T) {
	t.Parallel()
	o := NewOutbox("n", uuid.New)
	seat := func(org byte) *Target {
		board := NewBoard()
		key := HealthKey{OrganizationID: uuid.UUID{org}, UpstreamModel: "m"}
		return &Target{Provider: &Provider{Endpoints: takes(llm.Messages), Auth: ClaudeOAuth}, Cooldown: node.DefaultCooldown(),
			Health: board.Cell(key).View(node.DefaultCooldown()), board: board}
	}
	one, other := seat(1), seat(2)
	reject := func(target *Target, credential string, secs float64) {
		a := target.Health.Admit(at(secs), 0)
		o.Observe(target, &a, verdict(401), claude(credential), at(secs))
	}
	for range 10 * ownPerSecond {
		reject(one, uuid.NewString(), 0.5)
	}
	reject(one, "last", 0.5)
	reject(other, "x", 0.5)
	due := o.Due(at(0.5))
	if len(due) != ownPerSecond+1 || due[len(due)-1].OrganizationID != other.Health.Cell.Key.OrganizationID {
		t.Errorf("%d events told, want %d and one of the other organization", len(due), ownPerSecond)
	}
	if h := one.OwnHealth("last").Health(); h.At(at(1)) != StandingCooling {
		t.Error("what is not told must still hold on this node")
	}
	reject(one, "next", 1)
	if due := o.Due(at(1)); len(due) != 1 {
		t.Errorf("%d events told in the next second", len(due))
	}
	if one.Health.Health().active {
		t.Error("a caller's credential concerns nobody else")
	}
}

// A success tells of every record that it was a probe of, and of no other.
func TestAProbeTellsOfEachRecordItProbed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		everyone, caller bool
		want             []string
	}{
		"None": {false, false, nil}, "Everyone": {true, false, []string{""}}, "Caller": {false, true, []string{"me"}}, "Both": {true, true, []string{"", "me"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, target := outboxOf()
			target.board, target.Provider.Auth = NewBoard(), ClaudeOAuth
			if c.everyone {
				target.Health.Cell.Fold(own(0, node.HealthOverloaded))
			}
			mine := target.OwnCell("me", at(0))
			if c.caller {
				mine.Fold(own(0, node.HealthRateLimited))
			}
			a, probe := target.Health.Admit(at(40), 0), target.OwnHealth("me").Admit(at(40), 0)
			a.Own = &probe
			given := 0
			a.Leased(func() { given++ })
			probe.Leased(func() { given++ })
			if told := o.Observe(target, &a, verdict(200), claude("me"), at(41)); told != (len(c.want) > 0) {
				t.Errorf("got due %v", told)
			}
			var got []string
			for _, due := range o.Due(at(41)) {
				got = append(got, due.Credential)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			a.Release()
			a.Release()
			if given != 2 || target.Health.Cell.probes != 0 || mine.probes != 0 {
				t.Errorf("slots given back %d times, %d and %d are counted", given, target.Health.Cell.probes, mine.probes)
			}
		})
	}
}

// What a node keeps to itself about a caller's credential is over when it is over: three
// probes that succeed make the record healthy.
func TestAnUntoldEventIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	o := NewOutbox("n", uuid.New)
	board := NewBoard()
	target := &Target{Provider: &Provider{Endpoints: takes(llm.Messages), Auth: ClaudeOAuth}, Cooldown: node.DefaultCooldown(),
		Health: board.Cell(HealthKey{}).View(node.DefaultCooldown()), board: board}
	limit := func(credential string) {
		a := target.Health.Admit(at(0), 0)
		o.Observe(target, &a, verdict(429), claude(credential), at(0))
	}
	for range ownPerSecond {
		limit(uuid.NewString())
	}
	limit("last")
	if n := o.Waiting(); n != ownPerSecond {
		t.Fatalf("%d events are to be told", n)
	}
	for range recoverySuccesses {
		a := target.Health.Admit(at(40), 0)
		probe := target.OwnHealth("last").Admit(at(40), 0)
		a.Own = &probe
		o.Observe(target, &a, verdict(200), claude("last"), at(40.5))
		a.Release()
	}
	for _, due := range o.Due(at(41)) {
		if due.Credential == "last" {
			o.Echoed(due.ID)
			target.OwnCell("last", at(41)).Fold(HappenedAt(&due.HealthEvent, at(41)))
		}
	}
	h := target.OwnHealth("last").Health()
	check(t, h, 41, StandingHealthy)
}

// A node that began without the bus goes by its own wall clock. When it learns the bus's
// time, what it saw is as old as it is, and its own cooldowns end when they should.
func TestEventsMoveWithTheClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]float64{"Ahead": 600, "Behind": -600} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, target := outboxOf()
			a := target.Health.Admit(at(ahead), 0)
			o.Observe(target, &a, verdict(429), Own{}, at(ahead))
			if len(o.Due(at(ahead))) != 1 {
				t.Fatal("not due")
			}
			o.Observe(target, &a, verdict(529), Own{}, at(ahead+1))
			o.ClockSet(-at(ahead).Sub(at(0)))
			h := target.Health.Health()
			check(t, h, 29.9, StandingCooling)
			check(t, h, 30, StandingRecovering)
			if due := o.Due(at(2)); len(due) != 1 || due[0].AgeMillis != 1000 || due[0].BeganMillisAgo != 2000 {
				t.Fatalf("got %+v", due)
			}
			if due := o.Due(at(4.9)); len(due) != 0 {
				t.Fatalf("sent again too soon: %+v", due)
			}
			if due := o.Due(at(5)); len(due) != 1 || due[0].AgeMillis != 5000 {
				t.Fatalf("got %+v", due)
			}
		})
	}
}
