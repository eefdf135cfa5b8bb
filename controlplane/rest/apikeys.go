package rest

import (
	"context"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListApiKeys(ctx context.Context, r admin.ListApiKeysRequestObject) (admin.ListApiKeysResponseObject, error) {
	list, err := s.store.APIKeys().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, apiKeyID, r.Params.Limit, r.Params.After, pathPrefix+"api-keys")
	if err != nil {
		return nil, err
	}
	return admin.ListApiKeys200JSONResponse{Body: mapAll(list, showAPIKey), Headers: admin.ListApiKeys200ResponseHeaders{Link: next}}, nil
}

func (s *server) CreateApiKey(ctx context.Context, r admin.CreateApiKeyRequestObject) (admin.CreateApiKeyResponseObject, error) {
	b := r.Body
	in := tenant.KeyCreate{Name: b.Name, UserID: b.UserId, UserEmail: b.UserEmail, GroupName: b.GroupName, ExpiresAt: b.ExpiresAt, ChangeNote: b.ChangeNote}
	if b.Scopes != nil {
		in.Scopes = *b.Scopes
	}
	k, secret, err := s.store.APIKeys().Create(ctx, principal(ctx), in)
	if err != nil {
		return nil, err
	}
	return admin.CreateApiKey200JSONResponse(showSecret(k, secret)), nil
}

func (s *server) GetApiKey(ctx context.Context, r admin.GetApiKeyRequestObject) (admin.GetApiKeyResponseObject, error) {
	k, err := s.store.APIKeys().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetApiKey200JSONResponse{Body: showAPIKey(k), Headers: admin.GetApiKey200ResponseHeaders{ETag: tenant.ETag(k.Revision)}}, nil
}

func (s *server) UpdateApiKey(ctx context.Context, r admin.UpdateApiKeyRequestObject) (admin.UpdateApiKeyResponseObject, error) {
	k, err := s.store.APIKeys().Update(ctx, principal(ctx), r.Id, tenant.KeyUpdate{Disabled: r.Body.Disabled, ChangeNote: r.Body.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.UpdateApiKey200JSONResponse{Body: showAPIKey(k), Headers: admin.UpdateApiKey200ResponseHeaders{ETag: tenant.ETag(k.Revision)}}, nil
}

func (s *server) RevokeApiKey(ctx context.Context, r admin.RevokeApiKeyRequestObject) (admin.RevokeApiKeyResponseObject, error) {
	if err := s.store.APIKeys().Revoke(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.RevokeApiKey200JSONResponse{Revoked: true}, nil
}

func (s *server) RotateApiKey(ctx context.Context, r admin.RotateApiKeyRequestObject) (admin.RotateApiKeyResponseObject, error) {
	in := tenant.KeyRotate{ChangeNote: r.Body.ChangeNote}
	if r.Body.GraceSecs != nil {
		in.GraceSecs = *r.Body.GraceSecs
	}
	k, secret, err := s.store.APIKeys().Rotate(ctx, principal(ctx), r.Id, in)
	if err != nil {
		return nil, err
	}
	return admin.RotateApiKey200JSONResponse(showSecret(k, secret)), nil
}

func showAPIKey(k tenant.APIKey) admin.ApiKey {
	return admin.ApiKey{
		Id: k.ID, OrgId: k.OrganizationID, Name: k.Name, Kind: admin.KeyKind(k.Kind), KeyPrefix: k.Prefix, Scopes: k.Scopes,
		CreatedAt: k.CreatedAt.UTC(), UserId: orNull(k.UserID), UserEmail: orNull(k.UserEmail), GroupName: orNull(k.GroupName),
		ExpiresAt: timeOrNull(k.ExpiresAt), RevokedAt: timeOrNull(k.RevokedAt), DisabledAt: timeOrNull(k.DisabledAt),
		LastUsedAt:      timeOrNull(k.LastUsedAt),
		ChangeNote:      orNull(k.ChangeNote),
		CreatedByUserId: orNull(k.CreatedBy.UserID), CreatedByEmail: orNull(k.CreatedBy.Email), CreatedByName: orNull(k.CreatedBy.Name),
		LastModifiedByUserId: orNull(k.ModifiedBy.UserID), LastModifiedByEmail: orNull(k.ModifiedBy.Email), LastModifiedByName: orNull(k.ModifiedBy.Name),
		LastModifiedAt: timeOrNull(k.ModifiedAt), LastChangeNote: orNull(k.ChangeNote),
	}
}

// showSecret is the one place where a gateway key leaves the program.
func showSecret(k tenant.APIKey, secret tenant.Secret) admin.ApiKeySecret {
	return admin.ApiKeySecret{Id: k.ID, Name: k.Name, KeyPrefix: k.Prefix, Key: secret.Reveal(), Scopes: k.Scopes, CreatedAt: k.CreatedAt.UTC(),
		GroupName: orNull(k.GroupName), ExpiresAt: timeOrNull(k.ExpiresAt)}
}
