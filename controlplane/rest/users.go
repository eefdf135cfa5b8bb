package rest

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListUsers(ctx context.Context, r admin.ListUsersRequestObject) (admin.ListUsersResponseObject, error) {
	list, err := s.store.Users().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, userID, r.Params.Limit, r.Params.After, pathPrefix+"users")
	if err != nil {
		return nil, err
	}
	return admin.ListUsers200JSONResponse{Body: mapAll(list, showUser), Headers: admin.ListUsers200ResponseHeaders{Link: next}}, nil
}

func (s *server) CreateUser(ctx context.Context, r admin.CreateUserRequestObject) (admin.CreateUserResponseObject, error) {
	b := r.Body
	in := tenant.UserPatch{Email: &b.Email, Name: &b.Name, Role: (*tenant.Role)(b.Role), Enabled: b.Enabled, ChangeNote: b.ChangeNote,
		Password: changeIfSet(secretOf(b.Password))}
	if _, err := tenant.NewUser(in); err != nil {
		return nil, err // before the work of a hash
	}
	hash, err := s.hashOf(ctx, in.Password)
	if err != nil {
		return nil, err
	}
	u, err := s.store.Users().Create(ctx, principal(ctx), in, hash)
	if err != nil {
		return nil, err
	}
	return admin.CreateUser200JSONResponse{Body: showUser(u), Headers: admin.CreateUser200ResponseHeaders{ETag: tenant.ETag(u.Revision)}}, nil
}

// hashOf is how a password that a body brings is stored, or nil. It is made before the
// transaction: it takes a while.
func (s *server) hashOf(ctx context.Context, password tenant.Change[tenant.Secret]) (*string, error) {
	if password.Value == nil {
		return nil, nil
	}
	if err := tenant.ValidatePassword("password", *password.Value); err != nil {
		return nil, err
	}
	hash, err := s.people.HashPassword(ctx, *password.Value)
	return &hash, err
}

func (s *server) GetUser(ctx context.Context, r admin.GetUserRequestObject) (admin.GetUserResponseObject, error) {
	u, err := s.store.Users().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetUser200JSONResponse{Body: showUser(u), Headers: admin.GetUser200ResponseHeaders{ETag: tenant.ETag(u.Revision)}}, nil
}

func (s *server) UpdateUser(ctx context.Context, r admin.UpdateUserRequestObject) (admin.UpdateUserResponseObject, error) {
	b := r.Body
	patch := tenant.UserPatch{Email: b.Email, Name: b.Name, Role: (*tenant.Role)(b.Role), Enabled: b.Enabled, ChangeNote: b.ChangeNote,
		Password: secretChange(b.Password)}
	hash, err := s.hashOf(ctx, patch.Password)
	if err != nil {
		return nil, err
	}
	u, err := s.store.Users().Update(ctx, principal(ctx), r.Id, patch, hash)
	if err != nil {
		return nil, err
	}
	return admin.UpdateUser200JSONResponse{Body: showUser(u), Headers: admin.UpdateUser200ResponseHeaders{ETag: tenant.ETag(u.Revision)}}, nil
}

// secretChange is changeOf for a secret.
func secretChange(n nullable.Nullable[string]) tenant.Change[tenant.Secret] {
	c := changeOf(n)
	return tenant.Change[tenant.Secret]{Set: c.Set, Value: secretOf(c.Value)}
}

func (s *server) DeleteUser(ctx context.Context, r admin.DeleteUserRequestObject) (admin.DeleteUserResponseObject, error) {
	if err := s.store.Users().Delete(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.DeleteUser200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func (s *server) ListUserSessions(ctx context.Context, r admin.ListUserSessionsRequestObject) (admin.ListUserSessionsResponseObject, error) {
	list, err := s.store.Sessions().Of(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, sessionID, r.Params.Limit, r.Params.After, pathPrefix+"users/"+r.Id.String()+"/sessions")
	if err != nil {
		return nil, err
	}
	return admin.ListUserSessions200JSONResponse{Body: mapAll(list, showSession(principal(ctx))), Headers: admin.ListUserSessions200ResponseHeaders{Link: next}}, nil
}

func (s *server) EndUserSessions(ctx context.Context, r admin.EndUserSessionsRequestObject) (admin.EndUserSessionsResponseObject, error) {
	ended, err := s.store.Sessions().EndOf(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.EndUserSessions200JSONResponse{Ended: int(ended)}, nil
}

func showUser(u tenant.User) admin.User {
	return admin.User{
		Id: u.ID, OrgId: u.OrganizationID, Email: u.Email, Name: u.Name, Role: admin.UserRole(u.Role), Enabled: u.Enabled, HasPassword: u.HasPassword,
		Groups: u.Groups, LastSignInAt: timeOrNull(u.LastSignInAt), ChangeNote: orNull(u.ChangeNote),
		CreatedAt: u.CreatedAt.UTC(), UpdatedAt: u.UpdatedAt.UTC(),
		CreatedByUserId: orNull(u.CreatedBy.UserID), CreatedByEmail: orNull(u.CreatedBy.Email), CreatedByName: orNull(u.CreatedBy.Name),
		LastModifiedByUserId: orNull(u.ModifiedBy.UserID), LastModifiedByEmail: orNull(u.ModifiedBy.Email),
		LastModifiedByName: orNull(u.ModifiedBy.Name), LastModifiedAt: timeOrNull(u.ModifiedAt), LastChangeNote: orNull(u.ChangeNote),
	}
}

func showSession(p tenant.Principal) func(tenant.Session) admin.Session {
	return func(s tenant.Session) admin.Session {
		return admin.Session{Id: s.ID, Client: s.Client, CreatedAt: s.CreatedAt.UTC(), LastSeenAt: s.LastSeenAt.UTC(), ExpiresAt: s.ExpiresAt.UTC(),
			Current: s.ID == p.SessionID}
	}
}
