package decide

import (
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// HealthKey names one health record. Health belongs to what is asked, never to a
// route: two routes over the same upstream model share it.
type HealthKey struct {
	OrganizationID uuid.UUID
	ProviderID     uuid.UUID
	UpstreamModel  string
}

// Standing is what a health record lets through.
type Standing uint8

// Standings.
const (
	StandingHealthy Standing = iota
	StandingCooling
	StandingRecovering // the cooldown has passed; probes go through
)

// recoverySuccesses is how many probes must succeed before a target is healthy.
const recoverySuccesses = 3

// CooldownReason is why a target cools down, as the admin API names it.
type CooldownReason string

// Reasons of a cooldown.
const (
	CooledByErrors     CooldownReason = "provider_errors"
	CooledByRateLimit  CooldownReason = "rate_limited"
	CooledByOverload   CooldownReason = "overloaded"
	CooledByUsageLimit CooldownReason = "usage_limit"
)

// Health is the state of one record: a fold over its events in the bus's order.
// It is a value; Apply returns the next one. The zero Health is healthy.
type Health struct {
	failures  []failure // of the rolling window, oldest first; only while healthy
	episode   int64     // counts cooldowns; a request carries the one it began under
	active    bool      // cooling or recovering
	until     time.Time
	reason    CooldownReason
	level     int // failed recoveries in a row; each doubles the cooldown
	successes int // probes of this episode that succeeded
}

type failure struct {
	at    time.Time
	count int
}

// At is the standing of the record at a moment.
func (h *Health) At(now time.Time) Standing {
	switch {
	case !h.active:
		return StandingHealthy
	case now.Before(h.until):
		return StandingCooling
	}
	return StandingRecovering
}

// Until is when the cooldown passes or passed; only while not healthy.
func (h *Health) Until() time.Time { return h.until }

// Reason is why it cools or cooled; only while not healthy.
func (h *Health) Reason() CooldownReason { return h.reason }

// Episode is what a request that begins now must carry in its reports.
func (h *Health) Episode() int64 { return h.episode }

// Apply folds one event that the bus received at the given moment.
func (h Health) Apply(ev *node.HealthEvent, count int, at time.Time, policy node.Cooldown) Health {
	switch ev.Kind {
	case node.HealthFailure:
		return h.failed(ev, count, at, policy)
	case node.HealthOverloaded:
		if policy.OverloadedSecs == 0 {
			return h.failed(ev, count, at, policy)
		}
		return h.asked(ev, at, CooledByOverload, policy.OverloadedSecs, policy)
	case node.HealthRateLimited:
		return h.asked(ev, at, CooledByRateLimit, policy.RateLimitedSecs, policy)
	case node.HealthUsageLimit:
		ev := *ev
		ev.RetryAfterMillis = nil // always the longest
		return h.asked(&ev, at, CooledByUsageLimit, policy.MaxSecs, policy)
	case node.HealthProbeOK:
		if h.At(at) == StandingRecovering && ev.Episode == h.episode {
			if h.successes += count; h.successes >= recoverySuccesses {
				return Health{episode: h.episode}
			}
		}
	case node.HealthReset:
		return Health{episode: h.episode}
	}
	return h
}

// failed counts a failure of the server's. A report from a request that began
// before the current episode says nothing new.
func (h Health) failed(ev *node.HealthEvent, count int, at time.Time, policy node.Cooldown) Health {
	if policy.FailureThreshold == 0 || ev.Episode < h.episode {
		return h
	}
	switch h.At(at) {
	case StandingHealthy:
		kept := make([]failure, 0, len(h.failures)+1)
		total := count
		for _, f := range h.failures {
			if at.Sub(f.at) < seconds(policy.WindowSecs) {
				kept, total = append(kept, f), total+f.count
			}
		}
		h.failures = append(kept, failure{at, count})
		if total >= policy.FailureThreshold {
			return h.cool(at, seconds(policy.FirstSecs), CooledByErrors, policy)
		}
	case StandingRecovering:
		h.level++
		return h.cool(at, seconds(policy.FirstSecs)<<min(h.level, 12), CooledByErrors, policy)
	}
	return h
}

// asked cools for what the provider asked, else for the policy's seconds, without
// escalation. Late reports count: the provider's word holds whenever it came.
func (h Health) asked(ev *node.HealthEvent, at time.Time, reason CooldownReason, otherwise int, policy node.Cooldown) Health {
	window := seconds(otherwise)
	if ev.RetryAfterMillis != nil {
		window = time.Duration(*ev.RetryAfterMillis) * time.Millisecond
	}
	if window <= 0 {
		return h
	}
	return h.cool(at, window, reason, policy)
}

// cool moves the deadline, only ever later. Outside a cooldown it begins a new
// episode, so that reports and probe slots of the last one no longer count.
func (h Health) cool(at time.Time, window time.Duration, reason CooldownReason, policy node.Cooldown) Health {
	window = min(window, seconds(policy.MaxSecs))
	if h.At(at) != StandingCooling {
		h.episode++
		h.successes = 0
	}
	if until := at.Add(window); until.After(h.until) || !h.active {
		h.until, h.reason = until, reason
	}
	h.active, h.failures = true, nil
	return h
}
