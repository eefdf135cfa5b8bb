package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// compiling opens the database again, with what judges changes.
func compiling(t testing.TB, db *storetest.Database, judge func(*node.Snapshot) error) *store.DB {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Config{DatabaseURL: db.URL, SealKey: db.SealKey.PublicKey()})
	if err != nil {
		t.Fatal(err)
	}
	opened.JudgeWith(store.Judge{Compile: judge})
	t.Cleanup(opened.Close)
	return opened
}

// What is compiled is what the change touched and what that stands on.
func TestChangeIsCompiled(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	admin, ctx := db.Admin(t), t.Context()
	var seen string
	opened := compiling(t, db, func(s *node.Snapshot) error {
		seen = fmt.Sprintf("%d providers, %d mappings, %d keys, %d policies, %d groups", len(s.Providers), len(s.Mappings), len(s.Keys), len(s.AccessPolicies), len(s.RouteGroups))
		return nil
	})
	var provider, mapping, group, policy uuid.UUID
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"provider", func() error {
			p, err := opened.Providers().Create(ctx, admin, newProvider("P", "m", "n"))
			provider = p.ID
			return err
		}, "1 providers, 2 mappings, 0 keys, 0 policies, 0 groups"},
		{"another", func() error { _, err := opened.Providers().Create(ctx, admin, newProvider("Q")); return err }, "1 providers, 0 mappings, 0 keys, 0 policies, 0 groups"},
		{"mapping", func() error {
			m, err := opened.Mappings().Create(ctx, admin, provider, tenant.MappingPatch{Alias: ptr("r"), UpstreamModel: ptr("m")})
			mapping = m.ID
			return err
		}, "1 providers, 1 mappings, 0 keys, 0 policies, 0 groups"},
		{"order", func() error {
			return opened.Mappings().Reorder(ctx, admin, []tenant.Priority{{ID: mapping, Priority: 3}}, nil)
		}, "1 providers, 1 mappings, 0 keys, 0 policies, 0 groups"},
		{"group", func() error {
			g, err := opened.RouteGroups().Create(ctx, admin, tenant.RouteGroupPatch{Name: ptr("G")})
			group = g.ID
			return err
		}, "0 providers, 0 mappings, 0 keys, 0 policies, 0 groups"},
		{"policy", func() error {
			in := newAccess("A")
			in.Targets = &[]tenant.Target{{Kind: tenant.TargetRouteGroup, GroupID: &group}}
			p, err := opened.AccessPolicies().Create(ctx, admin, in)
			policy = p.ID
			return err
		}, "0 providers, 0 mappings, 0 keys, 1 policies, 1 groups"},
		{"policy off", func() error {
			_, err := opened.AccessPolicies().Update(ctx, admin, policy, tenant.AccessPatch{Enabled: ptr(false)})
			return err
		}, "0 providers, 0 mappings, 0 keys, 0 policies, 0 groups"},
		{"rename", func() error { _, _, err := opened.Routes().Rename(ctx, admin, "r", "s", nil); return err }, "1 providers, 1 mappings, 0 keys, 0 policies, 0 groups"},
		{"nothing", func() error { return opened.Mappings().Reorder(ctx, admin, nil, nil) }, ""},
		{"delete", func() error { return opened.Mappings().Delete(ctx, admin, mapping) }, ""},
	} {
		seen = ""
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, seen); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// What is refused leaves no trace: no row, no version, no entry of the trail.
func TestUncompilableIsNotSaved(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	admin, ctx := db.Admin(t), t.Context()
	no := errors.New("no")
	opened := compiling(t, db, func(*node.Snapshot) error { return no })
	before, err := db.Store.Position(ctx, admin.OrganizationID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Providers().Create(ctx, admin, newProvider("P", "m")); !errors.Is(err, no) {
		t.Errorf("got %v, want the refusal", err)
	}
	if _, err := opened.AccessPolicies().Create(ctx, admin, newAccess("A")); !errors.Is(err, no) {
		t.Errorf("got %v, want the refusal", err)
	}
	after, err := db.Store.Position(ctx, admin.OrganizationID)
	if err != nil || after != before {
		t.Errorf("at %v, %v; was at %v", after, err, before)
	}
	list, err := db.Store.Providers().List(ctx, admin)
	if err != nil || len(list) != 0 {
		t.Errorf("%d providers, %v", len(list), err)
	}
}

// Creating a mapping in an organization of ten thousand routes.
func BenchmarkCreateMappingAmongMany(b *testing.B) {
	db := storetest.Shared(b)
	admin, ctx := db.Admin(b), b.Context()
	p, err := db.Store.Providers().Create(ctx, admin, newProvider("P", "m"))
	if err != nil {
		b.Fatal(err)
	}
	_, err = storetest.Connect(b, db.SuperuserURL).Exec(ctx, `
		INSERT INTO model_mappings (org_id, id, provider_id, model_alias, upstream_model, enabled, priority, retry_on_429_count, retry_on_429_max_wait_secs, bare_alias, source)
		SELECT $1, gen_random_uuid(), $2, 'route ' || n, 'm', true, 0, 0, 0, true, 'custom' FROM generate_series(1, 10000) AS n`, admin.OrganizationID, p.ID)
	if err != nil {
		b.Fatal(err)
	}
	opened := compiling(b, db, func(*node.Snapshot) error { return nil })
	n := 0
	for b.Loop() {
		n++
		if _, err := opened.Mappings().Create(ctx, admin, p.ID, tenant.MappingPatch{Alias: ptr(fmt.Sprint("new ", n)), UpstreamModel: ptr("m")}); err != nil {
			b.Fatal(err)
		}
	}
}
