package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// notTenant are the tables that belong to no organization.
var notTenant = []string{"schema_migrations"}

func tenantTables(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	return query[string](t, conn, `
		SELECT relname::text FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> ALL ($1) ORDER BY relname`, notTenant)
}

// TestCatalogue holds for every table, those of later migrations too.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	conn := storetest.Connect(t, db.SuperuserURL)
	if got := len(tenantTables(t, conn)); got < 8 {
		t.Fatalf("only %d tenant tables", got)
	}
	rules := map[string]string{
		"is configuration whose changes are not recorded": `c.relname <> ALL ('{organizations,org_config,service_accounts,audit_events,audit_changes,idempotency_keys,sessions}')
			AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = c.oid AND g.tgname = 'record_change' AND g.tgenabled = 'O')`,
		"has a revision that nothing sets": `EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'revision')
			AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = c.oid AND g.tgname = 'set_revision' AND g.tgenabled = 'O')`,
		"has no org_id":                     `NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND a.attnotnull)`,
		"does not force row level security": `NOT (c.relrowsecurity AND c.relforcerowsecurity)`,
		"has no policy for all commands on app.org_id": `NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd = '*' AND p.polpermissive
			AND pg_get_expr(p.polqual, p.polrelid) = '(org_id = (NULLIF(current_setting(''app.org_id''::text, true), ''''::text))::uuid)')`,
		"has another policy that is not for SELECT only": `EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd NOT IN ('*', 'r'))`,
		"is owned by the application role":               `c.relowner = 'spillway_app'::regrole`,
		"has a key that does not start with org_id": `EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('p', 'f')
			AND k.conkey[1] <> (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = 'org_id'))`,
	}
	for rule, condition := range rules {
		for _, table := range query[string](t, conn, `SELECT relname::text FROM pg_class c
			WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> ALL ($1) AND `+condition, notTenant) {
			t.Errorf("table %s %s", table, rule)
		}
	}
	for _, view := range query[string](t, conn, `SELECT relname::text FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND (relkind = 'm' OR relkind = 'v' AND NOT coalesce(reloptions, '{}') @> '{security_invoker=true}')`) {
		t.Errorf("view %s reads as its owner", view)
	}
}

// asApplication runs work as the application role in a transaction with settings.
func asApplication(t *testing.T, db *storetest.Database, settings map[string]string, work func(pgx.Tx)) {
	t.Helper()
	tx, err := storetest.Connect(t, db.URL).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), `SET LOCAL ROLE spillway_app`); err != nil {
		t.Fatal(err)
	}
	for name, value := range settings {
		if _, err := tx.Exec(t.Context(), `SELECT set_config($1, $2, true)`, name, value); err != nil {
			t.Fatal(err)
		}
	}
	work(tx)
}

