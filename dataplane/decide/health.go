package decide

import (
	"cmp"
	"slices"
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
	// Credential is the keyed hash of a caller's own credential: its record is beside
	// the one for everyone, which has none.
	Credential string
}

func (k HealthKey) compare(o HealthKey) int {
	return cmp.Or(slices.Compare(k.OrganizationID[:], o.OrganizationID[:]), slices.Compare(k.ProviderID[:], o.ProviderID[:]),
		cmp.Compare(k.UpstreamModel, o.UpstreamModel), cmp.Compare(k.Credential, o.Credential))
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
	CooledByRejection  CooldownReason = "auth_failed"
)

// Happened is one event of a record's log, in the bus's time.
type Happened struct {
	ID    uuid.UUID
	Node  string // who saw it
	Kind  node.HealthKind
	Count int       // of equal events that this one stands for, at least 1
	Seen  time.Time // when the log took it in: states are judged at this moment
	At    time.Time // when it happened: a cooldown is reckoned from here; never after Seen
	Began time.Time // when the reporting request began
	Again bool      // it was in a log that is lost, and is told again
	User  uuid.UUID // see node.HealthEvent.UserID; zero: none
	// RetryAfter is what the provider asked for, where Asked.
	RetryAfter time.Duration
	Asked      bool
}

// before orders events as a log took them in.
func (e Happened) before(o Happened) int {
	return cmp.Or(e.Seen.Compare(o.Seen), slices.Compare(e.ID[:], o.ID[:]))
}

// HappenedAt reads an event that the bus received at a moment.
func HappenedAt(ev *node.HealthEvent, received time.Time) Happened {
	ago := func(millis int64) time.Time { return received.Add(-time.Duration(max(0, millis)) * time.Millisecond) }
	e := Happened{ID: ev.ID, Node: ev.Node, Kind: ev.Kind, Count: max(ev.Count, 1), Seen: ago(ev.SeenMillisAgo), At: ago(ev.AgeMillis), Began: ago(ev.BeganMillisAgo), Again: ev.SeenMillisAgo > 0}
	if ev.UserID != nil {
		e.User = *ev.UserID
	}
	if ev.RetryAfterMillis != nil {
		e.RetryAfter, e.Asked = time.Duration(*ev.RetryAfterMillis)*time.Millisecond, true
	}
	return e
}

// Health is a record as one policy judges it: a fold over the record's log. It is
// a value; Apply returns the next one. The zero Health is healthy.
type Health struct {
	failures  []failure // of the rolling window, oldest first; only while healthy
	episode   int64     // counts cooldowns; probe slots belong to one
	active    bool      // cooling or recovering
	until     time.Time // the end of the cooldown; only while active
	reason    CooldownReason
	level     int       // failed recoveries in a row; each doubles the cooldown
	successes int       // probes of this episode that succeeded
	healed    time.Time // when the last cooldown ended; what began before is late
	ramp      bool      // it ended by probes, not by an operator: traffic returns bit by bit
	changes   []change  // the last maxChanges, oldest first
}

// change is one transition of a record's state.
type change struct {
	from, to Standing
	reason   CooldownReason
	window   time.Duration
	at       time.Time
}

// maxChanges is how many transitions a record remembers, for people to look at.
const maxChanges = 10

