package decide

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/api/node"
)

func at(secs float64) time.Time { return now.Add(time.Duration(secs * float64(time.Second))) }

// happened is an event in seconds; retryAfter -1 is none. ago is how long before it
// the reporting request began.
type happened struct {
	at         float64
	kind       node.HealthKind
	ago        float64
	retryAfter float64
}

func (e happened) event() Happened {
	h := Happened{ID: uuid.New(), Kind: e.kind, Count: 1, Seen: at(e.at), At: at(e.at), Began: at(e.at - e.ago)}
	if e.retryAfter >= 0 {
		h.RetryAfter, h.Asked = time.Duration(e.retryAfter*float64(time.Second)), true
	}
	return h
}

func fold(h Health, events ...happened) Health {
	for _, e := range events {
		h = h.Apply(e.event(), node.DefaultCooldown())
	}
	return h
}

func failures(n int, from, step float64) (out []happened) {
	for i := range n {
		out = append(out, happened{from + float64(i)*step, node.HealthFailure, 0, -1})
	}
	return out
}

func check(t *testing.T, h Health, when float64, want Standing) {
	t.Helper()
	if got := h.At(at(when)); got != want {
		t.Errorf("at %v s: got standing %v, want %v (until %v)", when, got, want, h.until.Sub(now))
	}
}

func TestTenFailuresInAMinuteCoolFor30Seconds(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, failures(9, 0, 1)...)
	check(t, h, 9, StandingHealthy)
	h = fold(h, failures(1, 9, 0)...)
	check(t, h, 9, StandingCooling)
	check(t, h, 38.9, StandingCooling)
	check(t, h, 39, StandingRecovering)
	if h.Reason() != CooledByErrors {
		t.Errorf("got reason %s", h.Reason())
	}
}

func TestFailuresOutsideTheWindowDoNotCount(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, failures(9, 0, 1)...)
	h = fold(h, happened{60, node.HealthFailure, 0, -1}) // the first is a minute old
	check(t, h, 60, StandingHealthy)
	h = fold(h, happened{60.5, node.HealthFailure, 0, -1})
	check(t, h, 60.5, StandingCooling)
}

func TestAFailedRecoveryDoublesUpToTheLongest(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, failures(10, 0, 0)...)
	when := 30.0
	for _, want := range []float64{60, 120, 240, 300, 300} {
		h = fold(h, happened{when, node.HealthFailure, 0, -1})
		check(t, h, when+want-0.1, StandingCooling)
		check(t, h, when+want, StandingRecovering)
		when += want
	}
}

func TestThreeSuccessesHealAndForget(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, failures(10, 0, 0)...)
	h = fold(h, happened{30, node.HealthFailure, 0, -1}) // escalate once
	ok := happened{95, node.HealthProbeOK, 0, -1}
	h = fold(h, ok, ok)
	check(t, h, 95, StandingRecovering)
	h = fold(h, ok)
	check(t, h, 95, StandingHealthy)
	h = fold(h, failures(10, 100, 0)...)
	check(t, h, 129.9, StandingCooling)
	check(t, h, 130, StandingRecovering) // 30 s again, not 120
	h = fold(h, happened{130, node.HealthFailure, 0, -1})
	check(t, h, 189.9, StandingCooling)
	check(t, h, 190, StandingRecovering) // doubled once, as if it were the first time
}

// Successes count within one recovery: a failed probe takes them back.
func TestAFailedProbeTakesSuccessesBack(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, failures(10, 0, 0)...)
	ok := happened{31, node.HealthProbeOK, 0, -1}
	h = fold(h, ok, ok, happened{32, node.HealthFailure, 0, -1})
	ok = happened{93, node.HealthProbeOK, 0, -1}
	h = fold(h, ok, ok)
	check(t, h, 93, StandingRecovering)
	check(t, fold(h, ok), 93, StandingHealthy)
}

func TestWhatTheProviderAsksFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event happened
		want  float64
	}{
		"RateLimitedWithoutRetryAfter": {happened{0, node.HealthRateLimited, 0, -1}, 30},
		"RateLimitedAsAsked":           {happened{0, node.HealthRateLimited, 0, 7}, 7},
		"RateLimitedNeverOverLongest":  {happened{0, node.HealthRateLimited, 0, 1587827}, 300},
		"OverloadedWithoutRetryAfter":  {happened{0, node.HealthOverloaded, 0, -1}, 10},
		"OverloadedAsAsked":            {happened{0, node.HealthOverloaded, 0, 3}, 3},
		"UsageLimitTheLongest":         {happened{0, node.HealthUsageLimit, 0, 5}, 300},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := fold(Health{}, c.event)
			check(t, h, c.want-0.1, StandingCooling)
			check(t, h, c.want, StandingRecovering)
		})
	}
	if h := fold(Health{}, happened{0, node.HealthRateLimited, 0, 0}); h.At(now) != StandingHealthy {
		t.Error("Retry-After 0 cools nothing")
	}
}

func TestRateLimitsDoNotEscalate(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, happened{0, node.HealthRateLimited, 0, 5})
	h = fold(h, happened{6, node.HealthRateLimited, 0, 5})
	check(t, h, 11, StandingRecovering)
	h = fold(h, happened{12, node.HealthOverloaded, 0, -1})
	check(t, h, 22, StandingRecovering)
}

func TestADeadlineOnlyMovesLater(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, happened{0, node.HealthRateLimited, 0, 100}, happened{1, node.HealthRateLimited, 0, 2})
	check(t, h, 99, StandingCooling)
	h = fold(Health{}, happened{0, node.HealthRateLimited, 0, 1}, happened{0.5, node.HealthRateLimited, 0, -1})
	check(t, h, 30, StandingCooling)
}

func TestLateReportsNeitherEscalateNorRecover(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, failures(10, 0, 0)...)
	late := happened{31, node.HealthFailure, 32, -1} // began before the cooldown
	if got := fold(h, late); got.until != h.until || got.level != 0 {
		t.Error("a late failure moved the deadline")
	}
	ok := happened{31, node.HealthProbeOK, 32, -1}
	check(t, fold(h, ok, ok, ok), 31, StandingRecovering)
	ok.ago = 0.5
	healed := fold(h, ok, ok, ok)
	check(t, healed, 31, StandingHealthy)
	for range 20 {
		healed = fold(healed, happened{32, node.HealthFailure, 33, -1})
	}
	check(t, healed, 32, StandingHealthy) // healed forgets what began before it
}

func TestAResetEndsACooldown(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, happened{0, node.HealthUsageLimit, 0, -1}, happened{1, node.HealthReset, 0, -1})
	check(t, h, 1, StandingHealthy)
}

// A threshold of 0 turns off every cooldown for everyone; overloaded 0 makes a 529
// an ordinary failure.
func TestThresholdZeroAndOverloadedZero(t *testing.T) {
	t.Parallel()
	off := node.DefaultCooldown()
	off.FailureThreshold = 0
	h := Health{}
	for _, kind := range kinds {
		for range 100 {
			h = h.Apply(happened{0, kind, 0, 60}.event(), off)
		}
	}
	check(t, h, 0, StandingHealthy)
	p := node.DefaultCooldown()
	p.OverloadedSecs = 0
	h = Health{}
	for i := range 10 {
		check(t, h, float64(i), StandingHealthy)
		h = h.Apply(happened{float64(i), node.HealthOverloaded, 0, 5}.event(), p)
	}
	check(t, h, 9, StandingCooling)
	check(t, h, 38.9, StandingCooling) // as long as ordinary failures, not what it asked
}

// A custom policy's six rows are its own.
func TestCustomPolicy(t *testing.T) {
	t.Parallel()
	p := node.Cooldown{FailureThreshold: 2, WindowSecs: 5, FirstSecs: 3, MaxSecs: 7, RateLimitedSecs: 4, OverloadedSecs: 2}
	apply := func(h Health, events ...happened) Health {
		for _, e := range events {
			h = h.Apply(e.event(), p)
		}
		return h
	}
	spread := apply(Health{}, happened{0, node.HealthFailure, 0, -1}, happened{5, node.HealthFailure, 0, -1})
	check(t, spread, 5, StandingHealthy)
	h := apply(Health{}, failures(2, 0, 1)...)
	check(t, h, 3.9, StandingCooling)
	check(t, h, 4, StandingRecovering)
	h = apply(h, happened{4, node.HealthFailure, 0, -1})
	check(t, h, 9.9, StandingCooling)
	h = apply(h, happened{10, node.HealthFailure, 0, -1})
	check(t, h, 16.9, StandingCooling) // 7, not 12
	check(t, h, 17, StandingRecovering)
	check(t, apply(Health{}, happened{0, node.HealthRateLimited, 0, -1}), 3.9, StandingCooling)
	check(t, apply(Health{}, happened{0, node.HealthRateLimited, 0, 60}), 7, StandingRecovering)
	check(t, apply(Health{}, happened{0, node.HealthOverloaded, 0, -1}), 2, StandingRecovering)
	check(t, apply(Health{}, happened{0, node.HealthUsageLimit, 0, -1}), 6.9, StandingCooling)
}

