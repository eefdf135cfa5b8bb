package rest

import (
	"context"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// ProbeProvider asks a node for a check now and waits for what it finds.
func (s *server) ProbeProvider(ctx context.Context, r admin.ProbeProviderRequestObject) (admin.ProbeProviderResponseObject, error) {
	ask, err := s.store.Probes().Ask(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	report, err := s.fleet.Probe(ctx, ask)
	if err != nil || report.Outcome == node.ProbeBehind {
		s.log.Warn("connection not checked", "provider_id", r.Id, "node", report.Node, "error", err)
		return nil, tenant.Unavailable()
	}
	health, err := s.store.Probes().Note(ctx, store.ProbeTarget{OrganizationID: ask.OrganizationID, ProviderID: ask.ProviderID}, report)
	if err != nil {
		return nil, err
	}
	if health.CheckedAt == nil { // it was changed or deleted meanwhile, and the check says nothing of it
		return nil, tenant.Unavailable()
	}
	return admin.ProbeProvider200JSONResponse{ProviderId: r.Id, Node: report.Node, Outcome: admin.ProbeOutcome(report.Outcome), Detail: report.Detail,
		HealthStatus: admin.HealthStatus(health.Status), HealthCheckedAt: health.CheckedAt.UTC()}, nil
}
