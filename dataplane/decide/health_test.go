package decide

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/api/node"
)

func at(secs float64) time.Time { return now.Add(time.Duration(secs * float64(time.Second))) }

// history folds events given as (second, kind, episode, retry after in seconds or -1).
type happened struct {
	at         float64
	kind       node.HealthKind
	episode    int64
	retryAfter float64
}

func fold(h Health, events ...happened) Health {
	for _, e := range events {
		ev := node.HealthEvent{Kind: e.kind, Episode: e.episode}
		if e.retryAfter >= 0 {
			ms := int64(e.retryAfter * 1000)
			ev.RetryAfterMillis = &ms
		}
		h = h.Apply(&ev, 1, at(e.at), node.DefaultCooldown())
	}
	return h
}

func failures(n int, from, step float64, episode int64) (out []happened) {
	for i := range n {
		out = append(out, happened{from + float64(i)*step, node.HealthFailure, episode, -1})
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
	h := fold(Health{}, failures(9, 0, 1, 0)...)
	check(t, h, 9, StandingHealthy)
	h = fold(h, failures(1, 9, 0, 0)...)
	check(t, h, 9, StandingCooling)
	check(t, h, 38.9, StandingCooling)
	check(t, h, 39, StandingRecovering)
	if h.Reason() != CooledByErrors {
		t.Errorf("got reason %s", h.Reason())
	}
}

func TestFailuresOutsideTheWindowDoNotCount(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, failures(9, 0, 1, 0)...)
	h = fold(h, happened{60, node.HealthFailure, 0, -1}) // the first is a minute old
	check(t, h, 60, StandingHealthy)
	h = fold(h, happened{60.5, node.HealthFailure, 0, -1})
	check(t, h, 60.5, StandingCooling)
}

func TestAFailedRecoveryDoublesUpToTheLongest(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, failures(10, 0, 0, 0)...)
	when := 30.0
	for _, want := range []float64{60, 120, 240, 300, 300} {
		h = fold(h, happened{when, node.HealthFailure, h.Episode(), -1})
		check(t, h, when+want-0.1, StandingCooling)
		check(t, h, when+want, StandingRecovering)
		when += want
	}
}

func TestThreeSuccessesHealAndForget(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, failures(10, 0, 0, 0)...)
	h = fold(h, happened{30, node.HealthFailure, 1, -1}) // escalate once
	ok := happened{95, node.HealthProbeOK, h.Episode(), -1}
	h = fold(h, ok, ok)
	check(t, h, 95, StandingRecovering)
	h = fold(h, ok)
	check(t, h, 95, StandingHealthy)
	h = fold(h, failures(10, 100, 0, h.Episode())...)
	check(t, h, 129.9, StandingCooling)
	check(t, h, 130, StandingRecovering) // 30 s again, not 120
	h = fold(h, happened{130, node.HealthFailure, h.Episode(), -1})
	check(t, h, 189.9, StandingCooling)
	check(t, h, 190, StandingRecovering) // doubled once, as if it were the first time
}

// Successes count within one recovery: a failed probe takes them back.
func TestAFailedProbeTakesSuccessesBack(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, failures(10, 0, 0, 0)...)
	ok := happened{31, node.HealthProbeOK, h.Episode(), -1}
	h = fold(h, ok, ok, happened{32, node.HealthFailure, h.Episode(), -1})
	ok = happened{93, node.HealthProbeOK, h.Episode(), -1}
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
	h = fold(h, happened{6, node.HealthRateLimited, h.Episode(), 5})
	check(t, h, 11, StandingRecovering)
	h = fold(h, happened{12, node.HealthOverloaded, h.Episode(), -1})
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
	h := fold(Health{}, failures(10, 0, 0, 0)...)
	late := happened{31, node.HealthFailure, 0, -1} // began before the cooldown
	if got := fold(h, late); got.until != h.until {
		t.Error("a late failure moved the deadline")
	}
	ok := happened{31, node.HealthProbeOK, 0, -1}
	check(t, fold(h, ok, ok, ok), 31, StandingRecovering)
}

func TestAResetEndsACooldown(t *testing.T) {
	t.Parallel()
	h := fold(Health{}, happened{0, node.HealthUsageLimit, 0, -1}, happened{1, node.HealthReset, 0, -1})
	check(t, h, 1, StandingHealthy)
}

func TestThresholdZeroAndOverloadedZero(t *testing.T) {
	t.Parallel()
	p := node.DefaultCooldown()
	p.FailureThreshold = 0
	h := Health{}
	for range 100 {
		h = h.Apply(&node.HealthEvent{Kind: node.HealthFailure}, 1, now, p)
	}
	check(t, h, 0, StandingHealthy)
	p = node.DefaultCooldown()
	p.OverloadedSecs = 0
	h = Health{}.Apply(&node.HealthEvent{Kind: node.HealthOverloaded}, 9, now, p)
	check(t, h, 0, StandingHealthy)
	check(t, h.Apply(&node.HealthEvent{Kind: node.HealthOverloaded}, 1, now, p), 0, StandingCooling)
}