// Targets with different policies judge one record, also where a policy comes
// after the events.
func TestPoliciesShareOneRecord(t *testing.T) {
	t.Parallel()
	c := NewBoard().Cell(HealthKey{})
	strict, lax := node.DefaultCooldown(), node.DefaultCooldown()
	strict.FailureThreshold, lax.FailureThreshold = 3, 100
	early := c.View(strict)
	for i := range 5 {
		c.Fold(happened{float64(i), node.HealthFailure, 0, -1}.event())
	}
	for name, v := range map[string]*View{"early": early, "late": c.View(strict)} {
		h := v.Health()
		if h.At(at(5)) != StandingCooling {
			t.Errorf("%s: the strict policy does not cool", name)
		}
	}
	if h := c.View(lax).Health(); h.At(at(5)) != StandingHealthy {
		t.Error("the lax policy cools")
	}
	if c.View(strict) != early {
		t.Error("targets with the same policy must share a view, and its probe slots")
	}
}

var kinds = []node.HealthKind{node.HealthFailure, node.HealthRateLimited, node.HealthOverloaded, node.HealthUsageLimit, node.HealthProbeOK}

// Whatever happens: a running cooldown never gets shorter, and none is longer than
// the longest.
func TestHealthProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h Health
		p := node.Cooldown{
			FailureThreshold: rapid.IntRange(1, 12).Draw(t, "threshold"), WindowSecs: rapid.IntRange(1, 3600).Draw(t, "window"),
			FirstSecs: rapid.IntRange(1, 60).Draw(t, "first"), MaxSecs: rapid.IntRange(60, 3600).Draw(t, "max"),
			RateLimitedSecs: rapid.IntRange(1, 3600).Draw(t, "limited"), OverloadedSecs: rapid.IntRange(0, 3600).Draw(t, "overloaded"),
		}
		longest := seconds(p.MaxSecs)
		moment := now
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			moment = moment.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "gap")) * time.Millisecond)
			e := Happened{
				Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Count: rapid.IntRange(1, 12).Draw(t, "count"), Seen: moment,
				At:    moment.Add(-time.Duration(rapid.SampledFrom([]int{0, 0, 10, 40_000}).Draw(t, "age")) * time.Millisecond),
				Began: moment.Add(-time.Duration(rapid.IntRange(0, 120_000).Draw(t, "ago")) * time.Millisecond),
				Asked: rapid.Bool().Draw(t, "asks"), RetryAfter: time.Duration(rapid.IntRange(0, 1<<30).Draw(t, "ms")) * time.Millisecond,
			}
			before := h
			h = h.Apply(e, p)
			if before.At(moment) == StandingCooling && h.until.Before(before.until) {
				t.Fatalf("%+v shortened the deadline from %v to %v", e, before.until, h.until)
			}
			if h.At(moment) == StandingCooling && h.until.Sub(moment) > longest {
				t.Fatalf("%+v cools for %v, over %v", e, h.until.Sub(moment), longest)
			}
			if h.episode < before.episode {
				t.Fatal("an episode went back")
			}
		}
	})
}

// own is what a node saw itself at a second.
func own(secs float64, kind node.HealthKind) Happened { return happened{secs, kind, 0, -1}.event() }

// A node's own events count at once, and once: when the log brings them back they
// are not counted again, in whatever order the nodes' events come.
func TestOwnEventsAreReconciledWithTheLog(t *testing.T) {
	t.Parallel()
	c := NewBoard().Cell(HealthKey{UpstreamModel: "m"})
	v := c.View(node.DefaultCooldown())
	mine := own(0, node.HealthFailure)
	for range 6 {
		c.Own(mine)
	}
	others := own(0, node.HealthFailure)
	others.Count = 3
	c.Fold(others)
	mine.Count, mine.At = 6, at(0.1)
	c.Fold(mine)
	h := v.Health()
	if h.At(at(1)) != StandingHealthy {
		t.Fatal("9 failures were counted as 10 or more")
	}
	c.Own(own(0.2, node.HealthFailure))
	h = v.Health()
	if h.At(at(1)) != StandingCooling {
		t.Fatal("the tenth failure was not counted")
	}
}

