package store_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func ptr[T any](v T) *T { return &v }

func query[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) []T {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func newProvider(name string, models ...string) tenant.ProviderCreate {
	return tenant.ProviderCreate{Family: "openai", Models: models, ProviderPatch: tenant.ProviderPatch{
		Name: &name, BaseURL: ptr("https://api.openai.com/v1"), APIKey: ptr(tenant.NewSecret("sk-test"))}}
}

func newAccess(name string) tenant.AccessPatch {
	return tenant.AccessPatch{Name: &name, Scope: tenant.ScopePatch{Type: ptr(tenant.ScopeOrg)}, PolicyType: ptr(tenant.PolicyDenylist),
		Targets: &[]tenant.Target{{Kind: tenant.TargetModelAlias, Alias: ptr("forbidden")}}}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	empty, _ := storetest.Empty(t, "template1")
	cases := map[string]struct {
		url, role, want string
	}{
		"Superuser":   {db.SuperuserURL, "postgres", `the application role "postgres" is a superuser: organizations would not be separated`},
		"Owner":       {db.URL, "spillway", `the application role "spillway" owns tables: it could take down the wall between organizations`},
		"NotMigrated": {empty, "spillway_app", "the database has no schema yet: run the migrations first"},
		"NoURL":       {"", "spillway_app", "DatabaseURL is required"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			opened, err := store.OpenAs(t.Context(), store.Config{DatabaseURL: c.url}, c.role)
			if err == nil {
				opened.Close()
				t.Fatal("not refused")
			}
			if got := err.Error(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("BypassRLS", func(t *testing.T) {
		super := storetest.Connect(t, db.SuperuserURL)
		if _, err := super.Exec(t.Context(), `CREATE ROLE test_bypass BYPASSRLS`); err != nil {
			t.Fatal(err)
		}
		_, err := store.OpenAs(t.Context(), store.Config{DatabaseURL: db.SuperuserURL}, "test_bypass")
		if err == nil || !strings.Contains(err.Error(), "has BYPASSRLS") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("OneLine", func(t *testing.T) {
		_, err := store.Open(t.Context(), store.Config{DatabaseURL: "postgres://nobody:secret@127.0.0.1:1/x"})
		if err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v", err)
		}
	})
}

// TestConnectionsAreTheApplicationRole holds for a superuser's URL too: what the
// URL may do never decides what a request may see.
func TestConnectionsAreTheApplicationRole(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	opened, err := store.Open(t.Context(), store.Config{DatabaseURL: db.SuperuserURL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	mine, theirs := db.Admin(t), db.Admin(t)
	if _, err := db.Store.Providers().Create(t.Context(), theirs, newProvider("P")); err != nil {
		t.Fatal(err)
	}
	list, err := opened.Providers().List(t.Context(), mine)
	if err != nil || len(list) != 0 {
		t.Errorf("got %d providers of another organization, %v", len(list), err)
	}
}

func TestPermissionComesFirst(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	member := db.Admin(t)
	member.Role = tenant.RoleMember
	ctx, id := t.Context(), uuid.New()
	calls := map[string]func(tenant.Principal) error{
		"Providers.List": func(p tenant.Principal) error { _, err := db.Store.Providers().List(ctx, p); return err },
		"Providers.Get":  func(p tenant.Principal) error { _, err := db.Store.Providers().Get(ctx, p, id); return err },
		"Providers.Create": func(p tenant.Principal) error {
			_, err := db.Store.Providers().Create(ctx, p, newProvider("P"))
			return err
		},
		"Providers.Update": func(p tenant.Principal) error {
			_, _, err := db.Store.Providers().Update(ctx, p, id, tenant.ProviderPatch{})
			return err
		},
		"Providers.Delete":   func(p tenant.Principal) error { return db.Store.Providers().Delete(ctx, p, id) },
		"Providers.Mappings": func(p tenant.Principal) error { _, err := db.Store.Providers().Mappings(ctx, p, id); return err },
		"Mappings.List": func(p tenant.Principal) error {
			_, err := db.Store.Mappings().List(ctx, p, store.Page[uuid.UUID]{})
			return err
		},
		"Mappings.Get": func(p tenant.Principal) error { _, err := db.Store.Mappings().Get(ctx, p, id); return err },
		"Mappings.Create": func(p tenant.Principal) error {
			_, err := db.Store.Mappings().Create(ctx, p, id, tenant.MappingPatch{})
			return err
		},
		"Mappings.Update": func(p tenant.Principal) error {
			_, err := db.Store.Mappings().Update(ctx, p, id, tenant.MappingPatch{})
			return err
		},
		"Mappings.Delete":  func(p tenant.Principal) error { return db.Store.Mappings().Delete(ctx, p, id) },
		"Mappings.Reorder": func(p tenant.Principal) error { return db.Store.Mappings().Reorder(ctx, p, nil, nil) },
		"APIKeys.List":     func(p tenant.Principal) error { _, err := db.Store.APIKeys().List(ctx, p); return err },
		"APIKeys.Get":      func(p tenant.Principal) error { _, err := db.Store.APIKeys().Get(ctx, p, id); return err },
		"APIKeys.Create": func(p tenant.Principal) error {
			_, _, err := db.Store.APIKeys().Create(ctx, p, tenant.KeyCreate{Name: "k"})
			return err
		},
		"APIKeys.Update": func(p tenant.Principal) error {
			_, err := db.Store.APIKeys().Update(ctx, p, id, tenant.KeyUpdate{})
			return err
		},
		"APIKeys.Rotate": func(p tenant.Principal) error {
			_, _, err := db.Store.APIKeys().Rotate(ctx, p, id, tenant.KeyRotate{})
			return err
		},
		"APIKeys.Revoke": func(p tenant.Principal) error { return db.Store.APIKeys().Revoke(ctx, p, id) },
	}
	maps.Copy(calls, controlCalls(ctx, db.Store, id))
	maps.Copy(calls, accessCalls(ctx, db.Store, id))
	for name, call := range calls {
		for who, p := range map[string]tenant.Principal{"member": member, "nobody": {}} {
			var e *tenant.Error
			if err := call(p); !errors.As(err, &e) || e.Kind != tenant.KindForbidden {
				t.Errorf("%s as %s: got %v, want forbidden", name, who, err)
			}
		}
	}
}

func TestAudit(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	admin := db.Admin(t)
	in := newProvider("P")
	in.ChangeNote = ptr("why")
	p, err := db.Store.Providers().Create(t.Context(), admin, in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store.Providers().Create(t.Context(), admin, in); err == nil { // the name is taken
		t.Fatal("not refused")
	}
	user := admin
	user.UserID, user.ServiceAccountID, user.Name = uuid.New(), uuid.Nil, "Dana"
	if err := db.Store.Providers().Delete(t.Context(), user, p.ID); err != nil {
		t.Fatal(err)
	}
	got := query[string](t, storetest.Connect(t, db.SuperuserURL), `
		SELECT concat_ws(' ', version, operation, resource_id, actor_kind, actor_id, actor_name, change_note) FROM audit_events
		WHERE org_id = $1 ORDER BY id`, admin.OrganizationID)
	want := []string{
		"1 createOrganization " + admin.OrganizationID.String() + " command_line command line",
		"2 createProvider " + p.ID.String() + " service_account " + admin.ServiceAccountID.String() + " admin why",
		"3 deleteProvider " + p.ID.String() + " user " + user.UserID.String() + " Dana",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestOrganizationByName(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	org, err := db.Store.CreateOrganization(t.Context(), "Acme")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"Acme": true, "aCME": true, "Acm": false, "": false} {
		got, found, err := db.Store.OrganizationByName(t.Context(), name)
		if err != nil || found != want || found && got != org {
			t.Errorf("%q: got %s, %t, %v", name, got, found, err)
		}
	}
	var e *tenant.Error
	if _, err := db.Store.CreateOrganization(t.Context(), " "); !errors.As(err, &e) || e.Kind != tenant.KindInvalid {
		t.Errorf("a blank name: got %v, want invalid", err)
	}
	if _, err := db.Store.CreateOrganization(t.Context(), "ACME"); !errors.As(err, &e) || e.Kind != tenant.KindConflict {
		t.Errorf("a name twice: got %v, want a conflict", err)
	}
}

func TestServiceAccount(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	org := db.Admin(t).OrganizationID
	id, secret, err := db.Store.CreateServiceAccount(t.Context(), org, "terraform", tenant.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	if len(secret) != 43 {
		t.Errorf("the secret has %d characters, want the 43 of 256 bits", len(secret))
	}
	account, found, err := db.Store.ServiceAccount(t.Context(), id)
	if err != nil || !found || account.OrganizationID != org || account.Name != "terraform" || account.Role != tenant.RoleAdmin {
		t.Errorf("got %+v, %t, %v", account, found, err)
	}
	if _, found, err := db.Store.ServiceAccount(t.Context(), "sa-nobody"); found || err != nil {
		t.Errorf("unknown: got %t, %v", found, err)
	}
	if _, _, err := db.Store.CreateServiceAccount(t.Context(), org, "x", "emperor"); err == nil {
		t.Error("a role that does not exist is not refused")
	}
	if _, _, err := db.Store.CreateServiceAccount(t.Context(), uuid.New(), "x", tenant.RoleAdmin); err == nil {
		t.Error("an organization that does not exist is not refused")
	}
}

func TestWaitForChange(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	admin := db.Admin(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := db.Store.WaitForChange(ctx); err != nil { // the first call listens, and says to look
		t.Fatal(err)
	}
	if _, err := db.Store.Providers().Create(ctx, admin, newProvider("P")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store.WaitForChange(ctx); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := db.Store.WaitForChange(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	short, endShort := context.WithTimeout(t.Context(), time.Millisecond)
	defer endShort()
	if _, err := db.Store.WaitForChange(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want deadline exceeded", err)
	}
	if _, err := db.Store.Providers().Create(ctx, admin, newProvider("Q")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store.WaitForChange(ctx); err != nil { // a wait that was given up loses nothing
		t.Fatal(err)
	}
}

func TestWaitForChangeAfterTheConnectionBroke(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	if _, err := db.Store.WaitForChange(t.Context()); err != nil {
		t.Fatal(err)
	}
	query[bool](t, storetest.Connect(t, db.SuperuserURL), `
		SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
	var pg *pgconn.PgError
	if _, err := db.Store.WaitForChange(t.Context()); !errors.As(err, &pg) {
		t.Errorf("got %v, want the server's goodbye", err)
	}
	if _, err := db.Store.WaitForChange(t.Context()); err != nil {
		t.Errorf("the next wait connects again: got %v", err)
	}
}
