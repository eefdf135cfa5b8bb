package decide

import (
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Attempt is what happened to one target of a route, as the error's attempt list
// shows it. It names no credential and no address.
type Attempt struct {
	Position       int    `json:"position"`
	Provider       string `json:"provider"`
	UpstreamModel  string `json:"upstream_model"`
	Outcome        string `json:"outcome"` // "failed" or "skipped"
	Reason         string `json:"reason"`
	Status         int    `json:"status,omitempty"`
	RetryAfterSecs *int   `json:"retry_after_secs,omitempty"` // whole seconds, rounded up
	DurationMillis int64  `json:"duration_ms"`
	Message        string `json:"message,omitempty"`

	class Class
	skip  Reason
	wait  time.Duration // until the target can serve at the earliest
}

// Skipped is why the target was passed over; empty: it was not.
func (a *Attempt) Skipped() Reason { return a.skip }

// Outcomes of an Attempt.
const (
	OutcomeFailed  = "failed"
	OutcomeSkipped = "skipped"
)

// Run walks a route's targets for one request. It never returns to a target it
// has left, and tries none more than 1 + RetryOn429 times, and once more without the
// conversation's thoughts where those are what it refuses.
type Run struct {
	route    *Route
	dialect  llm.Dialect
	seed     uint64           // derived from the request; the only source of chance
	own      Own              // the caller's own credential
	access   *Access          // what the caller may use
	cannot   *llm.CannotError // why the first target that could not be asked could not
	missing  Vendor           // of a passthrough target that was reached without one of its own
	embeds   string           // the upstream model that embeddings are of; others answer only where they may
	at       int              // the target to look at next
	later    []*Target        // targets whose traffic is still returning: asked if no other serves
	tries    int              // of the current target
	bare     bool             // the current target was asked without the conversation's thoughts
	Failed   int              // targets tried in vain
	Attempts []Attempt
}

// NewRun starts at the first target. own is the caller's own upstream credential, access
// what the caller may use.
func NewRun(route *Route, dialect llm.Dialect, seed uint64, own Own, access *Access) Run {
	r := Run{route: route, dialect: dialect, seed: seed, own: own, access: access}
	if dialect == llm.Embeddings {
		r.embeds = route.embeds(access)
	}
	return r
}

// Next finds the next target that may be tried now, and notes the ones it skips.
// The admission must be released.
func (r *Run) Next(now time.Time) (*Target, Admission, bool) {
	for {
		t, chance, ok := r.look()
		if !ok {
			return nil, Admission{}, false
		}
		if reason := r.unfit(t); reason != "" {
			r.skipped(t, reason, 0)
			continue
		}
		if t.Passthrough() && r.own.For(t) == "" {
			// Going on would answer with another account than the caller's tool asked for.
			r.skipped(t, CredentialMissing, 0)
			r.missing = t.Provider.Auth.Vendor()
			return nil, Admission{}, false
		}
		admission := r.admit(t, now, chance)
		switch {
		case admission.OK:
			r.tries, r.bare = 1, false
			return t, admission, true
		case admission.Reason == returning:
			r.later = append(r.later, t)
		default:
			r.skipped(t, admission.Reason, admission.Until.Sub(now))
		}
	}
}

// chance is the request's own number of 0 to 1.
func (r *Run) chance() float64 { return float64(r.seed>>11) / (1 << 53) }

// look is the next target of the route, and the request's chance with it. Those whose
// traffic is still returning come last, and then for certain: a healthy target is
// better than none.
func (r *Run) look() (t *Target, chance float64, ok bool) {
	if r.at < len(r.route.Targets) {
		t = r.route.Targets[r.at]
		r.at++
		return t, r.chance(), true
	}
	if len(r.later) == 0 {
		return nil, 0, false
	}
	t, r.later = r.later[0], r.later[1:]
	return t, 0, true
}

// admit asks the record for everyone, and on a passthrough target the caller's own.
func (r *Run) admit(t *Target, now time.Time, chance float64) Admission {
	var own *Admission
	if t.Passthrough() {
		if v := t.OwnHealth(r.own.For(t)); v != nil {
			a := v.Admit(now, 0) // one caller's traffic is no crowd
			if !a.OK {
				h := v.Health()
				a.Reason = ownReason(&h)
				return a
			}
			own = &a
		}
	}
	a := t.Health.Admit(now, chance)
	a.Own = own
	if !a.OK {
		a.Release()
	}
	return a
}

// Pass notes that the target Next gave was not asked after all: the fleet had no probe
// slot left for it, or it has begun to cool down.
func (r *Run) Pass(t *Target, now time.Time) {
	if reason, until := r.cooling(t, now); reason != "" {
		r.skipped(t, reason, until.Sub(now))
		return
	}
	r.skipped(t, Recovering, time.Second)
}

// Refuse notes that the target Next gave is not asked, for the request cannot be put in
// its dialect: what says why.
func (r *Run) Refuse(t *Target, what *llm.CannotError) {
	r.skipped(t, CannotTranslate, 0)
	r.Attempts[len(r.Attempts)-1].Message = bounded(what.Error())
	if r.cannot == nil {
		r.cannot = what
	}
}

// Cooling reports whether the target cools down now, for everyone or for the caller. What
// was admitted and then had to wait (for a probe slot, for a rate limit to pass) asks
// before it sends: nothing is sent to a target that cools down.
func (r *Run) Cooling(t *Target, now time.Time) bool {
	reason, _ := r.cooling(t, now)
	return reason != ""
}

func (r *Run) cooling(t *Target, now time.Time) (Reason, time.Time) {
	if t.Passthrough() {
		if v := t.OwnHealth(r.own.For(t)); v != nil {
			if h := v.Health(); h.At(now) == StandingCooling {
				return ownReason(&h), h.Until()
			}
		}
	}
	if h := t.Health.Health(); h.At(now) == StandingCooling {
		return CoolingDown, h.Until()
	}
	return "", time.Time{}
}

// ownReason is why a target is not asked whose caller's own credential does not stand well.
func ownReason(h *Health) Reason {
	if h.Reason() == CooledByRejection {
		return CredentialRejected
	}
	return CredentialCooling
}

// unfit is why the target is not for this request, whatever its health. What the caller
// may not use comes first: how it stands is none of the caller's business.
func (r *Run) unfit(t *Target) Reason {
	if !r.access.allows(r.route, t) {
		return NotAllowed
	}
	if t.Unservable != "" {
		return t.Unservable
	}
	if _, ok := t.Dialect(r.dialect); !ok {
		return WrongDialect
	}
	if r.embeds != "" && t.UpstreamModel != r.embeds && !t.AnyVectors {
		return OtherEmbeddingModel
	}
	return ""
}

func (r *Run) skipped(t *Target, reason Reason, wait time.Duration) {
	a := Attempt{
		Position: t.Position, Provider: t.Provider.Name, UpstreamModel: t.UpstreamModel,
		Outcome: OutcomeSkipped, Reason: string(reason), skip: reason, wait: wait,
	}
	if wait > 0 {
		a.RetryAfterSecs = wholeSeconds(wait)
	}
	switch reason {
	case CoolingDown:
		h := t.Health.Health()
		a.Message = string(h.Reason())
	case AmbientForbidden:
		a.Message = "the operator does not let organizations use the nodes' own cloud identity"
	case NotAllowed:
		by, _ := r.access.Denies(r.route, t)
		a.Message = by.String()
	}
	r.Attempts = append(r.Attempts, a)
}

// Retry says whether the same target is to be tried again, and after how long.
// Only a rate limit is retried, and only before the caller has seen anything.
func (r *Run) Retry(t *Target, v Verdict) (wait time.Duration, again bool) {
	if v.Class != RateLimited || !v.Failover || r.tries > t.RetryOn429 {
		return 0, false
	}
	r.tries++
	switch {
	case t.RetryMaxWait == 0:
		// 0.8 to 1.2 seconds, so that a burst does not come back as a burst.
		share := float64((r.seed+uint64(r.tries)*0x9e3779b97f4a7c15)>>11) / (1 << 53)
		return time.Duration((0.8 + 0.4*share) * float64(time.Second)), true
	case !v.HasRetry:
		return time.Second, true
	}
	return min(v.RetryAfter, t.RetryMaxWait), true
}

// Turn is how a request goes on after an attempt.
type Turn uint8

// Turns. All but the first two and the last end the request.
const (
	NextTarget Turn = iota // the target was tried in vain, which Fail is to note
	TryAgain               // the same target is to be tried again
	Served                 // the caller has the answer
	PassedOn               // the caller gets the provider's refusal as it is
	Broke                  // the answer broke off after the caller had seen some of it
	// TryBare is for the same target once more, at once, without the thoughts in the
	// conversation; PassedOn where there are none to leave out.
	TryBare
	CallerLeft // nobody waits for an answer any more
)

// After says how the request goes on after an attempt, and how long to wait before
// the same target is tried again.
func (r *Run) After(t *Target, v Verdict) (Turn, time.Duration) {
	if wait, again := r.Retry(t, v); again {
		return TryAgain, wait
	}
	switch {
	case v.Class == ThoughtsRefused && !v.Committed && !r.bare:
		r.bare = true
		return TryBare, 0
	case v.Class == Succeeded:
		return Served, 0
	case v.Class == Canceled:
		return CallerLeft, 0
	case v.Committed:
		return Broke, 0
	case !v.Failover:
		return PassedOn, 0
	}
	return NextTarget, 0
}

// Fail notes that a target was tried in vain.
func (r *Run) Fail(t *Target, v Verdict, took time.Duration) {
	r.Failed++
	r.Attempts = append(r.Attempts, attemptOf(t, v, took))
}

// Told is what happened to each target, in order, with t as the last that was tried: its
// refusal or its failure is what the caller is told. It notes nothing.
func (r *Run) Told(t *Target, v Verdict, took time.Duration) []Attempt {
	return inOrder(append(slices.Clone(r.Attempts), attemptOf(t, v, took)))
}

func inOrder(attempts []Attempt) []Attempt {
	slices.SortStableFunc(attempts, func(a, b Attempt) int { return a.Position - b.Position })
	return attempts
}

// attemptOf is an attempt that came to nothing.
func attemptOf(t *Target, v Verdict, took time.Duration) Attempt {
	a := Attempt{
		Position: t.Position, Provider: t.Provider.Name, UpstreamModel: t.UpstreamModel,
		Outcome: OutcomeFailed, Reason: string(v.Class), Status: v.Status,
		DurationMillis: took.Milliseconds(), Message: v.Message, class: v.Class,
	}
	switch {
	case v.Class == RateLimited, v.Class == Overloaded:
		otherwise := t.Cooldown.RateLimitedSecs
		if v.Class == Overloaded {
			otherwise = t.Cooldown.OverloadedSecs
		}
		a.wait = seconds(otherwise)
		if v.HasRetry {
			a.wait = v.RetryAfter
		}
		a.wait = min(a.wait, seconds(t.Cooldown.MaxSecs))
	case v.Class == UsageLimit:
		a.wait = seconds(t.Cooldown.MaxSecs)
	}
	if a.wait > 0 || v.HasRetry {
		a.RetryAfterSecs = wholeSeconds(a.wait)
	}
	return a
}

func wholeSeconds(d time.Duration) *int {
	n := int(math.Ceil(d.Seconds()))
	return &n
}

// Exhausted is the answer when no target served.
type Exhausted struct {
	Status int
	// RetryAfter is the earliest a target can serve, in whole seconds of 1 to 300;
	// 0: waiting does not help.
	RetryAfter int
	Code       string
	Param      string // the request's field at fault, or empty
	Message    string
	// Tried is whether any provider was asked: whose error it is.
	Tried bool
}

// Error is the answer as an error that lists what happened to each target.
func (e Exhausted) Error(attempts []Attempt) *llm.Error {
	return &llm.Error{Status: e.Status, Code: e.Code, Param: e.Param, Message: e.Message, Metadata: Metadata(attempts)}
}

// Metadata is error.metadata of an error that lists what happened to each target.
func Metadata(attempts []Attempt) any { return map[string]any{"attempts": attempts} }

// maxRetryAfter bounds what callers are told to wait, in seconds.
const maxRetryAfter = 300

// Exhausted says what the caller gets when every target failed or was skipped:
// 429 if all that could serve are rate-limited, out of quota or cooling down, else
// the status that every attempt had in common, else 502. Targets that the
// configuration or the request itself keeps out count only when there is no other.
func (r *Run) Exhausted() Exhausted {
	if r.missing != NoVendor {
		return Exhausted{Status: http.StatusUnauthorized, Code: "upstream_credential_missing",
			Message: "this route uses your own " + r.missing.String() + " subscription: sign in to it in your tool, and send the gateway key in x-bd-api-key"}
	}
	inOrder(r.Attempts)
	e := Exhausted{Status: http.StatusBadGateway, Code: "all_targets_failed", Message: "every target of the route failed"}
	var considered, limited, rejected, wrongDialect, shared int
	soonest := time.Duration(math.MaxInt64)
	same := true
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if a.skip == WrongDialect {
			wrongDialect++
		}
		if a.skip.configured() {
			continue
		}
		considered++
		if a.skip == CredentialRejected {
			rejected++
		}
		if a.skip != "" || a.class == RateLimited || a.class == UsageLimit {
			limited++
			soonest = min(soonest, a.wait)
		}
		if a.Outcome == OutcomeFailed {
			e.Tried = e.Tried || a.class != Internal
			same = same && (shared == 0 || shared == a.Status) && a.Status != 0
			shared = a.Status
		}
	}
	switch {
	case considered == 0 && r.cannot != nil:
		e.Status, e.Code, e.Param = http.StatusBadRequest, string(CannotTranslate), r.cannot.Field
		e.Message = "no target of the route can be asked for this: " + bounded(r.cannot.Error())
	case considered == 0 && wrongDialect > 0:
		e.Status, e.Code = http.StatusBadRequest, "endpoint_not_supported"
		e.Message = "no target of the route can be asked through this endpoint"
	case considered == 0:
		e.Code, e.Message = "no_target_available", "no target of the route is available"
	case rejected == considered:
		e.Status, e.Code = http.StatusUnauthorized, "upstream_credential_rejected"
		e.Message = "the provider rejected your own credential: sign in to it again"
	case limited == considered:
		e.Status, e.Code = http.StatusTooManyRequests, "all_targets_unavailable"
		e.Message = "every target of the route is rate-limited, out of quota or cooling down"
		e.RetryAfter = min(max(*wholeSeconds(soonest), 1), maxRetryAfter)
	case e.Tried && same && shared >= 400:
		e.Status = shared
	}
	return e
}
