package store

import (
	"context"

	"github.com/jackc/pgx/v5"
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
