package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// table is a kind of resource that is read and written a row at a time.
type table[T any] struct {
	name string
	// query selects every row; its rows have an id.
	query string
	scan  pgx.RowToFunc[T]
	// missing is the error for an id that is not there.
	missing  func(uuid.UUID) error
	revision func(T) int64
}

func (r table[T]) get(ctx context.Context, tx pgx.Tx, id uuid.UUID) (T, error) {
	row, err := collectOne(ctx, tx, r.scan, r.query+` WHERE id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = r.missing(id)
	}
	return row, err
}

func (r table[T]) list(ctx context.Context, db *DB, by tenant.Principal, op tenant.Operation) (list []T, err error) {
	err = db.read(ctx, by, op, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, r.scan, r.query+` ORDER BY id`)
		return err
	})
	return list, err
}

func (r table[T]) read(ctx context.Context, db *DB, by tenant.Principal, op tenant.Operation, id uuid.UUID) (row T, err error) {
	err = db.read(ctx, by, op, func(tx pgx.Tx) error {
		row, err = r.get(ctx, tx, id)
		return err
	})
	return row, err
}

// create stores the row that insert makes.
func (r table[T]) create(ctx context.Context, db *DB, by tenant.Principal, op tenant.Operation, note *string, insert func(c *change, id uuid.UUID) error) (row T, err error) {
	err = db.write(ctx, by, op, func(c *change) error {
		id := newID()
		if err := insert(c, id); err != nil {
			return err
		}
		c.changed(id, note)
		row, err = r.get(ctx, c, id)
		return err
	})
	return row, err
}

// update changes a row that is there and that the caller saw.
func (r table[T]) update(ctx context.Context, db *DB, by tenant.Principal, op tenant.Operation, id uuid.UUID, note *string, apply func(c *change, before T) error) (row T, err error) {
	err = db.write(ctx, by, op, func(c *change) error {
		before, err := r.matched(ctx, c, id)
		if err != nil {
			return err
		}
		if err := apply(c, before); err != nil {
			return err
		}
		c.changed(id, note)
		row, err = r.get(ctx, c, id)
		return err
	})
	return row, err
}

func (r table[T]) matched(ctx context.Context, c *change, id uuid.UUID) (T, error) {
	before, err := r.get(ctx, c, id)
	if err != nil {
		return before, err
	}
	return before, c.matches(r.revision(before))
}

func (r table[T]) remove(ctx context.Context, db *DB, by tenant.Principal, op tenant.Operation, id uuid.UUID) error {
	return db.write(ctx, by, op, func(c *change) error {
		if _, err := r.matched(ctx, c, id); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `DELETE FROM `+r.name+` WHERE id = $1`, id); err != nil {
			return err
		}
		c.changed(id, nil)
		return nil
	})
}
