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
	for _, carry := range []func(context.Context, *change, tenant.Readdressing, *string) error{readdressAccess, readdressGroups, readdressPolicies, readdressLimits} {
		if err := carry(ctx, c, r, note); err != nil {
			return err
		}
	}
	return nil
}

func readdressAccess(ctx context.Context, c *change, r tenant.Readdressing, note *string) error {
	policies, err := collect(ctx, c, scanAccess, selectAccess+` ORDER BY id`)
	if err != nil {
		return err
	}
	for _, p := range policies {
		if r.Access(&p.AccessConfig) {
			if err := updateAccess(ctx, c, p.ID, p.AccessConfig, note); err != nil {
				return err
			}
		}
	}
	return nil
}

func readdressGroups(ctx context.Context, c *change, r tenant.Readdressing, note *string) error {
	groups, err := collect(ctx, c, scanRouteGroup, selectRouteGroup+` ORDER BY id`)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if r.Group(&g.RouteGroupConfig) {
			if err := updateRouteGroup(ctx, c, g.ID, g.RouteGroupConfig, note); err != nil {
				return err
			}
		}
	}
	return nil
}

func readdressPolicies(ctx context.Context, c *change, r tenant.Readdressing, note *string) error {
	policies, err := collect(ctx, c, routingPolicies.scan, routingPolicies.query+` ORDER BY id`)
	if err != nil {
		return err
	}
	for _, p := range policies {
		if r.Policy(&p.RoutingPolicyConfig) {
			if err := updateSlots(ctx, c, p, note); err != nil {
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
