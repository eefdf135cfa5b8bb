package rest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// declared is a resource as an automation declares it. Which fields there are, which of them
// an update may change and which may be null there is the document's to say.
type declared struct {
	path   string
	schema string // of the document: <schema>Create and <schema>Update
	name   string // the field that only one may have
	// required is a creation without its optional fields.
	required fields
	// optional has a value for every field that a creation may leave out; each is tried alone.
	optional fields
	// changes has another value for a field that required has.
	changes fields
	// with is what a field needs beside it.
	with map[string]fields
	// follows are the fields that an update of a field moves too.
	follows map[string][]string
	// elsewhere are fields that are sent and not read, or tried by a test of their own.
	elsewhere []string
	gone      string
}

// declarations are the resources with a lifecycle of create, read, update and delete. Notes
// of changes are no part of a plan: they are of one write (notes_test.go).
func (a *api) declarations(t *testing.T) map[string]declared {
	t.Helper()
	provider := a.routes(t)
	a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "n", "upstream_model": "n"}).want(t, 200)
	user := a.call(t, "POST", usersPath, fields{"email": unique(), "name": "U"}).want(t, 200).id(t)
	aim := fields{"scope_id": user, "scope_value": "eng", "member_of_group": "eng", "traffic_type": "llm", "enabled": false, "target_provider_id": provider,
		"target_upstream_model": "m", "target_model_alias": "fast", "target_mcp_server_id": user}
	aimWith := map[string]fields{"scope_id": {"scope_type": "user"}, "scope_value": {"scope_type": "group"}, "member_of_group": {"scope_type": "user"},
		"target_upstream_model": {"target_provider_id": provider}}
	return map[string]declared{
		"provider": {path: providersPath, schema: "Provider", name: "name", required: openAI(""), gone: "provider {id: %s} not found",
			optional: fields{"auth_type": "azure_api_key", "settings": fields{"organization": "o"}, "enabled": false, "enforce_health_check": false,
				"request_timeout_secs": 5.0, "stream_idle_timeout_secs": 6.0, "model_sync_mode": "additive", "billing_mode": "not_metered", "billing_reason": "local", "billing_note": "n"},
			changes:   fields{"base_url": "https://api.openai.com/v2"},
			with:      map[string]fields{"billing_mode": {"billing_reason": "other"}},
			elsewhere: []string{"credentials", "connection_id", "models"}}, // of another auth_type; connections_test.go; providers_test.go
		"mapping": {path: mappingsPath, schema: "ModelMapping", name: "model_alias", required: fields{"provider_id": provider, "upstream_model": "m"},
			gone: "model mapping {id: %s} not found",
			optional: fields{"enabled": false, "priority": 7.0, "retry_on_429_count": 3.0, "retry_on_429_max_wait_secs": 9.0, "bare_alias": false,
				"embeddings_failover": "any_model", "request_timeout_secs": 5.0, "stream_idle_timeout_secs": 6.0, "source": "catalog", "cooldown_failure_threshold": 4.0,
				"cooldown_window_secs": 50.0, "cooldown_first_secs": 11.0, "cooldown_max_secs": 3000.0, "cooldown_rate_limited_secs": 12.0, "cooldown_overloaded_secs": 0.0},
			changes: fields{"upstream_model": "n"},
			follows: map[string][]string{"enabled": {"serving_status"}, "retry_on_429_count": {"effective_behavior"}, "retry_on_429_max_wait_secs": {"effective_behavior"}}},
		"access": {path: accessPath, schema: "ModelAccessPolicy", name: "name", required: accessPolicy(""), gone: "model access policy {id: %s} not found",
			optional: fields{"scope_id": user, "scope_value": "eng", "traffic_type": "all", "enabled": false},
			changes:  fields{"scope_type": "user", "policy_type": "denylist", "targets": []any{aliasTarget("a"), fields{"kind": "provider", "provider_id": provider}}},
			with:     map[string]fields{"scope_id": {"scope_type": "user"}, "scope_value": {"scope_type": "role"}}},
		"route group": {path: groupsPath, schema: "ModelRouteGroup", name: "name", required: fields{}, gone: "model route group {id: %s} not found",
			optional: fields{"description": "d", "model_aliases": []any{"b", "a"}}},
		"rate limit": {path: limitsPath, schema: "RateLimit", name: "name", required: rateLimit(""), gone: "rate limit policy {id: %s} not found",
			optional: with(aim, fields{"tokens_per_minute": 5.0}), changes: fields{"scope_type": "user", "requests_per_minute": 7.0}, with: aimWith},
		"budget": {path: budgetsPath, schema: "Budget", name: "name", required: budget(""), gone: "token budget {id: %s} not found",
			optional: with(aim, fields{"cost_limit": 12.5, "currency": "USD", "alert_thresholds": []any{50.0, 10.0}, "action_on_exhaust": "warn"}),
			changes:  fields{"period": "daily", "token_limit": 7.0}, with: aimWith},
		"connection": {path: connectionsPath, schema: "Connection", name: "name", required: connection(""), gone: "connection {id: %s} not found",
			optional: fields{"auth_type": "x_api_key", "settings": fields{"organization": "o"}}, changes: fields{"base_url": "https://api.openai.com/v2"},
			elsewhere: []string{"credentials"}},
		"routing policy": {path: policiesPath, schema: "RoutingPolicy", name: "model_alias", required: routingPolicy(""), gone: "routing policy '%s' not found",
			optional: fields{"description": "d", "enabled": false, "posture": "quality", "determiner_model_alias": "cheap", "determiner_prompt": "p",
				"router_input_max_chars": 5.0, "default_slot_on_failure": 0.0},
			changes: fields{"slots": []any{slot("strong"), slot("cheap")}, "context_breakpoints": []any{7.0}}},
		"group": {path: peopleGroupsPath, schema: "Group", name: "name", required: fields{}, gone: "group {id: %s} not found",
			optional: fields{"description": "d", "user_ids": []any{user}}, follows: map[string][]string{"user_ids": {"members"}}, elsewhere: []string{"user_ids"}},
	}
}

