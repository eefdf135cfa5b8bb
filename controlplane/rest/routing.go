package rest

import (
	"context"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListRoutingPolicies(ctx context.Context, r admin.ListRoutingPoliciesRequestObject) (admin.ListRoutingPoliciesResponseObject, error) {
	list, err := s.store.RoutingPolicies().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, routingPolicyID, r.Params.Limit, r.Params.After, pathPrefix+"routing-policies")
	if err != nil {
		return nil, err
	}
	return admin.ListRoutingPolicies200JSONResponse{Body: mapAll(list, showRoutingPolicy), Headers: admin.ListRoutingPolicies200ResponseHeaders{Link: next}}, nil
}

func routingPolicyID(p tenant.RoutingPolicy) uuid.UUID { return p.ID }

func (s *server) CreateRoutingPolicy(ctx context.Context, r admin.CreateRoutingPolicyRequestObject) (admin.CreateRoutingPolicyResponseObject, error) {
	b := r.Body
	p, err := s.store.RoutingPolicies().Create(ctx, principal(ctx), tenant.RoutingPolicyPatch{
		Alias: &b.ModelAlias, Description: changeIfSet(b.Description), Enabled: b.Enabled, Posture: (*string)(b.Posture), Slots: slotsOf(&b.Slots),
		Breakpoints: b.ContextBreakpoints, Determiner: changeIfSet(b.DeterminerModelAlias), DeterminerPrompt: changeIfSet(b.DeterminerPrompt),
		RouterInputMaxChars: b.RouterInputMaxChars, DefaultSlot: b.DefaultSlotOnFailure, ChangeNote: b.ChangeNote,
	})
	if err != nil {
		return nil, err
	}
	return admin.CreateRoutingPolicy200JSONResponse{Body: showRoutingPolicy(p), Headers: admin.CreateRoutingPolicy200ResponseHeaders{ETag: tenant.ETag(p.Revision)}}, nil
}

func (s *server) GetRoutingPolicy(ctx context.Context, r admin.GetRoutingPolicyRequestObject) (admin.GetRoutingPolicyResponseObject, error) {
	p, err := s.store.RoutingPolicies().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetRoutingPolicy200JSONResponse{Body: showRoutingPolicy(p), Headers: admin.GetRoutingPolicy200ResponseHeaders{ETag: tenant.ETag(p.Revision)}}, nil
}

func (s *server) UpdateRoutingPolicy(ctx context.Context, r admin.UpdateRoutingPolicyRequestObject) (admin.UpdateRoutingPolicyResponseObject, error) {
	b := r.Body
	p, err := s.store.RoutingPolicies().Update(ctx, principal(ctx), r.Id, tenant.RoutingPolicyPatch{
		Alias: b.ModelAlias, Description: changeOf(b.Description), Enabled: b.Enabled, Posture: (*string)(b.Posture), Slots: slotsOf(b.Slots),
		Breakpoints: b.ContextBreakpoints, Determiner: changeOf(b.DeterminerModelAlias), DeterminerPrompt: changeOf(b.DeterminerPrompt),
		RouterInputMaxChars: b.RouterInputMaxChars, DefaultSlot: b.DefaultSlotOnFailure, ChangeNote: b.ChangeNote,
	})
	if err != nil {
		return nil, err
	}
	return admin.UpdateRoutingPolicy200JSONResponse{Body: showRoutingPolicy(p), Headers: admin.UpdateRoutingPolicy200ResponseHeaders{ETag: tenant.ETag(p.Revision)}}, nil
}

func (s *server) DeleteRoutingPolicy(ctx context.Context, r admin.DeleteRoutingPolicyRequestObject) (admin.DeleteRoutingPolicyResponseObject, error) {
	if err := s.store.RoutingPolicies().Delete(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.DeleteRoutingPolicy200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func slotsOf(list *[]admin.RoutingSlot) *[]tenant.RoutingSlot {
	if list == nil {
		return nil
	}
	out := mapAll(*list, func(s admin.RoutingSlot) tenant.RoutingSlot {
		return tenant.RoutingSlot{Alias: s.ModelAlias, Label: changeOf(s.Label).Value, Description: changeOf(s.Description).Value}
	})
	return &out
}

func showSlot(s tenant.RoutingSlot) admin.RoutingSlot {
	return admin.RoutingSlot{ModelAlias: s.Alias, Label: orNull(s.Label), Description: orNull(s.Description)}
}

func showRoutingPolicy(p tenant.RoutingPolicy) admin.RoutingPolicy {
	by, mod := p.CreatedBy, p.ModifiedBy
	return admin.RoutingPolicy{
		Id: p.ID, OrgId: p.OrganizationID, ModelAlias: p.Alias, Description: orNull(p.Description), Enabled: p.Enabled, Posture: admin.RoutingPosture(p.Posture),
		Slots: mapAll(p.Slots, showSlot), ContextBreakpoints: p.Breakpoints, DeterminerModelAlias: orNull(p.Determiner), DeterminerPrompt: orNull(p.DeterminerPrompt),
		RouterInputMaxChars: p.RouterInputMaxChars, DefaultSlotOnFailure: p.DefaultSlot, CreatedAt: p.CreatedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC(),
		CreatedByUserId: orNull(by.UserID), CreatedByEmail: orNull(by.Email), CreatedByName: orNull(by.Name),
		LastModifiedByUserId: orNull(mod.UserID), LastModifiedByEmail: orNull(mod.Email), LastModifiedByName: orNull(mod.Name),
		LastModifiedAt: timeOrNull(p.ModifiedAt), LastChangeNote: orNull(p.ChangeNote), ChangeNote: orNull(p.ChangeNote),
	}
}
