package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

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
