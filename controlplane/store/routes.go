package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Routes are the mappings of an organization by the name that callers use.
type Routes struct{ db *DB }

// Routes returns the routes.
func (d *DB) Routes() Routes { return Routes{d} }

// A row is a route's unless it only enables a model: then its alias is no name to call it by.
const (
	ofRoute      = ` WHERE (m.model_alias <> m.upstream_model OR m.bare_alias)`
	inRouteOrder = ` ORDER BY m.model_alias COLLATE "C", m.priority, m.created_at, m.id`
)

// onPage narrows rows of routes to those of a page's routes: $1 is the name before the
// first, $2 how many there are.
const onPage = ` AND ($1::text IS NULL OR m.model_alias COLLATE "C" > $1)
	AND ($2::bigint IS NULL OR m.model_alias COLLATE "C" <= (SELECT max(name COLLATE "C") FROM (
		SELECT DISTINCT m.model_alias COLLATE "C" AS name FROM model_mappings m` + ofRoute + ` AND ($1::text IS NULL OR m.model_alias COLLATE "C" > $1)
		ORDER BY name LIMIT $2) names))`

// List returns routes, by name.
func (s Routes) List(ctx context.Context, by tenant.Principal, page Page[string]) (list []tenant.Route, err error) {
	err = s.db.read(ctx, by, tenant.ListRoutes, func(tx pgx.Tx) error {
		rows, err := collectMappings(ctx, tx, selectMapping+ofRoute+onPage+inRouteOrder, page.After, page.most())
		if err != nil {
			return err
		}
		groups, err := groupsByAlias(ctx, tx)
		if err != nil {
			return err
		}
		for _, m := range rows {
			if last := len(list) - 1; last >= 0 && list[last].Alias == m.Alias {
				list[last].Targets = append(list[last].Targets, m)
				continue
			}
			list = append(list, tenant.Route{Alias: m.Alias, Targets: []tenant.Mapping{m}, Groups: groups[m.Alias]})
		}
		return nil
	})
	return list, err
}

func groupsByAlias(ctx context.Context, tx pgx.Tx) (map[string][]tenant.Named, error) {
	groups, err := collect(ctx, tx, scanRouteGroup, selectRouteGroup+` ORDER BY id`)
	out := map[string][]tenant.Named{}
	for _, g := range groups {
		for _, alias := range g.Aliases {
			out[alias] = append(out[alias], tenant.Named{ID: g.ID, Name: g.Name})
		}
	}
	return out, err
}

// Get returns one route.
func (s Routes) Get(ctx context.Context, by tenant.Principal, alias string) (r tenant.Route, err error) {
	err = s.db.read(ctx, by, tenant.GetRoute, func(tx pgx.Tx) error {
		r, err = getRoute(ctx, tx, alias)
		return err
	})
	return r, err
}

func getRoute(ctx context.Context, tx pgx.Tx, alias string) (r tenant.Route, err error) {
	r.Alias = alias
	r.Targets, err = collectMappings(ctx, tx, selectMapping+ofRoute+` AND m.model_alias = $1`+inRouteOrder, alias)
	if err != nil {
		return r, err
	}
	if len(r.Targets) == 0 {
		return r, tenant.RouteNotFound(alias)
	}
	groups, err := groupsWith(ctx, tx, alias)
	for _, g := range groups {
		r.Groups = append(r.Groups, tenant.Named{ID: g.ID, Name: g.Name})
	}
	return r, err
}

// groupsWith are the groups that have any of the routes in them.
func groupsWith(ctx context.Context, tx pgx.Tx, aliases ...string) ([]tenant.RouteGroup, error) {
	return collect(ctx, tx, scanRouteGroup, selectRouteGroup+` WHERE model_aliases && $1 ORDER BY id`, aliases)
}

