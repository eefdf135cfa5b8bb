// Package migrations is the schema of the database, step by step, and how it is
// brought up to date. Every step works with the code of the release before it, so
// that a fleet can be updated one process at a time.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/golang-migrate/migrate/v4"
	pgxmigrate "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver
)

//go:embed *.sql
var files embed.FS

// Up brings the database to the newest schema. databaseURL names its owner, which
// needs CREATEROLE the first time. Two at once wait for each other.
func Up(ctx context.Context, databaseURL string) error {
	return run(ctx, databaseURL, func(m *migrate.Migrate) error { return m.Up() })
}

// Down takes the last step back. It loses the data of that step and is for tests.
func Down(ctx context.Context, databaseURL string) error {
	return run(ctx, databaseURL, func(m *migrate.Migrate) error { return m.Steps(-1) })
}

// Version returns the number of the last step taken, 0 for an empty database. An
// error says so when that step was left half done.
func Version(ctx context.Context, databaseURL string) (uint, error) {
	var version uint
	err := run(ctx, databaseURL, func(m *migrate.Migrate) error {
		v, dirty, err := m.Version()
		switch {
		case errors.Is(err, migrate.ErrNilVersion):
			return nil
		case err != nil:
			return err
		case dirty:
			return fmt.Errorf("step %d was left half done", v)
		}
		version = v
		return nil
	})
	return version, err
}

func run(ctx context.Context, databaseURL string, do func(*migrate.Migrate) error) error {
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	target, err := pgxmigrate.WithInstance(db, &pgxmigrate.Config{})
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	source, err := iofs.New(files, ".")
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	m, err := migrate.NewWithInstance("files", source, "database", target)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	defer m.Close()
	// The library takes no context: it stops between two steps.
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
	defer stop()
	if err := do(m); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return fmt.Errorf("migrations: %w", err)
	}
	return ctx.Err()
}
