package rest

import (
	"context"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListModelRouteGroups(ctx context.Context, r admin.ListModelRouteGroupsRequestObject) (admin.ListModelRouteGroupsResponseObject, error) {
	list, err := s.store.RouteGroups().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, routeGroupID, r.Params.Limit, r.Params.After, pathPrefix+"model-route-groups")
	if err != nil {
		return nil, err
	}
	return admin.ListModelRouteGroups200JSONResponse{Body: mapAll(list, showRouteGroup), Headers: admin.ListModelRouteGroups200ResponseHeaders{Link: next}}, nil
}

func routeGroupID(g tenant.RouteGroup) uuid.UUID { return g.ID }

func (s *server) CreateModelRouteGroup(ctx context.Context, r admin.CreateModelRouteGroupRequestObject) (admin.CreateModelRouteGroupResponseObject, error) {
	b := r.Body
	g, err := s.store.RouteGroups().Create(ctx, principal(ctx), tenant.RouteGroupPatch{
		Name: &b.Name, Description: changeIfSet(b.Description), Aliases: b.ModelAliases, ChangeNote: b.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.CreateModelRouteGroup200JSONResponse{Body: showRouteGroup(g), Headers: admin.CreateModelRouteGroup200ResponseHeaders{ETag: tenant.ETag(g.Revision)}}, nil
}

func (s *server) GetModelRouteGroup(ctx context.Context, r admin.GetModelRouteGroupRequestObject) (admin.GetModelRouteGroupResponseObject, error) {
	g, err := s.store.RouteGroups().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetModelRouteGroup200JSONResponse{Body: showRouteGroup(g), Headers: admin.GetModelRouteGroup200ResponseHeaders{ETag: tenant.ETag(g.Revision)}}, nil
}

func (s *server) UpdateModelRouteGroup(ctx context.Context, r admin.UpdateModelRouteGroupRequestObject) (admin.UpdateModelRouteGroupResponseObject, error) {
	b := r.Body
	g, err := s.store.RouteGroups().Update(ctx, principal(ctx), r.Id, tenant.RouteGroupPatch{
		Name: b.Name, Description: changeOf(b.Description), Aliases: b.ModelAliases, ChangeNote: b.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.UpdateModelRouteGroup200JSONResponse{Body: showRouteGroup(g), Headers: admin.UpdateModelRouteGroup200ResponseHeaders{ETag: tenant.ETag(g.Revision)}}, nil
}

func (s *server) DeleteModelRouteGroup(ctx context.Context, r admin.DeleteModelRouteGroupRequestObject) (admin.DeleteModelRouteGroupResponseObject, error) {
	if err := s.store.RouteGroups().Delete(ctx, principal(ctx), r.Id, valueOr(r.Params.Force, false)); err != nil {
		return nil, err
	}
	return admin.DeleteModelRouteGroup200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func (s *server) AddModelRouteGroupMembers(ctx context.Context, r admin.AddModelRouteGroupMembersRequestObject) (admin.AddModelRouteGroupMembersResponseObject, error) {
	g, err := s.store.RouteGroups().AddMembers(ctx, principal(ctx), r.Id, r.Body.ModelAliases, r.Body.ChangeNote)
	if err != nil {
		return nil, err
	}
	return admin.AddModelRouteGroupMembers200JSONResponse{Body: showRouteGroup(g), Headers: admin.AddModelRouteGroupMembers200ResponseHeaders{ETag: tenant.ETag(g.Revision)}}, nil
}

func (s *server) RemoveModelRouteGroupMember(ctx context.Context, r admin.RemoveModelRouteGroupMemberRequestObject) (admin.RemoveModelRouteGroupMemberResponseObject, error) {
	if err := s.store.RouteGroups().RemoveMember(ctx, principal(ctx), r.Id, r.Alias); err != nil {
		return nil, err
	}
	return admin.RemoveModelRouteGroupMember200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func showRouteGroup(g tenant.RouteGroup) admin.ModelRouteGroup {
	by, mod := g.CreatedBy, g.ModifiedBy
	return admin.ModelRouteGroup{
		Id: g.ID, OrgId: g.OrganizationID, Name: g.Name, Description: orNull(g.Description), ModelAliases: g.Aliases,
		CreatedByUserId: orNull(by.UserID), CreatedByEmail: orNull(by.Email), CreatedByName: orNull(by.Name), CreatedAt: g.CreatedAt.UTC(),
		LastModifiedByUserId: orNull(mod.UserID), LastModifiedByEmail: orNull(mod.Email), LastModifiedByName: orNull(mod.Name),
		LastModifiedAt: timeOrNull(g.ModifiedAt), LastChangeNote: orNull(g.ChangeNote), ChangeNote: orNull(g.ChangeNote), UpdatedAt: g.UpdatedAt.UTC(),
	}
}
