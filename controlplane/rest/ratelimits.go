package rest

import (
	"context"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListRateLimits(ctx context.Context, r admin.ListRateLimitsRequestObject) (admin.ListRateLimitsResponseObject, error) {
	list, err := s.store.RateLimits().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, rateLimitID, r.Params.Limit, r.Params.After, pathPrefix+"rate-limits")
	if err != nil {
		return nil, err
	}
	return admin.ListRateLimits200JSONResponse{Body: mapAll(list, showRateLimit), Headers: admin.ListRateLimits200ResponseHeaders{Link: next}}, nil
}

func rateLimitID(l tenant.RateLimit) uuid.UUID { return l.ID }

func (s *server) ListRateLimitStatus(ctx context.Context, _ admin.ListRateLimitStatusRequestObject) (admin.ListRateLimitStatusResponseObject, error) {
	list, err := s.store.RateLimits().Status(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	return admin.ListRateLimitStatus200JSONResponse(mapAll(list, func(l tenant.RateLimit) admin.RateLimitStatus {
		return admin.RateLimitStatus{Policy: showRateLimit(l), RpmLimit: orNull(l.RequestsPerMinute), TpmLimit: orNull(l.TokensPerMinute)}
	})), nil
}

func (s *server) CreateRateLimit(ctx context.Context, r admin.CreateRateLimitRequestObject) (admin.CreateRateLimitResponseObject, error) {
	b := r.Body
	l, err := s.store.RateLimits().Create(ctx, principal(ctx), tenant.RateLimitPatch{
		Name: &b.Name, RequestsPerMinute: changeIfSet(b.RequestsPerMinute), TokensPerMinute: changeIfSet(b.TokensPerMinute), Enabled: b.Enabled, ChangeNote: b.ChangeNote,
		Aim: newAim(b.ScopeType, b.ScopeId, b.ScopeValue, b.MemberOfGroup, b.TrafficType,
			newTarget{b.TargetProviderId, b.TargetUpstreamModel, b.TargetModelAlias, b.TargetMcpServerId}),
	})
	if err != nil {
		return nil, err
	}
	return admin.CreateRateLimit200JSONResponse{Body: showRateLimit(l), Headers: admin.CreateRateLimit200ResponseHeaders{ETag: tenant.ETag(l.Revision)}}, nil
}

func (s *server) GetRateLimit(ctx context.Context, r admin.GetRateLimitRequestObject) (admin.GetRateLimitResponseObject, error) {
	l, err := s.store.RateLimits().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetRateLimit200JSONResponse{Body: showRateLimit(l), Headers: admin.GetRateLimit200ResponseHeaders{ETag: tenant.ETag(l.Revision)}}, nil
}

func (s *server) UpdateRateLimit(ctx context.Context, r admin.UpdateRateLimitRequestObject) (admin.UpdateRateLimitResponseObject, error) {
	b := r.Body
	l, err := s.store.RateLimits().Update(ctx, principal(ctx), r.Id, tenant.RateLimitPatch{
		Name: b.Name, RequestsPerMinute: changeOf(b.RequestsPerMinute), TokensPerMinute: changeOf(b.TokensPerMinute), Enabled: b.Enabled, ChangeNote: b.ChangeNote,
		Aim: tenant.AimPatch{
			Scope:       tenant.ScopePatch{Type: (*string)(b.ScopeType), ID: changeOf(b.ScopeId), Value: changeOf(b.ScopeValue)},
			TrafficType: (*string)(b.TrafficType),
			Narrowing: tenant.NarrowingPatch{ProviderID: changeOf(b.TargetProviderId), UpstreamModel: changeOf(b.TargetUpstreamModel),
				ModelAlias: changeOf(b.TargetModelAlias), MCPServerID: changeOf(b.TargetMcpServerId)},
		},
	})
	if err != nil {
		return nil, err
	}
	return admin.UpdateRateLimit200JSONResponse{Body: showRateLimit(l), Headers: admin.UpdateRateLimit200ResponseHeaders{ETag: tenant.ETag(l.Revision)}}, nil
}

func (s *server) DeleteRateLimit(ctx context.Context, r admin.DeleteRateLimitRequestObject) (admin.DeleteRateLimitResponseObject, error) {
	if err := s.store.RateLimits().Delete(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.DeleteRateLimit200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func showRateLimit(l tenant.RateLimit) admin.RateLimit {
	by, mod, scope, n := l.CreatedBy, l.ModifiedBy, l.Aim.Scope, l.Aim.Narrowing
	return admin.RateLimit{
		Id: l.ID, OrgId: l.OrganizationID, Name: l.Name, ScopeType: admin.ScopeType(scope.Type), ScopeId: orNull(scope.ID), ScopeValue: orNull(scope.Value),
		MemberOfGroup: orNull(l.Aim.MemberOfGroup), TrafficType: admin.TrafficType(l.Aim.TrafficType), TargetProviderId: orNull(n.ProviderID),
		TargetUpstreamModel: orNull(n.UpstreamModel), TargetModelAlias: orNull(n.ModelAlias), TargetMcpServerId: orNull(n.MCPServerID),
		RequestsPerMinute: orNull(l.RequestsPerMinute), TokensPerMinute: orNull(l.TokensPerMinute), Enabled: l.Enabled,
		CreatedAt: l.CreatedAt.UTC(), UpdatedAt: l.UpdatedAt.UTC(), CreatedByUserId: orNull(by.UserID), CreatedByEmail: orNull(by.Email),
		CreatedByName: orNull(by.Name), LastModifiedByUserId: orNull(mod.UserID), LastModifiedByEmail: orNull(mod.Email),
		LastModifiedByName: orNull(mod.Name), LastModifiedAt: timeOrNull(l.ModifiedAt), LastChangeNote: orNull(l.ChangeNote), ChangeNote: orNull(l.ChangeNote),
	}
}

// newTarget are the target_* of a creation.
type newTarget struct {
	provider             *uuid.UUID
	upstreamModel, alias *string
	mcpServer            *uuid.UUID
}

// newAim is whom and what a new limit or budget is for.
func newAim(scope admin.ScopeType, id *uuid.UUID, value, group *string, traffic *admin.TrafficType, target newTarget) tenant.AimPatch {
	return tenant.AimPatch{
		Scope:         tenant.ScopePatch{Type: (*string)(&scope), ID: changeIfSet(id), Value: changeIfSet(value)},
		MemberOfGroup: changeIfSet(group), TrafficType: (*string)(traffic),
		Narrowing: tenant.NarrowingPatch{ProviderID: changeIfSet(target.provider), UpstreamModel: changeIfSet(target.upstreamModel),
			ModelAlias: changeIfSet(target.alias), MCPServerID: changeIfSet(target.mcpServer)},
	}
}
