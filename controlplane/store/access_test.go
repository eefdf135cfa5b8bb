package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// accessCalls are the calls about who may call what.
func accessCalls(ctx context.Context, db *store.DB, id uuid.UUID) map[string]func(tenant.Principal) error {
	return map[string]func(tenant.Principal) error{
		"AccessPolicies.List": func(p tenant.Principal) error { _, err := db.AccessPolicies().List(ctx, p); return err },
		"AccessPolicies.Get":  func(p tenant.Principal) error { _, err := db.AccessPolicies().Get(ctx, p, id); return err },
		"AccessPolicies.Create": func(p tenant.Principal) error {
			_, err := db.AccessPolicies().Create(ctx, p, newAccess("A"))
			return err
		},
		"AccessPolicies.Update": func(p tenant.Principal) error {
			_, err := db.AccessPolicies().Update(ctx, p, id, tenant.AccessPatch{})
			return err
		},
		"AccessPolicies.Delete": func(p tenant.Principal) error { return db.AccessPolicies().Delete(ctx, p, id) },
		"RouteGroups.List":      func(p tenant.Principal) error { _, err := db.RouteGroups().List(ctx, p); return err },
		"RouteGroups.Get":       func(p tenant.Principal) error { _, err := db.RouteGroups().Get(ctx, p, id); return err },
		"RouteGroups.Create": func(p tenant.Principal) error {
			_, err := db.RouteGroups().Create(ctx, p, tenant.RouteGroupPatch{Name: ptr("G")})
			return err
		},
		"RouteGroups.Update": func(p tenant.Principal) error {
			_, err := db.RouteGroups().Update(ctx, p, id, tenant.RouteGroupPatch{})
			return err
		},
		"RouteGroups.AddMembers": func(p tenant.Principal) error {
			_, err := db.RouteGroups().AddMembers(ctx, p, id, []string{"a"}, nil)
			return err
		},
		"RouteGroups.RemoveMember": func(p tenant.Principal) error { return db.RouteGroups().RemoveMember(ctx, p, id, "a") },
		"RouteGroups.Delete":       func(p tenant.Principal) error { return db.RouteGroups().Delete(ctx, p, id, true) },
		"Routes.List":              func(p tenant.Principal) error { _, err := db.Routes().List(ctx, p, store.Page[string]{}); return err },
		"Routes.Get":               func(p tenant.Principal) error { _, err := db.Routes().Get(ctx, p, "r"); return err },
		"Routes.Create": func(p tenant.Principal) error {
			_, err := db.Routes().Create(ctx, p, tenant.RouteCreate{})
			return err
		},
		"Routes.Rename": func(p tenant.Principal) error {
			_, _, err := db.Routes().Rename(ctx, p, "r", "s", nil)
			return err
		},
		"Routes.Duplicate": func(p tenant.Principal) error {
			_, err := db.Routes().Duplicate(ctx, p, "r", "s", nil)
			return err
		},
		"Routes.Delete":  func(p tenant.Principal) error { _, err := db.Routes().Delete(ctx, p, "r"); return err },
		"Governance.Get": func(p tenant.Principal) error { _, err := db.Governance().Get(ctx, p); return err },
		"Governance.Update": func(p tenant.Principal) error {
			_, err := db.Governance().Update(ctx, p, tenant.GovernancePatch{})
			return err
		},
	}
}

// Nodes are told of the policies that act and of the groups those name, and of nothing else.
func TestSnapshotOfAccess(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	admin, ctx := db.Admin(t), t.Context()
	group := func(name string) uuid.UUID {
		t.Helper()
		g, err := db.Store.RouteGroups().Create(ctx, admin, tenant.RouteGroupPatch{Name: &name, Aliases: &[]string{"b", "a"}})
		if err != nil {
			t.Fatal(err)
		}
		return g.ID
	}
	named, user, provider := group("named"), uuid.New(), uuid.New()
	group("not named")
	create := func(change func(*tenant.AccessPatch)) uuid.UUID {
		t.Helper()
		in := newAccess("P")
		change(&in)
		p, err := db.Store.AccessPolicies().Create(ctx, admin, in)
		if err != nil {
			t.Fatal(err)
		}
		return p.ID
	}
	create(func(p *tenant.AccessPatch) { p.Enabled = ptr(false) })
	create(func(p *tenant.AccessPatch) { p.TrafficType = ptr(tenant.TrafficMCP) })
	everyKind := create(func(p *tenant.AccessPatch) {
		p.TrafficType = ptr(tenant.TrafficAll)
		p.Scope = tenant.ScopePatch{Type: ptr("user"), ID: tenant.Change[uuid.UUID]{Set: true, Value: &user}}
		p.Targets = &[]tenant.Target{{Kind: "model_alias", Alias: ptr("x*")}, {Kind: "model", Model: ptr("m")}, {Kind: "provider", ProviderID: &provider},
			{Kind: "provider_model", ProviderID: &provider, Model: ptr("n")}, {Kind: "route_group", GroupID: &named}}
	})
	ofGroup := create(func(p *tenant.AccessPatch) {
		p.PolicyType = ptr(tenant.PolicyAllowlist)
		p.Scope = tenant.ScopePatch{Type: ptr("group"), Value: tenant.Change[string]{Set: true, Value: ptr("eng")}}
	})
	if _, err := db.Store.Governance().Update(ctx, admin, tenant.GovernancePatch{DefaultAccess: ptr(tenant.AccessDeny)}); err != nil {
		t.Fatal(err)
	}
	got, err := db.Store.Snapshot(ctx, admin.OrganizationID)
	if err != nil {
		t.Fatal(err)
	}
	want := []node.AccessPolicy{
		{ID: everyKind, Name: "P", ScopeType: "user", ScopeID: &user, Type: "denylist", Targets: []node.AccessTarget{{Kind: "model_alias", Alias: "x*"}, {Kind: "model", Model: "m"},
			{Kind: "provider", ProviderID: provider}, {Kind: "provider_model", ProviderID: provider, Model: "n"}, {Kind: "route_group", GroupID: named}}},
		{ID: ofGroup, Name: "P", ScopeType: "group", ScopeValue: "eng", Type: "allowlist", Targets: []node.AccessTarget{{Kind: "model_alias", Alias: "forbidden"}}},
	}
	if diff := cmp.Diff(want, got.AccessPolicies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]node.RouteGroup{{ID: named, Aliases: []string{"b", "a"}}}, got.RouteGroups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if got.DefaultModelAccess != "deny" {
		t.Errorf("default %q", got.DefaultModelAccess)
	}
}
