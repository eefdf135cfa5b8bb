package rest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

const (
	limitsPath  = adminPath + "rate-limits"
	budgetsPath = adminPath + "budgets"

	limitTaken  = "A policy with this scope and traffic type already exists."
	budgetTaken = "A budget with this scope, target, traffic type, and period already exists. Edit the existing one, or vary the scope, target, traffic type, or period."
)

func rateLimit(name string) fields {
	return fields{"name": name, "scope_type": "org", "requests_per_minute": 600.0}
}

func budget(name string) fields {
	return fields{"name": name, "scope_type": "org", "period": "monthly", "token_limit": 1000.0}
}

// unaimed is what the server adds to whom and what a limit is for.
func unaimed(more fields) fields {
	out := with(more, fields{"traffic_type": "all", "enabled": true})
	for _, null := range append([]string{"last_change_note", "last_modified_at"}, aimOptions...) {
		if _, set := out[null]; !set {
			out[null] = nil
		}
	}
	return out
}

var aimOptions = []string{"scope_id", "scope_value", "member_of_group", "target_provider_id", "target_upstream_model", "target_model_alias", "target_mcp_server_id"}

func TestRateLimitLifecycle(t *testing.T) {
	t.Parallel()
	a := setup(t)
	user, provider := uuid.NewString(), a.provider(t, "P")
	lifecycle{
		path: limitsPath, minimal: rateLimit("L"), second: fields{"traffic_type": "llm"},
		defaults: unaimed(fields{"tokens_per_minute": nil}),
		optional: append([]string{"tokens_per_minute", "traffic_type", "enabled", "change_note"}, aimOptions...),
		all: fields{"name": "All", "scope_type": "user", "scope_id": user, "scope_value": nil, "member_of_group": nil, "requests_per_minute": 0.0,
			"tokens_per_minute": 9007199254740991.0, "traffic_type": "llm", "enabled": false, "target_provider_id": provider, "target_upstream_model": "gpt-5",
			"target_model_alias": nil, "target_mcp_server_id": nil, "change_note": "why"},
		updates: []update{
			{"name", fields{"name": "M"}, nil},
			{"enabled", fields{"enabled": true}, nil},
			{"requests", fields{"requests_per_minute": 7.0}, nil},
			{"tokens", fields{"tokens_per_minute": 8.0}, nil},
			{"requests cleared", fields{"requests_per_minute": nil}, nil},
			{"the other way", fields{"requests_per_minute": 1.0, "tokens_per_minute": nil}, nil},
			{"traffic_type", fields{"traffic_type": "all"}, nil},
			{"model cleared", fields{"target_upstream_model": nil}, nil},
			{"provider cleared", fields{"target_provider_id": nil}, nil},
			{"alias", fields{"target_model_alias": "smart"}, nil},
			{"another target", fields{"target_model_alias": nil, "target_mcp_server_id": user}, nil},
			{"and back", fields{"target_mcp_server_id": nil, "target_provider_id": provider, "target_upstream_model": "m"}, nil},
			{"broad", fields{"scope_id": nil}, nil},
			{"another scope", fields{"scope_type": "group", "scope_value": "eng"}, nil},
			{"nulls", fields{"scope_value": nil, "target_provider_id": nil, "target_upstream_model": nil, "target_model_alias": nil}, nil},
			{"note", fields{"change_note": "because"}, nil},
			{"note left out", fields{}, nil},
		},
		gone: "rate limit policy {id: %s} not found", goneOnUpdate: "rate limit policy not found",
	}.run(t, a)
}

