package rest

import (
	"context"
	"fmt"
	"slices"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// standing is a record as a policy judges it: what a target's health depends on.
type standing struct {
	of     tenant.Upstream
	policy node.Cooldown
}

// standings is what a node says of an organization's targets: for everyone, and for the
// credentials of the person who asks. Without an answer it is empty: a listing is never
// late or refused for it.
type standings struct {
	everyone, own map[standing]node.Judgement
}

func (s *server) standings(ctx context.Context) standings {
	by := principal(ctx)
	report, err := s.fleet.Glance(ctx, by.OrganizationID, by.UserID)
	if err != nil {
		s.log.Debug("health not shown", "error", err)
	}
	if report == nil {
		return standings{}
	}
	return standings{everyone: judgements(report.Records), own: judgements(report.Own)}
}

func judgements(records []node.RecordHealth) map[standing]node.Judgement {
	out := make(map[standing]node.Judgement, len(records))
	for _, r := range records {
		for _, p := range r.Policies {
			out[standing{tenant.Upstream{ProviderID: r.ProviderID, Model: r.UpstreamModel}, p.Policy}] = p.Judgement
		}
	}
	return out
}

// unhealthy are the models that some policy holds back.
func (s standings) unhealthy() (list []tenant.Upstream) {
	for _, judgements := range []map[standing]node.Judgement{s.everyone, s.own} {
		for target, j := range judgements {
			if j.State != node.StateHealthy && !slices.Contains(list, target.of) {
				list = append(list, target.of)
			}
		}
	}
	return list
}

// of is the row's status by its own policy, or nil when it is healthy or not known.
func (s standings) of(m tenant.Mapping) *admin.RouteHealthStatus {
	return s.status(standing{m.Upstream(), m.Cooldown})
}

// status is first of all what holds for everyone: while that keeps a target from serving,
// nobody's own credential does.
func (s standings) status(target standing) *admin.RouteHealthStatus {
	if j, known := s.everyone[target]; known && j.State != node.StateHealthy {
		return statusOf(j, admin.RouteHealthStatusScopeAllUsers)
	}
	if j, known := s.own[target]; known && j.State != node.StateHealthy {
		return statusOf(j, admin.RouteHealthStatusScopeCurrentCredential)
	}
	return nil
}

func statusOf(j node.Judgement, scope admin.RouteHealthStatusScope) *admin.RouteHealthStatus {
	reason, after := admin.RouteHealthStatusReasonUnavailable, "the provider was unavailable"
	if words, known := cooledAfter[admin.RouteHealthStatusReason(j.Reason)]; known {
		reason, after = admin.RouteHealthStatusReason(j.Reason), words
	}
	out := admin.RouteHealthStatus{Reason: reason, Scope: scope}
	who := ""
	if scope == admin.RouteHealthStatusScopeCurrentCredential {
		who = " for your own credential"
	}
	if j.State == node.StateHalfOpen {
		out.State = admin.RouteHealthStatusStateRecovering
		out.Message = "Recovering" + who + " after " + after + "; a few requests at a time are let through"
		return &out
	}
	out.State, out.RecoversInSecs = admin.RouteHealthStatusStateSuspended, wholeSeconds(j.RemainingMilli)
	out.Message = fmt.Sprintf("Cooling down%s after %s; recovers in %d s", who, after, out.RecoversInSecs)
	if who != "" && reason == admin.RouteHealthStatusReasonAuthFailed {
		out.Message = "The provider rejected your own credential: sign in to it again"
	}
	return &out
}

// cooledAfter is why a target cools down, in words that follow "after".
var cooledAfter = map[admin.RouteHealthStatusReason]string{
	admin.RouteHealthStatusReasonProviderErrors: "repeated provider errors",
	admin.RouteHealthStatusReasonRateLimited:    "a rate limit",
	admin.RouteHealthStatusReasonOverloaded:     "the provider was overloaded",
	admin.RouteHealthStatusReasonUsageLimit:     "a used-up usage limit",
	admin.RouteHealthStatusReasonAuthFailed:     "a rejected credential",
}
