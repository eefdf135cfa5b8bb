package rest

import (
	"context"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) GetProfile(ctx context.Context, _ admin.GetProfileRequestObject) (admin.GetProfileResponseObject, error) {
	u, err := s.store.Users().Self(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	return admin.GetProfile200JSONResponse{Body: showUser(u), Headers: admin.GetProfile200ResponseHeaders{ETag: tenant.ETag(u.Revision)}}, nil
}

func (s *server) UpdateProfile(ctx context.Context, r admin.UpdateProfileRequestObject) (admin.UpdateProfileResponseObject, error) {
	u, err := s.store.Users().UpdateSelf(ctx, principal(ctx), r.Body.Name)
	if err != nil {
		return nil, err
	}
	return admin.UpdateProfile200JSONResponse{Body: showUser(u), Headers: admin.UpdateProfile200ResponseHeaders{ETag: tenant.ETag(u.Revision)}}, nil
}

func (s *server) ChangePassword(ctx context.Context, r admin.ChangePasswordRequestObject) (admin.ChangePasswordResponseObject, error) {
	err := s.people.ChangePassword(ctx, principal(ctx), echoOf(ctx).Request().RemoteAddr,
		tenant.NewSecret(r.Body.CurrentPassword), tenant.NewSecret(r.Body.NewPassword))
	if err != nil {
		return nil, err
	}
	return admin.ChangePassword200JSONResponse{Ok: true}, nil
}

func (s *server) ListOwnSessions(ctx context.Context, r admin.ListOwnSessionsRequestObject) (admin.ListOwnSessionsResponseObject, error) {
	list, err := s.store.Sessions().Own(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, sessionID, r.Params.Limit, r.Params.After, ownPrefix+"sessions")
	if err != nil {
		return nil, err
	}
	return admin.ListOwnSessions200JSONResponse{Body: mapAll(list, showSession(principal(ctx))), Headers: admin.ListOwnSessions200ResponseHeaders{Link: next}}, nil
}

func (s *server) EndOwnSession(ctx context.Context, r admin.EndOwnSessionRequestObject) (admin.EndOwnSessionResponseObject, error) {
	if err := s.store.Sessions().EndOwn(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.EndOwnSession200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func (s *server) ListOwnApiKeys(ctx context.Context, r admin.ListOwnApiKeysRequestObject) (admin.ListOwnApiKeysResponseObject, error) {
	list, err := s.store.OwnAPIKeys().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, apiKeyID, r.Params.Limit, r.Params.After, ownPrefix+"api-keys")
	if err != nil {
		return nil, err
	}
	return admin.ListOwnApiKeys200JSONResponse{Body: mapAll(list, showAPIKey), Headers: admin.ListOwnApiKeys200ResponseHeaders{Link: next}}, nil
}

func (s *server) CreateOwnApiKey(ctx context.Context, r admin.CreateOwnApiKeyRequestObject) (admin.CreateOwnApiKeyResponseObject, error) {
	b := r.Body
	k, secret, err := s.store.OwnAPIKeys().Create(ctx, principal(ctx),
		tenant.KeyCreate{Name: b.Name, Scopes: valueOr(b.Scopes, nil), ExpiresAt: b.ExpiresAt, ChangeNote: b.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.CreateOwnApiKey200JSONResponse(showSecret(k, secret)), nil
}

func (s *server) GetOwnApiKey(ctx context.Context, r admin.GetOwnApiKeyRequestObject) (admin.GetOwnApiKeyResponseObject, error) {
	k, err := s.store.OwnAPIKeys().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetOwnApiKey200JSONResponse{Body: showAPIKey(k), Headers: admin.GetOwnApiKey200ResponseHeaders{ETag: tenant.ETag(k.Revision)}}, nil
}

func (s *server) UpdateOwnApiKey(ctx context.Context, r admin.UpdateOwnApiKeyRequestObject) (admin.UpdateOwnApiKeyResponseObject, error) {
	k, err := s.store.OwnAPIKeys().Update(ctx, principal(ctx), r.Id, tenant.KeyUpdate{Disabled: r.Body.Disabled, ChangeNote: r.Body.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.UpdateOwnApiKey200JSONResponse{Body: showAPIKey(k), Headers: admin.UpdateOwnApiKey200ResponseHeaders{ETag: tenant.ETag(k.Revision)}}, nil
}

func (s *server) RevokeOwnApiKey(ctx context.Context, r admin.RevokeOwnApiKeyRequestObject) (admin.RevokeOwnApiKeyResponseObject, error) {
	if err := s.store.OwnAPIKeys().Revoke(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.RevokeOwnApiKey200JSONResponse{Revoked: true}, nil
}

func (s *server) RotateOwnApiKey(ctx context.Context, r admin.RotateOwnApiKeyRequestObject) (admin.RotateOwnApiKeyResponseObject, error) {
	k, secret, err := s.store.OwnAPIKeys().Rotate(ctx, principal(ctx), r.Id,
		tenant.KeyRotate{GraceSecs: valueOr(r.Body.GraceSecs, 0), ChangeNote: r.Body.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.RotateOwnApiKey200JSONResponse(showSecret(k, secret)), nil
}
