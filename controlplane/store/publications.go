package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Publication is the newest position of an organization's configuration.
type Publication struct {
	OrganizationID uuid.UUID
	Epoch, Version int64
}

// PendingPublications returns every organization with a version that is not
// marked as published.
func (d *DB) PendingPublications(ctx context.Context) ([]Publication, error) {
	return d.publications(ctx, `SELECT org_id, epoch, version FROM org_config WHERE version > published_version ORDER BY org_id`)
}

// AllPublications returns every organization.
func (d *DB) AllPublications(ctx context.Context) ([]Publication, error) {
	return d.publications(ctx, `SELECT org_id, epoch, version FROM org_config ORDER BY org_id`)
}

func (d *DB) publications(ctx context.Context, query string) (list []Publication, err error) {
	err = d.transaction(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, setting{"app.publisher", "on"}, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, pgx.RowToStructByPos[Publication], query)
		return err
	})
	return list, err
}

// Position returns the newest position of one organization.
func (d *DB) Position(ctx context.Context, org uuid.UUID) (p Publication, err error) {
	err = d.transaction(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, ofOrg(org), func(tx pgx.Tx) error {
		p, err = collectOne(ctx, tx, pgx.RowToStructByPos[Publication], `SELECT org_id, epoch, version FROM org_config WHERE org_id = $1`, org)
		return err
	})
	return p, err
}

// MarkPublished remembers that a version is published. It never goes backwards,
// and says nothing of another epoch.
func (d *DB) MarkPublished(ctx context.Context, org uuid.UUID, epoch, version int64) error {
	return d.transaction(ctx, pgx.TxOptions{}, ofOrg(org), func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE org_config SET published_version = $3 WHERE org_id = $1 AND epoch = $2 AND published_version < $3`,
			org, epoch, version)
		return err
	})
}

// WaitForChange returns the organization whose configuration has changed, or none where
// that of any may have, or an error when ctx is done or the connection failed. It is a wake-up
// and no record: a change may be missed while nobody waits. Callers wait one at a
// time, on one connection of their own.
func (d *DB) WaitForChange(ctx context.Context) (organization uuid.UUID, err error) {
	d.listening.Lock()
	defer d.listening.Unlock()
	if d.listener == nil {
		// What changed before this could not wake anyone: say so once.
		return uuid.Nil, d.startListening(ctx)
	}
	told, err := d.listener.WaitForNotification(ctx)
	if err != nil {
		if ctx.Err() == nil || d.listener.IsClosed() {
			d.stopListening()
		}
		return uuid.Nil, err
	}
	organization, _ = uuid.Parse(told.Payload) // none: it is somebody else's word
	return organization, nil
}

func (d *DB) startListening(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `LISTEN `+configChannel); err != nil {
		conn.Close(ctx)
		return err
	}
	d.listener = conn
	return nil
}

// stopListening needs d.listening.
func (d *DB) stopListening() {
	if d.listener != nil {
		// The connection is broken or idle; there is nothing to wait for.
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		d.listener.Close(ctx)
		d.listener = nil
	}
}
