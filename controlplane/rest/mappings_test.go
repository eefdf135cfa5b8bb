package rest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestMappingDefaults(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "OpenAI", "in-house-5")
	cases := []struct {
		alias, model string
		want         fields
	}{
		{"smart", "in-house-5", fields{"bare_alias": true, "source": "custom"}},
		{"in-house-5-mini", "in-house-5-mini", fields{"bare_alias": false, "source": "catalog"}},
	}
	for _, c := range cases {
		created := a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": c.alias, "upstream_model": c.model}).want(t, 200)
		got := created.object(t)
		for _, generated := range []string{"id", "created_at", "updated_at"} {
			if got[generated] == nil {
				t.Errorf("%s is missing", generated)
			}
			delete(got, generated)
		}
		want := with(fields{
			"org_id": a.org.String(), "provider_id": provider, "provider_name": "OpenAI", "provider_auth_type": "bearer_api_key",
			"model_alias": c.alias, "upstream_model": c.model, "enabled": true, "priority": 0.0,
			"retry_on_429_count": 0.0, "retry_on_429_max_wait_secs": 0.0, "request_timeout_secs": 120.0, "stream_idle_timeout_secs": 180.0,
			"embeddings_failover": "same_model",
		}, c.want)
		want = with(want, defaultCooldown)
		want["effective_behavior"] = "On a rate limit, fails over at once."
		want["effective_pricing"] = pricing("none")
		for _, null := range []string{"serving_status", "budget_status", "stale_status", "created_by_user_id", "created_by_email", "last_modified_by_user_id",
			"last_modified_by_email", "last_modified_by_name", "last_modified_at", "last_change_note", "change_note"} {
			want[null] = nil
		}
		want["created_by_name"] = "Acme automation"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("created (-want +got):\n%s", diff)
		}
		read := a.call(t, "GET", mappingsPath+"/"+created.id(t), nil).want(t, 200)
		if diff := cmp.Diff(string(created.body), string(read.body)); diff != "" {
			t.Errorf("read after create:\n%s", diff)
		}
		same := a.call(t, "PUT", mappingsPath+"/"+created.id(t), fields{}).want(t, 200).object(t)
		for name, value := range want {
			if strings.HasPrefix(name, "last_modified") {
				continue
			}
			if diff := cmp.Diff(value, same[name]); diff != "" {
				t.Errorf("an empty update changed %s:\n%s", name, diff)
			}
		}
	}
}

func TestMappingRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	valid := fields{"provider_id": a.provider(t, "P", "m"), "model_alias": "smart", "upstream_model": "m"}
	existing := a.call(t, "POST", mappingsPath, with(valid, fields{"model_alias": "existing"})).want(t, 200).id(t)
	ranges := []struct {
		change  fields
		message string
	}{
		{fields{"retry_on_429_count": -1}, "retry_on_429_count must be between 0 and 10"},
		{fields{"retry_on_429_count": 11}, "retry_on_429_count must be between 0 and 10"},
		{fields{"retry_on_429_max_wait_secs": 181}, "retry_on_429_max_wait_secs must be between 0 and 180"},
		{fields{"stream_idle_timeout_secs": 0}, "stream_idle_timeout_secs must be between 1 and 300"},
		{fields{"stream_idle_timeout_secs": 301}, "stream_idle_timeout_secs must be between 1 and 300"},
		{fields{"request_timeout_secs": 0}, "request_timeout_secs must be between 1 and 600"},
		{fields{"request_timeout_secs": 99999999999}, "request_timeout_secs must be between 1 and 600"},
		{fields{"model_alias": ""}, "model_alias must not be blank"},
		{fields{"upstream_model": "  "}, "upstream_model must not be blank"},
		{fields{"source": "elsewhere"}, "source must be 'catalog' or 'custom'"},
		{fields{"embeddings_failover": ""}, "embeddings_failover must be 'same_model' or 'any_model'"},
		{fields{"cooldown_secs": 5}, "unknown field `cooldown_secs`"},
		{fields{"cooldown_failure_threshold": 10001}, "cooldown_failure_threshold must be between 0 and 10000"},
		{fields{"cooldown_window_secs": 0}, "cooldown_window_secs must be between 1 and 3600"},
		{fields{"cooldown_first_secs": 0}, "cooldown_first_secs must be between 1 and 3600"},
		{fields{"cooldown_max_secs": 99999999999}, "cooldown_max_secs must be between 1 and 3600"},
		{fields{"cooldown_rate_limited_secs": 0}, "cooldown_rate_limited_secs must be between 1 and 3600"},
		{fields{"cooldown_overloaded_secs": -1}, "cooldown_overloaded_secs must be between 0 and 3600"},
		{fields{"cooldown_max_secs": 20}, "cooldown_first_secs (30) must not be greater than cooldown_max_secs (20)"},
	}
	for _, c := range ranges {
		a.call(t, "POST", mappingsPath, with(valid, c.change)).wantError(t, 400, "invalid_request_error", c.message)
		a.call(t, "PUT", mappingsPath+"/"+existing, c.change).wantError(t, 400, "invalid_request_error", c.message)
	}
	types := []struct {
		change  fields
		message string
	}{
		{fields{"provider_id": "nonsense"}, "provider_id: UUID parsing failed"},
		{fields{"provider_id": nil}, "missing field `provider_id`"},
		{fields{"model_alias": nil}, "missing field `model_alias`"},
		{fields{"priority": "1"}, "priority: invalid type: string, expected an integer"},
		{fields{"priority": 1.5}, "priority: invalid type: number 1.5, expected an integer"},
		{fields{"priority": 3000000000}, "priority: invalid value: 3000000000 does not fit an integer of 32 bits"},
		{fields{"enabled": 1}, "enabled: invalid type: number, expected a boolean"},
	}
	for _, c := range types {
		a.call(t, "POST", mappingsPath, with(valid, c.change)).wantError(t, 422, "invalid_request_error", c.message)
	}
	stranger := uuid.NewString()
	a.call(t, "POST", mappingsPath, with(valid, fields{"provider_id": stranger})).wantError(t, 404, "not_found_error", "provider "+stranger+" not found")
	a.call(t, "PUT", mappingsPath+"/"+existing, fields{"provider_id": stranger}).wantError(t, 400, "invalid_request_error", "unknown field `provider_id`")
	a.call(t, "POST", mappingsPath, with(valid, fields{"model_alias": "existing"})).
		wantError(t, 409, "conflict_error", "A mapping of this alias to this model on this provider already exists.")
	for method, body := range map[string]any{"GET": nil, "PUT": fields{}, "DELETE": nil} {
		a.call(t, method, mappingsPath+"/"+stranger, body).wantError(t, 404, "not_found_error", "model mapping {id: "+stranger+"} not found")
	}
}

func notEnabled(model string) string {
	return "Cannot route to '" + model + "' on this provider: the model is not enabled. Enable it under LLM Configuration → Models first, then create the route."
}

func TestMappingNeedsItsEnablement(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P", "on", "off")
	a.provider(t, "Q", "elsewhere")
	enablement := map[string]string{}
	for _, m := range a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t) {
		enablement[m["upstream_model"].(string)] = m["id"].(string)
	}
	a.call(t, "PUT", mappingsPath+"/"+enablement["off"], fields{"enabled": false}).want(t, 200)
	route := func(model string) fields {
		return fields{"provider_id": provider, "model_alias": "smart", "upstream_model": model}
	}
	for _, model := range []string{"off", "never", "elsewhere"} {
		a.call(t, "POST", mappingsPath, route(model)).wantError(t, 400, "invalid_request_error", notEnabled(model))
	}
	smart := a.call(t, "POST", mappingsPath, route("on")).want(t, 200).id(t)
	a.call(t, "PUT", mappingsPath+"/"+smart, fields{"upstream_model": "off"}).wantError(t, 400, "invalid_request_error", notEnabled("off"))
	a.call(t, "PUT", mappingsPath+"/"+enablement["on"], fields{"model_alias": "renamed"}).wantError(t, 400, "invalid_request_error", notEnabled("on"))
	a.call(t, "PUT", mappingsPath+"/"+smart, fields{"model_alias": "on"}).
		wantError(t, 409, "conflict_error", "A mapping of this alias to this model on this provider already exists.")

	status := func() any {
		return a.call(t, "GET", mappingsPath+"/"+smart, nil).want(t, 200).field(t, "serving_status")
	}
	if got := status(); got != nil {
		t.Errorf("got serving_status %v, want null", got)
	}
	a.call(t, "DELETE", mappingsPath+"/"+enablement["on"], nil).want(t, 200)
	if got := status(); got != "provider_model_disabled" {
		t.Errorf("without its enablement: got serving_status %v", got)
	}
	a.call(t, "PUT", mappingsPath+"/"+smart, fields{"priority": 4, "model_alias": "renamed"}).want(t, 200) // a dark target may be edited
	a.call(t, "PUT", providersPath+"/"+provider, fields{"enabled": false}).want(t, 200)
	if got := status(); got != "provider_disabled" {
		t.Errorf("provider disabled: got serving_status %v", got)
	}
	a.call(t, "PUT", mappingsPath+"/"+smart, fields{"enabled": false}).want(t, 200)
	if got := status(); got != "disabled" {
		t.Errorf("row disabled: got serving_status %v", got)
	}

}

