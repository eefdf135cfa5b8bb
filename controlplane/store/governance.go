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
	by := &g.ModifiedBy
	err = tx.QueryRow(ctx, `
		SELECT require_pricing_for_mappings, default_model_access, require_routing_policy, revision,
		       last_modified_by_user_id, last_modified_by_email, last_modified_by_name, last_modified_at, last_change_note
		FROM governance_config`).
		Scan(&g.RequirePricing, &g.DefaultAccess, &g.RequireRoutingPolicy, &g.Revision, &by.UserID, &by.Email, &by.Name, &g.ModifiedAt, &g.ChangeNote)
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
			INSERT INTO governance_config (org_id, id, last_modified_by_user_id, last_modified_by_email, last_modified_by_name, last_change_note, last_modified_at,
				require_pricing_for_mappings, default_model_access, require_routing_policy)
			VALUES ($1, $2, $3, $4, $5, $6, now(), $7, $8, $9)
			ON CONFLICT (org_id) DO UPDATE SET `+lastModifiedBy+`, require_pricing_for_mappings = $7, default_model_access = $8, require_routing_policy = $9
			RETURNING id`, c.authored(id, patch.ChangeNote, next.RequirePricing, next.DefaultAccess, next.RequireRoutingPolicy)...).Scan(&id)
		if err != nil {
			return err
		}
		c.changed(id, patch.ChangeNote)
		g, err = getGovernance(ctx, c)
		return err
	})
	return g, err
}