func TestBudgetLifecycle(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P")
	lifecycle{
		path: budgetsPath, minimal: budget("B"), second: fields{"period": "daily"},
		defaults: unaimed(fields{"cost_limit": nil, "currency": "USD", "alert_thresholds": []any{80.0, 90.0}, "action_on_exhaust": "block"}),
		optional: append([]string{"cost_limit", "currency", "alert_thresholds", "action_on_exhaust", "traffic_type", "enabled", "change_note"}, aimOptions...),
		all: fields{"name": "All", "scope_type": "user", "scope_id": nil, "scope_value": nil, "member_of_group": "eng", "period": "weekly", "token_limit": 0.0,
			"cost_limit": 99999999.9999, "currency": "USD", "alert_thresholds": []any{95.0, 0.0, 100.0, 50.0}, "action_on_exhaust": "throttle", "traffic_type": "llm",
			"enabled": false, "target_provider_id": provider, "target_upstream_model": "gpt-5", "target_model_alias": nil, "target_mcp_server_id": nil, "change_note": "why"},
		updates: []update{
			{"name", fields{"name": "C"}, nil},
			{"enabled", fields{"enabled": true}, nil},
			{"token_limit", fields{"token_limit": 5.0}, nil},
			{"cost cleared", fields{"cost_limit": nil}, nil},
			{"cost", fields{"cost_limit": 0.1}, nil},
			{"cost only", fields{"token_limit": 0.0}, nil},
			{"period", fields{"period": "daily"}, nil},
			{"thresholds", fields{"alert_thresholds": []any{1.0}}, nil},
			{"no thresholds", fields{"alert_thresholds": []any{}}, nil},
			{"action", fields{"action_on_exhaust": "warn"}, nil},
			{"traffic_type", fields{"traffic_type": "all"}, nil},
			{"note", fields{"change_note": "because"}, nil},
			{"note left out", fields{}, nil},
		},
		gone: "token budget {id: %s} not found",
	}.run(t, a)
}

// TestLimitsOfOneAim: there is one for each whom and what. Null counts as a value.
func TestLimitsOfOneAim(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider, user := a.provider(t, "P"), uuid.NewString()
	aims := []fields{
		{"scope_type": "org"}, {"scope_type": "org", "traffic_type": "llm"}, {"scope_type": "user"}, {"scope_type": "user", "scope_id": user},
		{"scope_type": "api_key", "scope_id": user}, {"scope_type": "user", "member_of_group": "eng"}, {"scope_type": "user", "member_of_group": "ops"},
		{"scope_type": "group", "scope_value": "eng"}, {"scope_type": "org", "target_provider_id": provider},
		{"scope_type": "org", "target_provider_id": provider, "target_upstream_model": "m"}, {"scope_type": "org", "target_model_alias": "m"},
		{"scope_type": "org", "target_mcp_server_id": user},
	}
	for _, kind := range []struct {
		path, taken string
		base        fields
	}{{limitsPath, limitTaken, rateLimit("L")}, {budgetsPath, budgetTaken, budget("B")}} {
		var ids []string
		for _, aim := range aims {
			ids = append(ids, a.call(t, "POST", kind.path, with(kind.base, aim)).want(t, 200).id(t))
		}
		for _, aim := range aims {
			a.call(t, "POST", kind.path, with(kind.base, with(aim, fields{"name": "another"}))).wantError(t, 409, "conflict_error", kind.taken)
		}
		a.call(t, "PUT", kind.path+"/"+ids[1], fields{"traffic_type": "all"}).wantError(t, 409, "conflict_error", kind.taken)
		if got := a.call(t, "POST", kind.path, with(kind.base, fields{"scope_type": "user", "member_of_group": " eng "})); got.status != 409 {
			t.Errorf("the same group with spaces: %s", got.body)
		}
	}
	a.call(t, "POST", budgetsPath, with(budget("B"), fields{"period": "daily"})).want(t, 200)
	a.call(t, "PUT", limitsPath+"/"+a.call(t, "GET", limitsPath, nil).list(t)[2]["id"].(string), fields{"scope_id": user}).wantError(t, 409, "conflict_error", limitTaken)
}

