package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
)

func routeActs() []act {
	return []act{
		{"routes", "list", "", "list the routes", routesList},
		{"routes", "get", "ROUTE", "show a route and its targets", routesGet},
		{"routes", "create", "ROUTE PROVIDER/MODEL...", "create a route; the targets are tried in this order", routesCreate},
		{"routes", "reorder", "ROUTE PROVIDER/MODEL...", "try the targets in this order; those not named stay behind", routesReorder},
		{"routes", "rename", "ROUTE NAME", "give a route another name, and carry along all that names it", routesRename},
		{"routes", "duplicate", "ROUTE NAME", "copy a route", routesDuplicate},
		{"routes", "delete", "ROUTE", "delete a route", routesDelete},
		{"routes", "add-target", "ROUTE PROVIDER/MODEL", "add a target at the end of a route", routesAddTarget},
		{"routes", "remove-target", "ROUTE PROVIDER/MODEL", "remove a target from a route", routesRemoveTarget},
		{"routes", "enable-target", "ROUTE PROVIDER/MODEL", "let a target serve", routesEnableTarget},
		{"routes", "disable-target", "ROUTE PROVIDER/MODEL", "keep a target from serving", routesDisableTarget},
	}
}

func routesList(ctx context.Context, a *adminCall) error {
	if _, err := a.begin(0, 0); err != nil {
		return err
	}
	l, err := all[admin.Route](ctx, a.ListRoutes, nil)
	if err != nil {
		return err
	}
	return a.show(l.raw, func(t *table) {
		t.row("ROUTE", "AVAILABLE", "TARGETS", "GROUPS")
		for _, r := range l.items {
			var targets []string
			for _, m := range r.Targets {
				targets = append(targets, targetName(m))
			}
			t.row(r.ModelAlias, fmt.Sprintf("%d of %d", r.TargetsAvailable, len(r.Targets)), targets, groupNames(r))
		}
	})
}

func groupNames(r admin.Route) (names []string) {
	for _, g := range r.ModelRouteGroups {
		names = append(names, g.Name)
	}
	return names
}

func targetName(m admin.ModelMapping) string { return m.ProviderName + "/" + m.UpstreamModel }

// standing says whether a target serves now, and if not, why.
func standing(m admin.ModelMapping) string {
	if status, err := m.ServingStatus.Get(); err == nil {
		return strings.ReplaceAll(string(status), "_", " ")
	}
	if m.RouteHealthStatus != nil {
		return m.RouteHealthStatus.Message
	}
	return "serves"
}

func routesGet(ctx context.Context, a *adminCall) error {
	args, err := a.begin(1, 1)
	if err != nil {
		return err
	}
	r, err := a.GetRouteWithResponse(ctx, args[0])
	if err != nil {
		return err
	}
	return a.show(r.Body, func(t *table) {
		t.row("#", "TARGET", "STATE", "429 RETRIES", "TIMEOUT", "STREAM IDLE", "ID")
		for i, m := range r.JSON200.Targets {
			t.row(i+1, targetName(m), standing(m), m.RetryOn429Count, seconds(m.RequestTimeoutSecs), seconds(m.StreamIdleTimeoutSecs), m.Id)
		}
	})
}

// splitTarget reads PROVIDER/MODEL. A provider's name has no "/", a model's may.
func splitTarget(text string) (provider, model string, err error) {
	provider, model, ok := strings.Cut(text, "/")
	if !ok || provider == "" || model == "" {
		return "", "", usage(fmt.Errorf("%q: write PROVIDER/MODEL", text))
	}
	return provider, model, nil
}

// resolve finds the providers of PROVIDER/MODEL words.
func (a *adminCall) resolve(ctx context.Context, words []string) (targets []admin.RouteTarget, err error) {
	l, err := all[admin.Provider](ctx, a.ListProviders, nil)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		name, model, err := splitTarget(word)
		if err != nil {
			return nil, err
		}
		p, _, err := pickProvider(l, name)
		if err != nil {
			return nil, err
		}
		targets = append(targets, admin.RouteTarget{ProviderId: p.Id, UpstreamModel: model})
	}
	return targets, nil
}

// maxTargets is the most targets a route may have.
const maxTargets = 100

