package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// carryAddress carries a provider's new name into all that calls its models
// "<provider>/<model>": policies, groups, limits and routing policies would otherwise speak of
// nothing, and a denylist that does lets callers in.
func carryAddress(ctx context.Context, c *change, before, next tenant.ProviderConfig, note *string) error {
	r := tenant.Readdressing{From: before.AddressName(), To: next.AddressName()}
	if r.From == r.To {
		return nil
	}
	var err error
	r.Routes, err = collect(ctx, c, pgx.RowTo[string], `SELECT DISTINCT m.model_alias FROM model_mappings m`+ofRoute+` AND strpos(m.model_alias, '/') > 0`)
	if err != nil {
		return err
	}
	err = rewrite(ctx, c, scanAccess, selectAccess+` ORDER BY id`, func(p *tenant.AccessPolicy) bool { return r.Access(&p.AccessConfig) },
		func(p tenant.AccessPolicy) error { return updateAccess(ctx, c, p.ID, p.AccessConfig, note) })
	if err != nil {
		return err
	}
	err = rewrite(ctx, c, scanRouteGroup, selectRouteGroup+` ORDER BY id`, func(g *tenant.RouteGroup) bool { return r.Group(&g.RouteGroupConfig) },
		func(g tenant.RouteGroup) error { return updateRouteGroup(ctx, c, g.ID, g.RouteGroupConfig, note) })
	if err != nil {
		return err
	}
	err = rewrite(ctx, c, routingPolicies.scan, routingPolicies.query+` ORDER BY id`, func(p *tenant.RoutingPolicy) bool { return r.Policy(&p.RoutingPolicyConfig) },
		func(p tenant.RoutingPolicy) error { return updateSlots(ctx, c, p, note) })
	if err != nil {
		return err
	}
	return readdressLimits(ctx, c, r, note)
}

// rewrite writes the rows of a query that edit changes.
func rewrite[T any](ctx context.Context, c *change, scan pgx.RowToFunc[T], query string, edit func(*T) bool, write func(T) error) error {
	rows, err := collect(ctx, c, scan, query)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if edit(&row) {
			if err := write(row); err != nil {
				return err
			}
		}
	}
	return nil
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

// readdressLimits carries the name into rate limits and budgets.
func readdressLimits(ctx context.Context, c *change, r tenant.Readdressing, note *string) error {
	for _, table := range []string{"rate_limits", "budgets"} {
		aliases, err := collect(ctx, c, pgx.RowTo[string], `SELECT DISTINCT target_model_alias FROM `+table+` WHERE strpos(target_model_alias, '/') > 0`)
		if err != nil {
			return err
		}
		for _, alias := range aliases {
			if next, ours := r.Name(alias); ours && next != alias {
				if _, err := renameAim(ctx, c, table, alias, next, note); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