// tested are the creations of the document with no lifecycle of those above, and where theirs is.
var tested = map[string]string{
	"Route": "TestRouteIsDeclared", "ApiKey": "TestKeyIsDeclared", "OwnApiKey": "me_test.go", "User": "users_test.go", "ModelPricing": "TestPriceIsDeclared",
	"RoutingRule": "routing_test.go",
}

// properties are the fields of a schema of the document, without the note.
func properties(name string) (list []string) {
	schema := theDocument().Components.Schemas[name]
	for field := range schema.Value.Properties {
		if field != "change_note" && field != "change_reason" {
			list = append(list, field)
		}
	}
	slices.Sort(list)
	return list
}

func (d declared) written(field string) bool {
	return theDocument().Components.Schemas[d.schema+"Update"].Value.Properties[field].Value.WriteOnly || slices.Contains(d.elsewhere, field)
}

// changeable are the fields that an update may change and a read shows.
func (d declared) changeable() (list []string) {
	for _, field := range properties(d.schema + "Update") {
		if !d.written(field) {
			list = append(list, field)
		}
	}
	return list
}

// complete holds that the declaration knows every field of the document.
func (d declared) complete(t *testing.T) {
	t.Helper()
	for _, field := range properties(d.schema + "Create") {
		_, required := d.required[field]
		_, optional := d.optional[field]
		if !required && !optional && field != d.name && !slices.Contains(d.elsewhere, field) {
			t.Errorf("a creation takes %s, and nothing here does", field)
		}
	}
	for _, field := range d.changeable() {
		if _, ok := d.change(field); !ok {
			t.Errorf("an update takes %s, and nothing here changes it", field)
		}
	}
}

