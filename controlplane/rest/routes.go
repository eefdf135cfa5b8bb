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
	return routeListing{listing[admin.Route]{each(list, s.showRoute(ctx)), next}}, nil
}

func (s *server) CreateRoute(ctx context.Context, r admin.CreateRouteRequestObject) (admin.CreateRouteResponseObject, error) {
	b := r.Body
	route, err := s.store.Routes().Create(ctx, principal(ctx), tenant.RouteCreate{Alias: b.ModelAlias, RouteTargets: routeTargets(b.Targets, b.EnableModels, b.ChangeNote)})
	if err != nil {
		return nil, err
	}
	return admin.CreateRoute200JSONResponse{Body: s.showRoute(ctx)(route), Headers: admin.CreateRoute200ResponseHeaders{ETag: route.ETag()}}, nil
}

func (s *server) AddRouteTargets(ctx context.Context, r admin.AddRouteTargetsRequestObject) (admin.AddRouteTargetsResponseObject, error) {
	b := r.Body
	route, err := s.store.Routes().AddTargets(ctx, principal(ctx), r.Alias, routeTargets(b.Targets, b.EnableModels, b.ChangeNote))
	if err != nil {
		return nil, err
	}
	return admin.AddRouteTargets200JSONResponse{Body: s.showRoute(ctx)(route), Headers: admin.AddRouteTargets200ResponseHeaders{ETag: route.ETag()}}, nil
}

func routeTargets(list []admin.RouteTarget, enable *bool, note *string) tenant.RouteTargets {
	return tenant.RouteTargets{Targets: mapAll(list, routeTarget), EnableModels: valueOr(enable, false), ChangeNote: note}
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
	return admin.GetRoute200JSONResponse{Body: s.showRoute(ctx)(route), Headers: admin.GetRoute200ResponseHeaders{ETag: route.ETag()}}, nil
}

func (s *server) RenameRoute(ctx context.Context, r admin.RenameRouteRequestObject) (admin.RenameRouteResponseObject, error) {
	route, moved, err := s.store.Routes().Rename(ctx, principal(ctx), r.Alias, r.Body.ModelAlias, r.Body.ChangeNote)
	if err != nil {
		return nil, err
	}
	out := admin.RouteRenamed{Route: s.showRoute(ctx)(route)}
	out.Moved.Targets, out.Moved.KeptEnablements = moved.Targets, moved.Kept
	out.Moved.ModelRouteGroups, out.Moved.ModelAccessPolicies = mapAll(moved.Groups, showNamed), mapAll(moved.Policies, showNamed)
	out.Moved.RateLimits, out.Moved.Budgets = mapAll(moved.RateLimits, showNamed), mapAll(moved.Budgets, showNamed)
	out.Moved.RoutingPolicies = mapAll(moved.RoutingPolicies, showNamed)
	return admin.RenameRoute200JSONResponse{Body: out, Headers: admin.RenameRoute200ResponseHeaders{ETag: route.ETag()}}, nil
}

func (s *server) DuplicateRoute(ctx context.Context, r admin.DuplicateRouteRequestObject) (admin.DuplicateRouteResponseObject, error) {
	route, err := s.store.Routes().Duplicate(ctx, principal(ctx), r.Alias, r.Body.ModelAlias, r.Body.ChangeNote)
	if err != nil {
		return nil, err
	}
	return admin.DuplicateRoute200JSONResponse{Body: s.showRoute(ctx)(route), Headers: admin.DuplicateRoute200ResponseHeaders{ETag: route.ETag()}}, nil
}

func (s *server) DeleteRoute(ctx context.Context, r admin.DeleteRouteRequestObject) (admin.DeleteRouteResponseObject, error) {
	gone, err := s.store.Routes().Delete(ctx, principal(ctx), r.Alias)
	if err != nil {
		return nil, err
	}
	return admin.DeleteRoute200JSONResponse{Deleted: true, Targets: gone.Targets, KeptEnablements: gone.Kept,
		ModelRouteGroups: mapAll(gone.Groups, showNamed), ModelAccessPolicies: mapAll(gone.Policies, showNamed)}, nil
}

// showRoute returns what shows routes with what the nodes make of their targets at the moment.
func (s *server) showRoute(ctx context.Context) func(tenant.Route) admin.Route {
	showMapping := s.showMapping(ctx)
	return func(r tenant.Route) admin.Route {
		out := admin.Route{ModelAlias: r.Alias, Targets: mapAll(r.Targets, showMapping), ModelRouteGroups: mapAll(r.Groups, showNamed)}
		for _, t := range out.Targets {
			if t.ServingStatus.IsNull() && !coolsForEveryone(t.RouteHealthStatus) {
				out.TargetsAvailable++
			}
		}
		return out
	}
}

func coolsForEveryone(s *admin.RouteHealthStatus) bool {
	return s != nil && s.State == admin.RouteHealthStatusStateSuspended && s.Scope == admin.RouteHealthStatusScopeAllUsers
}

func showNamed(n tenant.Named) admin.Named { return admin.Named{Id: n.ID, Name: n.Name} }
