package rest

import (
	"context"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListRoutes(ctx context.Context, r admin.ListRoutesRequestObject) (admin.ListRoutesResponseObject, error) {
	list, err := s.store.Routes().List(ctx, principal(ctx), store.Page[string]{After: r.Params.After, Limit: r.Params.Limit})
	if err != nil {
		return nil, err
	}
	list, next, err := pageBy(list, func(r tenant.Route) string { return r.Alias }, r.Params.Limit, pathPrefix+"routes")
	if err != nil {
		return nil, err
	}
	return admin.ListRoutes200JSONResponse{Body: s.showRoutes(ctx, list), Headers: admin.ListRoutes200ResponseHeaders{Link: next}}, nil
}

func (s *server) CreateRoute(ctx context.Context, r admin.CreateRouteRequestObject) (admin.CreateRouteResponseObject, error) {
	b := r.Body
	route, err := s.store.Routes().Create(ctx, principal(ctx), tenant.RouteCreate{
		Alias: b.ModelAlias, Targets: mapAll(b.Targets, routeTarget), EnableModels: valueOr(b.EnableModels, false), ChangeNote: b.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.CreateRoute200JSONResponse{Body: s.showRoute(ctx, route), Headers: admin.CreateRoute200ResponseHeaders{ETag: route.ETag()}}, nil
}

func routeTarget(t admin.RouteTarget) tenant.RouteTarget {
	return tenant.RouteTarget{ProviderID: t.ProviderId, MappingPatch: tenant.MappingPatch{
		UpstreamModel: &t.UpstreamModel, Enabled: t.Enabled, RetryOn429Count: t.RetryOn429Count, RetryOn429MaxWaitSecs: t.RetryOn429MaxWaitSecs,
		EmbeddingsFailover: (*string)(t.EmbeddingsFailover),
		Timeouts:           tenant.TimeoutsPatch{RequestSecs: changeIfSet(t.RequestTimeoutSecs), StreamIdleSecs: changeIfSet(t.StreamIdleTimeoutSecs)},
		Cooldown: tenant.CooldownPatch{FailureThreshold: t.CooldownFailureThreshold, WindowSecs: t.CooldownWindowSecs, FirstSecs: t.CooldownFirstSecs,
			MaxSecs: t.CooldownMaxSecs, RateLimitedSecs: t.CooldownRateLimitedSecs, OverloadedSecs: t.CooldownOverloadedSecs},
	}}
}

func (s *server) GetRoute(ctx context.Context, r admin.GetRouteRequestObject) (admin.GetRouteResponseObject, error) {
	route, err := s.store.Routes().Get(ctx, principal(ctx), r.Alias)
	if err != nil {
		return nil, err
	}
	return admin.GetRoute200JSONResponse{Body: s.showRoute(ctx, route), Headers: admin.GetRoute200ResponseHeaders{ETag: route.ETag()}}, nil
}

func (s *server) RenameRoute(ctx context.Context, r admin.RenameRouteRequestObject) (admin.RenameRouteResponseObject, error) {
	route, moved, err := s.store.Routes().Rename(ctx, principal(ctx), r.Alias, r.Body.ModelAlias, r.Body.ChangeNote)
	if err != nil {
		return nil, err
	}
	out := admin.RouteRenamed{Route: s.showRoute(ctx, route), Moved: showMoved(moved)}
	return admin.RenameRoute200JSONResponse{Body: out, Headers: admin.RenameRoute200ResponseHeaders{ETag: route.ETag()}}, nil
}

func (s *server) DuplicateRoute(ctx context.Context, r admin.DuplicateRouteRequestObject) (admin.DuplicateRouteResponseObject, error) {
	route, err := s.store.Routes().Duplicate(ctx, principal(ctx), r.Alias, r.Body.ModelAlias, r.Body.ChangeNote)
	if err != nil {
		return nil, err
	}
	return admin.DuplicateRoute200JSONResponse{Body: s.showRoute(ctx, route), Headers: admin.DuplicateRoute200ResponseHeaders{ETag: route.ETag()}}, nil
}

func (s *server) DeleteRoute(ctx context.Context, r admin.DeleteRouteRequestObject) (admin.DeleteRouteResponseObject, error) {
	gone, err := s.store.Routes().Delete(ctx, principal(ctx), r.Alias)
	if err != nil {
		return nil, err
	}
	return admin.DeleteRoute200JSONResponse{Deleted: true, Targets: gone.Targets, KeptEnablements: gone.Kept,
		ModelRouteGroups: mapAll(gone.Groups, showNamed), ModelAccessPolicies: mapAll(gone.Policies, showNamed)}, nil
}

func (s *server) showRoute(ctx context.Context, r tenant.Route) admin.Route {
	return s.showRoutes(ctx, []tenant.Route{r})[0]
}

// showRoutes shows routes with what the nodes make of their targets at the moment.
func (s *server) showRoutes(ctx context.Context, list []tenant.Route) []admin.Route {
	var rows []tenant.Mapping
	for _, r := range list {
		rows = append(rows, r.Targets...)
	}
	shown := s.showMappings(ctx, rows)
	return mapAll(list, func(r tenant.Route) admin.Route {
		out := admin.Route{ModelAlias: r.Alias, Targets: shown[:len(r.Targets)], ModelRouteGroups: mapAll(r.Groups, showNamed)}
		shown = shown[len(r.Targets):]
		for _, t := range out.Targets {
			if t.ServingStatus.IsNull() && (t.RouteHealthStatus == nil || t.RouteHealthStatus.State != admin.RouteHealthStatusStateSuspended) {
				out.TargetsAvailable++
			}
		}
		return out
	})
}

func showMoved(m tenant.RouteChange) admin.Moved {
	return admin.Moved{Targets: m.Targets, KeptEnablements: m.Kept, ModelRouteGroups: mapAll(m.Groups, showNamed), ModelAccessPolicies: mapAll(m.Policies, showNamed), RateLimits: mapAll(m.RateLimits, showNamed),
		Budgets: mapAll(m.Budgets, showNamed), RoutingPolicies: mapAll(m.RoutingPolicies, showNamed)}
}

func showNamed(n tenant.Named) admin.Named { return admin.Named{Id: n.ID, Name: n.Name} }
