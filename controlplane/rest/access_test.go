package rest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

const (
	accessPath = adminPath + "model-access"
	groupsPath = adminPath + "model-route-groups"
	governPath = adminPath + "governance-config"
)

func aliasTarget(alias string) fields { return fields{"kind": "model_alias", "alias": alias} }

func accessPolicy(name string) fields {
	return fields{"name": name, "scope_type": "org", "policy_type": "allowlist", "targets": []any{aliasTarget("fast")}}
}

func TestModelAccessLifecycle(t *testing.T) {
	t.Parallel()
	a := setup(t)
	group := a.call(t, "POST", groupsPath, fields{"name": "G"}).want(t, 200).id(t)
	provider, user := uuid.NewString(), uuid.NewString() // neither need exist
	everyKind := []any{aliasTarget("team-*"), fields{"kind": "model", "model": "gpt-*"}, fields{"kind": "provider", "provider_id": provider},
		fields{"kind": "provider_model", "provider_id": provider, "model": "m"}, fields{"kind": "route_group", "group_id": group}, aliasTarget("*")}
	lifecycle{
		path: accessPath, minimal: accessPolicy("P"),
		defaults: fields{"scope_id": nil, "scope_value": nil, "traffic_type": "llm", "enabled": true, "last_change_note": nil, "last_modified_at": nil},
		optional: []string{"scope_id", "scope_value", "traffic_type", "enabled", "change_note"},
		all: fields{"name": "All", "scope_type": "user", "scope_id": user, "scope_value": nil, "policy_type": "denylist", "targets": everyKind,
			"traffic_type": "all", "enabled": false, "change_note": "why"},
		updates: []update{
			{"name", fields{"name": "Q"}, nil},
			{"enabled", fields{"enabled": true}, nil},
			{"policy_type", fields{"policy_type": "allowlist"}, nil},
			{"traffic_type", fields{"traffic_type": "mcp"}, nil},
			{"targets", fields{"targets": []any{aliasTarget("b"), aliasTarget("a")}}, nil},
			{"scope cleared", fields{"scope_id": nil}, nil},
			{"scope again", fields{"scope_id": user}, nil},
			{"the same type", fields{"scope_type": "user"}, nil},
			{"another type", fields{"scope_type": "group", "scope_value": "eng"}, fields{"scope_id": nil}},
			{"value cleared", fields{"scope_value": nil}, nil},
			{"all of the scope", fields{"scope_type": "api_key", "scope_id": user, "scope_value": nil}, nil},
			{"note", fields{"change_note": "because"}, nil},
			{"note left out", fields{}, nil},
		},
		gone: "model access policy {id: %s} not found",
	}.run(t, a)
}

func TestModelAccessRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	path := accessPath + "/" + a.call(t, "POST", accessPath, accessPolicy("P")).want(t, 200).id(t)
	stranger := uuid.NewString()
	for name, c := range map[string]struct {
		change         fields
		status         int
		param, message string
	}{
		"ScopeType": {fields{"scope_type": "planet"}, 400, "scope_type",
			"invalid scope_type 'planet'. Must be one of: org, team, user, project, api_key, mcp_server, agent, role, group"},
		"ScopeKey":   {fields{"scope_id": stranger}, 400, "scope_id", "scope_id is not used with scope_type 'org'"},
		"PolicyType": {fields{"policy_type": "greylist"}, 400, "policy_type", "policy_type must be 'allowlist' or 'denylist'"},
		"Malformed":  {fields{"targets": []any{fields{"kind": "model"}}}, 400, "targets", "malformed target of kind 'model': missing required fields"},
		"Kind": {fields{"targets": []any{fields{"kind": "moon"}}}, 400, "targets",
			"invalid target kind 'moon'. Must be one of: model_alias, model, provider, provider_model, route_group"},
		"Group":      {fields{"targets": []any{fields{"kind": "route_group", "group_id": stranger}}}, 404, "targets", "model route group " + stranger + " not found"},
		"BadUUID":    {fields{"targets": []any{fields{"kind": "provider", "provider_id": "x"}}}, 422, "targets[0].provider_id", "targets[0].provider_id: UUID parsing failed"},
		"NoKind":     {fields{"targets": []any{fields{"alias": "x"}}}, 422, "targets[0].kind", "targets[0]: missing field `kind`"},
		"BogusField": {fields{"targets": []any{fields{"kind": "model", "bogus": 1}}}, 400, "targets[0].bogus", "targets[0]: unknown field `bogus`"},
		"WrongType":  {fields{"enabled": "yes"}, 422, "enabled", "enabled: invalid type: string, expected a boolean"},
		"Traffic":    {fields{"traffic_type": "air"}, 400, "traffic_type", "traffic_type must be 'all', 'llm' or 'mcp'"},
	} {
		kind := map[int]string{400: "invalid_request_error", 404: "not_found_error", 422: "invalid_request_error"}[c.status]
		for _, r := range []answer{a.call(t, "POST", accessPath, with(accessPolicy("Q"), c.change)), a.call(t, "PUT", path, c.change)} {
			r.wantError(t, c.status, kind, c.message)
			if got := r.errorField(t, "param"); got != c.param {
				t.Errorf("%s: got param %q, want %q", name, got, c.param)
			}
		}
	}
	for _, none := range []any{[]any{}, nil} {
		a.call(t, "POST", accessPath, with(accessPolicy("Q"), fields{"targets": none})).wantError(t, 400, "invalid_request_error", "at least one target is required")
	}
	a.call(t, "PUT", path, `{"targets":[]}`).wantError(t, 400, "invalid_request_error", "targets cannot be empty when provided")
	a.call(t, "POST", accessPath, with(accessPolicy("Q"), fields{"name": nil})).wantError(t, 422, "invalid_request_error", "missing field `name`")
}

func TestModelRouteGroupLifecycle(t *testing.T) {
	t.Parallel()
	lifecycle{
		path: groupsPath, minimal: fields{"name": "G"},
		defaults: fields{"description": nil, "model_aliases": []any{}, "last_change_note": nil, "last_modified_at": nil},
		optional: []string{"description", "model_aliases", "change_note"},
		all:      fields{"name": "All", "description": "d", "model_aliases": []any{"b", "a/b:c d", "é"}, "change_note": "why"},
		updates: []update{
			{"name", fields{"name": "H"}, nil},
			{"description", fields{"description": "e"}, nil},
			{"description cleared", fields{"description": nil}, nil},
			{"members", fields{"model_aliases": []any{"z", "y"}}, nil},
			{"one twice", fields{"model_aliases": []any{"z", "y", "z"}}, fields{"model_aliases": []any{"z", "y"}}},
			{"no members", fields{"model_aliases": []any{}}, nil},
			{"note", fields{"change_note": "because"}, nil},
		},
		gone: "model route group {id: %s} not found",
	}.run(t, setup(t))
}

func TestModelRouteGroupMembers(t *testing.T) {
	t.Parallel()
	a := setup(t)
	path := groupsPath + "/" + a.call(t, "POST", groupsPath, fields{"name": "G", "model_aliases": []any{"a"}}).want(t, 200).id(t)
	members := func(want ...any) {
		t.Helper()
		if diff := cmp.Diff(append([]any{}, want...), a.call(t, "GET", path, nil).want(t, 200).field(t, "model_aliases")); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
	}
	a.call(t, "POST", path+"/members", fields{"model_aliases": []any{"x/y", "a", "100% off", "p:q"}}).want(t, 200)
	members("a", "x/y", "100% off", "p:q")
	for _, escaped := range []string{"x%2Fy", "100%25%20off", "p:q"} {
		deleted := a.call(t, "DELETE", path+"/members/"+escaped, nil).want(t, 200)
		if deleted.field(t, "deleted") != true {
			t.Errorf("%s: %s", escaped, deleted.body)
		}
	}
	members("a")
	id := path[len(groupsPath)+1:]
	a.call(t, "DELETE", path+"/members/x%2Fy", nil).wantError(t, 404, "not_found_error", "model route group {id: "+id+"} has no member 'x/y'")
	a.call(t, "POST", path+"/members", `{"model_aliases":[]}`).wantError(t, 400, "invalid_request_error", "at least one model alias is required")
	a.call(t, "POST", path+"/members", `{}`).wantError(t, 422, "invalid_request_error", "missing field `model_aliases`")
	a.call(t, "POST", path+"/members", `{"model_aliases":[" "]}`).wantError(t, 400, "invalid_request_error", "model_aliases must not be blank")
	a.call(t, "POST", groupsPath, fields{"name": "g"}).wantError(t, 409, "conflict_error", "A route group with this name already exists.")
}

