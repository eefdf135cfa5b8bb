package rest

import (
	"context"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) GetGovernanceConfig(ctx context.Context, _ admin.GetGovernanceConfigRequestObject) (admin.GetGovernanceConfigResponseObject, error) {
	g, err := s.store.Governance().Get(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	return admin.GetGovernanceConfig200JSONResponse{Body: showGovernance(g), Headers: admin.GetGovernanceConfig200ResponseHeaders{ETag: tenant.ETag(g.Revision)}}, nil
}

func (s *server) UpdateGovernanceConfig(ctx context.Context, r admin.UpdateGovernanceConfigRequestObject) (admin.UpdateGovernanceConfigResponseObject, error) {
	b := r.Body
	g, err := s.store.Governance().Update(ctx, principal(ctx), tenant.GovernancePatch{
		RequirePricing: &b.RequirePricingForMappings, DefaultAccess: (*string)(b.DefaultModelAccess), RequireRoutingPolicy: b.RequireRoutingPolicy, ChangeNote: b.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.UpdateGovernanceConfig200JSONResponse{Body: showGovernance(g), Headers: admin.UpdateGovernanceConfig200ResponseHeaders{ETag: tenant.ETag(g.Revision)}}, nil
}

func showGovernance(g tenant.Governance) admin.GovernanceConfig {
	return admin.GovernanceConfig{RequirePricingForMappings: g.RequirePricing, DefaultModelAccess: admin.DefaultModelAccess(g.DefaultAccess),
		RequireRoutingPolicy: g.RequireRoutingPolicy, ChangeNote: orNull(g.ChangeNote),
		LastModifiedByUserId: orNull(g.ModifiedBy.UserID), LastModifiedByEmail: orNull(g.ModifiedBy.Email), LastModifiedByName: orNull(g.ModifiedBy.Name),
		LastModifiedAt: timeOrNull(g.ModifiedAt), LastChangeNote: orNull(g.ChangeNote)}
}
