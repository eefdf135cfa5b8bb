package rest

import (
	"context"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// ListOwnModels compiles the newest configuration as a node does, so that the list is
// what /v1/models of a node answers.
func (s *server) ListOwnModels(ctx context.Context, _ admin.ListOwnModelsRequestObject) (admin.ListOwnModelsResponseObject, error) {
	snapshot, err := s.store.Snapshot(ctx, principal(ctx).OrganizationID)
	if err != nil {
		return nil, err
	}
	org, err := decide.Compile(snapshot, decide.NewBoard())
	if err != nil {
		return nil, tenant.Uncompilable(err)
	}
	caller, err := s.callerOf(ctx, org)
	if err != nil {
		return nil, err
	}
	standings := s.standings(ctx)
	out := admin.OwnModels{Models: []admin.OwnModel{}}
	for _, m := range caller.Models() {
		if route := org.Resolve(m.ID); route != nil {
			out.Models = append(out.Models, standings.ownModel(route, caller.Key.Access))
		}
	}
	out.ModelCount = len(out.Models)
	return admin.ListOwnModels200JSONResponse(out), nil
}

// callerOf is the principal as it calls the gateway with a key of its own. A service account
// is nobody's.
func (s *server) callerOf(ctx context.Context, org *decide.Org) (decide.Caller, error) {
	by := principal(ctx)
	if by.UserID == uuid.Nil {
		return org.Anyone(), nil
	}
	u, err := s.store.Users().Self(ctx, by)
	if err != nil {
		return decide.Caller{}, err
	}
	return org.User(u.ID, u.Groups), nil
}

// ownModel shows a route that can serve the caller. Its health is that of the best target: while one
// of them is well, callers notice nothing of the others.
func (s standings) ownModel(r *decide.Route, access *decide.Access) admin.OwnModel {
	out := admin.OwnModel{ModelAlias: r.Name, DisplayModel: r.Name, IsGrouped: len(r.Targets) > 1, ModelKind: admin.OwnModelKindRoute,
		SmartSlots: []string{}, BudgetStatus: orNull[string](nil)}
	if r.Direct {
		out.ModelKind = admin.OwnModelKindDirect
	}
	first := true
	for _, t := range r.Targets {
		if _, denied := access.Denies(r, t); denied || t.Unservable != "" {
			continue
		}
		status := s.status(standing{tenant.Upstream{ProviderID: t.Provider.ID, Model: t.UpstreamModel}, t.Cooldown})
		if first {
			first = false
			out.UpstreamModel, out.ProviderName, out.ProviderId, out.RouteHealthStatus = t.UpstreamModel, t.Provider.Name, t.Provider.ID, status
			if r.Direct {
				out.DisplayModel = t.UpstreamModel
			}
		}
		if status == nil {
			out.RouteHealthStatus = nil
			break
		}
		if status.State == admin.RouteHealthStatusStateRecovering {
			out.RouteHealthStatus = status
		}
	}
	return out
}