func TestMappingFold(t *testing.T) {
	t.Parallel()
	a := setup(t)
	enable := fields{"provider_id": a.provider(t, "P"), "model_alias": "gpt-5", "upstream_model": "gpt-5"}
	first := a.call(t, "POST", mappingsPath, with(enable, fields{"enabled": false, "priority": 7, "retry_on_429_count": 2,
		"retry_on_429_max_wait_secs": 9, "bare_alias": true, "source": "custom", "change_note": "note", "embeddings_failover": "any_model",
		"request_timeout_secs": 33, "stream_idle_timeout_secs": 44})).want(t, 200)
	again := a.call(t, "POST", mappingsPath, enable).want(t, 200)
	if first.id(t) != again.id(t) {
		t.Fatalf("got another row %s, want %s", again.id(t), first.id(t))
	}
	want := fields{"enabled": true, "priority": 0.0, "retry_on_429_count": 0.0, "retry_on_429_max_wait_secs": 0.0, "bare_alias": false,
		"source": "catalog", "embeddings_failover": "same_model", "last_change_note": nil, "request_timeout_secs": 33.0, "stream_idle_timeout_secs": 44.0}
	for name, value := range want {
		if got := again.field(t, name); got != value {
			t.Errorf("%s: got %v, want %v", name, got, value)
		}
	}
	third := a.call(t, "POST", mappingsPath, with(enable, fields{"priority": 3, "request_timeout_secs": 5})).want(t, 200)
	if third.field(t, "priority") != 3.0 || third.field(t, "request_timeout_secs") != 5.0 || third.field(t, "stream_idle_timeout_secs") != 44.0 {
		t.Errorf("a fold takes what it is given: %s", third.body)
	}
	if got := a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t); len(got) != 1 {
		t.Errorf("got %d rows, want 1", len(got))
	}
}

// What a target says of embeddings is stored and shown alike everywhere, and stays until it is changed.
func TestMappingEmbeddingsFailover(t *testing.T) {
	t.Parallel()
	a := setup(t)
	made := a.call(t, "POST", mappingsPath, fields{"provider_id": a.provider(t, "P", "m"), "model_alias": "vectors", "upstream_model": "m",
		"embeddings_failover": "any_model"}).want(t, 200)
	path := mappingsPath + "/" + made.id(t)
	check := func(when, want string) {
		t.Helper()
		read := a.call(t, "GET", path, nil).want(t, 200)
		if got := read.field(t, "embeddings_failover"); got != want {
			t.Errorf("%s: got %v, want %s", when, got, want)
		}
		for _, listed := range a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t) {
			if listed["id"] == made.id(t) {
				if diff := cmp.Diff(read.object(t), listed); diff != "" {
					t.Errorf("%s: the listing is not the read:\n%s", when, diff)
				}
			}
		}
	}
	if diff := cmp.Diff(string(made.body), string(a.call(t, "GET", path, nil).want(t, 200).body)); diff != "" {
		t.Errorf("the read is not the answer:\n%s", diff)
	}
	check("created", "any_model")
	a.call(t, "PUT", path, fields{"priority": 4}).want(t, 200)
	check("after another field's change", "any_model")
	a.call(t, "PUT", path, fields{"embeddings_failover": "same_model"}).want(t, 200)
	check("after a change", "same_model")
}

func TestMappingTimeouts(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P", "m")
	row := a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "x", "upstream_model": "m", "request_timeout_secs": 10}).want(t, 200)
	path := mappingsPath + "/" + row.id(t)
	check := func(when string, requestSecs, streamIdleSecs float64) {
		t.Helper()
		r := a.call(t, "GET", path, nil).want(t, 200)
		if got := r.field(t, "request_timeout_secs"); got != requestSecs {
			t.Errorf("%s: got request_timeout_secs %v, want %v", when, got, requestSecs)
		}
		if got := r.field(t, "stream_idle_timeout_secs"); got != streamIdleSecs {
			t.Errorf("%s: got stream_idle_timeout_secs %v, want %v", when, got, streamIdleSecs)
		}
	}
	check("own and default", 10, 180)
	a.call(t, "PUT", providersPath+"/"+provider, fields{"request_timeout_secs": 20, "stream_idle_timeout_secs": 21}).want(t, 200)
	check("own and the provider's", 10, 21)
	a.call(t, "PUT", path, `{"request_timeout_secs":null}`).want(t, 200)
	check("cleared", 20, 21)
	a.call(t, "PUT", path, `{"priority":1}`).want(t, 200)
	check("absent stays cleared", 20, 21)
	a.call(t, "PUT", providersPath+"/"+provider, `{"request_timeout_secs":null,"stream_idle_timeout_secs":null}`).want(t, 200)
	check("nobody's", 120, 180)

	s, err := a.db.Store.Snapshot(t.Context(), a.org)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Mappings {
		if m.RequestTimeoutSecs != nil {
			t.Errorf("an unset timeout is stored as %d: it would hide a later one of the provider", *m.RequestTimeoutSecs)
		}
	}
}

