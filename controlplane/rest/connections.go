package rest

import (
	"context"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListConnections(ctx context.Context, r admin.ListConnectionsRequestObject) (admin.ListConnectionsResponseObject, error) {
	list, err := s.store.Connections().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, connectionID, r.Params.Limit, r.Params.After, pathPrefix+"connections")
	if err != nil {
		return nil, err
	}
	return admin.ListConnections200JSONResponse{Body: mapAll(list, showConnection), Headers: admin.ListConnections200ResponseHeaders{Link: next}}, nil
}

func (s *server) CreateConnection(ctx context.Context, r admin.CreateConnectionRequestObject) (admin.CreateConnectionResponseObject, error) {
	b := r.Body
	c, err := s.store.Connections().Create(ctx, principal(ctx), tenant.ConnectionCreate{Family: string(b.ModelProvider),
		ConnectionPatch: tenant.ConnectionPatch{Name: &b.Name, BaseURL: &b.BaseUrl, AuthType: (*string)(b.AuthType), APIKey: secretOf(b.ApiKey),
			Credentials: secretOfJSON(b.Credentials), Settings: rawOf(b.Settings), ChangeNote: b.ChangeNote}})
	if err != nil {
		return nil, err
	}
	return admin.CreateConnection200JSONResponse{Body: showConnection(c), Headers: admin.CreateConnection200ResponseHeaders{ETag: tenant.ETag(c.Revision)}}, nil
}

func (s *server) GetConnection(ctx context.Context, r admin.GetConnectionRequestObject) (admin.GetConnectionResponseObject, error) {
	c, err := s.store.Connections().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetConnection200JSONResponse{Body: showConnection(c), Headers: admin.GetConnection200ResponseHeaders{ETag: tenant.ETag(c.Revision)}}, nil
}

func (s *server) UpdateConnection(ctx context.Context, r admin.UpdateConnectionRequestObject) (admin.UpdateConnectionResponseObject, error) {
	b := r.Body
	c, err := s.store.Connections().Update(ctx, principal(ctx), r.Id, tenant.ConnectionPatch{Name: b.Name, BaseURL: b.BaseUrl, AuthType: (*string)(b.AuthType),
		APIKey: secretOf(b.ApiKey), Credentials: secretOfJSON(b.Credentials), Settings: rawOf(b.Settings), ChangeNote: b.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.UpdateConnection200JSONResponse{Body: showConnection(c), Headers: admin.UpdateConnection200ResponseHeaders{ETag: tenant.ETag(c.Revision)}}, nil
}

func (s *server) DeleteConnection(ctx context.Context, r admin.DeleteConnectionRequestObject) (admin.DeleteConnectionResponseObject, error) {
	if err := s.store.Connections().Delete(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.DeleteConnection200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func showConnection(c tenant.Connection) admin.Connection {
	return admin.Connection{
		Id: c.ID, OrgId: c.OrganizationID, Name: c.Name, ModelProvider: admin.ModelProvider(c.Family), BaseUrl: c.BaseURL,
		AuthType: admin.AuthType(c.AuthType), Settings: c.Settings, KeyLast4: orNull(c.KeyLast4), StoresKeyMaterial: c.Stored,
		ChangeNote: orNull(c.ChangeNote), CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
		CreatedByUserId: orNull(c.CreatedBy.UserID), CreatedByEmail: orNull(c.CreatedBy.Email), CreatedByName: orNull(c.CreatedBy.Name),
		LastModifiedByUserId: orNull(c.ModifiedBy.UserID), LastModifiedByEmail: orNull(c.ModifiedBy.Email),
		LastModifiedByName: orNull(c.ModifiedBy.Name), LastModifiedAt: timeOrNull(c.ModifiedAt), LastChangeNote: orNull(c.ChangeNote),
	}
}
