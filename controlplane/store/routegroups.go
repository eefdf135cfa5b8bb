package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// RouteGroups are the named sets of routes of an organization.
type RouteGroups struct{ db *DB }

// RouteGroups returns the groups of routes.
func (d *DB) RouteGroups() RouteGroups { return RouteGroups{d} }

const selectRouteGroup = `SELECT id, org_id, name, description, model_aliases, ` + attribution + ` FROM model_route_groups`

func scanRouteGroup(row pgx.CollectableRow) (g tenant.RouteGroup, err error) {
	err = row.Scan(attributed([]any{&g.ID, &g.OrganizationID, &g.Name, &g.Description, &g.Aliases}, &g.CreatedAt, &g.UpdatedAt, &g.Attribution, &g.Revision)...)
	return g, err
}

func getRouteGroup(ctx context.Context, tx pgx.Tx, id uuid.UUID) (tenant.RouteGroup, error) {
	g, err := collectOne(ctx, tx, scanRouteGroup, selectRouteGroup+` WHERE id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return g, tenant.RouteGroupNotFound(id)
	}
	return g, err
}

// List returns every group.
func (s RouteGroups) List(ctx context.Context, by tenant.Principal) (list []tenant.RouteGroup, err error) {
	err = s.db.read(ctx, by, tenant.ListModelRouteGroups, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, scanRouteGroup, selectRouteGroup+` ORDER BY id`)
		return err
	})
	return list, err
}

// Get returns one group.
func (s RouteGroups) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (g tenant.RouteGroup, err error) {
	err = s.db.read(ctx, by, tenant.GetModelRouteGroup, func(tx pgx.Tx) error {
		g, err = getRouteGroup(ctx, tx, id)
		return err
	})
	return g, err
}

// Create stores a group.
func (s RouteGroups) Create(ctx context.Context, by tenant.Principal, in tenant.RouteGroupPatch) (g tenant.RouteGroup, err error) {
	err = s.db.write(ctx, by, tenant.CreateModelRouteGroup, func(c *change) error {
		cfg, err := tenant.NewRouteGroup(in)
		if err != nil {
			return err
		}
		id := newID()
		_, err = c.Exec(ctx, `INSERT INTO model_route_groups (`+createdBy+`, name, description, model_aliases) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			c.authored(id, in.ChangeNote, cfg.Name, cfg.Description, cfg.Aliases)...)
		if err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		g, err = getRouteGroup(ctx, c, id)
		return err
	})
	return g, err
}

// Update changes a group.
func (s RouteGroups) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.RouteGroupPatch) (tenant.RouteGroup, error) {
	return s.change(ctx, by, tenant.UpdateModelRouteGroup, id, patch.ChangeNote, func(g tenant.RouteGroup) (tenant.RouteGroupConfig, error) {
		return g.Update(patch)
	})
}

// AddMembers adds routes to a group; those that it has stay where they are.
func (s RouteGroups) AddMembers(ctx context.Context, by tenant.Principal, id uuid.UUID, aliases []string, note *string) (tenant.RouteGroup, error) {
	return s.change(ctx, by, tenant.AddModelRouteGroupMembers, id, note, func(g tenant.RouteGroup) (tenant.RouteGroupConfig, error) {
		return g.Add(aliases, note)
	})
}

// RemoveMember takes a route out of a group.
func (s RouteGroups) RemoveMember(ctx context.Context, by tenant.Principal, id uuid.UUID, alias string) error {
	_, err := s.change(ctx, by, tenant.RemoveModelRouteGroupMember, id, nil, func(g tenant.RouteGroup) (tenant.RouteGroupConfig, error) {
		next, had := g.Remove(alias)
		if !had {
			return next, tenant.NoSuchMember(id, alias)
		}
		return next, nil
	})
	return err
}

// change is one change of a group.
func (s RouteGroups) change(ctx context.Context, by tenant.Principal, op tenant.Operation, id uuid.UUID, note *string,
	edit func(tenant.RouteGroup) (tenant.RouteGroupConfig, error)) (g tenant.RouteGroup, err error) {
	err = s.db.write(ctx, by, op, func(c *change) error {
		before, err := getRouteGroup(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		next, err := edit(before)
		if err != nil {
			return err
		}
		if err := updateRouteGroup(ctx, c, id, next, note); err != nil {
			return err
		}
		c.changed(id, note)
		g, err = getRouteGroup(ctx, c, id)
		return err
	})
	return g, err
}

func updateRouteGroup(ctx context.Context, c *change, id uuid.UUID, g tenant.RouteGroupConfig, note *string) error {
	_, err := c.Exec(ctx, `UPDATE model_route_groups SET `+modifiedBy+`, name = $7, description = $8, model_aliases = $9 WHERE org_id = $1 AND id = $2`,
		c.authored(id, note, g.Name, g.Description, g.Aliases)...)
	return err
}

// Delete removes a group. One that policies target is refused unless forced: they then
// keep the target, which matches nothing, so that an allowlist never becomes wider.
func (s RouteGroups) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID, force bool) error {
	return s.db.write(ctx, by, tenant.DeleteModelRouteGroup, func(c *change) error {
		before, err := getRouteGroup(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		users, err := policiesNaming(ctx, c, target{Kind: tenant.TargetRouteGroup, GroupID: &id})
		if err != nil {
			return err
		}
		if len(users) > 0 && !force {
			return tenant.RouteGroupInUse(namesOf(users))
		}
		if _, err := c.Exec(ctx, `DELETE FROM model_route_groups WHERE id = $1`, id); err != nil {
			return err
		}
		c.changed(id, nil)
		return nil
	})
}

// policiesNaming are the policies with the target.
func policiesNaming(ctx context.Context, tx pgx.Tx, t target) ([]tenant.AccessPolicy, error) {
	return collect(ctx, tx, scanAccess, selectAccess+` WHERE targets @> $1 ORDER BY id`, []target{t})
}

func namesOf(policies []tenant.AccessPolicy) []tenant.Named {
	out := make([]tenant.Named, len(policies))
	for i, p := range policies {
		out[i] = tenant.Named{ID: p.ID, Name: p.Name}
	}
	return out
}
