package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/api/node"
)

// NoteKeyUse keeps when keys of an organization were used last, as a node tells it: it is
// the installation's own work and no principal's. It is no change of a key; what is
// older than what is known is nothing new, and a key that is gone is passed over.
func (d *DB) NoteKeyUse(ctx context.Context, organization uuid.UUID, uses []node.KeyUse) error {
	ids, ages := make([]uuid.UUID, len(uses)), make([]time.Duration, len(uses))
	for i, use := range uses {
		ids[i], ages[i] = use.KeyID, time.Duration(max(0, use.AgeMillis))*time.Millisecond
	}
	return d.transaction(ctx, pgx.TxOptions{}, ofOrg(organization), func(tx pgx.Tx) error {
		// Locked in one order: two nodes tell of the same keys in the same moment.
		_, err := tx.Exec(ctx, `
			WITH told AS (SELECT id, now() - min(age) AS at FROM unnest($1::uuid[], $2::interval[]) AS t (id, age) GROUP BY id),
			newer AS (
				SELECT k.id, told.at FROM api_keys k JOIN told ON told.id = k.id
				WHERE k.last_used_at IS NULL OR k.last_used_at < told.at ORDER BY k.id FOR UPDATE OF k)
			UPDATE api_keys k SET last_used_at = newer.at FROM newer WHERE k.id = newer.id`, ids, ages)
		return err
	})
}
