package sim

import (
	"math"
	"slices"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// twin is a record under one policy, told once more and as plainly as can be: the rules
// of docs/failover.md, without regard for speed, and nothing of what decide.Health is made of.
type twin struct {
	sick      bool
	deadline  time.Time
	reason    decide.CooldownReason
	doublings int
	good      int         // probes that succeeded in this recovery
	bad       []time.Time // every failure since the record was last sick
	well      time.Time   // since when
}

func (t *twin) hear(e decide.Happened, p node.Cooldown) {
	kind := e.Kind
	if kind == node.HealthOverloaded && p.OverloadedSecs == 0 {
		kind = node.HealthFailure
	}
	if p.FailureThreshold == 0 {
		return
	}
	switch kind {
	case node.HealthFailure:
		t.fails(e, p)
	case node.HealthRateLimited:
		t.cools(e, p, asks(e, p.RateLimitedSecs), decide.CooledByRateLimit)
	case node.HealthOverloaded:
		t.cools(e, p, asks(e, p.OverloadedSecs), decide.CooledByOverload)
	case node.HealthUsageLimit:
		t.cools(e, p, float64(p.MaxSecs), decide.CooledByUsageLimit)
	case node.HealthAuthRejected:
		t.cools(e, p, float64(p.MaxSecs), decide.CooledByRejection)
	case node.HealthReset:
		*t = twin{well: e.Seen}
	case node.HealthProbeOK:
		if t.sick && !t.deadline.After(e.Seen) && !t.deadline.After(e.Began) {
			if t.good += e.Count; t.good >= 3 {
				*t = twin{well: e.Seen}
			}
		}
	}
}

// asks is what the provider asked for in seconds, or else the policy's.
func asks(e decide.Happened, otherwise int) float64 {
	if e.Asked {
		return e.RetryAfter.Seconds()
	}
	return float64(otherwise)
}

func (t *twin) fails(e decide.Happened, p node.Cooldown) {
	if t.sick {
		if probe := !t.deadline.After(e.Seen) && !t.deadline.After(e.Began); probe {
			if t.cools(e, p, float64(p.FirstSecs)*math.Pow(2, float64(t.doublings+1)), decide.CooledByErrors) {
				t.doublings++
			}
		}
		return
	}
	if t.well.After(e.Began) {
		return
	}
	for range e.Count {
		t.bad = append(slices.Clip(t.bad), e.At) // states of other lineages share it
	}
	inWindow := 0
	for _, at := range t.bad {
		if e.Seen.Before(at.Add(time.Duration(p.WindowSecs) * time.Second)) {
			inWindow++
		}
	}
	if inWindow >= p.FailureThreshold {
		t.cools(e, p, float64(p.FirstSecs), decide.CooledByErrors)
	}
}

// cools reports whether the cooldown is still to come to its end.
func (t *twin) cools(e decide.Happened, p node.Cooldown, secs float64, reason decide.CooldownReason) bool {
	until := e.At.Add(time.Duration(min(secs, float64(p.MaxSecs)) * float64(time.Second)))
	if !until.After(e.Seen) {
		return false
	}
	if !t.sick || !t.deadline.After(e.Seen) {
		t.good = 0
	}
	if !t.sick || until.After(t.deadline) {
		t.deadline, t.reason = until, reason
	}
	t.sick, t.bad = true, nil
	return true
}

// agrees reports whether the product's state is the twin's.
func (t *twin) agrees(h *decide.Health, at time.Time) bool {
	if !t.sick {
		return h.At(at) == decide.StandingHealthy && h.At(at.Add(1000*time.Hour)) == decide.StandingHealthy
	}
	return h.Until().Equal(t.deadline) && h.Reason() == t.reason && h.At(t.deadline.Add(-1)) == decide.StandingCooling && h.At(t.deadline) == decide.StandingRecovering
}
