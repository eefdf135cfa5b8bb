package rest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

const (
	policiesPath = adminPath + "routing-policies"
	rulesPath    = adminPath + "routing-rules"
)

// slot is a slot as it is answered.
func slot(alias string) fields {
	return fields{"model_alias": alias, "label": nil, "description": nil}
}

// routes gives an organization what a policy can pick: the routes cheap and strong, and the
// model m on the provider P Q.
func (a *api) routes(t *testing.T) (provider string) {
	t.Helper()
	provider = a.provider(t, "P Q", "m")
	for _, alias := range []string{"cheap", "strong"} {
		a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": alias, "upstream_model": "m"}).want(t, 200)
	}
	return provider
}

func routingPolicy(alias string) fields {
	return fields{"model_alias": alias, "slots": []any{slot("cheap"), slot("strong")}, "context_breakpoints": []any{100.0}}
}

func (a *api) policy(t *testing.T, alias string) string {
	t.Helper()
	return a.call(t, "POST", policiesPath, routingPolicy(alias)).want(t, 200).id(t)
}

func TestRoutingPolicyPlan(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.routes(t)
	held := []string{"model_alias", "description", "enabled", "posture", "slots", "context_breakpoints", "determiner_model_alias", "determiner_prompt",
		"router_input_max_chars", "default_slot_on_failure"}
	minimal := fields{"description": nil, "enabled": true, "posture": "balanced", "determiner_model_alias": nil, "determiner_prompt": nil,
		"router_input_max_chars": 12000.0, "default_slot_on_failure": 1.0, "slots": []any{slot("cheap"), slot("strong")}, "last_change_note": nil}
	a.secondPlanIsEmpty(t, policiesPath, routingPolicy("minimal"), minimal, held)
	nulls := with(routingPolicy("nulls"), nil)
	for _, name := range held {
		if _, sent := nulls[name]; !sent {
			nulls[name] = nil
		}
	}
	a.secondPlanIsEmpty(t, policiesPath, nulls, minimal, held)
	three := []any{fields{"model_alias": "cheap", "label": "Cheap", "description": "chat"}, slot("strong"), slot("p-q/m")}
	a.secondPlanIsEmpty(t, policiesPath, fields{"model_alias": "three", "slots": three}, fields{"context_breakpoints": []any{128000.0, 512000.0}, "slots": three}, held)
	all := fields{"model_alias": "all", "description": "", "enabled": false, "posture": "quality", "slots": three, "context_breakpoints": []any{1.0, 9007199254740991.0},
		"determiner_model_alias": "judge", "determiner_prompt": "", "router_input_max_chars": 1.0, "default_slot_on_failure": 2.0}
	id := a.secondPlanIsEmpty(t, policiesPath, all, all, held)
	a.fieldUpdates(t, policiesPath+"/"+id, []planStep{
		{"alias", fields{"model_alias": "other"}, nil},
		{"case", fields{"model_alias": "Other"}, nil},
		{"description", fields{"description": "d"}, nil},
		{"description cleared", fields{"description": nil}, nil},
		{"enabled", fields{"enabled": true}, nil},
		{"posture", fields{"posture": "savings"}, nil},
		{"breakpoints", fields{"context_breakpoints": []any{5.0, 6.0}}, nil},
		{"slots", fields{"slots": []any{slot("strong"), slot("cheap")}, "context_breakpoints": []any{7.0}, "default_slot_on_failure": 0.0}, nil},
		{"determiner cleared", fields{"determiner_model_alias": nil, "determiner_prompt": nil}, nil},
		{"blank determiner", fields{"determiner_model_alias": "  "}, fields{"determiner_model_alias": nil}},
		{"determiner again", fields{"determiner_model_alias": "cheap", "determiner_prompt": "pick"}, nil},
		{"input", fields{"router_input_max_chars": 1000000.0}, nil},
		{"note", fields{"change_note": "because"}, fields{"last_change_note": "because"}},
		{"note left out", fields{}, fields{"change_note": nil, "last_change_note": nil}},
	})
	seen := a.call(t, "GET", policiesPath+"/"+id, nil).header.Get("ETag")
	a.with(t, "If-Match", seen, "PUT", policiesPath+"/"+id, `{"enabled":false}`).want(t, 200)
	a.with(t, "If-Match", seen, "PUT", policiesPath+"/"+id, `{"enabled":false}`).want(t, 412)
	a.with(t, "If-Match", seen, "DELETE", policiesPath+"/"+id, "").want(t, 412)
	a.deletedOnce(t, policiesPath+"/"+id, "routing policy '"+id+"' not found")
}

func TestRoutingPolicyRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.routes(t)
	long := strings.Repeat("é", 8001)
	slots := func(list ...any) fields { return fields{"slots": list} }
	shared := []refusal{
		{fields{"model_alias": ""}, 400, "model_alias must not be blank"},
		{fields{"model_alias": "a/b"}, 400, "model_alias must not contain '/'"},
		{fields{"model_alias": "CHEAP"}, 400, "slot 0 is the routing policy itself"},
		{slots(slot("cheap")), 400, "slots must have at least 2 entries"},
		{slots(slot("cheap"), slot(" ")), 400, "model_alias of slot 1 must not be blank"},
		{slots(slot("cheap"), slot("never")), 400, "nothing answers to 'never': enable a route or a model of this name first"},
		{slots(slot("cheap"), slot("p-q/cheap")), 400, "nothing answers to 'p-q/cheap': enable a route or a model of this name first"},
		{slots(slot("cheap"), slot("other/m")), 400, "nothing answers to 'other/m': enable a route or a model of this name first"},
		{slots(slot("cheap"), slot("m")), 400, "nothing answers to 'm': enable a route or a model of this name first"},
		{slots(slot("cheap"), fields{"model_alias": "strong", "description": long}), 400, "description of slot 1 must be at most 2000 characters"},
		{slots(slot("cheap"), fields{"label": "x"}), 422, "slots[1]: missing field `model_alias`"},
		{slots(slot("cheap"), fields{"model_alias": "strong", "weight": 1}), 400, "slots[1]: unknown field `weight`"},
		{fields{"context_breakpoints": []int{}}, 400, "context_breakpoints must have 1 entries, one less than slots"},
		{fields{"context_breakpoints": []int{0}}, 400, "context_breakpoints must be greater than 0"},
		{fields{"slots": []any{slot("cheap"), slot("strong"), slot("cheap")}, "context_breakpoints": []int{5, 5}}, 400, "context_breakpoints must increase"},
		{fields{"context_breakpoints": []any{"1"}}, 422, "context_breakpoints[0]: invalid type: string, expected an integer"},
		{fields{"posture": "thrifty"}, 400, "unknown posture: thrifty"},
		{fields{"router_input_max_chars": 0}, 400, "router_input_max_chars must be between 1 and 1000000"},
		{fields{"default_slot_on_failure": 2}, 400, "default_slot_on_failure must be between 0 and 1: it counts slots from 0"},
		{fields{"default_slot_on_failure": -1}, 400, "default_slot_on_failure must be between 0 and 1: it counts slots from 0"},
		{fields{"determiner_prompt": long}, 400, "determiner_prompt must be at most 8000 characters"},
		{fields{"bogus": 1}, 400, "unknown field `bogus`"},
	}
	id := a.policy(t, "auto")
	a.refused(t, "PUT", policiesPath+"/"+id, fields{}, append(shared,
		refusal{fields{"determiner_model_alias": "Auto"}, 400, "determiner_model_alias is the routing policy itself"},
		refusal{fields{"determiner_model_alias": "p-q/auto"}, 400, "determiner_model_alias is the routing policy itself"}))
	a.refused(t, "POST", policiesPath, routingPolicy("new"), append(shared,
		refusal{fields{"slots": nil}, 422, "missing field `slots`"}, refusal{fields{"context_breakpoints": nil}, 400, "context_breakpoints must have 1 entries, one less than slots"}))
	const taken = "A routing policy with this model_alias already exists."
	a.call(t, "POST", policiesPath, routingPolicy("AUTO")).wantError(t, 409, "conflict_error", taken)
	other := a.policy(t, "other")
	a.call(t, "PUT", policiesPath+"/"+other, fields{"model_alias": "Auto"}).wantError(t, 409, "conflict_error", taken)
	a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "Fast", "upstream_model": "m", "enabled": false}).want(t, 200)
	const isRoute = "'fast' is a route already: a routing policy needs a name of its own"
	a.call(t, "POST", policiesPath, routingPolicy("fast")).wantError(t, 409, "conflict_error", isRoute)
	a.call(t, "PUT", policiesPath+"/"+other, fields{"model_alias": "fast"}).wantError(t, 409, "conflict_error", isRoute)
}