func count(t *testing.T, tx pgx.Tx, table string) (n int) {
	t.Helper()
	if err := tx.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// populate gives an organization a row in every table, and returns its provider.
func populate(t *testing.T, db *storetest.Database) (tenant.Principal, uuid.UUID) {
	t.Helper()
	admin := db.Admin(t)
	p, err := db.Store.Providers().Create(t.Context(), admin, newProvider("P", "m"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Store.APIKeys().Create(t.Context(), admin, tenant.KeyCreate{Name: "k"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Store.CreateServiceAccount(t.Context(), admin.OrganizationID, "terraform", tenant.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	policy, err := db.Store.RoutingPolicies().Create(t.Context(), admin, newRoutingPolicy("auto", "P/m"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Store.RoutingRules().Create(t.Context(), admin, policy.ID, newRoutingRule("R")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store.RateLimits().Create(t.Context(), admin, newRateLimit("L")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store.Budgets().Create(t.Context(), admin, newBudget("B")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store.Prices().Create(t.Context(), admin, newPrice("m", "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store.RouteGroups().Create(t.Context(), admin, tenant.RouteGroupPatch{Name: ptr("G"), Aliases: &[]string{"m"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store.AccessPolicies().Create(t.Context(), admin, newAccess("A")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store.Governance().Update(t.Context(), admin, tenant.GovernancePatch{}); err != nil {
		t.Fatal(err)
	}
	person(t, db, admin)
	_, err = db.Store.Connections().Create(t.Context(), admin, tenant.ConnectionCreate{Family: "openai", ConnectionPatch: tenant.ConnectionPatch{
		Name: ptr("C"), BaseURL: ptr("https://api.openai.com/v1"), APIKey: ptr(tenant.NewSecret("sk-shared"))}})
	if err != nil {
		t.Fatal(err)
	}
	caller := admin
	caller.IdempotencyKey = "k"
	if _, err := db.Store.IdempotencyKeys().Begin(t.Context(), caller, make([]byte, 32), false); err != nil {
		t.Fatal(err)
	}
	return admin, p.ID
}

// person is somebody in a group, with a session.
func person(t *testing.T, db *storetest.Database, admin tenant.Principal) tenant.User {
	t.Helper()
	u, err := db.Store.Users().Create(t.Context(), admin, tenant.UserPatch{Email: ptr("dana@acme.example"), Name: ptr("Dana")}, ptr("hash"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Store.Groups().Create(t.Context(), admin, tenant.GroupCreate{Name: "g", GroupPatch: tenant.GroupPatch{UserIDs: &[]uuid.UUID{u.ID}}})
	if err != nil {
		t.Fatal(err)
	}
	account := store.Account{OrganizationID: admin.OrganizationID, UserID: u.ID, PasswordHash: "hash"}
	if _, _, err := db.Store.Sessions().Begin(t.Context(), account, sha256.Sum256(u.ID[:]), "", ""); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestWall(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	a, _ := populate(t, db)
	populate(t, db)
	users, err := db.Store.Users().List(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	session := sha256.Sum256(users[0].ID[:])
	if _, err := db.Store.CreateOrganization(t.Context(), "Named"); err != nil {
		t.Fatal(err)
	}
	tables := tenantTables(t, storetest.Connect(t, db.SuperuserURL))

	for name, setting := range map[string]map[string]string{"Unset": nil, "Empty": {"app.org_id": ""}, "Unknown": {"app.org_id": uuid.NewString()},
		"EmptyOthers": {"app.publisher": "", "app.client_id": "", "app.org_name": "", "app.sign_in": "", "app.session": "", "app.prober": ""}} {
		t.Run(name, func(t *testing.T) {
			asApplication(t, db, setting, func(tx pgx.Tx) {
				for _, table := range tables {
					if got := count(t, tx, table); got != 0 {
						t.Errorf("%s: %d rows are visible", table, got)
					}
				}
			})
		})
	}
	t.Run("OfOrganization", func(t *testing.T) {
		asApplication(t, db, map[string]string{"app.org_id": a.OrganizationID.String()}, func(tx pgx.Tx) {
			for _, table := range tables {
				var mine, all int
				if err := tx.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE org_id = $1), count(*) FROM `+table, a.OrganizationID).Scan(&mine, &all); err != nil {
					t.Fatal(err)
				}
				if mine == 0 || mine != all {
					t.Errorf("%s: %d rows of %d are the organization's", table, mine, all)
				}
			}
		})
	})
	// The exceptions open what they are for, to read only, and nothing else.
	for setting, opened := range map[[2]string]map[string]int{
		{"app.publisher", "on"}:                         {"org_config": 3},
		{"app.publisher", "true"}:                       {},
		{"app.org_name", "named"}:                       {"organizations": 1},
		{"app.client_id", "%"}:                          {},
		{"app.sign_in", "Dana@acme.example"}:            {"users": 2},
		{"app.sign_in", "%"}:                            {},
		{"app.session", hex.EncodeToString(session[:])}: {"sessions": 1},
		{"app.session", "%"}:                            {},
		{"app.prober", "on"}:                            {"providers": 2},
		{"app.prober", "true"}:                          {},
	} {
		t.Run(setting[0]+"="+setting[1], func(t *testing.T) {
			asApplication(t, db, map[string]string{setting[0]: setting[1]}, func(tx pgx.Tx) {
				got := map[string]int{}
				for _, table := range tables {
					if n := count(t, tx, table); n > 0 {
						got[table] = n
					}
				}
				if diff := cmp.Diff(opened, got); diff != "" {
					t.Errorf("visible rows (-want +got):\n%s", diff)
				}
				if tag, err := tx.Exec(t.Context(), `UPDATE org_config SET version = version + 1`); err != nil || tag.RowsAffected() != 0 {
					t.Errorf("wrote %d rows, %v", tag.RowsAffected(), err)
				}
			})
		})
	}
}

func TestWallAgainstWrites(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	a, _ := populate(t, db)
	b, theirs := populate(t, db)
	mine := map[string]string{"app.org_id": a.OrganizationID.String()}
	refused := map[string]struct {
		code, sql string
		args      []any
	}{
		"InsertForAnother": {"42501", `INSERT INTO service_accounts (org_id, client_id, secret_hash, name, role) VALUES ($1, 'x', sha256('x'), 'x', 'admin')`,
			[]any{b.OrganizationID}},
		"MoveToAnother": {"42501", `UPDATE api_keys SET org_id = $1`, []any{b.OrganizationID}},
		"ReferToAnother": {"23503", `INSERT INTO provider_credentials (org_id, id, provider_id, version, host, key_id, ciphertext)
			VALUES ($1, gen_random_uuid(), $2, 1, '', '', '')`, []any{a.OrganizationID, theirs}},
		"ChangeAudit":     {"42501", `UPDATE audit_events SET actor_name = 'x'`, nil},
		"DeleteAudit":     {"42501", `DELETE FROM audit_events`, nil},
		"DropTheWall":     {"42501", `ALTER TABLE providers DISABLE ROW LEVEL SECURITY`, nil},
		"DeleteOrg":       {"42501", `DELETE FROM organizations`, nil},
		"ReadMigrations":  {"42501", `SELECT version FROM schema_migrations`, nil},
		"CreateATable":    {"42501", `CREATE TABLE x ()`, nil},
		"TruncateMapping": {"42501", `TRUNCATE model_mappings`, nil},
	}
	for name, c := range refused {
		t.Run(name, func(t *testing.T) {
			asApplication(t, db, mine, func(tx pgx.Tx) {
				_, err := tx.Exec(t.Context(), c.sql, c.args...)
				var pg *pgconn.PgError
				if !errors.As(err, &pg) || pg.Code != c.code {
					t.Errorf("got %v, want SQLSTATE %s", err, c.code)
				}
			})
		})
	}
	t.Run("DeleteEverything", func(t *testing.T) {
		asApplication(t, db, mine, func(tx pgx.Tx) {
			tag, err := tx.Exec(t.Context(), `DELETE FROM providers`)
			if err != nil || tag.RowsAffected() != 1 {
				t.Errorf("deleted %d rows, want the one of its own; %v", tag.RowsAffected(), err)
			}
		})
	})
	// The owner of the tables is behind the wall too: FORCE.
	owner := storetest.Connect(t, db.URL)
	if got := query[int](t, owner, `SELECT count(*)::int FROM providers`); got[0] != 0 {
		t.Errorf("the owner sees %d rows", got[0])
	}
}
