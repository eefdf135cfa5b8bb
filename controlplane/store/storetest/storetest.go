// Package storetest gives tests a real Postgres: one cluster per test process,
// started by the first test that needs it. Most tests share a database and keep
// apart by their organizations, as callers do; a test that looks at all of them, or
// changes the schema, has a database of its own.
package storetest

import (
	"context"
	"crypto/hpke"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dev/postgres"
	"github.com/spillway-gateway/spillway/migrations"
)

// Template is the name of the migrated database that the others are copies of.
const Template = "storetest_template"

var (
	dir      string // set by startCluster
	cluster  = sync.OnceValues(startCluster)
	creating sync.Mutex // Postgres copies one database at a time
	created  atomic.Int64
	shared   = sync.OnceValues(func() (*Database, error) { return newDatabase(context.Background()) })
)

// Main runs the tests of a package and stops the cluster:
//
//	func TestMain(m *testing.M) { storetest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	if dir != "" {
		if c, err := cluster(); err == nil {
			err = c.Stop()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = max(code, 1)
			}
		}
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func startCluster() (*postgres.Cluster, error) {
	var err error
	if dir, err = os.MkdirTemp("", "spillway-storetest-"); err != nil {
		return nil, err
	}
	ctx := context.Background()
	c, err := postgres.Start(ctx, postgres.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := createDatabase(ctx, c, `CREATE DATABASE `+Template); err != nil {
		return nil, err
	}
	return c, migrations.Up(ctx, c.URL(Template))
}

func createDatabase(ctx context.Context, c *postgres.Cluster, statement string) error {
	creating.Lock()
	defer creating.Unlock()
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// Database is one test's database.
type Database struct {
	Store   *store.DB
	SealKey hpke.PrivateKey // of the data plane
	// URL connects as the owner, SuperuserURL as the superuser of the cluster.
	URL          string
	SuperuserURL string
}

// Shared returns the database that the tests of this process share.
func Shared(t testing.TB) *Database {
	t.Helper()
	d, err := shared()
	if err != nil {
		t.Fatalf("no Postgres for the tests: %v", err)
	}
	return d
}

// New returns a database of the test's own, migrated and empty.
func New(t testing.TB) *Database {
	t.Helper()
	d, err := newDatabase(t.Context())
	if err != nil {
		t.Fatalf("no Postgres for the tests: %v", err)
	}
	t.Cleanup(d.Store.Close)
	return d
}

func newDatabase(ctx context.Context) (*Database, error) {
	url, superuserURL, err := copyDatabase(ctx, Template)
	if err != nil {
		return nil, err
	}
	kem, _, _ := node.SealSuite()
	key, err := kem.GenerateKey()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Config{DatabaseURL: url, SealKey: key.PublicKey()})
	if err != nil {
		return nil, err
	}
	return &Database{Store: db, SealKey: key, URL: url, SuperuserURL: superuserURL}, nil
}

// Empty returns a database of the test's own without rows: a copy of Template, or of
// "template1", which has no schema.
func Empty(t testing.TB, of string) (url, superuserURL string) {
	t.Helper()
	url, superuserURL, err := copyDatabase(t.Context(), of)
	if err != nil {
		t.Fatalf("no Postgres for the tests: %v", err)
	}
	return url, superuserURL
}

func copyDatabase(ctx context.Context, of string) (url, superuserURL string, err error) {
	c, err := cluster()
	if err != nil {
		return "", "", err
	}
	name := fmt.Sprintf("test_%d", created.Add(1))
	if err := createDatabase(ctx, c, `CREATE DATABASE `+name+` TEMPLATE `+of); err != nil {
		return "", "", err
	}
	return c.URL(name), c.SuperuserURL(name), nil
}

// Connect opens a connection that ends with the test.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// Admin creates an organization and returns an administrator of it, by the name
// "admin".
func (d *Database) Admin(t testing.TB) tenant.Principal {
	t.Helper()
	org, err := d.Store.CreateOrganization(t.Context(), uuid.NewString())
	if err != nil {
		t.Fatal(err)
	}
	return tenant.Principal{OrganizationID: org, ServiceAccountID: uuid.New(), Name: "admin", Role: tenant.RoleAdmin}
}