// A name is a route's or a routing policy's: whichever way a mapping comes by a policy's
// name, it is refused. Without its plain name a model may be called as it is.
func TestRouteNamedLikeARoutingPolicy(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.routes(t)
	a.policy(t, "Auto")
	const taken = "'auto' is a routing policy already: a route needs a name of its own"
	mapping := a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "fast", "upstream_model": "m"}).want(t, 200).id(t)
	enablement := fields{"provider_id": provider, "model_alias": "auto", "upstream_model": "auto"}
	for _, r := range []answer{
		a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "auto", "upstream_model": "m"}),
		a.call(t, "POST", mappingsPath, with(enablement, fields{"bare_alias": true})),
		a.call(t, "PUT", mappingsPath+"/"+mapping, fields{"model_alias": "auto"}),
		a.call(t, "POST", routesPath, routeTo("auto", onProvider(provider, "m"))),
		a.call(t, "PUT", routesPath+"/fast/rename", fields{"model_alias": "auto"}),
		a.call(t, "POST", routesPath+"/fast/duplicate", fields{"model_alias": "auto"}),
	} {
		r.wantError(t, 409, "conflict_error", taken)
	}
	id := a.call(t, "POST", mappingsPath, enablement).want(t, 200).id(t)
	a.call(t, "PUT", mappingsPath+"/"+id, fields{"bare_alias": true}).wantError(t, 409, "conflict_error", taken)
	a.call(t, "POST", mappingsPath, with(enablement, fields{"bare_alias": true})).wantError(t, 409, "conflict_error", taken) // which folds into it
	a.call(t, "POST", providersPath, with(openAI("Models"), fields{"models": []any{"auto"}})).want(t, 200)
	// What has the name from before can be changed all the same.
	if _, err := storetest.Connect(t, a.db.SuperuserURL).Exec(t.Context(), `UPDATE model_mappings SET bare_alias = true WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	a.call(t, "PUT", mappingsPath+"/"+id, fields{"priority": 4}).want(t, 200)
}

// A policy whose slots went dark can still be changed, and takes no dark one on.
func TestRoutingPolicyOverDarkRoutes(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.routes(t)
	path := policiesPath + "/" + a.policy(t, "auto")
	a.call(t, "PUT", providersPath+"/"+provider, fields{"enabled": false}).want(t, 200)
	a.call(t, "PUT", path, fields{"slots": []any{slot("strong"), slot("cheap")}}).want(t, 200)
	a.call(t, "POST", policiesPath, routingPolicy("new")).want(t, 400)
	a.call(t, "PUT", providersPath+"/"+provider, fields{"enabled": true}).want(t, 200)
	for _, m := range a.call(t, "GET", mappingsPath, nil).list(t) {
		if m["model_alias"] == "m" {
			a.call(t, "PUT", mappingsPath+"/"+m["id"].(string), fields{"enabled": false}).want(t, 200)
		}
	}
	a.call(t, "POST", policiesPath, routingPolicy("new")).want(t, 400)
	a.call(t, "POST", policiesPath, with(routingPolicy("new"), fields{"slots": []any{slot("p-q/m"), slot("P Q/m")}})).want(t, 400)
}

func routingRule(name string) fields {
	return fields{"name": name, "description": "Legal text", "floor_slot": 1.0}
}

func TestRoutingRules(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.routes(t)
	policy := a.policy(t, "auto")
	ofPolicy := rulesPath + "?policy_id=" + policy
	created := a.call(t, "POST", ofPolicy, routingRule("Legal")).want(t, 201)
	wantFields(t, created.object(t), fields{"org_id": a.org.String(), "policy_id": policy, "name": "Legal", "description": "Legal text", "floor_slot": 1.0,
		"deny_slots": []any{}, "enabled": true, "conflicts": []any{}, "last_change_note": nil})
	path := rulesPath + "/" + created.id(t)
	check := func(r answer) {
		t.Helper()
		if read := a.call(t, "GET", path, nil).want(t, 200); string(read.body) != string(r.body) {
			t.Errorf("the read is not the answer:\n%s\n%s", r.body, read.body)
		}
		list := a.call(t, "GET", ofPolicy, nil).want(t, 200).object(t)
		listed := with(list["rules"].([]any)[0].(map[string]any), fields{"conflicts": list["conflicts"]})
		if diff := cmp.Diff(r.object(t), map[string]any(listed)); diff != "" {
			t.Errorf("the listing is not the answer:\n%s", diff)
		}
	}
	check(created)
	for _, c := range []struct{ change, want fields }{
		{fields{}, fields{"floor_slot": 1.0, "deny_slots": []any{}}},
		{fields{"name": "  Law ", "description": " Law "}, fields{"name": "Law", "description": "Law"}},
		{fields{"deny_slots": []int{1, 0, 1}}, fields{"deny_slots": []any{0.0, 1.0}, "floor_slot": 1.0}},
		{fields{"floor_slot": nil}, fields{"floor_slot": nil, "deny_slots": []any{0.0, 1.0}}},
		{fields{"floor_slot": 0, "deny_slots": nil}, fields{"floor_slot": 0.0, "deny_slots": []any{}}},
		{fields{"enabled": false, "change_note": "why"}, fields{"enabled": false, "last_change_note": "why"}},
		{fields{"enabled": true}, fields{"enabled": true, "last_change_note": nil}},
	} {
		r := a.call(t, "PUT", path, c.change).want(t, 200)
		wantFields(t, r.object(t), c.want)
		check(r)
	}
	key := func() answer {
		return a.with(t, "Idempotency-Key", "one", "POST", ofPolicy, `{"name":"Other","description":"d","deny_slots":[0]}`).want(t, 201)
	}
	if first, again := key(), key(); first.id(t) != again.id(t) {
		t.Error("one key made two rules")
	}
	seen := a.call(t, "GET", path, nil).header.Get("ETag")
	a.with(t, "If-Match", seen, "PUT", path, `{"enabled":true}`).want(t, 200)
	a.with(t, "If-Match", seen, "PUT", path, `{"enabled":true}`).want(t, 412)
	a.with(t, "If-Match", seen, "DELETE", path, "").want(t, 412)
	if r := a.call(t, "DELETE", path, nil).want(t, 204); len(r.body) != 0 {
		t.Errorf("a deletion answers %s", r.body)
	}
	for method, body := range map[string]any{"GET": nil, "DELETE": nil, "PUT": `{}`} {
		a.call(t, method, path, body).wantError(t, 404, "not_found_error", "routing rule '"+created.id(t)+"' not found")
	}
	a.call(t, "DELETE", policiesPath+"/"+policy, nil).want(t, 200)
	a.call(t, "GET", ofPolicy, nil).wantError(t, 404, "not_found_error", "routing policy '"+policy+"' not found")
}

func TestRoutingRuleRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.routes(t)
	ofPolicy := rulesPath + "?policy_id=" + a.policy(t, "auto")
	path := rulesPath + "/" + a.call(t, "POST", ofPolicy, routingRule("R")).want(t, 201).id(t)
	shared := []refusal{
		{fields{"name": " "}, 422, "name must not be blank"},
		{fields{"name": strings.Repeat("é", 121)}, 422, "name must be at most 120 characters"},
		{fields{"description": ""}, 422, "description must not be blank: it is what requests are matched by"},
		{fields{"description": strings.Repeat("é", 2001)}, 422, "description must be at most 2000 characters"},
		{fields{"floor_slot": -1}, 422, "floor_slot must not be negative"},
		{fields{"deny_slots": []int{3, -1}}, 422, "deny_slots must not be negative"},
		{fields{"deny_slots": []any{"x"}}, 422, "deny_slots[0]: invalid type: string, expected an integer"},
		{fields{"bogus": 1}, 400, "unknown field `bogus`"},
	}
	const nothing = "floor_slot or deny_slots is required: a rule with neither changes nothing"
	const taken = "A rule with this name already exists on this routing policy."
	a.refused(t, "POST", ofPolicy, routingRule("new"), append(shared,
		refusal{fields{"floor_slot": nil}, 422, nothing}, refusal{fields{"description": nil}, 422, "missing field `description`"}, refusal{fields{"name": " R "}, 422, taken}))
	a.call(t, "POST", ofPolicy, routingRule("r")).want(t, 201) // case counts
	a.refused(t, "PUT", path, fields{}, append(shared, refusal{`{"floor_slot":null}`, 422, nothing}, refusal{fields{"name": "r"}, 422, taken}))
	for query, message := range map[string]string{"": "missing field `policy_id`", "?policy_id=x": "policy_id: UUID parsing failed"} {
		a.call(t, "GET", rulesPath+query, nil).wantError(t, 400, "invalid_request_error", message)
		a.call(t, "POST", rulesPath+query, routingRule("new")).wantError(t, 400, "invalid_request_error", message)
	}
	stranger := uuid.NewString()
	a.call(t, "POST", rulesPath+"?policy_id="+stranger, routingRule("new")).wantError(t, 404, "not_found_error", "routing policy '"+stranger+"' not found")
	other := a.policy(t, "other")
	a.call(t, "POST", rulesPath+"?policy_id="+other, routingRule("R")).want(t, 201) // unique on the policy only
	a.as(t, "Other", tenant.RoleAdmin).call(t, "GET", ofPolicy, nil).want(t, 404)
}

// A rule that contradicts another is stored all the same, and every answer says so.
func TestRoutingRuleConflicts(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.routes(t)
	ofPolicy := rulesPath + "?policy_id=" + a.policy(t, "auto")
	a.call(t, "POST", ofPolicy, routingRule("Floor")).want(t, 201)
	ban := a.call(t, "POST", ofPolicy, fields{"name": "Ban", "description": "d", "deny_slots": []int{1, 7}}).want(t, 201)
	conflict := []any{fields{"rule": "Floor", "conflicts_with": "Ban", "detail": "its floor (1) leaves only slots that 'Ban' bans: where both match a request, the ban wins"}}
	wantFields(t, ban.object(t), fields{"conflicts": conflict})
	wantFields(t, a.call(t, "GET", ofPolicy, nil).want(t, 200).object(t), fields{"conflicts": conflict})
	self := a.call(t, "PUT", rulesPath+"/"+ban.id(t), fields{"floor_slot": 1}).want(t, 200)
	wantFields(t, self.object(t), fields{"conflicts": append([]any{fields{"rule": "Ban", "conflicts_with": "Ban",
		"detail": "its floor (1) leaves only slots that it bans: it can never hold"}}, conflict...)})
	off := a.call(t, "PUT", rulesPath+"/"+ban.id(t), fields{"enabled": false}).want(t, 200)
	wantFields(t, off.object(t), fields{"conflicts": []any{}})
}
