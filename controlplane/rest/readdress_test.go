package rest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// TestRenamedProviderIsFollowed: what calls a provider's models by its name does so by its
// new one, in one change, and in no other organization.
func TestRenamedProviderIsFollowed(t *testing.T) {
	t.Parallel()
	a := setup(t)
	b := a.as(t, "Other", tenant.RoleAdmin)
	paths := map[string]string{}
	for _, o := range []*api{a, b} {
		provider := o.routes(t) // "P Q" with the model m, and two routes
		made := map[string]string{
			"provider": providersPath + "/" + provider,
			"access":   accessPath + "/" + o.call(t, "POST", accessPath, with(accessPolicy("A"), fields{"targets": []any{aliasTarget("P Q/m"), aliasTarget("p-q/*"), aliasTarget("p-q")}})).want(t, 200).id(t),
			"group":    groupsPath + "/" + o.call(t, "POST", groupsPath, fields{"name": "G", "model_aliases": []any{"p-q/m", "cheap"}}).want(t, 200).id(t),
			"limit":    limitsPath + "/" + o.call(t, "POST", limitsPath, with(rateLimit("L"), fields{"target_model_alias": "p-q/m"})).want(t, 200).id(t),
			"budget":   budgetsPath + "/" + o.call(t, "POST", budgetsPath, with(budget("B"), fields{"target_model_alias": "P Q/m"})).want(t, 200).id(t),
			"policy": policiesPath + "/" + o.call(t, "POST", policiesPath, with(routingPolicy("auto"), fields{"slots": []any{slot("cheap"), slot("p-q/m")},
				"determiner_model_alias": "p-q/m"})).want(t, 200).id(t),
			"untouched": accessPath + "/" + o.call(t, "POST", accessPath, accessPolicy("U")).want(t, 200).id(t),
		}
		if o == a {
			paths = made
		}
	}
	read := func(what string) map[string]any { return a.call(t, "GET", paths[what], nil).want(t, 200).object(t) }
	untouched := a.call(t, "GET", paths["untouched"], nil).header.Get("ETag")
	theirs := func() (all string) {
		for _, path := range []string{accessPath, groupsPath, limitsPath, budgetsPath, policiesPath} {
			all += string(b.call(t, "GET", path, nil).want(t, 200).body)
		}
		return all
	}
	before := theirs()
	// The same address spelled anew moves nothing.
	if said, ok := a.call(t, "PUT", paths["provider"], fields{"name": "p q"}).want(t, 200).object(t)["moved"]; ok {
		t.Errorf("another spelling of the name moved %v", said)
	}
	if got := read("access")["last_modified_at"]; got != nil {
		t.Error("another spelling of the name changed a policy")
	}
	renamed := a.call(t, "PUT", paths["provider"], fields{"name": "Brand New", "change_note": "moved"}).want(t, 200).object(t)
	if _, ok := read("provider")["moved"]; ok {
		t.Error("a read says what a change moved")
	}
	named := func(what, name string) []any {
		return []any{map[string]any{"id": paths[what][strings.LastIndex(paths[what], "/")+1:], "name": name}}
	}
	wantMoved := map[string]any{"targets": 1.0, "kept_enablements": 0.0, "model_route_groups": named("group", "G"), "model_access_policies": named("access", "A"),
		"rate_limits": named("limit", "L"), "budgets": named("budget", "B"), "routing_policies": named("policy", "auto")}
	if diff := cmp.Diff(wantMoved, renamed["moved"]); diff != "" {
		t.Errorf("what moved (-want +got):\n%s", diff)
	}
	for what, want := range map[string]fields{
		"access": {"targets": []any{aliasTarget("brand-new/m"), aliasTarget("brand-new/*"), aliasTarget("p-q")}, "last_change_note": "moved"},
		"group":  {"model_aliases": []any{"brand-new/m", "cheap"}, "last_change_note": "moved"},
		"limit":  {"target_model_alias": "brand-new/m", "last_change_note": "moved"},
		"budget": {"target_model_alias": "brand-new/m", "last_change_note": "moved"},
		"policy": {"slots": []any{slot("cheap"), slot("brand-new/m")}, "determiner_model_alias": "brand-new/m", "last_change_note": "moved"},
	} {
		wantFields(t, read(what), want)
	}
	var kinds []string
	for _, c := range a.call(t, "GET", auditPath, nil).want(t, 200).list(t)[0]["changes"].([]any) {
		kinds = append(kinds, c.(map[string]any)["kind"].(string))
	}
	slices.Sort(kinds)
	if diff := cmp.Diff([]string{"budgets", "model_access_policies", "model_route_groups", "providers", "rate_limits", "routing_policies"}, kinds); diff != "" {
		t.Errorf("the trail of the change (-want +got):\n%s", diff)
	}
	if got := a.call(t, "GET", paths["untouched"], nil).header.Get("ETag"); got != untouched {
		t.Error("what does not name the provider was changed")
	}
	if diff := cmp.Diff(before, theirs()); diff != "" {
		t.Errorf("another organization's changed:\n%s", diff)
	}
	// Two limits cannot come to count the same: nothing of the change is made.
	a.call(t, "POST", limitsPath, with(rateLimit("Taken"), fields{"target_model_alias": "third/m"})).want(t, 200)
	a.call(t, "PUT", paths["provider"], fields{"name": "Third"}).wantError(t, 409, "conflict_error", limitTaken)
	wantFields(t, read("provider"), fields{"name": "Brand New"})
	wantFields(t, read("group"), fields{"model_aliases": []any{"brand-new/m", "cheap"}})
}
