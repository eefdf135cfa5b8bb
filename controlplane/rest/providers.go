package rest

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListProviders(ctx context.Context, r admin.ListProvidersRequestObject) (admin.ListProvidersResponseObject, error) {
	list, err := s.store.Providers().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, providerID, r.Params.Limit, r.Params.After, pathPrefix+"providers")
	if err != nil {
		return nil, err
	}
	return admin.ListProviders200JSONResponse{Body: mapAll(list, showProvider), Headers: admin.ListProviders200ResponseHeaders{Link: next}}, nil
}

func (s *server) CreateProvider(ctx context.Context, r admin.CreateProviderRequestObject) (admin.CreateProviderResponseObject, error) {
	p, err := s.store.Providers().Create(ctx, principal(ctx), newProvider(r.Body))
	if err != nil {
		return nil, err
	}
	return admin.CreateProvider200JSONResponse{Body: showProvider(p), Headers: admin.CreateProvider200ResponseHeaders{ETag: tenant.ETag(p.Revision)}}, nil
}

func newProvider(b *admin.ProviderCreate) tenant.ProviderCreate {
	in := tenant.ProviderCreate{
		Family: string(b.ModelProvider),
		ProviderPatch: tenant.ProviderPatch{
			Name: &b.Name, BaseURL: &b.BaseUrl, AuthType: (*string)(b.AuthType),
			APIKey: secretOf(b.ApiKey), Credentials: secretOfJSON(b.Credentials), Settings: rawOf(b.Settings),
			Enabled: b.Enabled, EnforceHealthCheck: b.EnforceHealthCheck, ChangeNote: b.ChangeNote,
			Timeouts:     tenant.TimeoutsPatch{RequestSecs: changeIfSet(b.RequestTimeoutSecs), StreamIdleSecs: changeIfSet(b.StreamIdleTimeoutSecs)},
			ConnectionID: changeIfSet(b.ConnectionId), ModelSyncMode: (*string)(b.ModelSyncMode),
			Billing: tenant.BillingPatch{Mode: (*string)(b.BillingMode), Reason: changeIfSet((*string)(b.BillingReason)), Note: changeIfSet(b.BillingNote)},
		},
	}
	if b.Models != nil {
		in.Models = *b.Models
	}
	return in
}

func (s *server) GetProvider(ctx context.Context, r admin.GetProviderRequestObject) (admin.GetProviderResponseObject, error) {
	p, err := s.store.Providers().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetProvider200JSONResponse{Body: showProvider(p), Headers: admin.GetProvider200ResponseHeaders{ETag: tenant.ETag(p.Revision)}}, nil
}

func (s *server) UpdateProvider(ctx context.Context, r admin.UpdateProviderRequestObject) (admin.UpdateProviderResponseObject, error) {
	b := r.Body
	p, err := s.store.Providers().Update(ctx, principal(ctx), r.Id, tenant.ProviderPatch{
		Name: b.Name, BaseURL: b.BaseUrl, AuthType: (*string)(b.AuthType),
		APIKey: secretOf(b.ApiKey), Credentials: secretOfJSON(b.Credentials), Settings: rawOf(b.Settings),
		Enabled: b.Enabled, EnforceHealthCheck: b.EnforceHealthCheck, ChangeNote: b.ChangeNote,
		Timeouts:     tenant.TimeoutsPatch{RequestSecs: changeOf(b.RequestTimeoutSecs), StreamIdleSecs: changeOf(b.StreamIdleTimeoutSecs)},
		ConnectionID: changeOf(b.ConnectionId), ModelSyncMode: (*string)(b.ModelSyncMode),
		Billing: tenant.BillingPatch{Mode: (*string)(b.BillingMode), Reason: changeOfWord(b.BillingReason), Note: changeOf(b.BillingNote)},
	})
	if err != nil {
		return nil, err
	}
	return admin.UpdateProvider200JSONResponse{Body: showProvider(p), Headers: admin.UpdateProvider200ResponseHeaders{ETag: tenant.ETag(p.Revision)}}, nil
}