func routesCreate(ctx context.Context, a *adminCall) error {
	enable := a.flags.Bool("enable-models", false, "enable the targets' models where they are not")
	note := a.note()
	args, err := a.begin(2, 1+maxTargets)
	if err != nil {
		return err
	}
	targets, err := a.resolve(ctx, args[1:])
	if err != nil {
		return err
	}
	made, err := a.CreateRouteWithResponse(ctx, nil, admin.RouteCreate{ModelAlias: args[0], Targets: targets, EnableModels: enable, ChangeNote: note()})
	if err != nil {
		return err
	}
	return a.say(made.Body, "Created the route %s with %s.", args[0], count(len(targets), "target"))
}

// target finds a target of a route by PROVIDER/MODEL or by its id.
func (a *adminCall) target(targets []admin.ModelMapping, wanted string) (m admin.ModelMapping, err error) {
	for _, m := range targets {
		if m.Id.String() == strings.ToLower(wanted) {
			return m, nil
		}
	}
	name, model, err := splitTarget(wanted)
	if err != nil {
		return m, err
	}
	for _, m := range targets {
		if addressName(m.ProviderName) == addressName(name) && m.UpstreamModel == model {
			return m, nil
		}
	}
	return m, fmt.Errorf("the route has no target %q", wanted)
}

// etag makes a change one of what was read, and of nothing that somebody made of it since.
func etag(read *http.Response) *string { return new(read.Header.Get("ETag")) }

func routesReorder(ctx context.Context, a *adminCall) error {
	args, err := a.begin(2, 1+maxTargets)
	if err != nil {
		return err
	}
	r, err := a.GetRouteWithResponse(ctx, args[0])
	if err != nil {
		return err
	}
	var body admin.ModelMappingReorder
	placed := map[uuid.UUID]bool{}
	place := func(id uuid.UUID) {
		body.Entries = append(body.Entries, admin.ModelMappingPriority{Id: id, Priority: len(body.Entries)})
		placed[id] = true
	}
	for _, word := range args[1:] {
		m, err := a.target(r.JSON200.Targets, word)
		if err != nil {
			return err
		}
		if placed[m.Id] {
			return usage(fmt.Errorf("%q is named twice", word))
		}
		place(m.Id)
	}
	for _, m := range r.JSON200.Targets {
		if !placed[m.Id] {
			place(m.Id)
		}
	}
	done, err := a.ReorderModelMappingsWithResponse(ctx, &admin.ReorderModelMappingsParams{IfMatch: etag(r.HTTPResponse)}, body)
	if err != nil {
		return err
	}
	return a.say(done.Body, "The targets of the route %s are in order.", args[0])
}

func routesRename(ctx context.Context, a *adminCall) error {
	note := a.note()
	args, err := a.begin(2, 2)
	if err != nil {
		return err
	}
	done, err := a.RenameRouteWithResponse(ctx, args[0], nil, admin.RouteRename{ModelAlias: args[1], ChangeNote: note()})
	if err != nil {
		return err
	}
	m := done.JSON200.Moved
	carried := []string{count(m.Targets, "target")}
	for thing, n := range map[string]int{"group": len(m.ModelRouteGroups), "rate limit": len(m.RateLimits), "budget": len(m.Budgets)} {
		if n > 0 {
			carried = append(carried, count(n, thing))
		}
	}
	if n := len(m.ModelAccessPolicies) + len(m.RoutingPolicies); n > 0 {
		carried = append(carried, fmt.Sprintf("policies: %d", n))
	}
	slices.Sort(carried[1:])
	return a.say(done.Body, "The route %s is %s now. Carried along: %s.", args[0], args[1], strings.Join(carried, ", "))
}

func routesDuplicate(ctx context.Context, a *adminCall) error {
	note := a.note()
	args, err := a.begin(2, 2)
	if err != nil {
		return err
	}
	done, err := a.DuplicateRouteWithResponse(ctx, args[0], nil, admin.RouteRename{ModelAlias: args[1], ChangeNote: note()})
	if err != nil {
		return err
	}
	return a.say(done.Body, "Copied the route %s to %s.", args[0], args[1])
}