var kinds = []node.HealthKind{node.HealthFailure, node.HealthRateLimited, node.HealthOverloaded, node.HealthUsageLimit, node.HealthProbeOK}

// Whatever happens: a running cooldown never gets shorter, and none is longer than
// the longest.
func TestHealthProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h Health
		moment := now
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			moment = moment.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "gap")) * time.Millisecond)
			ev := node.HealthEvent{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Episode: int64(rapid.IntRange(0, 2).Draw(t, "behind"))}
			ev.Episode = max(0, h.Episode()-ev.Episode)
			if rapid.Bool().Draw(t, "asks") {
				ms := int64(rapid.IntRange(0, 1<<30).Draw(t, "ms"))
				ev.RetryAfterMillis = &ms
			}
			before := h
			h = h.Apply(&ev, rapid.IntRange(1, 12).Draw(t, "count"), moment, node.DefaultCooldown())
			if before.At(moment) == StandingCooling && h.until.Before(before.until) {
				t.Fatalf("%+v shortened the deadline from %v to %v", ev, before.until, h.until)
			}
			if h.At(moment) == StandingCooling && h.until.Sub(moment) > 300*time.Second && h.until != before.until {
				t.Fatalf("%+v cools for %v", ev, h.until.Sub(moment))
			}
			if h.Episode() < before.Episode() {
				t.Fatal("an episode went back")
			}
		}
	})
}

// A node's own events count at once, and once: when the log brings them back they
// are not counted again, in whatever order the nodes' events come.
func TestOwnEventsAreReconciledWithTheLog(t *testing.T) {
	t.Parallel()
	board := NewBoard()
	c := board.Cell(HealthKey{UpstreamModel: "m"})
	mine := node.HealthEvent{ID: uuid.New(), Node: "a", Kind: node.HealthFailure}
	for range 6 {
		c.Own(mine, 1, now)
	}
	others := node.HealthEvent{ID: uuid.New(), Node: "b", Kind: node.HealthFailure, Count: 3}
	c.Fold(&others, now)
	mine.Count = 6
	c.Fold(&mine, at(0.1))
	h := c.Health()
	if h.At(at(1)) != StandingHealthy {
		t.Fatal("9 failures were counted as 10 or more")
	}
	c.Own(node.HealthEvent{ID: uuid.New(), Kind: node.HealthFailure}, 1, at(0.2))
	h = c.Health()
	if h.At(at(1)) != StandingCooling {
		t.Fatal("the tenth failure was not counted")
	}
}

func TestForgottenEventsStayCounted(t *testing.T) {
	t.Parallel()
	c := NewBoard().Cell(HealthKey{})
	ev := node.HealthEvent{ID: uuid.New(), Kind: node.HealthUsageLimit}
	c.Own(ev, 1, now)
	c.Forget(ev.ID)
	h := c.Health()
	if h.At(at(1)) != StandingCooling || len(c.own) != 0 {
		t.Error("with the bus down a node must go on with what it saw itself")
	}
}

func TestThreeProbesAtATime(t *testing.T) {
	t.Parallel()
	c := NewBoard().Cell(HealthKey{})
	c.Own(node.HealthEvent{ID: uuid.New(), Kind: node.HealthRateLimited}, 1, now)
	if a := c.Admit(at(1)); a.OK || a.Reason != CoolingDown || a.Until != at(30) {
		t.Fatalf("while cooling: %+v", a)
	}
	var probes []Admission
	for range 3 {
		a := c.Admit(at(31))
		if !a.OK || !a.Probe() {
			t.Fatalf("probe not admitted: %+v", a)
		}
		probes = append(probes, a)
	}
	if a := c.Admit(at(31)); a.OK || a.Reason != Recovering {
		t.Fatalf("a fourth probe: %+v", a)
	}
	probes[0].Release()
	probes[0].Release() // releasing twice is releasing once
	again := c.Admit(at(31))
	if !again.OK {
		t.Fatal("a slot was not given back")
	}
	if a := c.Admit(at(31)); a.OK {
		t.Fatal("a slot was given back twice")
	}
	// A new episode has slots of its own, and the old ones give nothing back to it.
	c.Own(node.HealthEvent{ID: uuid.New(), Kind: node.HealthRateLimited, Episode: 1}, 1, at(32))
	var next []Admission
	for range 3 {
		next = append(next, c.Admit(at(63)))
	}
	again.Release()
	if a := c.Admit(at(63)); a.OK || !next[2].OK {
		t.Fatal("a slot of the last episode was given back to this one")
	}
}