// A group that a policy targets goes only by force, and leaves the policy as it was.
func TestDeleteTargetedRouteGroup(t *testing.T) {
	t.Parallel()
	a := setup(t)
	group := a.call(t, "POST", groupsPath, fields{"name": "G"}).want(t, 200).id(t)
	policy := a.call(t, "POST", accessPath, with(accessPolicy("Only G"), fields{"targets": []any{fields{"kind": "route_group", "group_id": group}}})).want(t, 200)
	path := groupsPath + "/" + group
	const message = "The route group is targeted by model access policies: Only G. Change them first, or delete with force=true: they keep the target, which then matches nothing."
	a.call(t, "DELETE", path, nil).wantError(t, 409, "conflict_error", message)
	a.call(t, "DELETE", path+"?force=false", nil).wantError(t, 409, "conflict_error", message)
	a.call(t, "DELETE", path+"?force=maybe", nil).wantError(t, 400, "invalid_request_error", "force: invalid value, expected true or false")
	a.call(t, "DELETE", path+"?force=true", nil).want(t, 200)
	again := a.call(t, "PUT", accessPath+"/"+policy.id(t), fields{"targets": policy.field(t, "targets")}).want(t, 200)
	if diff := cmp.Diff(policy.field(t, "targets"), again.field(t, "targets")); diff != "" {
		t.Errorf("the policy's targets (-before +after):\n%s", diff)
	}
	a.call(t, "POST", accessPath, with(accessPolicy("New"), fields{"targets": policy.field(t, "targets")})).
		wantError(t, 404, "not_found_error", "model route group "+group+" not found")
}

func TestGovernanceConfig(t *testing.T) {
	t.Parallel()
	a := setup(t)
	want := fields{"require_pricing_for_mappings": false, "default_model_access": "allow", "require_routing_policy": false, "change_note": nil, "last_change_note": nil}
	first := a.call(t, "GET", governPath, nil).want(t, 200)
	check := func(name string, got answer) {
		t.Helper()
		if diff := cmp.Diff(want, stable(got.object(t))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	check("defaults", first)
	for _, change := range []fields{
		{"require_pricing_for_mappings": true},
		{"require_pricing_for_mappings": true, "default_model_access": "deny"},
		{"require_pricing_for_mappings": true},
		{"require_pricing_for_mappings": false, "require_routing_policy": true},
		{"require_pricing_for_mappings": false, "default_model_access": "allow", "require_routing_policy": false},
	} {
		for name, value := range change {
			want[name] = value
		}
		got := a.call(t, "PUT", governPath, change).want(t, 200)
		check("update", got)
		read := a.call(t, "GET", governPath, nil).want(t, 200)
		check("read", read)
		if got.header.Get("ETag") != read.header.Get("ETag") {
			t.Errorf("ETag %q read, %q on the change", read.header.Get("ETag"), got.header.Get("ETag"))
		}
	}
	a.with(t, "If-Match", first.header.Get("ETag"), "PUT", governPath, `{"require_pricing_for_mappings":true}`).
		wantError(t, 412, "conflict_error", "the resource was changed since you read it: read it again")
	a.call(t, "PUT", governPath, `{}`).wantError(t, 422, "invalid_request_error", "missing field `require_pricing_for_mappings`")
	a.call(t, "PUT", governPath, `{"require_pricing_for_mappings":false,"default_model_access":"maybe"}`).
		wantError(t, 400, "invalid_request_error", "default_model_access must be 'allow' or 'deny'")
	a.call(t, "PUT", governPath, `{"require_pricing_for_mappings":1}`).
		wantError(t, 422, "invalid_request_error", "require_pricing_for_mappings: invalid type: number, expected a boolean")
}