// The bus may bring an event twice, minutes apart or after it lost its log.
func TestAnEventOfTheLogCountsOnce(t *testing.T) {
	t.Parallel()
	c := NewBoard().Cell(HealthKey{})
	v := c.View(node.DefaultCooldown())
	e := own(0, node.HealthFailure)
	e.Count = 5
	c.Fold(e)
	for i := range 10 {
		c.Fold(own(1+float64(i), node.HealthOverloaded)) // of which the log is full
	}
	c.Own(e)
	e.Seen, e.At = at(50), at(0.3) // reckoned again, from another way through the network
	c.Fold(e)
	c.Fold(happened{51, node.HealthReset, 0, -1}.event())
	if n := len(c.log); n != 12 {
		t.Errorf("the log has %d events, want 12", n)
	}
	if len(c.own) != 0 {
		t.Error("it has come back, and is still held to be under way")
	}
	fresh := own(52, node.HealthFailure)
	fresh.Count = 5
	c.Fold(fresh)
	fresh.Seen, fresh.At = at(170), at(52-59)
	c.Fold(fresh)
	h := v.Health()
	check(t, h, 170, StandingHealthy)
}

// Every part of a state tells it from another.
func TestEqualSeesEveryPart(t *testing.T) {
	t.Parallel()
	full := func() Health {
		return Health{failures: []failure{{now, 1}}, episode: 1, active: true, until: now, reason: CooledByErrors, level: 1, successes: 1, healed: now, ramp: true,
			changes: []change{{StandingHealthy, StandingCooling, CooledByErrors, 1, now}}}
	}
	a, b := full(), full()
	b.until, b.failures[0].at = now.In(time.FixedZone("", 3600)), now.In(time.FixedZone("", 3600))
	if !a.Equal(&b) || !new(Health).Equal(new(Health)) {
		t.Error("the same is not equal")
	}
	for i, differ := range []func(h *Health){
		func(h *Health) { h.failures[0].count++ }, func(h *Health) { h.failures[0].at = at(1) }, func(h *Health) { h.failures = nil },
		func(h *Health) { h.episode++ }, func(h *Health) { h.active = false }, func(h *Health) { h.until = at(1) }, func(h *Health) { h.reason = "" },
		func(h *Health) { h.level++ }, func(h *Health) { h.successes++ }, func(h *Health) { h.healed = at(1) }, func(h *Health) { h.ramp = false },
		func(h *Health) { h.changes = nil }, func(h *Health) { h.changes[0].from++ }, func(h *Health) { h.changes[0].to++ },
		func(h *Health) { h.changes[0].reason = "" }, func(h *Health) { h.changes[0].window++ }, func(h *Health) { h.changes[0].at = at(1) },
	} {
		if b := full(); true {
			if differ(&b); a.Equal(&b) || b.Equal(&a) {
				t.Errorf("difference %d is not seen", i)
			}
		}
	}
}

// What a node could not tell anyone it does not go by either: in the end all agree.
func TestDisownedEventsAreNotCounted(t *testing.T) {
	t.Parallel()
	c := NewBoard().Cell(HealthKey{})
	v := c.View(node.DefaultCooldown())
	kept, given := own(0, node.HealthOverloaded), own(1, node.HealthUsageLimit)
	c.Own(kept)
	c.Own(given)
	c.Disown(given.ID)
	h := v.Health()
	check(t, h, 9.9, StandingCooling)
	check(t, h, 10, StandingRecovering)
}

