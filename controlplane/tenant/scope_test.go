package tenant_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

var someID = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")

func validAccess() tenant.AccessPatch {
	return tenant.AccessPatch{Name: ptr("P"), PolicyType: ptr(tenant.PolicyAllowlist), Scope: tenant.ScopePatch{Type: ptr(tenant.ScopeOrg)},
		Targets: &[]tenant.Target{{Kind: tenant.TargetModelAlias, Alias: ptr("fast")}}}
}

// refused checks that err is about the field and says exactly this; an empty text: none.
func refused(t *testing.T, err error, param, message string) {
	t.Helper()
	if message == "" {
		if err != nil {
			t.Errorf("got %v, want no error", err)
		}
		return
	}
	var e *tenant.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want %q", err, message)
	}
	if diff := cmp.Diff(*e, tenant.Error{Kind: tenant.KindInvalid, Param: param, Message: message}); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	id, name := tenant.Change[uuid.UUID]{Set: true, Value: &someID}, tenant.Change[string]{Set: true, Value: ptr("eng")}
	for _, c := range []struct {
		name           string
		scope          tenant.ScopePatch
		param, message string
	}{
		{"Org", tenant.ScopePatch{Type: ptr("org")}, "", ""},
		{"User", tenant.ScopePatch{Type: ptr("user"), ID: id}, "", ""},
		{"AnyUser", tenant.ScopePatch{Type: ptr("user")}, "", ""},
		{"Group", tenant.ScopePatch{Type: ptr("group"), Value: name}, "", ""},
		{"ExplicitNulls", tenant.ScopePatch{Type: ptr("org"), ID: tenant.Change[uuid.UUID]{Set: true}, Value: tenant.Change[string]{Set: true}}, "", ""},
		{"Unknown", tenant.ScopePatch{Type: ptr("planet")}, "scope_type",
			"invalid scope_type 'planet'. Must be one of: org, team, user, project, api_key, mcp_server, agent, role, group"},
		{"Missing", tenant.ScopePatch{}, "scope_type", "invalid scope_type ''. Must be one of: org, team, user, project, api_key, mcp_server, agent, role, group"},
		{"IDOfOrg", tenant.ScopePatch{Type: ptr("org"), ID: id}, "scope_id", "scope_id is not used with scope_type 'org'"},
		{"IDOfGroup", tenant.ScopePatch{Type: ptr("group"), ID: id}, "scope_id", "scope_id is not used with scope_type 'group'"},
		{"NameOfUser", tenant.ScopePatch{Type: ptr("user"), Value: name}, "scope_value", "scope_value is not used with scope_type 'user'"},
		{"NameOfOrg", tenant.ScopePatch{Type: ptr("org"), Value: name}, "scope_value", "scope_value is not used with scope_type 'org'"},
		{"BlankName", tenant.ScopePatch{Type: ptr("role"), Value: tenant.Change[string]{Set: true, Value: ptr(" ")}}, "scope_value", "scope_value must not be blank"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := validAccess()
			p.Scope = c.scope
			_, err := tenant.NewAccess(p)
			refused(t, err, c.param, c.message)
		})
	}
}