// changed remembers a transition. The slice is never written in place: states that
// came before share it.
func (h Health) changed(c change) []change {
	kept := h.changes[max(0, len(h.changes)-maxChanges+1):]
	return append(slices.Clone(kept), c)
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

// rampTime is how long traffic takes to return to a target that has recovered, and
// rampFrom the share of requests that it begins with: a provider that has just come
// back is not hit by everything at once.
const (
	rampTime = 10 * time.Second
	rampFrom = 0.1
)

// Share is the part of the requests that the target is to get at a moment, of 0 to
// 1, while it is healthy.
func (h *Health) Share(now time.Time) float64 {
	if !h.ramp {
		return 1
	}
	return min(1, rampFrom+(1-rampFrom)*float64(max(0, now.Sub(h.healed)))/float64(rampTime))
}

// Until is when the cooldown passes or passed; only while not healthy.
func (h *Health) Until() time.Time { return h.until }

// Reason is why it cools or cooled; only while not healthy.
func (h *Health) Reason() CooldownReason { return h.reason }

// Equal reports whether two states are one: no event and no moment tells them apart, and
// they remember the same transitions.
func (h *Health) Equal(o *Health) bool {
	sameFailures := slices.EqualFunc(h.failures, o.failures, func(a, b failure) bool { return a.count == b.count && a.at.Equal(b.at) })
	sameChanges := slices.EqualFunc(h.changes, o.changes, func(a, b change) bool {
		return a.from == b.from && a.to == b.to && a.reason == b.reason && a.window == b.window && a.at.Equal(b.at)
	})
	return sameFailures && sameChanges && h.episode == o.episode && h.active == o.active && h.until.Equal(o.until) && h.reason == o.reason &&
		h.level == o.level && h.successes == o.successes && h.healed.Equal(o.healed) && h.ramp == o.ramp
}

// Apply folds one event. With a threshold of 0 nothing ever cools down for everyone.
func (h Health) Apply(e Happened, policy node.Cooldown) Health {
	if policy.FailureThreshold == 0 {
		return h
	}
	switch e.Kind {
	case node.HealthFailure:
		return h.failed(e, policy)
	case node.HealthOverloaded:
		if policy.OverloadedSecs == 0 {
			return h.failed(e, policy)
		}
		return h.asked(e, CooledByOverload, policy.OverloadedSecs, policy)
	case node.HealthRateLimited:
		return h.asked(e, CooledByRateLimit, policy.RateLimitedSecs, policy)
	case node.HealthUsageLimit:
		e.Asked = false // always the longest
		return h.asked(e, CooledByUsageLimit, policy.MaxSecs, policy)
	case node.HealthAuthRejected:
		e.Asked = false
		return h.asked(e, CooledByRejection, policy.MaxSecs, policy)
	case node.HealthProbeOK:
		if h.At(e.Seen) == StandingRecovering && !e.Began.Before(h.until) {
			if h.successes += e.Count; h.successes >= recoverySuccesses {
				h = h.heal(e.Seen, h.reason)
				h.ramp = true
			}
		}
	case node.HealthReset:
		return h.heal(e.Seen, "reset")
	}
	return h
}

// heal forgets the failures and the escalation.
func (h Health) heal(at time.Time, why CooldownReason) Health {
	healed := Health{episode: h.episode, healed: at, changes: h.changes}
	if from := h.At(at); from != StandingHealthy {
		healed.changes = h.changed(change{from: from, to: StandingHealthy, reason: why, at: at})
	}
	return healed
}

// failed counts a failure of the server's. What began before the last cooldown
// ended says nothing new.
func (h Health) failed(e Happened, policy node.Cooldown) Health {
	switch h.At(e.Seen) {
	case StandingHealthy:
		if e.Began.Before(h.healed) {
			return h
		}
		kept := make([]failure, 0, len(h.failures)+1)
		total := 0
		for _, f := range append(h.failures[:len(h.failures):len(h.failures)], failure{e.At, e.Count}) {
			if e.Seen.Sub(f.at) < seconds(policy.WindowSecs) {
				kept, total = append(kept, f), total+f.count
			}
		}
		h.failures = kept
		if total >= policy.FailureThreshold {
			return h.cool(e, seconds(policy.FirstSecs), CooledByErrors, policy)
		}
	case StandingRecovering:
		if e.Began.Before(h.until) {
			return h
		}
		again := h
		again.level++
		if again = again.cool(e, seconds(policy.FirstSecs)<<min(again.level, 12), CooledByErrors, policy); again.episode > h.episode {
			return again
		}
	}
	return h
}

// asked cools for what the provider asked, else for the policy's seconds, without
// escalation. Late reports count: the provider's word holds whenever it came.
func (h Health) asked(e Happened, reason CooldownReason, otherwise int, policy node.Cooldown) Health {
	window := seconds(otherwise)
	if e.Asked {
		window = e.RetryAfter
	}
	return h.cool(e, window, reason, policy)
}

// cool moves the deadline, only ever later. Outside a cooldown it begins a new
// episode, so that successes of the last one no longer count. A cooldown that would
// be over by now (none was asked for, or a node that was cut off tells of it late)
// changes nothing.
func (h Health) cool(e Happened, window time.Duration, reason CooldownReason, policy node.Cooldown) Health {
	window = min(window, seconds(policy.MaxSecs))
	until := e.At.Add(window)
	if !until.After(e.Seen) {
		return h
	}
	if from := h.At(e.Seen); from != StandingCooling {
		h.changes = h.changed(change{from: from, to: StandingCooling, reason: reason, window: window, at: e.Seen})
		h.episode++
		h.successes = 0
	}
	if until.After(h.until) || !h.active {
		h.until, h.reason = until, reason
	}
	h.active, h.failures = true, nil
	return h
}
