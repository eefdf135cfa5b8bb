package decide

import (
	"errors"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// endpoints are the callers' endpoints that generate, as the admin API names them.
var endpoints = map[string]llm.Dialect{
	"chat_completions": llm.Chat,
	"messages":         llm.Messages,
	"responses":        llm.Responses,
	"embeddings":       llm.Embeddings,
}

// EndpointDialect is the dialect of a callers' endpoint by its name in the admin API
// ("chat_completions", "messages", "responses", "embeddings"); false: the gateway does not serve it.
func EndpointDialect(name string) (llm.Dialect, bool) {
	d, served := endpoints[name]
	return d, served
}

// Streams reports whether answers of an endpoint's dialect can be streamed.
func Streams(d llm.Dialect) bool { return d != llm.Embeddings }

// Question is a request that is not made.
type Question struct {
	Dialect llm.Dialect
	Stream  bool // the caller asks for a stream
	// Own is whether the caller brings a credential of its own: of the vendor of the
	// first passthrough target that takes the dialect.
	Own    bool
	Access *Access // what the caller may use
	// Body is the request's body; nil: one that every dialect has words for.
	Body []byte
	Now  time.Time
	// Answer is what a target says to a try, from 1; Now need not be set in it.
	Answer func(t *Target, try int) Evidence
}

// Rehearsal is what a request would meet on a route.
type Rehearsal struct {
	Steps []Step // every target of the route, in order
	// Ended is how the request ends; NextTarget: no target served, see Exhausted.
	Ended     Turn
	Last      *Step     // the target that ended it; nil where none served
	Failed    int       // targets tried in vain
	Attempts  []Attempt // those, and the skipped ones
	Exhausted Exhausted
}

// Step is one target of a rehearsal.
type Step struct {
	Target *Target
	// Skipped is set where the target is passed over. A target with neither Skipped
	// nor Tries is not reached.
	Skipped *Attempt
	Probe   bool // it is tried as one of the few that a recovering target gets
	Tries   []Try
	// Health is what the last try would say of the target's health; empty: nothing. It
	// is of the caller's own credential's record where OwnRecord is set.
	Health    node.HealthKind
	OwnRecord bool
	// Cools is how long requests would then skip the target; 0: they would not.
	Cools time.Duration
}

// Try is one attempt of a rehearsal.
type Try struct {
	Verdict Verdict
	Turn    Turn
	Wait    time.Duration // before the next try, where Turn is TryAgain
}

// ownCredential stands for the hash of a credential that is not there: its record is
// healthy, since only nodes know the hashes of real ones.
const ownCredential = "rehearsed"

// own is the caller's credential.
func (q *Question) own(route *Route) Own {
	for _, t := range route.Targets {
		if q.Own && t.Passthrough() && t.Endpoint(q.Dialect) != nil {
			return Own{Vendor: t.Provider.Auth.Vendor(), Hash: ownCredential}
		}
	}
	return Own{}
}

// Rehearse walks a route as a request would. Nothing is asked and nothing noted: the
// board's records stay as they are. Time passes only by waits and timeouts. Of chances
// the request has the best: a target whose traffic is still returning takes it.
func Rehearse(route *Route, q Question) Rehearsal {
	run := NewRun(route, q.Dialect, 0, q.own(route), q.Access)
	out := Rehearsal{Ended: NextTarget}
	for {
		seen := len(run.Attempts)
		t, admission, ok := run.Next(q.Now)
		for _, skipped := range run.Attempts[seen:] {
			out.Steps = append(out.Steps, Step{Target: route.Targets[skipped.Position-1], Skipped: &skipped})
		}
		if !ok {
			out.Exhausted = run.Exhausted()
			break
		}
		if cannot := q.cannot(t); cannot != nil {
			admission.Release()
			run.Refuse(t, cannot)
			skipped := run.Attempts[len(run.Attempts)-1]
			out.Steps = append(out.Steps, Step{Target: t, Skipped: &skipped})
			continue
		}
		step, turn := q.try(&run, t, &admission)
		admission.Release()
		out.Steps = append(out.Steps, step)
		if turn != NextTarget {
			out.Ended, out.Last = turn, &step
			break
		}
	}
	for _, t := range route.Targets[len(out.Steps):] {
		out.Steps = append(out.Steps, Step{Target: t})
	}
	out.Failed, out.Attempts = run.Failed, run.Attempts
	return out
}

// cannot is why the request cannot be put as the target takes it; nil: it can.
func (q *Question) cannot(t *Target) *llm.CannotError {
	if q.Body == nil {
		return nil
	}
	to, _ := t.Dialect(q.Dialect)
	body := q.Body
	var cannot *llm.CannotError
	if to != q.Dialect {
		request, err := llm.Parse(q.Dialect, body)
		if errors.As(err, &cannot) {
			return cannot
		}
		translated, err := request.Translate(llm.Hop{To: to, Model: t.Model(), ID: ownCredential, Now: q.Now.Unix()})
		if errors.As(err, &cannot) {
			return cannot
		}
		body = translated.Body()
	}
	if _, err := t.Endpoint(to).Form.Write(body, nil, t.Called()); errors.As(err, &cannot) {
		return cannot
	}
	return nil
}

// try tries a target until the request goes on elsewhere or ends.
func (q *Question) try(run *Run, t *Target, admission *Admission) (Step, Turn) {
	step := Step{Target: t, Probe: admission.Probe()}
	for {
		e := q.Answer(t, len(step.Tries)+1)
		v, took := q.attempt(t, e)
		q.Now = q.Now.Add(took)
		turn, wait := run.After(t, v)
		if turn == TryBare {
			turn = PassedOn // there is no conversation here to leave anything out of
		}
		if turn == PassedOn && e.Cause == ErrorInside {
			turn = Broke // an error event, and so told in the stream
		}
		step.Tries = append(step.Tries, Try{v, turn, wait})
		if turn == TryAgain {
			q.Now = q.Now.Add(wait)
			continue
		}
		q.charge(&step, admission, v)
		if turn == NextTarget {
			run.Fail(t, v, took)
		}
		return step, turn
	}
}

// attempt judges a made-up answer as a real one would be, and says how long it took
// to come: no time, unless it is that the time was up.
func (q *Question) attempt(t *Target, e Evidence) (v Verdict, took time.Duration) {
	if e.Cause == TimedOut {
		took = t.Timeout
		if q.Stream {
			took = t.StreamIdle
		}
	}
	inStream := e.Cause == ErrorInside // as an event, which comes as it is
	if good := e.Status >= 200 && e.Status < 300; good && e.Cause == NoCause && e.Phase == Answered && e.Body != nil {
		to, _ := t.Dialect(q.Dialect)
		if e.Cause = WholeCause(to, q.Stream, e.Body); e.Cause == NotAnAnswer {
			e.Body = nil
		}
	}
	e.Now = q.Now.Add(took)
	v = Classify(e)
	if e.Cause == ErrorInside && e.Phase == Answered && !inStream && !v.Failover {
		v.Status = t.RefusalStatus(q.Dialect, e.Status, e.Body)
	}
	return v, took
}

// charge says what the attempt would do to the target's health.
func (q *Question) charge(step *Step, admission *Admission, v Verdict) {
	t := step.Target
	if v.Class == Succeeded {
		if admission.Probe() {
			step.Health = node.HealthProbeOK
		}
		return
	}
	step.Health, step.OwnRecord = t.Charged(v)
	if step.Health == "" {
		return
	}
	var h Health
	policy := ownPolicy(t.Cooldown)
	if !step.OwnRecord {
		h, policy = t.Health.Health(), t.Cooldown
	}
	h = h.Apply(Happened{Kind: step.Health, Count: 1, Seen: q.Now, At: q.Now, Began: admission.Began, RetryAfter: v.RetryAfter, Asked: v.HasRetry}, policy)
	if h.At(q.Now) == StandingCooling {
		step.Cools = h.Until().Sub(q.Now)
	}
}

// Charged is what an attempt in vain says of health, and whether it says it of the
// caller's own credential only: on a passthrough target a limit or a rejection is
// nobody else's.
func (t *Target) Charged(v Verdict) (kind node.HealthKind, own bool) {
	switch {
	case v.Health == "" || !t.Passthrough():
		return v.Health, false
	case v.Class == AuthRejected:
		return node.HealthAuthRejected, true
	}
	return v.Health, v.Class == RateLimited || v.Class == UsageLimit
}
