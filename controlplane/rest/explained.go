package rest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// Names of the gateway's own headers, as documentation writes them.
const (
	headerAttempt       = "x-bd-provider-route-attempt"
	headerCount         = "x-bd-provider-route-count"
	headerFailoverCount = "x-bd-provider-failover-count"
	headerErrorOrigin   = "x-bd-error-origin"
	headerRetryAfter    = "retry-after"
	headerShouldRetry   = "x-should-retry"
)

// turns is how a request goes on after a try, and outcomes how it ends.
var (
	turns = map[decide.Turn]admin.ExplainTryNext{
		decide.NextTarget: admin.ExplainTryNextNextTarget,
		decide.TryAgain:   admin.ExplainTryNextTryAgain,
		decide.Served:     admin.ExplainTryNextServed,
		decide.PassedOn:   admin.ExplainTryNextPassedOn,
		decide.Broke:      admin.ExplainTryNextBrokeOff,
		decide.CallerLeft: admin.ExplainTryNextCallerLeft,
	}
	outcomes = map[decide.Turn]admin.ExplainOutcomeKind{
		decide.NextTarget: admin.ExplainOutcomeKindFailed,
		decide.Served:     admin.ExplainOutcomeKindServed,
		decide.PassedOn:   admin.ExplainOutcomeKindPassedOn,
		decide.Broke:      admin.ExplainOutcomeKindBrokeOff,
		decide.CallerLeft: admin.ExplainOutcomeKindCallerLeft,
	}
)

// refuse ends the request with an error of the gateway's own before there is a route.
func (e *explanation) refuse(kind admin.ExplainResolutionKind, reason string, with *decide.Refusal) {
	e.out.Resolution = admin.ExplainResolution{Kind: kind, Route: orNull[string](nil), Reason: reason}
	e.out.Outcome = newOutcome(admin.ExplainOutcomeKindRefused)
	showError(&e.out.Outcome, with, admin.ExplainOutcomeOriginGateway)
}

// refused shows why a caller gets to no target: nothing answers to the model, or all that
// do are denied.
func (e *explanation) refused(c decide.Caller, model string, with *decide.Refusal) {
	route := e.org.Resolve(model)
	if route == nil {
		e.refuse(admin.ExplainResolutionKindNone, whyUnknown(e.snapshot, model), with)
		return
	}
	e.refuse(admin.ExplainResolutionKindDenied, with.Message, with)
	e.out.Resolution.Route = orNull(&route.Name)
	for _, t := range route.Targets {
		by, _ := c.Key.Access.Denies(route, t)
		e.out.Steps = append(e.out.Steps, showStep(&decide.Step{Target: t, Skipped: &decide.Attempt{Reason: string(decide.NotAllowed), Message: by.String()}}))
	}
}

// walk shows a rehearsal of the route.
func (e *explanation) walk(route *decide.Route, r decide.Rehearsal) {
	e.out.Resolution = admin.ExplainResolution{Kind: admin.ExplainResolutionKindRoute, Route: orNull(&route.Name),
		Reason: fmt.Sprintf("The route %q has %s.", route.Name, targets(len(route.Targets)))}
	if route.Direct {
		e.out.Resolution.Kind = admin.ExplainResolutionKindDirect
		t := route.Targets[0]
		e.out.Resolution.Reason = fmt.Sprintf("It is the model %q of the provider %q itself.", t.UpstreamModel, t.Provider.Name)
	}
	for i := range r.Steps {
		e.out.Steps = append(e.out.Steps, showStep(&r.Steps[i]))
	}
	e.out.Outcome = showOutcome(route, &r)
}

func targets(n int) string {
	if n == 1 {
		return "1 target"
	}
	return fmt.Sprintf("%d targets", n)
}

func showStep(s *decide.Step) admin.ExplainStep {
	out := admin.ExplainStep{
		Position: s.Target.Position, ProviderId: s.Target.Provider.ID, ProviderName: s.Target.Provider.Name, UpstreamModel: s.Target.UpstreamModel,
		Decision: admin.ExplainStepDecisionNotReached, Reason: orNull[string](nil), RecoversInSecs: orNull[int](nil),
		Probe: s.Probe, Tries: mapAll(s.Tries, showTry), Health: orNull[admin.ExplainHealth](nil),
	}
	switch {
	case s.Skipped != nil:
		out.Decision, out.Reason = admin.ExplainStepDecisionSkipped, orNull(&s.Skipped.Reason)
		out.RecoversInSecs = orNull(s.Skipped.RetryAfterSecs)
		switch {
		case s.Skipped.Message == "":
		case s.Skipped.Reason == string(decide.NotAllowed):
			out.DeniedBy = &s.Skipped.Message
		case s.Skipped.Reason == string(decide.CoolingDown):
			out.CooldownReason = &s.Skipped.Message
		default:
			out.Message = &s.Skipped.Message
		}
	case len(s.Tries) > 0:
		out.Decision = admin.ExplainStepDecisionTried
	}
	if s.Health != "" {
		scope := admin.ExplainHealthScopeAllUsers
		if s.OwnRecord {
			scope = admin.ExplainHealthScopeCurrentCredential
		}
		out.Health = orNull(&admin.ExplainHealth{Kind: admin.ExplainHealthKind(s.Health), Scope: scope, CoolsForSecs: wholeSeconds(s.Cools.Milliseconds())})
	}
	return out
}