// darkOf are those of the names that no route has.
func darkOf(ctx context.Context, tx pgx.Tx, aliases ...string) ([]string, error) {
	return collect(ctx, tx, pgx.RowTo[string], `
		SELECT a FROM unnest($1::text[]) AS a WHERE NOT EXISTS (SELECT FROM model_mappings m`+ofRoute+` AND m.model_alias = a)`, aliases)
}

func requireFree(ctx context.Context, tx pgx.Tx, alias string) error {
	free, err := darkOf(ctx, tx, alias)
	if err == nil && len(free) == 0 {
		err = tenant.RouteExists()
	}
	return err
}

// Create stores a route with all its targets, and where asked enables their models.
func (s Routes) Create(ctx context.Context, by tenant.Principal, in tenant.RouteCreate) (r tenant.Route, err error) {
	err = s.db.write(ctx, by, tenant.CreateRoute, func(c *change) error {
		if err := requireFree(ctx, c, in.Alias); err != nil {
			return err
		}
		r, err = s.addTargets(ctx, c, tenant.Route{Alias: in.Alias}, in.RouteTargets)
		return err
	})
	return r, err
}

// AddTargets stores targets after those that a route has, all or none.
func (s Routes) AddTargets(ctx context.Context, by tenant.Principal, alias string, in tenant.RouteTargets) (r tenant.Route, err error) {
	err = s.db.write(ctx, by, tenant.AddRouteTargets, func(c *change) error {
		before, err := seenRoute(ctx, c, alias)
		if err != nil {
			return err
		}
		r, err = s.addTargets(ctx, c, before, in)
		return err
	})
	return r, err
}

// addTargets stores targets of a route, which may be new, and reads it again.
func (s Routes) addTargets(ctx context.Context, c *change, r tenant.Route, in tenant.RouteTargets) (tenant.Route, error) {
	targets, err := in.Mappings(r)
	if err != nil {
		return r, err
	}
	for i, patch := range targets {
		if err := s.addTarget(ctx, c, in.Targets[i].ProviderID, patch, in.EnableModels); err != nil {
			return r, tenant.InTarget(i, explain(err))
		}
	}
	c.changedMany(in.ChangeNote)
	return getRoute(ctx, c, r.Alias)
}

// addTarget stores a target. Where the route has the model's own name, its enablement is
// the target.
func (s Routes) addTarget(ctx context.Context, c *change, provider uuid.UUID, patch tenant.MappingPatch, enable bool) error {
	cfg, err := tenant.NewMapping(patch)
	if err != nil {
		return err
	}
	if err := s.db.requireServed(ctx, c, provider, cfg.UpstreamModel); err != nil {
		return err
	}
	enablement, err := findEnablement(ctx, c, provider, cfg.UpstreamModel)
	if err != nil {
		return err
	}
	if enablement == nil || !enablement.Enabled {
		if !enable {
			return tenant.ModelNotEnabled(cfg.UpstreamModel)
		}
		if enablement, err = enableModel(ctx, c, provider, cfg.UpstreamModel, enablement, patch.ChangeNote); err != nil {
			return err
		}
	}
	if !cfg.Enablement() {
		return insertMapping(ctx, c, newID(), provider, cfg, patch.ChangeNote)
	}
	if enablement.BareAlias {
		return tenant.MappingExists()
	}
	next, err := enablement.Update(patch)
	if err != nil {
		return err
	}
	return updateMapping(ctx, c, enablement.ID, next, patch.ChangeNote)
}

// enableModel makes a model's 1:1 enablement, or enables it; had is nil or disabled.
func enableModel(ctx context.Context, c *change, provider uuid.UUID, model string, had *tenant.Mapping, note *string) (*tenant.Mapping, error) {
	if had != nil {
		had.Enabled = true
		return had, updateMapping(ctx, c, had.ID, had.MappingConfig, note)
	}
	cfg, err := tenant.NewMapping(tenant.MappingPatch{Alias: &model, UpstreamModel: &model})
	if err != nil {
		return nil, err
	}
	made := tenant.Mapping{ID: newID(), MappingConfig: cfg}
	return &made, insertMapping(ctx, c, made.ID, provider, cfg, note)
}