// aimRefusals hold for limits and budgets alike.
func aimRefusals(user string) []refusal {
	return []refusal{
		{fields{"scope_type": "planet"}, 400, "invalid scope_type 'planet'. Must be one of: org, team, user, project, api_key, mcp_server, agent, role, group"},
		{fields{"scope_id": user}, 400, "scope_id is not used with scope_type 'org'"},
		{fields{"scope_type": "group", "scope_id": user}, 400, "scope_id is not used with scope_type 'group'"},
		{fields{"member_of_group": "eng"}, 400, "member_of_group is used only with scope_type 'user'"},
		{fields{"scope_type": "user", "scope_id": user, "member_of_group": "eng"}, 400, "member_of_group is not used with scope_id"},
		{fields{"scope_type": "user", "scope_value": "u", "member_of_group": "eng"}, 400, "scope_value is not used with scope_type 'user'"},
		{fields{"traffic_type": "air"}, 400, "traffic_type must be 'all', 'llm' or 'mcp'"},
		{fields{"target_upstream_model": "m"}, 400, "target_upstream_model needs target_provider_id"},
		{fields{"target_model_alias": "m", "target_provider_id": user}, 400, "target_model_alias is not used with target_provider_id or target_upstream_model"},
		{fields{"target_model_alias": "m", "target_upstream_model": "m"}, 400, "target_model_alias is not used with target_provider_id or target_upstream_model"},
		{fields{"target_mcp_server_id": user, "target_model_alias": "m"}, 400, "target_mcp_server_id is not used with another target"},
		{fields{"target_model_alias": "m", "traffic_type": "mcp"}, 400, "a model target needs traffic_type 'llm' or 'all'"},
		{fields{"target_mcp_server_id": user, "traffic_type": "llm"}, 400, "target_mcp_server_id needs traffic_type 'mcp' or 'all'"},
		{fields{"target_model_alias": ""}, 400, "target_model_alias must not be blank"},
		{fields{"target_provider_id": "x"}, 422, "target_provider_id: UUID parsing failed"},
		{fields{"name": " "}, 400, "name must not be blank"},
		{fields{"change_note": strings.Repeat("x", 1001)}, 400, "change_note must be at most 1000 characters"},
		{fields{"bogus": 1}, 400, "unknown field `bogus`"},
		{fields{"enabled": "yes"}, 422, "enabled: invalid type: string, expected a boolean"},
	}
}

func TestRateLimitRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	user, stranger := uuid.NewString(), uuid.NewString()
	const legacy = " is not supported: name what is limited with target_* (target_provider_id, target_upstream_model, target_model_alias)"
	a.refused(t, "POST", limitsPath, rateLimit("L"), append(aimRefusals(user),
		refusal{fields{"requests_per_minute": nil}, 400, "at least one of requests_per_minute or tokens_per_minute is required"},
		refusal{fields{"requests_per_minute": -1}, 400, "requests_per_minute cannot be negative"},
		refusal{fields{"tokens_per_minute": -1}, 400, "tokens_per_minute cannot be negative"},
		refusal{fields{"requests_per_minute": 1.5}, 422, "requests_per_minute: invalid type: number 1.5, expected an integer"},
		refusal{fields{"scope_type": "llm_provider"}, 400, "scope_type 'llm_provider'" + legacy},
		refusal{fields{"scope_type": "model"}, 400, "scope_type 'model'" + legacy},
		refusal{fields{"name": nil}, 422, "missing field `name`"},
		refusal{fields{"scope_type": nil}, 422, "missing field `scope_type`"},
	))
	path := limitsPath + "/" + a.call(t, "POST", limitsPath, rateLimit("L")).want(t, 200).id(t)
	a.refused(t, "PUT", path, fields{}, []refusal{
		{`{"requests_per_minute":null}`, 400, "at least one of requests_per_minute or tokens_per_minute must be set"},
		{fields{"requests_per_minute": -1}, 400, "requests_per_minute cannot be negative"},
		{fields{"tokens_per_minute": -1}, 400, "tokens_per_minute cannot be negative"},
		{fields{"scope_type": "model"}, 400, "scope_type 'model'" + legacy},
		{fields{"target_upstream_model": "m"}, 400, "target_upstream_model needs target_provider_id"},
		{fields{"member_of_group": "eng"}, 400, "unknown field `member_of_group`"},
	})
	for _, r := range []answer{a.call(t, "POST", limitsPath, with(rateLimit("L"), fields{"target_provider_id": stranger})), a.call(t, "PUT", path, fields{"target_provider_id": stranger})} {
		r.wantError(t, 404, "not_found_error", "provider "+stranger+" not found")
	}
	members := limitsPath + "/" + a.call(t, "POST", limitsPath, with(rateLimit("L"), fields{"scope_type": "user", "member_of_group": "eng"})).want(t, 200).id(t)
	const kept = "the scope of a limit for each member of 'eng' cannot be changed"
	a.refused(t, "PUT", members, fields{}, []refusal{{fields{"scope_type": "org"}, 400, kept}, {fields{"scope_id": user}, 400, kept}})
	a.call(t, "PUT", members, fields{"scope_type": "user", "name": "renamed"}).want(t, 200)
}

func TestBudgetRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	const none = "At least one limit is required: token_limit or cost_limit"
	limits := []refusal{
		{fields{"token_limit": -1}, 400, "token_limit must be non-negative"},
		{fields{"token_limit": 0}, 400, none},
		{fields{"token_limit": 0, "cost_limit": 0}, 400, "cost_limit must be greater than 0"},
		{fields{"cost_limit": -1}, 400, "cost_limit must not be negative"},
		{fields{"cost_limit": 0.00001}, 400, "cost_limit must be a number with at most 8 digits before the point and 4 after it"},
		{fields{"cost_limit": "1"}, 422, "cost_limit: invalid type: string, expected a number"},
		{fields{"period": "hourly"}, 400, "invalid period: hourly"},
		{fields{"alert_thresholds": []int{50, 101}}, 400, "alert_thresholds must be between 0 and 100"},
		{fields{"alert_thresholds": []int{-1}}, 400, "alert_thresholds must be between 0 and 100"},
		{fields{"alert_thresholds": make([]int, 101)}, 400, "alert_thresholds must have at most 100 entries"},
		{fields{"alert_thresholds": []any{1, "2"}}, 422, "alert_thresholds[1]: invalid type: string, expected an integer"},
		{fields{"action_on_exhaust": "explode"}, 400, "action_on_exhaust must be 'block', 'throttle' or 'warn'"},
	}
	a.refused(t, "POST", budgetsPath, budget("B"), append(append(aimRefusals(uuid.NewString()), limits...),
		refusal{fields{"token_limit": nil}, 400, none},
		refusal{fields{"currency": "EUR"}, 400, "currency must be 'USD'"},
		refusal{fields{"period": nil}, 422, "missing field `period`"},
		refusal{fields{"scope_type": "model"}, 400, "invalid scope_type 'model'. Must be one of: org, team, user, project, api_key, mcp_server, agent, role, group"},
	))
	path := budgetsPath + "/" + a.call(t, "POST", budgetsPath, budget("B")).want(t, 200).id(t)
	a.refused(t, "PUT", path, fields{}, append(limits,
		refusal{fields{"scope_type": "org"}, 400, "unknown field `scope_type`"},
		refusal{fields{"target_model_alias": "m"}, 400, "unknown field `target_model_alias`"},
		refusal{fields{"currency": "USD"}, 400, "unknown field `currency`"},
	))
	spend := budgetsPath + "/" + a.call(t, "POST", budgetsPath, with(budget("B"), fields{"period": "daily", "token_limit": nil, "cost_limit": 5})).want(t, 200).id(t)
	a.call(t, "PUT", spend, `{"cost_limit":null}`).wantError(t, 400, "invalid_request_error", none)
	targeted := budgetsPath + "/" + a.call(t, "POST", budgetsPath, with(budget("B"), fields{"target_model_alias": "m"})).want(t, 200).id(t)
	a.call(t, "PUT", targeted, fields{"traffic_type": "mcp"}).wantError(t, 400, "invalid_request_error", "a model target needs traffic_type 'llm' or 'all'")
	stranger := uuid.NewString()
	a.call(t, "POST", budgetsPath, with(budget("B"), fields{"target_provider_id": stranger})).wantError(t, 404, "not_found_error", "provider "+stranger+" not found")
}

