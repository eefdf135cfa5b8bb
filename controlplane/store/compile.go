package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/api/node"
)

// compiles refuses a change that a node would refuse: it must not be saved, or the
// organization's nodes would keep what they have until somebody notices. What the change
// touched is compiled, with what that stands on, and not the whole: what it did not touch
// was compiled when it was written, and an organization may have ten thousand routes.
func (d *DB) compiles(ctx context.Context, c *change) error {
	compile := d.judge.Load().Compile
	if compile == nil {
		return nil
	}
	touched, err := c.touched(ctx)
	if err != nil || len(touched) == 0 {
		return err
	}
	s := &node.Snapshot{Format: node.Format, OrganizationID: c.by.OrganizationID, Version: c.version}
	if s.Mappings, err = snapshotMappings(ctx, c, only("id", touched["model_mappings"])); err != nil {
		return err
	}
	providers := touched["providers"]
	for _, m := range s.Mappings {
		providers = append(providers, m.ProviderID)
	}
	if s.Providers, err = snapshotProviders(ctx, c, only("p.id", providers)); err != nil {
		return err
	}
	if err := snapshotAccess(ctx, c, s, only("id", touched["model_access_policies"])); err != nil {
		return err
	}
	return compile(s)
}

// touched are the rows that the change made or changed, by table: those of which the
// trail has something to tell.
func (c *change) touched(ctx context.Context) (map[string][]uuid.UUID, error) {
	type row struct {
		Table string
		ID    uuid.UUID
	}
	rows, err := collect(ctx, c, pgx.RowToStructByPos[row], `SELECT kind, resource_id FROM audit_changes WHERE version = $1 AND action <> 'delete'`, c.version)
	out := map[string][]uuid.UUID{}
	for _, r := range rows {
		out[r.Table] = append(out[r.Table], r.ID)
	}
	return out, err
}
