package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// collect runs a query and returns its rows; none is an empty list.
func collect[T any](ctx context.Context, tx pgx.Tx, scan pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// collectOne returns the first row, or pgx.ErrNoRows.
func collectOne[T any](ctx context.Context, tx pgx.Tx, scan pgx.RowToFunc[T], query string, args ...any) (T, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectOneRow(rows, scan)
}

// listFor returns the rows of a query to a principal that may perform op.
func listFor[T any](ctx context.Context, d *DB, by tenant.Principal, op tenant.Operation, scan pgx.RowToFunc[T], query string) (list []T, err error) {
	err = d.read(ctx, by, op, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, scan, query)
		return err
	})
	return list, err
}

// getFor returns one row to a principal that may perform op.
func getFor[T any](ctx context.Context, d *DB, by tenant.Principal, op tenant.Operation, get func(context.Context, pgx.Tx, uuid.UUID) (T, error), id uuid.UUID) (row T, err error) {
	err = d.read(ctx, by, op, func(tx pgx.Tx) error {
		row, err = get(ctx, tx, id)
		return err
	})
	return row, err
}