// A limit that names a provider which is gone can still be changed.
func TestLimitOfADeletedProvider(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P")
	for path, body := range map[string]fields{limitsPath: rateLimit("L"), budgetsPath: budget("B")} {
		id := a.call(t, "POST", path, with(body, fields{"target_provider_id": provider})).want(t, 200).id(t)
		defer func() { a.call(t, "PUT", path+"/"+id, fields{"name": "renamed"}).want(t, 200) }()
	}
	a.call(t, "DELETE", providersPath+"/"+provider, nil).want(t, 200)
}

func TestLimitStatus(t *testing.T) {
	t.Parallel()
	a := setup(t)
	limit := a.call(t, "POST", limitsPath, rateLimit("L")).want(t, 200).object(t)
	spend := a.call(t, "POST", budgetsPath, budget("B")).want(t, 200).object(t)
	for path, want := range map[string]any{
		limitsPath:  fields{"policy": limit, "rpm_used": 0.0, "rpm_limit": 600.0, "rpm_percentage": 0.0, "tpm_used": 0.0, "tpm_limit": nil, "tpm_percentage": 0.0},
		budgetsPath: fields{"budget": spend, "tokens_used": 0.0, "percentage_used": 0.0, "cost_used": 0.0, "cost_percentage_used": 0.0},
	} {
		if diff := cmp.Diff([]map[string]any{want.(fields)}, a.call(t, "GET", path+"/status", nil).want(t, 200).list(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// What counts a route, and what picks it, goes with its new name; what speaks of another
// stays, and a limit that the new name has already is a conflict.
func TestControlsGoWithARoutesName(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.routes(t)
	aimed := func(path string, body fields, alias string) string {
		return a.call(t, "POST", path, with(body, fields{"target_model_alias": alias})).want(t, 200).id(t)
	}
	limit, other := aimed(limitsPath, rateLimit("L"), "cheap"), aimed(limitsPath, rateLimit("Other"), "strong")
	spend := aimed(budgetsPath, budget("B"), "cheap")
	policy := a.call(t, "POST", policiesPath, with(routingPolicy("auto"), fields{"determiner_model_alias": "cheap"})).want(t, 200).id(t)
	apart := a.call(t, "POST", policiesPath, with(routingPolicy("apart"), fields{"slots": []any{slot("strong"), slot("strong")}})).want(t, 200)

	moved := a.call(t, "PUT", adminPath+"routes/cheap/rename", fields{"model_alias": "thrifty", "change_note": "why"}).want(t, 200).field(t, "moved").(map[string]any)
	wantFields(t, moved, fields{"rate_limits": []any{fields{"id": limit, "name": "L"}}, "budgets": []any{fields{"id": spend, "name": "B"}},
		"routing_policies": []any{fields{"id": policy, "name": "auto"}}})
	wantFields(t, a.listed(t, limitsPath, limit), fields{"target_model_alias": "thrifty", "last_change_note": "why"})
	wantFields(t, a.listed(t, limitsPath, other), fields{"target_model_alias": "strong", "last_change_note": nil})
	wantFields(t, a.listed(t, budgetsPath, spend), fields{"target_model_alias": "thrifty"})
	wantFields(t, a.listed(t, policiesPath, policy), fields{"determiner_model_alias": "thrifty", "slots": []any{slot("thrifty"), slot("strong")}})
	if diff := cmp.Diff(apart.object(t), a.listed(t, policiesPath, apart.id(t))); diff != "" {
		t.Errorf("a policy that does not pick it changed:\n%s", diff)
	}
	aimed(limitsPath, rateLimit("Waiting"), "frugal")
	a.call(t, "PUT", adminPath+"routes/thrifty/rename", fields{"model_alias": "frugal"}).wantError(t, 409, "conflict_error", limitTaken)
	wantFields(t, a.listed(t, limitsPath, limit), fields{"target_model_alias": "thrifty"})
}