// Rename gives a route another name. All that names it by the old one is carried along.
func (s Routes) Rename(ctx context.Context, by tenant.Principal, from, to string, note *string) (r tenant.Route, done tenant.RouteChange, err error) {
	err = s.db.write(ctx, by, tenant.RenameRoute, func(c *change) error {
		before, err := startCopy(ctx, c, from, to)
		if err != nil {
			return err
		}
		for _, m := range before.Targets {
			if m.Enablement() {
				done.Kept++
			}
			if err := renameTarget(ctx, c, m, to, note); err != nil {
				return err
			}
		}
		done.Targets = len(before.Targets)
		if err := carryName(ctx, c, before, to, note, &done); err != nil {
			return err
		}
		c.changedMany(note)
		r, err = getRoute(ctx, c, to)
		return err
	})
	return r, done, err
}

// seenRoute reads a route that is as the caller saw it, if they said how.
func seenRoute(ctx context.Context, c *change, alias string) (tenant.Route, error) {
	r, err := getRoute(ctx, c, alias)
	if err != nil {
		return r, err
	}
	return r, c.matchesTag(r.ETag())
}

// startCopy reads a route that is to be there under another name.
func startCopy(ctx context.Context, c *change, from, to string) (tenant.Route, error) {
	if err := tenant.ValidateName("model_alias", to); err != nil {
		return tenant.Route{}, err
	}
	before, err := seenRoute(ctx, c, from)
	if err != nil {
		return before, err
	}
	return before, requireFree(ctx, c, to)
}

// renameTarget moves a target to another route. An enablement stays, since other routes
// stand on it, and a copy of it moves.
func renameTarget(ctx context.Context, c *change, m tenant.Mapping, to string, note *string) error {
	if !m.Enablement() {
		next := m.MappingConfig
		next.Alias = to
		return updateMapping(ctx, c, m.ID, next, note)
	}
	kept := m.MappingConfig
	kept.BareAlias = false
	if err := updateMapping(ctx, c, m.ID, kept, note); err != nil {
		return err
	}
	id := newID()
	if err := insertMapping(ctx, c, id, m.ProviderID, m.Copy(to), note); err != nil {
		return err
	}
	// Targets of one priority are in the order of their creation, which is to stay.
	_, err := c.Exec(ctx, `UPDATE model_mappings SET created_at = $2 WHERE id = $1`, id, m.CreatedAt)
	return err
}

// carryName carries a route's new name into the groups and policies that have the old one.
func carryName(ctx context.Context, c *change, before tenant.Route, to string, note *string, done *tenant.RouteChange) error {
	groups, err := groupsWith(ctx, c, before.Alias)
	if err != nil {
		return err
	}
	for _, g := range groups {
		next, _ := g.Rename(before.Alias, to)
		if err := updateRouteGroup(ctx, c, g.ID, next, note); err != nil {
			return err
		}
		done.Groups = append(done.Groups, tenant.Named{ID: g.ID, Name: g.Name})
	}
	policies, err := policiesOfRoute(ctx, c, before.Alias)
	if err != nil {
		return err
	}
	for _, p := range policies {
		if !p.Rename(before, to) {
			continue
		}
		if err := updateAccess(ctx, c, p.ID, p.AccessConfig, note); err != nil {
			return err
		}
		done.Policies = append(done.Policies, tenant.Named{ID: p.ID, Name: p.Name})
	}
	return carryNameToControls(ctx, c, before.Alias, to, note, done)
}