// change is an update of one field, with what it needs.
func (d declared) change(field string) (fields, bool) {
	value, ok := d.optional[field]
	if !ok {
		value, ok = d.changes[field]
	}
	if field == d.name {
		value, ok = fmt.Sprintf("renamed-%s", uuid.NewString()), true
	}
	return with(fields{field: value}, d.with[field]), ok
}

// TestDeclarations goes an automation's way with every resource: with no optional field,
// with each alone, and with null for all of them; created, read by scanning the listing,
// written as it was read, each field changed and set back, deleted, and deleted again.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	a := setup(t)
	all := a.declarations(t)
	for name := range theDocument().Components.Schemas {
		kind, creation := strings.CutSuffix(name, "Create")
		known := slices.ContainsFunc(slices.Collect(maps.Values(all)), func(d declared) bool { return d.schema == kind })
		if creation && !known && tested[kind] == "" {
			t.Errorf("nothing declares a %s", kind)
		}
	}
	for what, d := range all {
		t.Run(what, func(t *testing.T) {
			d.complete(t)
			nulls := fields{}
			for field := range d.optional {
				nulls[field] = nil
			}
			plain := a.declare(t, d, nil, nil)
			explicit := a.declare(t, d, maps.Clone(nulls), nil)
			for _, own := range []string{"id", "created_at", "updated_at", "secret_path", d.name} {
				delete(plain, own)
				delete(explicit, own)
			}
			if diff := cmp.Diff(plain, explicit); diff != "" {
				t.Errorf("nulls (-left out +null):\n%s", diff)
			}
			for _, field := range slices.Sorted(maps.Keys(d.optional)) {
				sent := fields{field: d.optional[field]}
				maps.Copy(sent, d.with[field])
				want := maps.Clone(sent)
				if slices.Contains(d.elsewhere, field) { // it is not read as it is sent
					delete(want, field)
				}
				a.declare(t, d, sent, want)
			}
			a.drifts(t, d)
		})
	}
}

// body is a creation of one with a name of its own.
func (d declared) body(sent fields) fields {
	return and(and(d.required, fields{d.name: fmt.Sprintf("declared-%s", uuid.NewString())}), sent)
}

// and is with, where null is a value.
func and(base, more fields) fields {
	out := maps.Clone(base)
	maps.Copy(out, more)
	return out
}

// declare creates one, holds that a second plan is empty, deletes it and returns it as it
// was.
func (a *api) declare(t *testing.T, d declared, sent, want fields) fields {
	t.Helper()
	id := a.secondPlanIsEmpty(t, d.path, d.body(sent), want, d.changeable())
	path := d.path + "/" + id
	read := stable(a.call(t, "GET", path, nil).want(t, 200).object(t))
	a.deletedOnce(t, path, fmt.Sprintf(d.gone, id))
	return read
}

// drifts has somebody change one field after the other: the answer, a read and the listing
// show that field changed and nothing else; a null gives it back its default; and writing
// what is declared makes all as it was.
func (a *api) drifts(t *testing.T, d declared) {
	t.Helper()
	path := d.path + "/" + a.call(t, "POST", d.path, d.body(nil)).want(t, 200).id(t)
	start := a.unnoted(t, "GET", path, nil)
	for _, field := range d.changeable() {
		change, _ := d.change(field)
		want := with(start, change)
		changed := a.unnoted(t, "PUT", path, change)
		for _, follows := range d.follows[field] {
			want[follows] = changed[follows]
		}
		if diff := cmp.Diff(want, changed); diff != "" {
			t.Errorf("%s changed (-want +got):\n%s", field, diff)
		}
		if diff := cmp.Diff(changed, a.unnoted(t, "GET", path, nil)); diff != "" {
			t.Errorf("%s read (-answer +read):\n%s", field, diff)
		}
		_, optional := d.optional[field]
		if optional && theDocument().Components.Schemas[d.schema+"Update"].Value.Properties[field].Value.Nullable {
			want[field] = start[field]
			if diff := cmp.Diff(want, a.unnoted(t, "PUT", path, fields{field: nil})); diff != "" {
				t.Errorf("%s cleared (-want +got):\n%s", field, diff)
			}
		}
		if diff := cmp.Diff(start, a.unnoted(t, "PUT", path, planOf(start, d.changeable()))); diff != "" {
			t.Errorf("%s as declared again (-want +got):\n%s", field, diff)
		}
	}
	a.call(t, "DELETE", path, nil).want(t, 200)
}

