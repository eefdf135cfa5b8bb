package migrations_test

import (
	"fmt"
	"testing"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/dev/postgres"
	"github.com/spillway-gateway/spillway/migrations"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// steps are the numbers of all steps, which need not be all numbers.
var steps = []uint{1, 2, 5}

func TestUpDownUp(t *testing.T) {
	t.Parallel()
	url, _ := storetest.Empty(t, "template1")
	ctx := t.Context()
	version := func(want uint) {
		t.Helper()
		got, err := migrations.Version(ctx, url)
		if err != nil || got != want {
			t.Fatalf("got version %d, %v; want %d", got, err, want)
		}
	}
	version(0)
	if err := migrations.Up(ctx, url); err != nil {
		t.Fatal(err)
	}
	latest := steps[len(steps)-1]
	version(latest)
	if err := migrations.Up(ctx, url); err != nil {
		t.Fatalf("up to date: %v", err)
	}
	for i := len(steps) - 2; i >= -1; i-- {
		if err := migrations.Down(ctx, url); err != nil {
			t.Fatal(err)
		}
		if i < 0 {
			version(0)
			break
		}
		version(steps[i])
	}
	var left int
	err := storetest.Connect(t, url).QueryRow(ctx, `SELECT count(*) FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'm', 'S') AND relname <> 'schema_migrations'`).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d tables are left after the last step down, %v", left, err)
	}
	if err := migrations.Up(ctx, url); err != nil {
		t.Fatal(err)
	}
	version(latest)
}

// TestFirstOfACluster migrates many databases of a new cluster at the same time, and
// each of them twice: they meet at the application's role, which belongs to the
// cluster.
func TestFirstOfACluster(t *testing.T) {
	t.Parallel()
	cluster, err := postgres.Start(t.Context(), postgres.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	const databases = 6
	owner := storetest.Connect(t, cluster.URL("postgres"))
	for i := range databases {
		if _, err := owner.Exec(t.Context(), fmt.Sprintf(`CREATE DATABASE d%d`, i)); err != nil {
			t.Fatal(err)
		}
	}
	results := make(chan error)
	for i := range 2 * databases {
		go func() { results <- migrations.Up(t.Context(), cluster.URL(fmt.Sprintf("d%d", i/2))) }()
	}
	for range 2 * databases {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	if err := migrations.Up(t.Context(), "postgres://nobody@127.0.0.1:1/x"); err == nil {
		t.Error("no error")
	}
}
