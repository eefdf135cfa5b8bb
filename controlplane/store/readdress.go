package store

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// carryAddress carries a provider's new name into all that calls its models
// "<provider>/<model>": policies, groups, limits and routing policies would otherwise speak of
// nothing, and a denylist that does lets callers in. It returns what it changed, or nil where
// the address is the one it was.
func carryAddress(ctx context.Context, c *change, id uuid.UUID, before, next tenant.ProviderConfig, note *string) (moved *tenant.RouteChange, err error) {
	r := tenant.Readdressing{From: before.AddressName(), To: next.AddressName()}
	if r.From == r.To {
		return nil, nil
	}
	moved = &tenant.RouteChange{}
	if err := c.QueryRow(ctx, `SELECT count(*) FROM model_mappings WHERE provider_id = $1 AND model_alias = upstream_model`, id).Scan(&moved.Targets); err != nil {
		return nil, err
	}
	r.Routes, err = collect(ctx, c, pgx.RowTo[string], `SELECT DISTINCT m.model_alias FROM model_mappings m`+ofRoute+` AND strpos(m.model_alias, '/') > 0`)
	if err != nil {
		return nil, err
	}
	moved.Policies, err = rewrite(ctx, c, scanAccess, selectAccess+` ORDER BY id`, func(p *tenant.AccessPolicy) bool { return r.Access(&p.AccessConfig) },
		func(p tenant.AccessPolicy) (tenant.Named, error) {
			return tenant.Named{ID: p.ID, Name: p.Name}, updateAccess(ctx, c, p.ID, p.AccessConfig, note)
		})
	if err != nil {
		return nil, err
	}
	moved.Groups, err = rewrite(ctx, c, scanRouteGroup, selectRouteGroup+` ORDER BY id`, func(g *tenant.RouteGroup) bool { return r.Group(&g.RouteGroupConfig) },
		func(g tenant.RouteGroup) (tenant.Named, error) {
			return tenant.Named{ID: g.ID, Name: g.Name}, updateRouteGroup(ctx, c, g.ID, g.RouteGroupConfig, note)
		})
	if err != nil {
		return nil, err
	}
	moved.RoutingPolicies, err = rewrite(ctx, c, routingPolicies.scan, routingPolicies.query+` ORDER BY id`,
		func(p *tenant.RoutingPolicy) bool { return r.Policy(&p.RoutingPolicyConfig) },
		func(p tenant.RoutingPolicy) (tenant.Named, error) {
			return tenant.Named{ID: p.ID, Name: p.Alias}, updateSlots(ctx, c, p, note)
		})
	if err != nil {
		return nil, err
	}
	if moved.RateLimits, err = readdressLimits(ctx, c, "rate_limits", r, note); err != nil {
		return nil, err
	}
	moved.Budgets, err = readdressLimits(ctx, c, "budgets", r, note)
	return moved, err
}

// rewrite writes the rows of a query that edit changes, and returns their names.
func rewrite[T any](ctx context.Context, c *change, scan pgx.RowToFunc[T], query string, edit func(*T) bool, write func(T) (tenant.Named, error)) (names []tenant.Named, err error) {
	rows, err := collect(ctx, c, scan, query)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if !edit(&row) {
			continue
		}
		name, err := write(row)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// updateSlots writes what a routing policy picks from, and who picks.
func updateSlots(ctx context.Context, c *change, p tenant.RoutingPolicy, note *string) error {
	slots, err := json.Marshal(p.Slots)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, `UPDATE routing_policies SET `+modifiedBy+`, slots = $7, determiner_model_alias = $8 WHERE org_id = $1 AND id = $2`,
		c.authored(p.ID, note, string(slots), p.Determiner)...)
	return err
}

// readdressLimits carries the name into rate limits or budgets.
func readdressLimits(ctx context.Context, c *change, table string, r tenant.Readdressing, note *string) (names []tenant.Named, err error) {
	aliases, err := collect(ctx, c, pgx.RowTo[string], `SELECT DISTINCT target_model_alias FROM `+table+` WHERE strpos(target_model_alias, '/') > 0 ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	for _, alias := range aliases {
		next, ours := r.Name(alias)
		if !ours || next == alias {
			continue
		}
		renamed, err := renameAim(ctx, c, table, alias, next, note)
		if err != nil {
			return nil, err
		}
		names = append(names, renamed...)
	}
	return names, nil
}