func (s *server) DeleteProvider(ctx context.Context, r admin.DeleteProviderRequestObject) (admin.DeleteProviderResponseObject, error) {
	if err := s.store.Providers().Delete(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.DeleteProvider200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func (s *server) ListProviderModelMappings(ctx context.Context, r admin.ListProviderModelMappingsRequestObject) (admin.ListProviderModelMappingsResponseObject, error) {
	list, err := s.store.Providers().Mappings(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, mappingID, r.Params.Limit, r.Params.After, pathPrefix+"providers/"+r.Id.String()+"/model-mappings")
	if err != nil {
		return nil, err
	}
	return admin.ListProviderModelMappings200JSONResponse{Body: mapAll(list, s.showMapping(ctx)), Headers: admin.ListProviderModelMappings200ResponseHeaders{Link: next}}, nil
}

func (s *server) GetProviderCatalog(context.Context, admin.GetProviderCatalogRequestObject) (admin.GetProviderCatalogResponseObject, error) {
	return admin.GetProviderCatalog200JSONResponse(mapAll(tenant.Catalog(), showFamily)), nil
}

func rawOf(text *json.RawMessage) json.RawMessage {
	if text == nil {
		return nil
	}
	return *text
}

func showProvider(p tenant.Provider) admin.Provider {
	out := admin.Provider{
		Id: p.ID, OrgId: p.OrganizationID, Name: p.Name, ModelProvider: admin.ModelProvider(p.Family), BaseUrl: p.BaseURL,
		AuthType: admin.AuthType(p.AuthType), Settings: p.Settings, Enabled: p.Enabled, EnforceHealthCheck: p.EnforceHealthCheck,
		HealthStatus:       admin.HealthStatus(p.Health.Status),
		RequestTimeoutSecs: orNull(p.Timeouts.RequestSecs), StreamIdleTimeoutSecs: orNull(p.Timeouts.StreamIdleSecs),
		ModelSyncMode: admin.ModelSyncMode(p.ModelSyncMode), BillingMode: admin.BillingMode(p.Billing.Mode),
		BillingReason: orNull((*admin.BillingReason)(p.Billing.Reason)), BillingNote: orNull(p.Billing.Note),
		ConnectionId: orNull(p.ConnectionID), CatalogId: orNull[uuid.UUID](nil), ChangeNote: orNull(p.ChangeNote),
		CreatedAt: p.CreatedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC(),
		CreatedByUserId: orNull(p.CreatedBy.UserID), CreatedByEmail: orNull(p.CreatedBy.Email), CreatedByName: orNull(p.CreatedBy.Name),
		LastModifiedByUserId: orNull(p.ModifiedBy.UserID), LastModifiedByEmail: orNull(p.ModifiedBy.Email),
		LastModifiedByName: orNull(p.ModifiedBy.Name), LastModifiedAt: timeOrNull(p.ModifiedAt), LastChangeNote: orNull(p.ChangeNote),
	}
	switch {
	case p.ConnectionID != nil:
		out.SecretPath = "connections/" + p.ConnectionID.String()
	case p.CredentialID != nil:
		out.SecretPath = "provider-credentials/" + p.CredentialID.String()
	}
	if p.Health.Detail != "" {
		out.HealthDetail = &p.Health.Detail
	}
	if p.Health.CheckedAt != nil {
		at := p.Health.CheckedAt.UTC()
		out.HealthCheckedAt = &at
	}
	return out
}

func showFamily(f tenant.Family) admin.ProviderCatalogEntry {
	out := admin.ProviderCatalogEntry{Slug: admin.ModelProvider(f.Slug), AuthType: admin.AuthType(f.AuthType),
		DefaultModels: append([]string{}, f.DefaultModels...), DefaultBaseUrl: orNull[string](nil)}
	if f.DefaultBaseURL != "" {
		out.DefaultBaseUrl = orNull(&f.DefaultBaseURL)
	}
	return out
}
