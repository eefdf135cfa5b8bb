package rest_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// declared is a resource as an automation declares it.
type declared struct {
	path     string
	name     string // the field that only one may have
	required fields
	// optional has a value for every field that a creation may leave out; each is tried alone.
	optional fields
	// with is what an optional field needs beside it.
	with map[string]fields
	// fixed cannot be changed, so that an update does not say it.
	fixed []string
	// secret is sent and never read.
	secret []string
	gone   string
}

// declarations are the resources with a lifecycle of create, read, update and delete. Notes
// of changes are no part of a plan: they are of one write (lifecycle_test.go).
// Providers have a test of their own (providers_plan_test.go).
func declarations(provider string) map[string]declared {
	user := uuid.NewString()
	aim := fields{"scope_id": user, "scope_value": "eng", "member_of_group": "eng", "traffic_type": "llm", "enabled": false, "target_provider_id": provider,
		"target_upstream_model": "m", "target_model_alias": "fast", "target_mcp_server_id": user}
	aimWith := map[string]fields{"scope_id": {"scope_type": "user"}, "scope_value": {"scope_type": "group"}, "member_of_group": {"scope_type": "user"},
		"target_upstream_model": {"target_provider_id": provider}}
	return map[string]declared{
		"mapping": {path: mappingsPath, name: "model_alias", required: fields{"provider_id": provider, "upstream_model": "m"}, fixed: []string{"provider_id"},
			gone: "model mapping {id: %s} not found",
			optional: fields{"enabled": false, "priority": 7.0, "retry_on_429_count": 3.0, "retry_on_429_max_wait_secs": 9.0, "bare_alias": false,
				"request_timeout_secs": 5.0, "stream_idle_timeout_secs": 6.0, "source": "catalog", "cooldown_failure_threshold": 4.0, "cooldown_window_secs": 50.0,
				"cooldown_first_secs": 11.0, "cooldown_max_secs": 3000.0, "cooldown_rate_limited_secs": 12.0, "cooldown_overloaded_secs": 0.0}},
		"access": {path: accessPath, name: "name", required: with(accessPolicy(""), nil), gone: "model access policy {id: %s} not found",
			optional: fields{"scope_id": user, "scope_value": "eng", "traffic_type": "all", "enabled": false},
			with:     map[string]fields{"scope_id": {"scope_type": "user"}, "scope_value": {"scope_type": "role"}}},
		"route group": {path: groupsPath, name: "name", required: fields{}, gone: "model route group {id: %s} not found",
			optional: fields{"description": "d", "model_aliases": []any{"b", "a"}}},
		"rate limit": {path: limitsPath, name: "name", required: rateLimit(""), optional: with(aim, fields{"tokens_per_minute": 5.0}), with: aimWith, fixed: []string{"member_of_group"},
			gone: "rate limit policy {id: %s} not found"},
		"budget": {path: budgetsPath, name: "name", required: budget(""), with: aimWith, gone: "token budget {id: %s} not found",
			optional: with(aim, fields{"cost_limit": 12.5, "currency": "USD", "alert_thresholds": []any{50.0, 10.0}, "action_on_exhaust": "warn"}),
			fixed: []string{"scope_type", "scope_id", "scope_value", "member_of_group", "target_provider_id", "target_upstream_model", "target_model_alias",
				"target_mcp_server_id", "currency"}},
		"connection": {path: connectionsPath, name: "name", required: connection(""), fixed: []string{"model_provider"}, secret: []string{"api_key"},
			gone:     "connection {id: %s} not found",
			optional: fields{"auth_type": "x_api_key", "settings": fields{"organization": "o"}}},
		"routing policy": {path: policiesPath, name: "model_alias", required: routingPolicy(""), gone: "routing policy '%s' not found",
			optional: fields{"description": "d", "enabled": false, "posture": "quality", "determiner_model_alias": "cheap", "determiner_prompt": "p",
				"router_input_max_chars": 5.0, "default_slot_on_failure": 0.0}},
	}
}