func showTry(t decide.Try) admin.ExplainTry {
	v := t.Verdict
	out := admin.ExplainTry{Class: admin.AttemptClass(v.Class), Failover: v.Failover, Message: v.Message, Next: turns[t.Turn],
		Status: orNull(ifSet(v.Status)), RetryAfterSecs: orNull[float64](nil), WaitSecs: orNull[float64](nil)}
	if v.HasRetry {
		out.RetryAfterSecs = orNull(new(v.RetryAfter.Seconds()))
	}
	if t.Turn == decide.TryAgain {
		out.WaitSecs = orNull(new(t.Wait.Round(time.Millisecond).Seconds()))
	}
	return out
}

func showOutcome(route *decide.Route, r *decide.Rehearsal) admin.ExplainOutcome {
	out := newOutcome(outcomes[r.Ended])
	if r.Ended == decide.CallerLeft {
		out.Position = orNull(&r.Last.Target.Position)
		return out // nobody is there to be answered
	}
	out.Headers[headerCount], out.Headers[headerFailoverCount] = strconv.Itoa(len(route.Targets)), strconv.Itoa(r.Failed)
	if r.Last == nil {
		showExhausted(&out, r)
		return out
	}
	position, v := r.Last.Target.Position, r.Last.Tries[len(r.Last.Tries)-1].Verdict
	out.Position, out.Status = orNull(&position), orNull(&v.Status)
	if r.Ended == decide.PassedOn {
		out.Headers[headerErrorOrigin] = string(admin.ExplainOutcomeOriginProvider)
		out.Origin = orNull(new(admin.ExplainOutcomeOriginProvider))
	} else {
		out.Headers[headerAttempt] = strconv.Itoa(position)
	}
	out.Message = orNull(ifSet(v.Message))
	return out
}

func showExhausted(out *admin.ExplainOutcome, r *decide.Rehearsal) {
	origin := admin.ExplainOutcomeOriginGateway
	if r.Exhausted.Tried {
		origin = admin.ExplainOutcomeOriginProvider
	}
	showError(out, r.Exhausted.Error(r.Attempts), origin)
	if secs := r.Exhausted.RetryAfter; secs > 0 {
		out.RetryAfterSecs, out.Headers[headerRetryAfter] = orNull(&secs), strconv.Itoa(secs)
	}
	out.Attempts = mapAll(r.Attempts, func(a decide.Attempt) admin.ExplainAttempt {
		return admin.ExplainAttempt{Position: a.Position, Provider: a.Provider, UpstreamModel: a.UpstreamModel, Outcome: admin.ExplainAttemptOutcome(a.Outcome),
			Reason: a.Reason, Status: ifSet(a.Status), RetryAfterSecs: a.RetryAfterSecs, DurationMs: a.DurationMillis, Message: ifSet(a.Message)}
	})
}

func showError(out *admin.ExplainOutcome, e *decide.Refusal, origin admin.ExplainOutcomeOrigin) {
	out.Status, out.Code, out.Message, out.Origin = orNull(&e.Status), orNull(&e.Code), orNull(&e.Message), orNull(&origin)
	out.Headers[headerErrorOrigin] = string(origin)
	if e.Final() {
		out.Headers[headerShouldRetry] = "false"
	}
}

// newOutcome has nothing but its kind: what it does not get is null.
func newOutcome(kind admin.ExplainOutcomeKind) admin.ExplainOutcome {
	return admin.ExplainOutcome{Kind: kind, Position: orNull[int](nil), Status: orNull[int](nil), Origin: orNull[admin.ExplainOutcomeOrigin](nil),
		Code: orNull[string](nil), Message: orNull[string](nil), RetryAfterSecs: orNull[int](nil),
		Headers: map[string]string{}, Attempts: []admin.ExplainAttempt{}}
}

// ifSet is a value that is absent when it is zero.
func ifSet[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
