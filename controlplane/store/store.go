// Package store keeps the organizations in Postgres. Every query is here, and no
// other package knows Postgres.
//
// What acts for a caller takes the principal first: the permission check, the
// organization's wall, the version and the audit row happen inside, so that no
// handler can forget them. See the first migration for the wall itself.
package store

import (
	"context"
	"crypto/hpke"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// appRole is the role of every connection; the migrations create it.
const appRole = "spillway_app"

// Config says where the database is.
type Config struct {
	// DatabaseURL is a postgres:// URL or a keyword/value string of a login role that
	// is a member of spillway_app; required. pool_max_conns and the like are honored.
	// Behind a pooler it needs sessions of its own, for the role and for LISTEN.
	DatabaseURL string
	// SealKey is the data plane's public key. Without it no provider credential can
	// be stored.
	SealKey hpke.PublicKey
}

// DB is the database. Its methods are safe for concurrent use.
type DB struct {
	pool    *pgxpool.Pool
	sealKey hpke.PublicKey
	judge   atomic.Pointer[Judge] // see JudgeWith

	listening sync.Mutex
	listener  *pgx.Conn // nil until WaitForChange; guarded by listening
}

// Open connects, and refuses a database whose application role could pass the
// wall between organizations. Its error is one line for the operator.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	db, err := open(ctx, cfg, appRole)
	if err != nil {
		return nil, fmt.Errorf("store: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return db, nil
}

func open(ctx context.Context, cfg Config, role string) (*DB, error) {
	if cfg.DatabaseURL == "" {
		return nil, errors.New("DatabaseURL is required")
	}
	pc, err := pgxpool.ParseConfig(cfg.DatabaseURL)
	if err != nil {
		return nil, err
	}
	params := pc.ConnConfig.RuntimeParams
	params["role"] = role
	setDefault(params, "application_name", "spillway")
	// A request that hangs in the database must not hold its organization's lock.
	setDefault(params, "statement_timeout", "30s")
	setDefault(params, "lock_timeout", "10s")
	setDefault(params, "idle_in_transaction_session_timeout", "30s")

	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, err
	}
	if err := checkRole(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	db := &DB{pool: pool, sealKey: cfg.SealKey}
	db.judge.Store(&Judge{})
	return db, nil
}

// Judge is what the nodes make of what is to be stored, by their own code. Its errors are
// for the caller whose change it is, and the change is not saved.
type Judge struct {
	// Compile refuses what a node would refuse. It is given what a change touched and what
	// that stands on, not a whole organization. Nil: nothing is refused.
	Compile func(*node.Snapshot) error
	// Serves refuses a provider, a *tenant.Error with the field at fault, that no node could
	// ask for a model: nodes take it, and skip it on every request. Nil: none is refused.
	Serves func(p *node.Provider, upstreamModel string) error
}

// JudgeWith has every change judged from now on.
func (d *DB) JudgeWith(j Judge) { d.judge.Store(&j) }

func (d *DB) serves(p *node.Provider, upstreamModel string) error {
	if serves := d.judge.Load().Serves; serves != nil {
		return serves(p, upstreamModel)
	}
	return nil
}

// served is a provider as far as its addresses and its way to send a credential go.
func served(p tenant.ProviderConfig) *node.Provider {
	return &node.Provider{Family: p.Family, BaseURL: p.BaseURL, AuthType: p.AuthType, Settings: p.Settings}
}

func setDefault(params map[string]string, name, value string) {
	if _, ok := params[name]; !ok {
		params[name] = value
	}
}

// checkRole refuses a role for which row level security is no wall.
func checkRole(ctx context.Context, pool *pgxpool.Pool) error {
	var role string
	var super, bypass, owns, migrated bool
	err := pool.QueryRow(ctx, `
		SELECT r.rolname, r.rolsuper, r.rolbypassrls,
		       EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		               WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm') AND c.relowner = r.oid),
		       to_regclass('public.org_config') IS NOT NULL
		FROM pg_roles r WHERE r.rolname = current_user`).Scan(&role, &super, &bypass, &owns, &migrated)
	switch {
	case err != nil:
		return err
	case super:
		return fmt.Errorf("the application role %q is a superuser: organizations would not be separated", role)
	case bypass:
		return fmt.Errorf("the application role %q has BYPASSRLS: organizations would not be separated", role)
	case owns:
		return fmt.Errorf("the application role %q owns tables: it could take down the wall between organizations", role)
	case !migrated:
		return errors.New("the database has no schema yet: run the migrations first")
	}
	return nil
}

// Close closes every connection. No other method may be running.
func (d *DB) Close() {
	d.listening.Lock()
	defer d.listening.Unlock()
	d.stopListening()
	d.pool.Close()
}
