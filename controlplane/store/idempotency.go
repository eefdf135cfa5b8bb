package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// keptFor is how long an Idempotency-Key stands for its first call; takenFor, how long a
// call that has not answered keeps a second one waiting: no request lasts as long.
const (
	keptFor  = 24 * time.Hour
	takenFor = time.Minute
)

// IdempotencyKeys remember what calls did, so that they can be sent again.
type IdempotencyKeys struct{ db *DB }

// IdempotencyKeys returns the keys of calls.
func (d *DB) IdempotencyKeys() IdempotencyKeys { return IdempotencyKeys{d} }

// KeptAnswer is the answer of the first call with a key.
type KeptAnswer struct {
	Status int
	Body   []byte
	ETag   string // empty: it had none
}

// firstCall is what is known of the first call with a key.
type firstCall struct {
	fingerprint []byte
	begun       time.Time
	stale       bool // it began so long ago that it cannot be at work any more
	version     *int64
	resource    *uuid.UUID
	status      *int
	answer      []byte
	etag        *string
}

// Begin claims by.IdempotencyKey for a call with the fingerprint, which is 32 bytes. It
// returns the first call's answer where there is one, and an error where the key stands
// for another request, or for one whose answer is not there: not yet, or never where it is
// secret.
func (s IdempotencyKeys) Begin(ctx context.Context, by tenant.Principal, fingerprint []byte, secret bool) (kept *KeptAnswer, err error) {
	err = s.db.transaction(ctx, pgx.TxOptions{}, ofOrg(by.OrganizationID), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM idempotency_keys WHERE begun_at < now() - $1::interval`, keptFor); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `INSERT INTO idempotency_keys (org_id, subject, key, fingerprint) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			by.OrganizationID, by.Subject(), by.IdempotencyKey, fingerprint)
		if err != nil || tag.RowsAffected() == 1 {
			return err
		}
		first, err := collectOne(ctx, tx, func(row pgx.CollectableRow) (f firstCall, err error) {
			err = row.Scan(&f.fingerprint, &f.begun, &f.stale, &f.version, &f.resource, &f.status, &f.answer, &f.etag)
			return f, err
		}, `SELECT fingerprint, begun_at, begun_at < now() - $3::interval, version, resource_id, status, answer, etag
		    FROM idempotency_keys WHERE subject = $1 AND key = $2 FOR UPDATE`, by.Subject(), by.IdempotencyKey, takenFor)
		if errors.Is(err, pgx.ErrNoRows) { // the first call failed this moment
			return tenant.KeyInUse()
		}
		if err != nil {
			return err
		}
		switch {
		case string(first.fingerprint) != string(fingerprint):
			return tenant.KeyReused()
		case first.status != nil:
			kept = &KeptAnswer{Status: *first.status, Body: first.answer, ETag: *first.etag}
			return nil
		case first.version != nil && (secret || first.stale):
			return tenant.AnswerNotKept(first.resource)
		case !first.stale: // at work, or about to keep its answer
			return tenant.KeyInUse()
		}
		_, err = tx.Exec(ctx, `UPDATE idempotency_keys SET begun_at = now() WHERE subject = $1 AND key = $2`, by.Subject(), by.IdempotencyKey)
		return err
	})
	return kept, err
}

// Keep remembers the answer of the call that Begin let through.
func (s IdempotencyKeys) Keep(ctx context.Context, by tenant.Principal, answer KeptAnswer) error {
	return s.db.transaction(ctx, pgx.TxOptions{}, ofOrg(by.OrganizationID), func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE idempotency_keys SET status = $3, answer = $4, etag = $5 WHERE subject = $1 AND key = $2`,
			by.Subject(), by.IdempotencyKey, answer.Status, answer.Body, answer.ETag)
		return err
	})
}

// Forget frees the key of a call that changed nothing.
func (s IdempotencyKeys) Forget(ctx context.Context, by tenant.Principal) error {
	return s.db.transaction(ctx, pgx.TxOptions{}, ofOrg(by.OrganizationID), func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM idempotency_keys WHERE subject = $1 AND key = $2 AND version IS NULL`, by.Subject(), by.IdempotencyKey)
		return err
	})
}

// done notes with the change itself that the call was made: whatever happens to its
// answer, it is not made again.
func (c *change) done(ctx context.Context) error {
	if c.by.IdempotencyKey == "" {
		return nil
	}
	_, err := c.Exec(ctx, `UPDATE idempotency_keys SET version = $3, resource_id = $4 WHERE subject = $1 AND key = $2`,
		c.by.Subject(), c.by.IdempotencyKey, c.version, c.event.resource)
	return err
}