// A node that was cut off tells late: what would be over by now changes nothing, and
// what is not counts from when it happened.
func TestEventsToldLate(t *testing.T) {
	t.Parallel()
	late := func(age float64, kind node.HealthKind) Happened {
		e := own(100, kind)
		e.At, e.Began = at(100-age), at(100-age)
		return e
	}
	p := node.DefaultCooldown()
	check(t, Health{}.Apply(late(31, node.HealthRateLimited), p), 100, StandingHealthy)
	h := Health{}.Apply(late(20, node.HealthRateLimited), p)
	check(t, h, 109.9, StandingCooling)
	check(t, h, 110, StandingRecovering)
	// Ten failures, of which one has left the window by now.
	h = Health{}.Apply(late(61, node.HealthFailure), p)
	for range 9 {
		h = h.Apply(late(1, node.HealthFailure), p)
	}
	check(t, h, 100, StandingHealthy)
	h = h.Apply(late(1, node.HealthFailure), p)
	check(t, h, 128.9, StandingCooling)
	long := p
	long.FirstSecs = 300
	h = fold(Health{}, failures(9, 99, 0)...).Apply(late(70, node.HealthFailure), long)
	check(t, h, 100, StandingHealthy) // nine of this minute, and one that would cool for longer than it is old
	// A probe that failed so long ago that its cooldown is over escalates nothing.
	h = fold(Health{}, happened{0, node.HealthRateLimited, 0, 10})
	if got := h.Apply(late(61, node.HealthFailure), p); got.level != 0 || got.episode != h.episode {
		t.Errorf("got level %d", got.level)
	}
	if got := h.Apply(late(59, node.HealthFailure), p); got.level != 1 {
		t.Errorf("got level %d, want 1: it would cool for one more second", got.level)
	}
}

// After a recovery traffic returns bit by bit; after a reset at once.
func TestTrafficReturnsOverTenSeconds(t *testing.T) {
	t.Parallel()
	c := NewBoard().Cell(HealthKey{})
	v := c.View(node.DefaultCooldown())
	c.Fold(happened{0, node.HealthRateLimited, 0, 10}.event())
	for range 3 {
		c.Fold(own(11, node.HealthProbeOK))
	}
	last := 0
	for _, secs := range []float64{11, 12, 14, 16, 18, 20.9, 21} {
		admitted := 0
		for i := range 100 {
			if v.Admit(at(secs), float64(i)/100).OK {
				admitted++
			}
		}
		if want := int(10 + 9*(secs-11)); admitted < want || admitted > want+1 || admitted < last {
			t.Errorf("%v s after recovery: %d of 100 admitted, want %d", secs-11, admitted, want)
		}
		last = admitted
	}
	c.Fold(happened{30, node.HealthRateLimited, 0, 10}.event())
	c.Fold(own(31, node.HealthReset))
	if !v.Admit(at(31), 0.99).OK {
		t.Error("an operator's reset lets everything through at once")
	}
}

// A record keeps no more of its log than a policy that comes later could need.
func TestTheLogIsBounded(t *testing.T) {
	t.Parallel()
	c := NewBoard().Cell(HealthKey{})
	for i := range 3 * keptEvents {
		c.Fold(own(float64(i), node.HealthFailure))
	}
	if n := len(c.log); n != keptEvents {
		t.Errorf("keeps %d events", n)
	}
	c.Fold(own(3*keptEvents+25*3600, node.HealthFailure))
	if n := len(c.log); n != 1 {
		t.Errorf("keeps %d events a day later", n)
	}
}

// Callers who send a new token with every request fill no node's memory, and what
// they left is dropped in time.
func TestCredentialRecordsAreBounded(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	record := func(i int, secs float64) *Cell {
		c := b.Credential(HealthKey{Credential: strconv.Itoa(i)}, at(secs))
		c.Fold(own(secs, node.HealthAuthRejected))
		return c
	}
	for i := range maxCredentials + 10 {
		record(i, 0)
	}
	count := func() (n int) {
		b.credentials.Range(func(_, _ any) bool { n++; return true })
		return n
	}
	if n := count(); n != maxCredentials {
		t.Fatalf("%d records are kept, want %d", n, maxCredentials)
	}
	if h := record(-1, 1).View(node.DefaultCooldown()).Health(); h.At(at(2)) != StandingCooling {
		t.Error("a record beyond the bound is no record")
	}
	late := record(-2, 2*3600+1)
	if n := count(); n != 1 || b.Credential(late.Key, at(2*3600+1)) != late {
		t.Errorf("%d records are kept two hours later, want the new one", n)
	}
}