// unnoted is what a call answers without what every write changes.
func (a *api) unnoted(t *testing.T, method, path string, body any) fields {
	t.Helper()
	return stable(a.call(t, method, path, body).want(t, 200).object(t))
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

// TestGovernanceIsDeclared: it is there before anybody declares it, each field changes alone,
// and what was there is put back.
func TestGovernanceIsDeclared(t *testing.T) {
	t.Parallel()
	a := setup(t)
	values := fields{"require_pricing_for_mappings": true, "default_model_access": "deny", "require_routing_policy": true}
	held := properties("GovernanceConfigUpdate")
	start := a.unnoted(t, "GET", governPath, nil)
	for _, field := range held {
		value, ok := values[field]
		if !ok {
			t.Fatalf("an update takes %s, and nothing here changes it", field)
		}
		change := with(fields{"require_pricing_for_mappings": start["require_pricing_for_mappings"]}, fields{field: value})
		want := with(start, change)
		for what, got := range map[string]fields{"answer": a.unnoted(t, "PUT", governPath, change), "read": a.unnoted(t, "GET", governPath, nil),
			"second plan": a.unnoted(t, "PUT", governPath, planOf(want, held))} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", field, what, diff)
			}
		}
		if field == "require_pricing_for_mappings" { // null is left out, which this cannot be
			a.call(t, "PUT", governPath, fields{field: nil}).want(t, 422)
		} else if diff := cmp.Diff(want, a.unnoted(t, "PUT", governPath, fields{"require_pricing_for_mappings": false, field: nil})); diff != "" {
			t.Errorf("%s null (-want +got):\n%s", field, diff)
		}
		if diff := cmp.Diff(start, a.unnoted(t, "PUT", governPath, planOf(start, held))); diff != "" {
			t.Errorf("%s as declared again (-want +got):\n%s", field, diff)
		}
	}
}

// TestPriceIsDeclared: a rule is found in the listing by what it is for; writing what it is
// makes no version, each field alone comes back as it was sent, null is left out, and a
// version that is scheduled changes field by field.
func TestPriceIsDeclared(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P", "m")
	optional := fields{"model_provider": "openai", "provider_id": provider, "catalog_slug": "groq", "cache_read_cost_per_million_tokens": 0.5,
		"cache_write_cost_per_million_tokens": 0.25, "sync_mode": "tracking", "effective_from": farFuture,
		"long_context": fields{"threshold_prompt_tokens": 1000.0, "input_cost_per_million_tokens": 3.0, "output_cost_per_million_tokens": 4.0,
			"cache_read_cost_per_million_tokens": nil, "cache_write_cost_per_million_tokens": nil}}
	nulls := fields{}
	for _, field := range properties("ModelPricingCreate") {
		if _, ok := with(price("", 1), optional)[field]; !ok {
			t.Errorf("a creation takes %s, and nothing here does", field)
		}
	}
	for field := range optional {
		nulls[field] = nil
	}
	without := func(v fields) fields {
		return with(v, fields{"id": nil, "model_pattern": nil, "effective_from": nil, "created_at": nil})
	}
	plain := without(a.pricedOnce(t, price(uuid.NewString(), 1)))
	if diff := cmp.Diff(plain, without(a.pricedOnce(t, and(price(uuid.NewString(), 1), nulls)))); diff != "" {
		t.Errorf("nulls (-left out +null):\n%s", diff)
	}
	for field, value := range optional {
		got := a.pricedOnce(t, with(price(uuid.NewString(), 1), fields{field: value}))
		if diff := cmp.Diff(value, got[field]); diff != "" {
			t.Errorf("%s (-sent +got):\n%s", field, diff)
		}
	}
	scheduled := a.price(t, with(price(uuid.NewString(), 1), fields{"effective_from": farFuture}))
	path := pricesPath + "/" + scheduled.id(t)
	start := scheduled.object(t)
	changes := with(optional, fields{"input_cost_per_million_tokens": 7.0, "output_cost_per_million_tokens": 8.0, "effective_from": "2999-02-01T00:00:00Z"})
	held := properties("ModelPricingUpdate")
	for _, field := range held {
		want := with(start, fields{field: changes[field]})
		if diff := cmp.Diff(want, fields(a.call(t, "PUT", path, fields{field: changes[field]}).want(t, 200).object(t))); diff != "" {
			t.Errorf("%s changed (-want +got):\n%s", field, diff)
		}
		back := a.call(t, "PUT", path, planOf(start, held)).want(t, 200).object(t)
		if diff := cmp.Diff(start, back); diff != "" {
			t.Errorf("%s as declared again (-want +got):\n%s", field, diff)
		}
	}
	a.call(t, "DELETE", path, nil).want(t, 200)
	for method, body := range map[string]any{"DELETE": nil, "PUT": fields{"sync_mode": "auto"}} {
		a.call(t, method, path, body).wantError(t, 404, "not_found_error", "pricing version "+scheduled.id(t)+" not found in this org")
	}
}

