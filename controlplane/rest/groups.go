package rest

import (
	"context"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListGroups(ctx context.Context, r admin.ListGroupsRequestObject) (admin.ListGroupsResponseObject, error) {
	list, err := s.store.Groups().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, groupID, r.Params.Limit, r.Params.After, pathPrefix+"groups")
	if err != nil {
		return nil, err
	}
	return admin.ListGroups200JSONResponse{Body: mapAll(list, showGroup), Headers: admin.ListGroups200ResponseHeaders{Link: next}}, nil
}

func (s *server) CreateGroup(ctx context.Context, r admin.CreateGroupRequestObject) (admin.CreateGroupResponseObject, error) {
	b := r.Body
	g, err := s.store.Groups().Create(ctx, principal(ctx), tenant.GroupCreate{Name: b.Name,
		GroupPatch: tenant.GroupPatch{Description: changeIfSet(b.Description), UserIDs: b.UserIds, ChangeNote: b.ChangeNote}})
	if err != nil {
		return nil, err
	}
	return admin.CreateGroup200JSONResponse{Body: showGroup(g), Headers: admin.CreateGroup200ResponseHeaders{ETag: tenant.ETag(g.Revision)}}, nil
}

func (s *server) GetGroup(ctx context.Context, r admin.GetGroupRequestObject) (admin.GetGroupResponseObject, error) {
	g, err := s.store.Groups().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetGroup200JSONResponse{Body: showGroup(g), Headers: admin.GetGroup200ResponseHeaders{ETag: tenant.ETag(g.Revision)}}, nil
}

func (s *server) UpdateGroup(ctx context.Context, r admin.UpdateGroupRequestObject) (admin.UpdateGroupResponseObject, error) {
	b := r.Body
	g, err := s.store.Groups().Update(ctx, principal(ctx), r.Id,
		tenant.GroupPatch{Description: changeOf(b.Description), UserIDs: b.UserIds, ChangeNote: b.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.UpdateGroup200JSONResponse{Body: showGroup(g), Headers: admin.UpdateGroup200ResponseHeaders{ETag: tenant.ETag(g.Revision)}}, nil
}

func (s *server) DeleteGroup(ctx context.Context, r admin.DeleteGroupRequestObject) (admin.DeleteGroupResponseObject, error) {
	if err := s.store.Groups().Delete(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.DeleteGroup200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func (s *server) AddGroupMembers(ctx context.Context, r admin.AddGroupMembersRequestObject) (admin.AddGroupMembersResponseObject, error) {
	g, err := s.store.Groups().AddMembers(ctx, principal(ctx), r.Id, tenant.MembersAdd{UserIDs: r.Body.UserIds, ChangeNote: r.Body.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.AddGroupMembers200JSONResponse{Body: showGroup(g), Headers: admin.AddGroupMembers200ResponseHeaders{ETag: tenant.ETag(g.Revision)}}, nil
}

func (s *server) RemoveGroupMember(ctx context.Context, r admin.RemoveGroupMemberRequestObject) (admin.RemoveGroupMemberResponseObject, error) {
	if err := s.store.Groups().RemoveMember(ctx, principal(ctx), r.Id, r.UserId); err != nil {
		return nil, err
	}
	return admin.RemoveGroupMember200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func showGroup(g tenant.Group) admin.Group {
	return admin.Group{
		Id: g.ID, OrgId: g.OrganizationID, Name: g.Name, Description: orNull(g.Description),
		Members: mapAll(g.Members, func(m tenant.Member) admin.GroupMember {
			return admin.GroupMember{UserId: m.UserID, Email: m.Email, Name: m.Name}
		}),
		ChangeNote: orNull(g.ChangeNote), CreatedAt: g.CreatedAt.UTC(), UpdatedAt: g.UpdatedAt.UTC(),
		CreatedByUserId: orNull(g.CreatedBy.UserID), CreatedByEmail: orNull(g.CreatedBy.Email), CreatedByName: orNull(g.CreatedBy.Name),
		LastModifiedByUserId: orNull(g.ModifiedBy.UserID), LastModifiedByEmail: orNull(g.ModifiedBy.Email),
		LastModifiedByName: orNull(g.ModifiedBy.Name), LastModifiedAt: timeOrNull(g.ModifiedAt), LastChangeNote: orNull(g.ChangeNote),
	}
}
