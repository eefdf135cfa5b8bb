package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Budgets are the budgets of an organization.
type Budgets struct{ db *DB }

// Budgets returns the budgets.
func (d *DB) Budgets() Budgets { return Budgets{d} }

var budgets = table[tenant.Budget]{
	name: "budgets",
	query: `SELECT id, org_id, name, period, token_limit, trim_scale(cost_limit)::text, currency, alert_thresholds, action_on_exhaust, enabled, ` +
		aimColumns + `, ` + attribution + ` FROM budgets`,
	scan:     scanBudget,
	missing:  tenant.BudgetNotFound,
	revision: func(b tenant.Budget) int64 { return b.Revision },
}

func scanBudget(row pgx.CollectableRow) (b tenant.Budget, err error) {
	columns := append([]any{&b.ID, &b.OrganizationID, &b.Name, &b.Period, &b.TokenLimit, &b.CostLimit, &b.Currency, &b.AlertThresholds,
		&b.ActionOnExhaust, &b.Enabled}, aimed(&b.Aim)...)
	err = row.Scan(attributed(columns, &b.CreatedAt, &b.UpdatedAt, &b.Attribution, &b.Revision)...)
	return b, err
}

// List returns every budget.
func (s Budgets) List(ctx context.Context, by tenant.Principal) ([]tenant.Budget, error) {
	return budgets.list(ctx, s.db, by, tenant.ListBudgets)
}

// Status returns every budget, for how far it is used: nothing is billed yet.
func (s Budgets) Status(ctx context.Context, by tenant.Principal) ([]tenant.Budget, error) {
	return budgets.list(ctx, s.db, by, tenant.ListBudgetStatus)
}

// Get returns one budget.
func (s Budgets) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (tenant.Budget, error) {
	return budgets.read(ctx, s.db, by, tenant.GetBudget, id)
}

// Create stores a budget.
func (s Budgets) Create(ctx context.Context, by tenant.Principal, in tenant.BudgetPatch) (tenant.Budget, error) {
	return budgets.create(ctx, s.db, by, tenant.CreateBudget, in.ChangeNote, func(c *change, id uuid.UUID) error {
		b, err := tenant.NewBudget(in)
		if err != nil {
			return err
		}
		if err := requireAim(ctx, c, nil, b.Aim.Narrowing.ProviderID); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `
			INSERT INTO budgets (`+createdBy+`, name, period, token_limit, cost_limit, currency, alert_thresholds, action_on_exhaust, enabled, `+aimColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::numeric, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)`,
			c.authored(id, in.ChangeNote, append([]any{b.Name, b.Period, b.TokenLimit, b.CostLimit, b.Currency, b.AlertThresholds, b.ActionOnExhaust,
				b.Enabled}, aimArgs(b.Aim)...)...)...)
		return err
	})
}

// Update changes a budget.
func (s Budgets) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.BudgetPatch) (tenant.Budget, error) {
	return budgets.update(ctx, s.db, by, tenant.UpdateBudget, id, patch.ChangeNote, func(c *change, before tenant.Budget) error {
		b, err := before.Update(patch)
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, `
			UPDATE budgets SET `+modifiedBy+`, name = $7, period = $8, token_limit = $9, cost_limit = $10::text::numeric, alert_thresholds = $11,
				action_on_exhaust = $12, enabled = $13, traffic_type = $14
			WHERE org_id = $1 AND id = $2`,
			c.authored(id, patch.ChangeNote, b.Name, b.Period, b.TokenLimit, b.CostLimit, b.AlertThresholds, b.ActionOnExhaust, b.Enabled, b.Aim.TrafficType)...)
		return err
	})
}

// Delete removes a budget.
func (s Budgets) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return budgets.remove(ctx, s.db, by, tenant.DeleteBudget, id)
}