// TestDeclarations goes an automation's way with every resource: with no optional field,
// with each alone, and with null for all of them; created, read by scanning the listing,
// written as it was read, switched off by an update, deleted, and deleted again.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.routes(t)
	for what, d := range declarations(provider) {
		t.Run(what, func(t *testing.T) {
			nulls := fields{}
			for field := range d.optional {
				nulls[field] = nil
			}
			plain := a.declare(t, d, nil, nil)
			explicit := a.declare(t, d, maps.Clone(nulls), nil)
			for _, own := range []string{"id", "created_at", "updated_at", d.name} {
				delete(plain, own)
				delete(explicit, own)
			}
			if diff := cmp.Diff(plain, explicit); diff != "" {
				t.Errorf("nulls (-left out +null):\n%s", diff)
			}
			for _, field := range slices.Sorted(maps.Keys(d.optional)) {
				sent := fields{field: d.optional[field]}
				maps.Copy(sent, d.with[field])
				a.declare(t, d, sent, sent)
			}
		})
	}
}

// declare creates one, holds that a second plan is empty, switches it off by an update where
// it can be, deletes it and returns it as it was.
func (a *api) declare(t *testing.T, d declared, sent, want fields) fields {
	t.Helper()
	body := maps.Clone(d.required)
	maps.Copy(body, fields{d.name: fmt.Sprintf("declared-%s", uuid.NewString())})
	maps.Copy(body, sent)
	held := []string{d.name}
	for _, of := range []fields{d.required, d.optional} {
		for field := range of {
			if !slices.Contains(d.fixed, field) && !slices.Contains(d.secret, field) {
				held = append(held, field)
			}
		}
	}
	id := a.secondPlanIsEmpty(t, d.path, body, want, held)
	path := d.path + "/" + id
	read := a.call(t, "GET", path, nil).want(t, 200).object(t)
	if _, switchable := d.optional["enabled"]; switchable {
		for _, enabled := range []bool{false, true} {
			got := a.call(t, "PUT", path, fields{"enabled": enabled}).want(t, 200).object(t)
			expected := maps.Clone(read)
			expected["enabled"] = enabled
			for _, moves := range []string{"change_note", "last_change_note", "serving_status"} { // what every update sets, and what follows
				delete(expected, moves)
				delete(got, moves)
			}
			if diff := cmp.Diff(stable(expected), stable(got)); diff != "" {
				t.Errorf("enabled %v (-want +got):\n%s", enabled, diff)
			}
		}
	}
	a.deletedOnce(t, path, fmt.Sprintf(d.gone, id))
	return stable(read)
}

// TestAdoption: an enablement that a provider's creation made is taken over by whoever
// declares it: one id, and all that is left out at its default, whoever set it before.
func TestAdoption(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P", "m")
	there := a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0]
	path := mappingsPath + "/" + there["id"].(string)
	a.call(t, "PUT", path, fields{"priority": 9, "retry_on_429_count": 2, "enabled": false, "request_timeout_secs": 7}).want(t, 200)
	declaration := fields{"provider_id": provider, "model_alias": "m", "upstream_model": "m"}
	adopted := a.call(t, "POST", mappingsPath, declaration).want(t, 200)
	wantFields(t, adopted.object(t), fields{"id": there["id"], "priority": 0.0, "retry_on_429_count": 0.0, "enabled": true, "request_timeout_secs": 7.0})
	if diff := cmp.Diff(adopted.object(t), a.listed(t, mappingsPath, adopted.id(t))); diff != "" {
		t.Errorf("the listing is not the answer:\n%s", diff)
	}
	again := a.call(t, "POST", mappingsPath, declaration).want(t, 200)
	if diff := cmp.Diff(stable(adopted.object(t)), stable(again.object(t))); diff != "" {
		t.Errorf("declared again:\n%s", diff)
	}
	a.deletedOnce(t, path, "model mapping {id: "+adopted.id(t)+"} not found")
	made := a.call(t, "POST", mappingsPath, declaration).want(t, 200)
	if made.id(t) == adopted.id(t) {
		t.Error("what was deleted is back by its id")
	}
}