// pricedOnce makes a version, finds it in the listing and in its history, declares it again,
// and ends it. It returns the version as it was.
func (a *api) pricedOnce(t *testing.T, body fields) fields {
	t.Helper()
	made := a.price(t, body)
	version := a.call(t, "GET", pricesPath+"/version/"+made.id(t), nil).want(t, 200)
	if diff := cmp.Diff(made.object(t), version.object(t)); diff != "" {
		t.Errorf("the read is not the answer:\n%s", diff)
	}
	if body["effective_from"] == nil {
		if diff := cmp.Diff(fields(made.object(t)), uncounted(a.listed(t, pricesPath, made.id(t)))); diff != "" {
			t.Errorf("the listing is not the answer:\n%s", diff)
		}
		again := a.price(t, body)
		if diff := cmp.Diff(made.object(t), again.object(t)); diff != "" {
			t.Errorf("declared again:\n%s", diff)
		}
	}
	a.call(t, "DELETE", pricesPath+"/"+made.id(t), nil).want(t, 200)
	for _, rule := range a.call(t, "GET", pricesPath, nil).want(t, 200).list(t) {
		if rule["id"] == made.id(t) {
			t.Errorf("what was deleted is listed: %v", rule)
		}
	}
	return made.object(t)
}

// TestKeyIsDeclared: what a key was made with is in the listing, and stays when it is
// disabled, enabled and revoked.
func TestKeyIsDeclared(t *testing.T) {
	t.Parallel()
	a := setup(t)
	optional := fields{"user_id": uuid.NewString(), "user_email": "u@acme.example", "group_name": "eng", "scopes": []any{"b", "a"}, "expires_at": farFuture}
	sent := []fields{{}}
	nulls := fields{}
	for _, field := range properties("ApiKeyCreate") {
		value, ok := optional[field]
		if !ok && field != "name" {
			t.Errorf("a creation takes %s, and nothing here does", field)
		}
		if ok {
			sent, nulls[field] = append(sent, fields{field: value}), nil
		}
	}
	var plain fields
	for _, body := range append(sent, nulls) {
		id := a.call(t, "POST", keysPath, with(body, fields{"name": "k"})).want(t, 200).id(t)
		path := keysPath + "/" + id
		start := a.unnoted(t, "GET", path, nil)
		if diff := cmp.Diff(start, stable(a.listed(t, keysPath, id))); diff != "" {
			t.Errorf("the listing is not the read:\n%s", diff)
		}
		for field, value := range body {
			if value != nil && !cmp.Equal(value, start[field]) {
				t.Errorf("%s: sent %v, got %v", field, value, start[field])
			}
		}
		shown := with(start, fields{"id": nil, "key_prefix": nil, "created_at": nil})
		if plain == nil {
			plain = shown
		} else if _, isNulls := body["scopes"]; isNulls && body["scopes"] == nil && !cmp.Equal(plain, shown) {
			t.Errorf("nulls (-left out +null):\n%s", cmp.Diff(plain, shown))
		}
		for _, disabled := range []bool{true, false} {
			got := a.unnoted(t, "PATCH", path, fields{"disabled": disabled})
			if (got["disabled_at"] != nil) != disabled || !cmp.Equal(and(start, fields{"disabled_at": got["disabled_at"]}), got) {
				t.Errorf("disabled %v: %v", disabled, got)
			}
		}
		for range 2 { // a key that is revoked stays, and revoking it again is no error
			if r := a.call(t, "DELETE", path, nil).want(t, 200); string(r.body) != `{"revoked":true}`+"\n" {
				t.Errorf("got %s", r.body)
			}
		}
		if got := a.unnoted(t, "GET", path, nil); got["revoked_at"] == nil || !cmp.Equal(and(start, fields{"revoked_at": got["revoked_at"]}), got) {
			t.Errorf("revoked: %v", got)
		}
	}
}