// A key of the type before is no key of the next one.
func TestScopeTypeChangeTakesKeyAway(t *testing.T) {
	t.Parallel()
	p := validAccess()
	p.Scope = tenant.ScopePatch{Type: ptr("user"), ID: tenant.Change[uuid.UUID]{Set: true, Value: &someID}}
	c, err := tenant.NewAccess(p)
	if err != nil {
		t.Fatal(err)
	}
	same, err := c.Update(tenant.AccessPatch{Scope: tenant.ScopePatch{Type: ptr("user")}})
	if err != nil || same.Scope.ID == nil {
		t.Errorf("the same type again: %v, %v", same.Scope, err)
	}
	other, err := c.Update(tenant.AccessPatch{Scope: tenant.ScopePatch{Type: ptr("group"), Value: tenant.Change[string]{Set: true, Value: ptr("eng")}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(other.Scope, tenant.Scope{Type: "group", Value: ptr("eng")}); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	all := tenant.Target{Alias: ptr("a"), Model: ptr("m"), ProviderID: &someID, GroupID: &someID}
	for _, c := range []struct {
		kind string
		want tenant.Target
	}{
		{"model_alias", tenant.Target{Alias: all.Alias}},
		{"model", tenant.Target{Model: all.Model}},
		{"provider", tenant.Target{ProviderID: all.ProviderID}},
		{"provider_model", tenant.Target{ProviderID: all.ProviderID, Model: all.Model}},
		{"route_group", tenant.Target{GroupID: all.GroupID}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			p, given := validAccess(), all
			given.Kind, c.want.Kind = c.kind, c.kind
			p.Targets = &[]tenant.Target{given}
			got, err := tenant.NewAccess(p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got.Targets, []tenant.Target{c.want}); diff != "" {
				t.Errorf("more or less than the kind's own (-got +want)\n%s", diff)
			}
			p.Targets = &[]tenant.Target{{Kind: c.kind, Alias: ptr(""), Model: ptr("")}}
			_, err = tenant.NewAccess(p)
			refused(t, err, "targets", "malformed target of kind '"+c.kind+"': missing required fields")
		})
	}
	for _, c := range []struct {
		name    string
		target  tenant.Target
		message string
	}{
		{"UnknownKind", tenant.Target{Kind: "planet"}, "invalid target kind 'planet'. Must be one of: model_alias, model, provider, provider_model, route_group"},
		{"HalfAProviderModel", tenant.Target{Kind: "provider_model", ProviderID: &someID}, "malformed target of kind 'provider_model': missing required fields"},
		{"Star", tenant.Target{Kind: "model_alias", Alias: ptr("*")}, ""},
		{"TrailingStar", tenant.Target{Kind: "model", Model: ptr("gpt-*")}, ""},
		{"InnerStar", tenant.Target{Kind: "model", Model: ptr("gpt-*-mini")}, "'gpt-*-mini': a * is allowed only at the end"},
		{"TwoStars", tenant.Target{Kind: "model_alias", Alias: ptr("gpt-**")}, "'gpt-**': a * is allowed only at the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := validAccess()
			p.Targets = &[]tenant.Target{c.target}
			_, err := tenant.NewAccess(p)
			refused(t, err, "targets", c.message)
		})
	}
}

func TestAccessDefaultsAndRules(t *testing.T) {
	t.Parallel()
	c, err := tenant.NewAccess(validAccess())
	if err != nil {
		t.Fatal(err)
	}
	if c.TrafficType != "llm" || !c.Enabled {
		t.Errorf("defaults: got %s, %t", c.TrafficType, c.Enabled)
	}
	for _, test := range []struct {
		name           string
		change         func(*tenant.AccessPatch)
		param, message string
	}{
		{"NoTargets", func(p *tenant.AccessPatch) { p.Targets = nil }, "targets", "at least one target is required"},
		{"EmptyTargets", func(p *tenant.AccessPatch) { p.Targets = &[]tenant.Target{} }, "targets", "at least one target is required"},
		{"PolicyType", func(p *tenant.AccessPatch) { p.PolicyType = ptr("greylist") }, "policy_type", "policy_type must be 'allowlist' or 'denylist'"},
		{"Traffic", func(p *tenant.AccessPatch) { p.TrafficType = ptr("air") }, "traffic_type", "traffic_type must be 'all', 'llm' or 'mcp'"},
	} {
		p := validAccess()
		test.change(&p)
		_, err := tenant.NewAccess(p)
		t.Run(test.name, func(t *testing.T) { refused(t, err, test.param, test.message) })
	}
	_, err = c.Update(tenant.AccessPatch{Targets: &[]tenant.Target{}})
	refused(t, err, "targets", "targets cannot be empty when provided")
}

func TestAccessRename(t *testing.T) {
	t.Parallel()
	elsewhere := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8058")
	alias := func(name string) tenant.Target { return tenant.Target{Kind: "model_alias", Alias: &name} }
	at := func(provider uuid.UUID, name string) tenant.Target {
		return tenant.Target{Kind: "provider_model", ProviderID: &provider, Model: &name}
	}
	custom := tenant.Mapping{ProviderID: someID, MappingConfig: tenant.MappingConfig{Alias: "old", UpstreamModel: "m"}}
	enabling := tenant.Mapping{ProviderID: someID, MappingConfig: tenant.MappingConfig{Alias: "old", UpstreamModel: "old"}}
	for name, c := range map[string]struct {
		row        tenant.Mapping
		have, want []tenant.Target
	}{
		"Alias":       {custom, []tenant.Target{alias("a"), alias("old"), alias("b")}, []tenant.Target{alias("a"), alias("new"), alias("b")}},
		"Pattern":     {custom, []tenant.Target{alias("old*")}, nil},
		"Model":       {custom, []tenant.Target{{Kind: "model", Model: ptr("old")}}, nil},
		"At":          {custom, []tenant.Target{at(someID, "old")}, []tenant.Target{at(someID, "new")}},
		"Elsewhere":   {custom, []tenant.Target{at(elsewhere, "old")}, nil},
		"AtEnabled":   {enabling, []tenant.Target{at(someID, "old")}, []tenant.Target{at(someID, "old"), at(someID, "new")}},
		"OtherModel":  {custom, []tenant.Target{at(someID, "m")}, nil},
		"EnabledName": {enabling, []tenant.Target{alias("old")}, []tenant.Target{alias("new")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := validAccess()
			p.Targets = &c.have
			before, err := tenant.NewAccess(p)
			if err != nil {
				t.Fatal(err)
			}
			after, want := before, c.want
			if want == nil {
				want = c.have
			}
			if after.Rename(tenant.Route{Alias: "old", Targets: []tenant.Mapping{c.row}}, "new") != (c.want != nil) {
				t.Error("whether something was renamed is not told")
			}
			if diff := cmp.Diff(want, after.Targets); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(c.have, before.Targets); diff != "" {
				t.Errorf("the policy that was read has changed\n%s", diff)
			}
		})
	}
}