func TestThreeProbesAtATime(t *testing.T) {
	t.Parallel()
	c := NewBoard().Cell(HealthKey{})
	v := c.View(node.DefaultCooldown())
	c.Own(own(0, node.HealthRateLimited))
	if a := v.Admit(at(1), 0); a.OK || a.Reason != CoolingDown || a.Until != at(30) {
		t.Fatalf("while cooling: %+v", a)
	}
	var probes []Admission
	for range 3 {
		a := v.Admit(at(31), 0)
		if !a.OK || !a.Probe() {
			t.Fatalf("probe not admitted: %+v", a)
		}
		probes = append(probes, a)
	}
	if a := v.Admit(at(31), 0); a.OK || a.Reason != Recovering {
		t.Fatalf("a fourth probe: %+v", a)
	}
	probes[0].Release()
	probes[0].Release() // releasing twice is releasing once
	again := v.Admit(at(31), 0)
	if !again.OK {
		t.Fatal("a slot was not given back")
	}
	if a := v.Admit(at(31), 0); a.OK {
		t.Fatal("a slot was given back twice")
	}
	// A new episode counts those that are still on their way to the provider: it is three
	// at a time, whatever they were sent for.
	c.Own(own(32, node.HealthRateLimited))
	if a := v.Admit(at(63), 0); a.OK {
		t.Fatal("a fourth request at a time, in a new episode")
	}
	again.Release()
	a := v.Admit(at(63), 0)
	if !a.OK {
		t.Fatal("a slot of the last episode never came back")
	}
	a.Full(at(63))
	a.Release()
	if a := v.Admit(at(63.05), 0); a.OK {
		t.Fatal("asks again at once, although the fleet had no slot")
	}
	if a := v.Admit(at(63.1), 0); !a.OK {
		t.Fatal("never asks again")
	}
}

// An attempt with a caller's own credential may hold a slot of two records, and of the
// fleet for each; all come back, once.
func TestReleaseGivesEverythingBackOnce(t *testing.T) {
	t.Parallel()
	board := NewBoard()
	everyone, own := board.Cell(HealthKey{}), board.Cell(HealthKey{Credential: "h"})
	var released []string
	probe := func(c *Cell, name string) Admission {
		v := c.View(node.DefaultCooldown())
		c.Own(happened{0, node.HealthRateLimited, 0, -1}.event())
		a := v.Admit(at(31), 0)
		a.Leased(func() { released = append(released, name) })
		return a
	}
	a, b := probe(everyone, "everyone"), probe(own, "own")
	a.Own = &b
	if !a.Probing() || everyone.probes != 1 || own.probes != 1 {
		t.Fatal("no slots taken")
	}
	a.Release()
	a.Release()
	if everyone.probes != 0 || own.probes != 0 || len(released) != 2 {
		t.Errorf("got %d and %d slots held, released %v", everyone.probes, own.probes, released)
	}
}

// Slots are of the record: targets that recover by different policies share them.
func TestPoliciesShareProbeSlots(t *testing.T) {
	t.Parallel()
	c := NewBoard().Cell(HealthKey{})
	other := node.DefaultCooldown()
	other.RateLimitedSecs = 20
	v, w := c.View(node.DefaultCooldown()), c.View(other)
	c.Own(own(0, node.HealthRateLimited))
	for _, v := range []*View{v, w, v} {
		if !v.Admit(at(31), 0).OK {
			t.Fatal("not admitted")
		}
	}
	if v.Admit(at(31), 0).OK || w.Admit(at(31), 0).OK {
		t.Fatal("a fourth")
	}
}

