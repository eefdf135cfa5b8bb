package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/migrations"
)

// schema is a database as its superuser sees it: triggers, foreign keys and the wall do
// not act there, and what a row must be does.
type schema struct{ *pgx.Conn }

func openSchema(t *testing.T, superuserURL string) schema {
	t.Helper()
	conn := storetest.Connect(t, superuserURL)
	if _, err := conn.Exec(t.Context(), `SET session_replication_role = replica`); err != nil {
		t.Fatal(err)
	}
	return schema{conn}
}

// columns are those of every table that can be written, by table.
func (s schema) columns(t *testing.T) map[string][]string {
	t.Helper()
	rows, err := s.Query(t.Context(), `
		SELECT c.table_name, quote_ident(c.column_name) FROM information_schema.columns c
		JOIN information_schema.tables USING (table_schema, table_name)
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND c.is_generated = 'NEVER' AND table_name <> 'schema_migrations'
		ORDER BY c.table_name, c.ordinal_position`)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	var table, column string
	_, err = pgx.ForEachRow(rows, []any{&table, &column}, func() error {
		out[table] = append(out[table], column)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rows is what stands in some columns of a table, as text.
func (s schema) rows(t *testing.T, table string, columns []string) string {
	t.Helper()
	var text string
	list := strings.Join(columns, ", ")
	err := s.QueryRow(t.Context(), fmt.Sprintf(
		`SELECT coalesce(jsonb_agg(r ORDER BY r::text), '[]')::text FROM (SELECT to_jsonb(t) AS r FROM (SELECT %s FROM %s) t) x`, list, table)).Scan(&text)
	if err != nil {
		t.Fatalf("reading %s: %v", table, err)
	}
	return text
}

func (s schema) insert(t *testing.T, table string, columns []string, rows string) {
	t.Helper()
	list := strings.Join(columns, ", ")
	_, err := s.Exec(t.Context(), fmt.Sprintf(`INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM jsonb_populate_recordset(NULL::%s, $1::jsonb)`, table, list, list, table), rows)
	if err != nil {
		t.Errorf("a row of %s as it was written before: %v", table, err)
	}
}

// at returns an empty database as it was before the last steps of the schema, and the
// number of the step it is at.
func at(t *testing.T, back int) (url, superuserURL string, step uint) {
	t.Helper()
	url, superuserURL = storetest.Empty(t, "template1")
	must(t, migrations.Up(t.Context(), url))
	for range back {
		must(t, migrations.Down(t.Context(), url))
	}
	step, err := migrations.Version(t.Context(), url)
	must(t, err)
	return url, superuserURL, step
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An installation with data of any step is brought up to date without a change of what
// it had, serves with it, and the code of that step still finds all its columns and may
// still write rows that have no others.
func TestUpgradeWithData(t *testing.T) {
	t.Parallel()
	full := storetest.New(t)
	admin, provider := populate(t, full)
	whole := openSchema(t, full.SuperuserURL)
	newest := whole.columns(t)
	for table, columns := range newest {
		if whole.rows(t, table, columns) == "[]" {
			t.Errorf("%s has no row: populate it, or nothing is known of its upgrade", table)
		}
	}
	_, _, latest := at(t, 0)
	for back := 1; back < int(latest); back++ {
		url, superuserURL, step := at(t, back)
		t.Run(fmt.Sprintf("From%04d", step), func(t *testing.T) {
			t.Parallel()
			old, whole := openSchema(t, superuserURL), openSchema(t, full.SuperuserURL)
			before, held := old.columns(t), map[string]string{}
			_, newURL, _ := at(t, 0)
			current := openSchema(t, newURL)
			for table, columns := range before {
				held[table] = whole.rows(t, table, columns)
				old.insert(t, table, columns, held[table])
				current.insert(t, table, columns, held[table])
			}
			must(t, old.Close(context.WithoutCancel(t.Context())))
			must(t, migrations.Up(t.Context(), url))
			up := openSchema(t, superuserURL)
			for table, columns := range before {
				if diff := cmp.Diff(held[table], up.rows(t, table, columns)); diff != "" {
					t.Errorf("%s (-before +after):\n%s", table, diff)
				}
			}
			db, err := store.Open(t.Context(), store.Config{DatabaseURL: url})
			must(t, err)
			defer db.Close()
			if p, err := db.Providers().Get(t.Context(), admin, provider); err != nil || p.Name != "P" {
				t.Errorf("after the upgrade the provider is %q, %v", p.Name, err)
			}
			if _, err := db.Snapshot(t.Context(), admin.OrganizationID); err != nil {
				t.Errorf("after the upgrade there is no snapshot: %v", err)
			}
		})
	}
}