// TestRouteIsDeclared: each field of a target alone, and null for all of them; the listing
// and a read show what was answered, and what is deleted is gone.
func TestRouteIsDeclared(t *testing.T) {
	t.Parallel()
	a := setup(t)
	optional := a.declarations(t)["mapping"].optional // and the routes that it makes
	provider := a.call(t, "GET", providersPath, nil).want(t, 200).list(t)[0]["id"].(string)
	sent := []fields{{}}
	nulls := fields{}
	for _, field := range properties("RouteTarget") {
		value, ok := optional[field]
		if !ok && onProvider("", "")[field] == nil {
			t.Errorf("a target takes %s, and nothing here does", field)
		}
		if ok {
			sent, nulls[field] = append(sent, fields{field: value}), nil
		}
	}
	var plain fields
	for i, target := range append(sent, nulls) {
		alias := "declared-" + uuid.NewString()
		made := a.call(t, "POST", routesPath, with(routeTo(alias, and(onProvider(provider, "m"), target)), fields{"enable_models": i%2 == 0})).want(t, 200)
		path := routesPath + "/" + alias
		if read := a.call(t, "GET", path, nil).want(t, 200); string(read.body) != string(made.body) || read.header.Get("ETag") != made.header.Get("ETag") {
			t.Errorf("the read is not the answer:\n%s\n%s", made.body, read.body)
		}
		list := a.call(t, "GET", routesPath, nil).want(t, 200).list(t)
		at := slices.IndexFunc(list, func(r map[string]any) bool { return r["model_alias"] == alias })
		if at < 0 || !cmp.Equal(list[at], made.object(t)) {
			t.Errorf("the listing is not the answer: %v", list)
		}
		row := made.field(t, "targets").([]any)[0].(map[string]any)
		for field, value := range target {
			if value != nil && !cmp.Equal(value, row[field]) {
				t.Errorf("%s: sent %v, got %v", field, value, row[field])
			}
		}
		shown := with(stable(row), fields{"id": nil, "model_alias": nil, "created_at": nil})
		if plain == nil {
			plain = shown
		}
		if len(target) == len(nulls) && !cmp.Equal(plain, shown) {
			t.Errorf("nulls (-left out +null):\n%s", cmp.Diff(plain, shown))
		}
		a.call(t, "POST", routesPath, routeTo(alias, onProvider(provider, "m"))).want(t, 409)
		a.call(t, "DELETE", path, nil).want(t, 200)
		for _, method := range []string{"DELETE", "GET"} {
			a.call(t, method, path, nil).want(t, 404)
		}
	}
}