// Whatever requests come, leave and fail, and whatever the log brings: no more than three
// of a node are probes at a time, every slot comes back, and nothing goes to a target that
// cools down.
func TestProbeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := NewBoard().Cell(HealthKey{})
		other := node.DefaultCooldown()
		other.FailureThreshold, other.FirstSecs, other.RateLimitedSecs = 1, 5, 3
		views := []*View{c.View(node.DefaultCooldown()), c.View(other)}
		var out []Admission
		probes, secs := 0, 0.0
		release := func(i int) {
			if out[i].Probe() {
				probes--
			}
			out[i].Release()
			out = slices.Delete(out, i, i+1)
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"ask", "ask", "ask", "end", "event", "time"}).Draw(t, "what") {
			case "ask":
				v := rapid.SampledFrom(views).Draw(t, "policy")
				before := v.Health()
				a := v.Admit(at(secs), rapid.Float64Range(0, 1).Draw(t, "chance"))
				if a.OK && before.At(at(secs)) == StandingCooling {
					t.Fatal("admitted to a target that cools down")
				}
				if a.OK {
					out = append(out, a)
				}
				if a.Probe() {
					probes++
				}
			case "end":
				if len(out) > 0 {
					release(rapid.IntRange(0, len(out)-1).Draw(t, "which"))
				}
			case "event":
				c.Fold(own(secs, rapid.SampledFrom(kinds).Draw(t, "kind")))
			case "time":
				secs += rapid.Float64Range(0, 40).Draw(t, "gap")
			}
			if probes > MaxProbes || probes != c.probes {
				t.Fatalf("%d probes at a time, %d counted", probes, c.probes)
			}
		}
		for len(out) > 0 {
			release(0)
		}
		if c.probes != 0 {
			t.Fatalf("%d slots never came back", c.probes)
		}
	})
}

// Nodes that each see some of the events at once, and all of them by the log, agree when
// it is quiet, however their own were in between; and so does one that comes later.
func TestNodesAgreeProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policy := node.DefaultCooldown()
		policy.FailureThreshold = rapid.IntRange(1, 4).Draw(t, "threshold")
		nodes := make([]*Cell, 3)
		for i := range nodes {
			nodes[i] = NewBoard().Cell(HealthKey{})
			nodes[i].View(policy)
		}
		var log []Happened
		secs := 0.0
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			secs += rapid.Float64Range(0, 20).Draw(t, "gap")
			e := own(secs, rapid.SampledFrom(kinds).Draw(t, "kind"))
			nodes[rapid.IntRange(0, 2).Draw(t, "seen by")].Own(e)
			e.Seen = at(secs + rapid.Float64Range(0, 0.5).Draw(t, "latency"))
			log = append(log, e)
		}
		slices.SortStableFunc(log, func(a, b Happened) int { return a.Seen.Compare(b.Seen) })
		late := NewBoard().Cell(HealthKey{})
		for _, c := range append(nodes, late) {
			for _, e := range log {
				c.Fold(e)
			}
		}
		want := late.View(policy).Health() // whose policy comes after the log
		for i, c := range nodes {
			if got := c.View(policy).Health(); !got.Equal(&want) || len(c.own) != 0 {
				t.Errorf("node %d: got %+v, want %+v", i, got, want)
			}
		}
	})
}

// In which order what providers ask for is heard at a moment does not change how long
// the target cools down: the longest holds.
func TestTheLongestWaitHoldsInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var events []Happened
		for range rapid.IntRange(2, 8).Draw(t, "events") {
			e := own(100, rapid.SampledFrom([]node.HealthKind{node.HealthRateLimited, node.HealthOverloaded, node.HealthUsageLimit}).Draw(t, "kind"))
			e.At = at(100 - rapid.Float64Range(0, 50).Draw(t, "age"))
			e.Asked, e.RetryAfter = rapid.Bool().Draw(t, "asks"), time.Duration(rapid.IntRange(0, 400_000).Draw(t, "ms"))*time.Millisecond
			events = append(events, e)
		}
		until := func(events []Happened) time.Time {
			h := Health{}
			for _, e := range events {
				h = h.Apply(e, node.DefaultCooldown())
			}
			return h.until
		}
		if a, b := until(events), until(rapid.Permutation(events).Draw(t, "order")); !a.Equal(b) {
			t.Errorf("cools until %v or %v", a.Sub(now), b.Sub(now))
		}
	})
}

// States share what came before and nothing of what comes after: two that follow the same
// one keep transitions of their own.
func TestTransitionsAreNotSharedBetweenStates(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, happened{0, node.HealthRateLimited, 0, -1}, happened{1, node.HealthReset, 0, -1}, happened{2, node.HealthRateLimited, 0, -1})
	reset, again := fold(h, happened{3, node.HealthReset, 0, -1}), fold(h, happened{40, node.HealthUsageLimit, 0, -1})
	if last := reset.changes[len(reset.changes)-1]; last.to != StandingHealthy {
		t.Errorf("got %+v", last)
	}
	if last := again.changes[len(again.changes)-1]; last.reason != CooledByUsageLimit || len(h.changes) != 3 {
		t.Errorf("got %+v", last)
	}
}
