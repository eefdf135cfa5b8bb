package rest

import (
	"context"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListModelAccess(ctx context.Context, r admin.ListModelAccessRequestObject) (admin.ListModelAccessResponseObject, error) {
	list, err := s.store.AccessPolicies().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, accessID, r.Params.Limit, r.Params.After, pathPrefix+"model-access")
	if err != nil {
		return nil, err
	}
	return admin.ListModelAccess200JSONResponse{Body: mapAll(list, showAccess), Headers: admin.ListModelAccess200ResponseHeaders{Link: next}}, nil
}

func accessID(a tenant.AccessPolicy) uuid.UUID { return a.ID }

func (s *server) CreateModelAccess(ctx context.Context, r admin.CreateModelAccessRequestObject) (admin.CreateModelAccessResponseObject, error) {
	b := r.Body
	a, err := s.store.AccessPolicies().Create(ctx, principal(ctx), tenant.AccessPatch{
		Name: &b.Name, PolicyType: (*string)(&b.PolicyType), Targets: targetsOf(b.Targets), TrafficType: (*string)(b.TrafficType),
		Enabled: b.Enabled, ChangeNote: b.ChangeNote,
		Scope: tenant.ScopePatch{Type: (*string)(&b.ScopeType), ID: changeIfSet(b.ScopeId), Value: changeIfSet(b.ScopeValue)},
	})
	if err != nil {
		return nil, err
	}
	return admin.CreateModelAccess200JSONResponse{Body: showAccess(a), Headers: admin.CreateModelAccess200ResponseHeaders{ETag: tenant.ETag(a.Revision)}}, nil
}

func (s *server) GetModelAccess(ctx context.Context, r admin.GetModelAccessRequestObject) (admin.GetModelAccessResponseObject, error) {
	a, err := s.store.AccessPolicies().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetModelAccess200JSONResponse{Body: showAccess(a), Headers: admin.GetModelAccess200ResponseHeaders{ETag: tenant.ETag(a.Revision)}}, nil
}

func (s *server) UpdateModelAccess(ctx context.Context, r admin.UpdateModelAccessRequestObject) (admin.UpdateModelAccessResponseObject, error) {
	b := r.Body
	a, err := s.store.AccessPolicies().Update(ctx, principal(ctx), r.Id, tenant.AccessPatch{
		Name: b.Name, PolicyType: (*string)(b.PolicyType), Targets: targetsOf(b.Targets), TrafficType: (*string)(b.TrafficType),
		Enabled: b.Enabled, ChangeNote: b.ChangeNote,
		Scope: tenant.ScopePatch{Type: (*string)(b.ScopeType), ID: changeOf(b.ScopeId), Value: changeOf(b.ScopeValue)},
	})
	if err != nil {
		return nil, err
	}
	return admin.UpdateModelAccess200JSONResponse{Body: showAccess(a), Headers: admin.UpdateModelAccess200ResponseHeaders{ETag: tenant.ETag(a.Revision)}}, nil
}

func (s *server) DeleteModelAccess(ctx context.Context, r admin.DeleteModelAccessRequestObject) (admin.DeleteModelAccessResponseObject, error) {
	if err := s.store.AccessPolicies().Delete(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.DeleteModelAccess200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func targetsOf(list *[]admin.ModelAccessTarget) *[]tenant.Target {
	if list == nil {
		return nil
	}
	out := mapAll(*list, func(t admin.ModelAccessTarget) tenant.Target {
		return tenant.Target{Kind: string(t.Kind), Alias: t.Alias, Model: t.Model, ProviderID: t.ProviderId, GroupID: t.GroupId}
	})
	return &out
}

func showTarget(t tenant.Target) admin.ModelAccessTarget {
	return admin.ModelAccessTarget{Kind: admin.ModelAccessTargetKind(t.Kind), Alias: t.Alias, Model: t.Model, ProviderId: t.ProviderID, GroupId: t.GroupID}
}

func showAccess(a tenant.AccessPolicy) admin.ModelAccessPolicy {
	by, mod := a.CreatedBy, a.ModifiedBy
	return admin.ModelAccessPolicy{
		Id: a.ID, OrgId: a.OrganizationID, Name: a.Name, ScopeType: admin.ScopeType(a.Scope.Type), ScopeId: orNull(a.Scope.ID),
		ScopeValue: orNull(a.Scope.Value), PolicyType: admin.PolicyType(a.PolicyType), Targets: mapAll(a.Targets, showTarget),
		TrafficType: admin.TrafficType(a.TrafficType), Enabled: a.Enabled, CreatedAt: a.CreatedAt.UTC(), UpdatedAt: a.UpdatedAt.UTC(),
		CreatedByUserId: orNull(by.UserID), CreatedByEmail: orNull(by.Email), CreatedByName: orNull(by.Name),
		LastModifiedByUserId: orNull(mod.UserID), LastModifiedByEmail: orNull(mod.Email), LastModifiedByName: orNull(mod.Name),
		LastModifiedAt: timeOrNull(a.ModifiedAt), LastChangeNote: orNull(a.ChangeNote), ChangeNote: orNull(a.ChangeNote),
	}
}