func routesDelete(ctx context.Context, a *adminCall) error {
	yes := a.yesFlag()
	args, err := a.begin(1, 1)
	if err != nil {
		return err
	}
	r, err := a.GetRouteWithResponse(ctx, args[0])
	if err != nil {
		return err
	}
	if err := a.confirm(*yes, fmt.Sprintf("Delete the route %s with its %s?", args[0], count(len(r.JSON200.Targets), "target"))); err != nil {
		return err
	}
	gone, err := a.DeleteRouteWithResponse(ctx, args[0], &admin.DeleteRouteParams{IfMatch: etag(r.HTTPResponse)})
	if err != nil {
		return err
	}
	if err := a.say(gone.Body, "Deleted the route %s.", args[0]); err != nil {
		return err
	}
	for _, p := range gone.JSON200.ModelAccessPolicies {
		fmt.Fprintf(a.stderr, "The model access policy %s names it still.\n", plainText(p.Name))
	}
	return nil
}

func routesAddTarget(ctx context.Context, a *adminCall) error {
	note := a.note()
	args, err := a.begin(2, 2)
	if err != nil {
		return err
	}
	targets, err := a.resolve(ctx, args[1:])
	if err != nil {
		return err
	}
	r, err := a.GetRouteWithResponse(ctx, args[0])
	if err != nil {
		return err
	}
	last := r.JSON200.Targets[len(r.JSON200.Targets)-1].Priority
	if targets[0].UpstreamModel == args[0] { // the route has the model's own name: its enablement is the target
		m, err := a.enablement(ctx, args[1])
		if err != nil {
			return err
		}
		return a.changeMapping(ctx, m.Id, admin.ModelMappingUpdate{BareAlias: new(true), Priority: new(last + 1), ChangeNote: note()}, "Added %s to the route %s, as its last target.", args[1], args[0])
	}
	done, err := a.CreateModelMappingWithResponse(ctx, nil, admin.ModelMappingCreate{ModelAlias: args[0], ProviderId: targets[0].ProviderId,
		UpstreamModel: targets[0].UpstreamModel, Priority: new(last + 1), ChangeNote: note()})
	if err != nil {
		return err
	}
	return a.say(done.Body, "Added %s to the route %s, as its last target.", args[1], args[0])
}

func routesRemoveTarget(ctx context.Context, a *adminCall) error {
	yes := a.yesFlag()
	args, m, route, err := a.oneTarget(ctx)
	if err != nil {
		return err
	}
	question := "Remove " + args[1] + " from the route " + args[0] + "?"
	if len(route.Targets) == 1 {
		question = "Remove " + args[1] + ", its last target, and with it the route " + args[0] + "?"
	}
	if err := a.confirm(*yes, question); err != nil {
		return err
	}
	if m.ModelAlias == m.UpstreamModel { // the model stays enabled
		return a.changeMapping(ctx, m.Id, admin.ModelMappingUpdate{BareAlias: new(false)}, "Removed %s from the route %s.", args[1], args[0])
	}
	gone, err := a.DeleteModelMappingWithResponse(ctx, m.Id, nil)
	if err != nil {
		return err
	}
	return a.say(gone.Body, "Removed %s from the route %s.", args[1], args[0])
}

// oneTarget begins an act on the target that ROUTE and PROVIDER/MODEL name.
func (a *adminCall) oneTarget(ctx context.Context) (args []string, m admin.ModelMapping, route admin.Route, err error) {
	if args, err = a.begin(2, 2); err != nil {
		return nil, m, route, err
	}
	r, err := a.GetRouteWithResponse(ctx, args[0])
	if err != nil {
		return nil, m, route, err
	}
	m, err = a.target(r.JSON200.Targets, args[1])
	return args, m, *r.JSON200, err
}

func routesEnableTarget(ctx context.Context, a *adminCall) error {
	return a.switchTarget(ctx, true, "%s serves in the route %s.")
}

func routesDisableTarget(ctx context.Context, a *adminCall) error {
	return a.switchTarget(ctx, false, "%s serves no more in the route %s.")
}

func (a *adminCall) switchTarget(ctx context.Context, on bool, done string) error {
	note := a.note()
	args, m, _, err := a.oneTarget(ctx)
	if err != nil {
		return err
	}
	return a.changeMapping(ctx, m.Id, admin.ModelMappingUpdate{Enabled: &on, ChangeNote: note()}, done, args[1], args[0])
}
