package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Governance is what an organization demands of its configuration.
type Governance struct{ db *DB }

// Governance returns the organization's governance.
func (d *DB) Governance() Governance { return Governance{d} }

func getGovernance(ctx context.Context, tx pgx.Tx) (g tenant.Governance, err error) {
	g = tenant.DefaultGovernance()
	err = tx.QueryRow(ctx, `SELECT require_pricing_for_mappings, default_model_access, require_routing_policy, revision FROM governance_config`).
		Scan(&g.RequirePricing, &g.DefaultAccess, &g.RequireRoutingPolicy, &g.Revision)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return g, err
}

// Get returns what is set, or the defaults.
func (s Governance) Get(ctx context.Context, by tenant.Principal) (g tenant.Governance, err error) {
	err = s.db.read(ctx, by, tenant.GetGovernanceConfig, func(tx pgx.Tx) error {
		g, err = getGovernance(ctx, tx)
		return err
	})
	return g, err
}

// Update changes it.
func (s Governance) Update(ctx context.Context, by tenant.Principal, patch tenant.GovernancePatch) (g tenant.Governance, err error) {
	err = s.db.write(ctx, by, tenant.UpdateGovernanceConfig, func(c *change) error {
		before, err := getGovernance(ctx, c)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		next, err := before.Update(patch)
		if err != nil {
			return err
		}
		id := newID()
		err = c.QueryRow(ctx, `
			INSERT INTO governance_config (org_id, id, require_pricing_for_mappings, default_model_access, require_routing_policy) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (org_id) DO UPDATE SET require_pricing_for_mappings = $3, default_model_access = $4, require_routing_policy = $5 RETURNING id`,
			c.by.OrganizationID, id, next.RequirePricing, next.DefaultAccess, next.RequireRoutingPolicy).Scan(&id)
		if err != nil {
			return err
		}
		c.changed(id, nil)
		g, err = getGovernance(ctx, c)
		return err
	})
	return g, err
}