// carryNameToControls is carryName for what counts a route and what picks it.
func carryNameToControls(ctx context.Context, c *change, from, to string, note *string, done *tenant.RouteChange) (err error) {
	if done.RateLimits, err = renameAim(ctx, c, "rate_limits", from, to, note); err != nil {
		return err
	}
	if done.Budgets, err = renameAim(ctx, c, "budgets", from, to, note); err != nil {
		return err
	}
	done.RoutingPolicies, err = renameSlots(ctx, c, from, to, note)
	return err
}

// policiesOfRoute are the policies that name a route, or its name at some provider.
func policiesOfRoute(ctx context.Context, tx pgx.Tx, alias string) ([]tenant.AccessPolicy, error) {
	return collect(ctx, tx, scanAccess, selectAccess+` WHERE targets @> $1 OR targets @> $2 ORDER BY id`,
		[]target{{Kind: tenant.TargetModelAlias, Alias: &alias}}, []target{{Kind: tenant.TargetProviderModel, Model: &alias}})
}

// Duplicate makes a route with the same targets under another name. It is in no group: to
// copy a name's access is not to copy a route.
func (s Routes) Duplicate(ctx context.Context, by tenant.Principal, from, to string, note *string) (r tenant.Route, err error) {
	err = s.db.write(ctx, by, tenant.DuplicateRoute, func(c *change) error {
		before, err := startCopy(ctx, c, from, to)
		if err != nil {
			return err
		}
		for _, m := range before.Targets {
			if err := insertMapping(ctx, c, newID(), m.ProviderID, m.Copy(to), note); err != nil {
				return err
			}
		}
		c.changedMany(note)
		r, err = getRoute(ctx, c, to)
		return err
	})
	return r, err
}

// Delete removes a route and takes it out of its groups. The models it used stay enabled.
func (s Routes) Delete(ctx context.Context, by tenant.Principal, alias string) (done tenant.RouteChange, err error) {
	err = s.db.write(ctx, by, tenant.DeleteRoute, func(c *change) error {
		before, err := seenRoute(ctx, c, alias)
		if err != nil {
			return err
		}
		done = tenant.RouteChange{Targets: len(before.Targets), Groups: before.Groups}
		for _, m := range before.Targets {
			if !m.Enablement() {
				_, err = c.Exec(ctx, `DELETE FROM model_mappings WHERE id = $1`, m.ID)
			} else {
				done.Kept++
				m.BareAlias = false
				err = updateMapping(ctx, c, m.ID, m.MappingConfig, nil)
			}
			if err != nil {
				return err
			}
		}
		policies, err := policiesNaming(ctx, c, target{Kind: tenant.TargetModelAlias, Alias: &alias})
		if err != nil {
			return err
		}
		done.Policies = namesOf(policies)
		c.changedMany(nil)
		return forgetDark(ctx, c, alias)
	})
	return done, err
}

// forgetDark takes those of the names that no route has any more out of their groups.
func forgetDark(ctx context.Context, c *change, aliases ...string) error {
	dark, err := darkOf(ctx, c, aliases...)
	if err != nil || len(dark) == 0 {
		return err
	}
	groups, err := groupsWith(ctx, c, dark...)
	if err != nil {
		return err
	}
	for _, g := range groups {
		next := g.RouteGroupConfig
		for _, alias := range dark {
			next, _ = next.Remove(alias)
		}
		if err := updateRouteGroup(ctx, c, g.ID, next, nil); err != nil {
			return err
		}
	}
	return nil
}

// moved is for a target that was given to another route by itself. Where it was the last
// of its own and the other is new, the route was renamed.
func moved(ctx context.Context, c *change, m tenant.Mapping, to string, anew bool, note *string) error {
	dark, err := darkOf(ctx, c, m.Alias)
	if err != nil || len(dark) == 0 {
		return err
	}
	if !anew {
		return forgetDark(ctx, c, m.Alias)
	}
	return carryName(ctx, c, tenant.Route{Alias: m.Alias, Targets: []tenant.Mapping{m}}, to, note, new(tenant.RouteChange))
}
