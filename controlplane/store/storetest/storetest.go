// Package storetest gives tests a real Postgres: one cluster per test process,
// started by the first test that needs it, and a database of its own for each test.
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

// template is the migrated database that every test's is a copy of.
const template = "storetest_template"

var (
	dir      string // set by startCluster
	cluster  = sync.OnceValues(startCluster)
	creating sync.Mutex // Postgres copies one database at a time
	created  atomic.Int64
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
	if err := createDatabase(ctx, c, `CREATE DATABASE `+template); err != nil {
		return nil, err
	}
	return c, migrations.Up(ctx, c.URL(template))
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

// New returns a fresh migrated database.
func New(t testing.TB) *Database {
	t.Helper()
	url, superuserURL := Empty(t, template)
	kem, _, _ := node.SealSuite()
	key, err := kem.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.Config{DatabaseURL: url, SealKey: key.PublicKey()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return &Database{Store: db, SealKey: key, URL: url, SuperuserURL: superuserURL}
}

// Empty returns a database that is a copy of another one, such as "template1".
func Empty(t testing.TB, of string) (url, superuserURL string) {
	t.Helper()
	c, err := cluster()
	if err != nil {
		t.Fatalf("no Postgres for the tests: %v", err)
	}
	name := fmt.Sprintf("test_%d", created.Add(1))
	if err := createDatabase(t.Context(), c, `CREATE DATABASE `+name+` TEMPLATE `+of); err != nil {
		t.Fatal(err)
	}
	return c.URL(name), c.SuperuserURL(name)
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

// Admin creates an organization and returns an administrator of it.
func (d *Database) Admin(t testing.TB, organization string) tenant.Principal {
	t.Helper()
	org, err := d.Store.CreateOrganization(t.Context(), organization)
	if err != nil {
		t.Fatal(err)
	}
	return tenant.Principal{OrganizationID: org, ServiceAccountID: uuid.New(), Name: "admin of " + organization, Role: tenant.RoleAdmin}
}
