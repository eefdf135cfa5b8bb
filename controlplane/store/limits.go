package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// aimColumns are whom and what a limit or a budget is for. They are scanned into aimed
// and written with aimArgs.
const aimColumns = `scope_type, scope_id, scope_value, member_of_group, traffic_type,
	target_provider_id, target_upstream_model, target_model_alias, target_mcp_server_id`

func aimed(a *tenant.Aim) []any {
	n := &a.Narrowing
	return []any{&a.Scope.Type, &a.Scope.ID, &a.Scope.Value, &a.MemberOfGroup, &a.TrafficType, &n.ProviderID, &n.UpstreamModel, &n.ModelAlias, &n.MCPServerID}
}

func aimArgs(a tenant.Aim) []any {
	n := a.Narrowing
	return []any{a.Scope.Type, a.Scope.ID, a.Scope.Value, a.MemberOfGroup, a.TrafficType, n.ProviderID, n.UpstreamModel, n.ModelAlias, n.MCPServerID}
}

// requireAim refuses a limit that comes to name a provider that is not there: it would
// never count anything.
func requireAim(ctx context.Context, tx pgx.Tx, had, has *uuid.UUID) error {
	if has == nil || had != nil && *had == *has {
		return nil
	}
	return requireProvider(ctx, tx, *has)
}

// renameAim carries a route's new name into the rows of a table that count the old one,
// and returns them. One that counts the new name already is a conflict. No row has the nil
// id, which stands where authored has an id.
func renameAim(ctx context.Context, c *change, table, from, to string, note *string) ([]tenant.Named, error) {
	return collect(ctx, c, pgx.RowToStructByPos[tenant.Named], `UPDATE `+table+` SET `+modifiedBy+`, target_model_alias = $8
		WHERE org_id = $1 AND id <> $2 AND target_model_alias = $7 RETURNING id, name`, c.authored(uuid.Nil, note, from, to)...)
}

// RateLimits are the rate limits of an organization.
type RateLimits struct{ db *DB }

// RateLimits returns the rate limits.
func (d *DB) RateLimits() RateLimits { return RateLimits{d} }

var rateLimits = table[tenant.RateLimit]{
	name:     "rate_limits",
	query:    `SELECT id, org_id, name, requests_per_minute, tokens_per_minute, enabled, ` + aimColumns + `, ` + attribution + ` FROM rate_limits`,
	scan:     scanRateLimit,
	missing:  tenant.RateLimitNotFound,
	revision: func(l tenant.RateLimit) int64 { return l.Revision },
}

func scanRateLimit(row pgx.CollectableRow) (l tenant.RateLimit, err error) {
	columns := append([]any{&l.ID, &l.OrganizationID, &l.Name, &l.RequestsPerMinute, &l.TokensPerMinute, &l.Enabled}, aimed(&l.Aim)...)
	err = row.Scan(attributed(columns, &l.CreatedAt, &l.UpdatedAt, &l.Attribution, &l.Revision)...)
	return l, err
}

// List returns every limit.
func (s RateLimits) List(ctx context.Context, by tenant.Principal) ([]tenant.RateLimit, error) {
	return rateLimits.list(ctx, s.db, by, tenant.ListRateLimits)
}

// Status returns every limit, for how far it is used: the nodes do not count yet.
func (s RateLimits) Status(ctx context.Context, by tenant.Principal) ([]tenant.RateLimit, error) {
	return rateLimits.list(ctx, s.db, by, tenant.ListRateLimitStatus)
}

// Get returns one limit.
func (s RateLimits) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (tenant.RateLimit, error) {
	return rateLimits.read(ctx, s.db, by, tenant.GetRateLimit, id)
}

// Create stores a limit.
func (s RateLimits) Create(ctx context.Context, by tenant.Principal, in tenant.RateLimitPatch) (tenant.RateLimit, error) {
	return rateLimits.create(ctx, s.db, by, tenant.CreateRateLimit, in.ChangeNote, func(c *change, id uuid.UUID) error {
		l, err := tenant.NewRateLimit(in)
		if err != nil {
			return err
		}
		if err := requireAim(ctx, c, nil, l.Aim.Narrowing.ProviderID); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `
			INSERT INTO rate_limits (`+createdBy+`, name, requests_per_minute, tokens_per_minute, enabled, `+aimColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
			c.authored(id, in.ChangeNote, append([]any{l.Name, l.RequestsPerMinute, l.TokensPerMinute, l.Enabled}, aimArgs(l.Aim)...)...)...)
		return err
	})
}

// Update changes a limit.
func (s RateLimits) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.RateLimitPatch) (tenant.RateLimit, error) {
	updated := rateLimits
	updated.missing = tenant.NoRateLimitToUpdate
	return updated.update(ctx, s.db, by, tenant.UpdateRateLimit, id, patch.ChangeNote, func(c *change, before tenant.RateLimit) error {
		l, err := before.Update(patch)
		if err != nil {
			return err
		}
		if err := requireAim(ctx, c, before.Aim.Narrowing.ProviderID, l.Aim.Narrowing.ProviderID); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `
			UPDATE rate_limits SET `+modifiedBy+`, name = $7, requests_per_minute = $8, tokens_per_minute = $9, enabled = $10,
				(`+aimColumns+`) = ($11, $12, $13, $14, $15, $16, $17, $18, $19)
			WHERE org_id = $1 AND id = $2`,
			c.authored(id, patch.ChangeNote, append([]any{l.Name, l.RequestsPerMinute, l.TokensPerMinute, l.Enabled}, aimArgs(l.Aim)...)...)...)
		return err
	})
}

// Delete removes a limit.
func (s RateLimits) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return rateLimits.remove(ctx, s.db, by, tenant.DeleteRateLimit, id)
}