func pricing(source string) fields {
	return fields{"source": source, "pricing_rule_id": nil, "input_cost_per_million_tokens": nil, "output_cost_per_million_tokens": nil,
		"cache_read_cost_per_million_tokens": nil, "cache_write_cost_per_million_tokens": nil}
}

func TestMappingPricing(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.provider(t, "Metered", "m")
	path := providersPath + "/" + a.provider(t, "Local", "l")
	check := func(source string) {
		t.Helper()
		want := map[any]any{"m": pricing("none"), "l": pricing(source)}
		for _, listing := range []string{mappingsPath, path + "/model-mappings"} {
			for _, m := range a.call(t, "GET", listing, nil).want(t, 200).list(t) {
				if diff := cmp.Diff(want[m["upstream_model"]], m["effective_pricing"]); diff != "" {
					t.Errorf("%s: pricing of %s (-want +got):\n%s", listing, m["upstream_model"], diff)
				}
				if _, ok := m["route_health_status"]; ok {
					t.Errorf("%s shows a route health that is not known here: %v", listing, m)
				}
			}
		}
	}
	check("none")
	a.call(t, "PUT", path, fields{"billing_mode": "not_metered", "billing_reason": "local"}).want(t, 200)
	check("not_metered")
	a.call(t, "PUT", path, fields{"billing_mode": "per_token"}).want(t, 200)
	check("none")
}

func TestMappingReorder(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.provider(t, "P", "a", "b", "c")
	var ids []string
	for _, m := range a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t) {
		ids = append(ids, m["id"].(string))
	}
	reorder := func(entries ...fields) answer {
		return a.call(t, "PUT", mappingsPath+"/reorder", fields{"entries": entries})
	}
	priorities := func() (got []float64) {
		for _, m := range a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t) {
			got = append(got, m["priority"].(float64))
		}
		return got
	}
	r := reorder(fields{"id": ids[0], "priority": 2}, fields{"id": ids[2], "priority": -1}).want(t, 200)
	if diff := cmp.Diff(fields{"ok": true}, r.object(t)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{2, 0, -1}, priorities()); diff != "" {
		t.Errorf("priorities (-want +got):\n%s", diff)
	}
	stranger := uuid.NewString()
	reorder(fields{"id": ids[0], "priority": 9}, fields{"id": stranger, "priority": 9}).
		wantError(t, 404, "not_found_error", "model mapping {id: "+stranger+"} not found")
	reorder(fields{"id": ids[0], "priority": 9}, fields{"id": ids[0], "priority": 8}).
		wantError(t, 400, "invalid_request_error", "model mapping "+ids[0]+" is named twice")
	reorder(fields{"id": ids[0], "priority": 9}, fields{"id": "x", "priority": 8}).
		wantError(t, 422, "invalid_request_error", "entries[1].id: UUID parsing failed")
	reorder(fields{"id": ids[0], "priority": 9}, fields{"id": ids[1]}).
		wantError(t, 422, "invalid_request_error", "entries[1]: missing field `priority`")
	reorder(fields{"id": ids[0], "priority": 9, "alias": "x"}).
		wantError(t, 400, "invalid_request_error", "entries[0]: unknown field `alias`")
	if diff := cmp.Diff([]float64{2, 0, -1}, priorities()); diff != "" {
		t.Errorf("a refused reorder changed something (-want +got):\n%s", diff)
	}
}

func TestMappingDelete(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.provider(t, "P", "m")
	id := a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0]["id"].(string)
	r := a.call(t, "DELETE", mappingsPath+"/"+id, nil).want(t, 200)
	if diff := cmp.Diff(fields{"deleted": true}, r.object(t)); diff != "" {
		t.Error(diff)
	}
	a.call(t, "DELETE", mappingsPath+"/"+id, nil).wantError(t, 404, "not_found_error", "model mapping {id: "+id+"} not found")
}
