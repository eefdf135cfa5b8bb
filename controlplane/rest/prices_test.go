package rest_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

const (
	pricesPath = adminPath + "model-pricing"
	farFuture  = "2999-01-01T00:00:00Z"
)

func price(pattern string, input float64) fields {
	return fields{"model_pattern": pattern, "input_cost_per_million_tokens": input, "output_cost_per_million_tokens": 10.0}
}

func (a *api) price(t *testing.T, body fields) answer {
	t.Helper()
	return a.call(t, "POST", pricesPath, body).want(t, 200)
}

// history is the versions of a rule without a provider.
func (a *api) history(t *testing.T, pattern string) []map[string]any {
	t.Helper()
	return a.call(t, "GET", pricesPath+"/history?model_pattern="+url.QueryEscape(pattern), nil).want(t, 200).list(t)
}

// sources are where versions come from.
func sources(versions []map[string]any) (list []string) {
	for _, v := range versions {
		list = append(list, v["change_source"].(string))
	}
	return list
}

// uncounted is a listed rule without what only listings show.
func uncounted(rule map[string]any) fields {
	out := fields{}
	for name, value := range rule {
		if name != "version_count" && name != "scheduled_count" && name != "next_scheduled_effective_from" {
			out[name] = value
		}
	}
	return out
}

func TestPriceDefaults(t *testing.T) {
	t.Parallel()
	a := setup(t)
	created := a.price(t, price("gpt-x", 2.5))
	got := created.object(t)
	for _, generated := range []string{"id", "effective_from", "created_at"} {
		if got[generated] == nil {
			t.Errorf("%s is missing", generated)
		}
		delete(got, generated)
	}
	want := fields{"org_id": a.org.String(), "model_pattern": "gpt-x", "input_cost_per_million_tokens": 2.5, "output_cost_per_million_tokens": 10.0,
		"sync_mode": "pinned", "is_archived": false, "change_source": "admin_create", "created_by_name": "Acme automation"}
	for _, null := range []string{"model_provider", "provider_id", "provider_name", "catalog_slug", "cache_read_cost_per_million_tokens",
		"cache_write_cost_per_million_tokens", "long_context", "change_reason", "created_by_user_id", "created_by_email"} {
		want[null] = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	read := a.call(t, "GET", pricesPath+"/version/"+created.id(t), nil).want(t, 200)
	if diff := cmp.Diff(string(created.body), string(read.body)); diff != "" {
		t.Errorf("read after create:\n%s", diff)
	}
	if diff := cmp.Diff(created.object(t), uncounted(a.listed(t, pricesPath, created.id(t)))); diff != "" {
		t.Errorf("the listing is not what was created:\n%s", diff)
	}
	explicit := price("gpt-y", 2.5)
	for name, value := range want {
		if _, sent := explicit[name]; !sent && value == nil && !strings.HasPrefix(name, "created_") && name != "provider_name" {
			explicit[name] = nil
		}
	}
	a.price(t, explicit)
}

// Money comes back as it was agreed, whatever a float would make of it.
func TestPriceIsExact(t *testing.T) {
	t.Parallel()
	a := setup(t)
	for sent, want := range map[string]string{"0.1": "0.1", "0.10": "0.1", "1e-6": "0.000001", "12345678.123456789012": "12345678.123456789012",
		"0": "0", "-0.0": "0", "3.000": "3", "0.30000000000000004": "", "9007199254740993": "", "100000000": "", "-0.1": ""} {
		body := `{"model_pattern":"m` + uuid.NewString() + `","input_cost_per_million_tokens":` + sent + `,"output_cost_per_million_tokens":1,` +
			`"cache_read_cost_per_million_tokens":` + sent + `,"long_context":{"threshold_prompt_tokens":1,"input_cost_per_million_tokens":1,"output_cost_per_million_tokens":` + sent + `}}`
		r := a.call(t, "POST", pricesPath, body)
		if want == "" {
			r.want(t, 400)
			continue
		}
		id := r.want(t, 200).id(t)
		again := a.call(t, "GET", pricesPath+"/version/"+id, nil).want(t, 200)
		for _, answer := range []string{string(r.body), string(again.body)} {
			if got := strings.Count(answer, `_tokens":`+want+`,`) + strings.Count(answer, `_tokens":`+want+`}`); got != 3 {
				t.Errorf("%s: %d of 3 costs are %s in %s", sent, got, want, answer)
			}
		}
	}
}

// TestPriceLifecycle is what an automation does to a price: it reads the history, adds,
// schedules, edits what is scheduled, archives, and makes it again.
func TestPriceLifecycle(t *testing.T) {
	t.Parallel()
	a := setup(t)
	if got := a.history(t, "gpt-x*"); len(got) != 0 {
		t.Fatalf("an unknown rule has %v", got)
	}
	first := a.price(t, price("gpt-x*", 1))
	if again := a.price(t, with(price("gpt-x*", 1), fields{"change_reason": "again"})); again.id(t) != first.id(t) {
		t.Error("the same price made another version")
	}
	if past := a.price(t, with(price("gpt-x*", 1), fields{"effective_from": "2020-01-01T00:00:00Z"})); past.id(t) != first.id(t) {
		t.Error("the same price in the past made another version")
	}
	second := a.price(t, with(price("gpt-x*", 2), fields{"change_reason": "dearer"}))
	planned := a.price(t, with(price("gpt-x*", 3), fields{"effective_from": "2999-01-01T02:00:00.123456+02:00"}))
	if got := planned.field(t, "effective_from"); got != "2999-01-01T00:00:00.123456Z" {
		t.Errorf("the instant came back as %v", got)
	}
	a.call(t, "POST", pricesPath, with(price("gpt-x*", 4), fields{"effective_from": "2999-01-01T00:00:00.123456Z"})).
		wantError(t, 409, "conflict_error", "A version of this price already takes effect at this instant.")
	if diff := cmp.Diff([]string{"admin_schedule", "admin_edit", "admin_create"}, sources(a.history(t, "gpt-x*"))); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	rule := a.listed(t, pricesPath, second.id(t))
	wantFields(t, rule, fields{"version_count": 3.0, "scheduled_count": 1.0, "next_scheduled_effective_from": "2999-01-01T00:00:00.123456Z"})

	const immutable = "Past pricing versions are immutable. Create a new version (POST /admin/model-pricing) to change the current price."
	for _, past := range []answer{first, second} {
		a.call(t, "PUT", pricesPath+"/"+past.id(t), fields{"input_cost_per_million_tokens": 9}).wantError(t, 400, "invalid_request_error", immutable)
	}
	removed := a.call(t, "DELETE", pricesPath+"/"+first.id(t), nil).want(t, 200)
	if diff := cmp.Diff(fields{"deleted": true, "mode": "archived_rule", "cancelled_scheduled": 1.0, "archived": true}, removed.object(t)); diff != "" {
		t.Errorf("archiving (-want +got):\n%s", diff)
	}
	versions := a.history(t, "gpt-x*")
	if diff := cmp.Diff([]string{"admin_archive", "admin_edit", "admin_create"}, sources(versions)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if end := versions[0]; end["is_archived"] != true || end["change_reason"] != "Archived by admin" || end["input_cost_per_million_tokens"] != 2.0 {
		t.Errorf("the price ends with %v", end)
	}
	twice := a.call(t, "DELETE", pricesPath+"/"+second.id(t), nil).want(t, 200)
	if diff := cmp.Diff(fields{"deleted": true, "mode": "archived_rule", "cancelled_scheduled": 0.0, "archived": false}, twice.object(t)); diff != "" {
		t.Errorf("archiving twice (-want +got):\n%s", diff)
	}
	if got := a.call(t, "GET", pricesPath, nil).want(t, 200).list(t); len(got) != 0 {
		t.Errorf("an archived rule is listed: %v", got)
	}
	if got := a.call(t, "GET", pricesPath+"/archived", nil).want(t, 200).list(t); len(got) != 1 || got[0]["version_count"] != 3.0 {
		t.Errorf("archived: %v", got)
	}
	if again := a.price(t, price("gpt-x*", 2)); again.field(t, "change_source") != "admin_edit" {
		t.Errorf("over a tombstone: %s", again.body)
	}
}

func TestScheduledPrice(t *testing.T) {
	t.Parallel()
	a := setup(t)
	planned := a.price(t, with(price("m", 1), fields{"effective_from": farFuture, "cache_read_cost_per_million_tokens": 0.5,
		"long_context": fields{"threshold_prompt_tokens": 200000, "input_cost_per_million_tokens": 2, "output_cost_per_million_tokens": 20}}))
	path := pricesPath + "/" + planned.id(t)
	if rule := a.listed(t, pricesPath, planned.id(t)); rule["scheduled_count"] != 1.0 || rule["version_count"] != 1.0 {
		t.Errorf("a rule that is only scheduled: %v", rule)
	}
	edit := func(change, want fields) {
		t.Helper()
		r := a.call(t, "PUT", path, change).want(t, 200)
		wantFields(t, r.object(t), want)
		if read := a.call(t, "GET", pricesPath+"/version/"+planned.id(t), nil).want(t, 200); string(read.body) != string(r.body) {
			t.Errorf("read after update:\n%s\n%s", r.body, read.body)
		}
	}
	long := fields{"threshold_prompt_tokens": 200000.0, "input_cost_per_million_tokens": 2.0, "output_cost_per_million_tokens": 20.0,
		"cache_read_cost_per_million_tokens": nil, "cache_write_cost_per_million_tokens": nil}
	edit(fields{}, fields{"input_cost_per_million_tokens": 1.0, "cache_read_cost_per_million_tokens": 0.5, "long_context": long, "effective_from": farFuture})
	edit(fields{"input_cost_per_million_tokens": 5}, fields{"input_cost_per_million_tokens": 5.0, "output_cost_per_million_tokens": 10.0})
	edit(fields{"cache_read_cost_per_million_tokens": nil, "cache_write_cost_per_million_tokens": 1}, fields{"cache_read_cost_per_million_tokens": nil, "cache_write_cost_per_million_tokens": 1.0})
	edit(fields{"long_context": nil}, fields{"long_context": nil})
	edit(fields{"sync_mode": "auto", "change_reason": "why"}, fields{"sync_mode": "auto", "change_reason": "why", "change_source": "admin_schedule"})
	edit(fields{"effective_from": "2998-01-01T00:00:00Z"}, fields{"effective_from": "2998-01-01T00:00:00Z"})
	a.call(t, "PUT", path, fields{"effective_from": "2020-01-01T00:00:00Z"}).wantError(t, 400, "invalid_request_error",
		"effective_from of a scheduled version must stay in the future: create a version to change the price now")
	other := a.price(t, with(price("m", 1), fields{"effective_from": farFuture}))
	a.call(t, "PUT", path, fields{"effective_from": farFuture}).wantError(t, 409, "conflict_error", "A version of this price already takes effect at this instant.")

	seen := a.call(t, "GET", pricesPath+"/version/"+planned.id(t), nil).header.Get("ETag")
	a.with(t, "If-Match", seen, "PUT", path, `{"sync_mode":"pinned"}`).want(t, 200)
	a.with(t, "If-Match", seen, "PUT", path, `{"sync_mode":"pinned"}`).want(t, 412)
	a.with(t, "If-Match", seen, "DELETE", path, "").want(t, 412)
	for _, p := range []string{path, pricesPath + "/" + other.id(t)} {
		cancelled := a.call(t, "DELETE", p, nil).want(t, 200)
		if diff := cmp.Diff(fields{"deleted": true, "mode": "cancelled_scheduled", "cancelled_scheduled": 0.0, "archived": false}, cancelled.object(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	a.call(t, "DELETE", path, nil).wantError(t, 404, "not_found_error", "pricing version "+planned.id(t)+" not found in this org")
	if got := a.history(t, "m"); len(got) != 0 {
		t.Errorf("a rule that was only scheduled left %v", got)
	}
}

func TestRestorePrice(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first := a.price(t, with(price("m", 1), fields{"model_provider": "openai", "sync_mode": "tracking"}))
	restore := pricesPath + "/" + first.id(t) + "/restore"
	a.call(t, "POST", restore, nil).wantError(t, 409, "conflict_error", "The pricing rule is not archived.")
	a.call(t, "DELETE", pricesPath+"/"+first.id(t), nil).want(t, 200)
	back := a.call(t, "POST", restore, nil).want(t, 200)
	wantFields(t, back.object(t), fields{"change_source": "admin_restore", "change_reason": nil, "is_archived": false, "input_cost_per_million_tokens": 1.0,
		"sync_mode": "tracking", "model_provider": "openai"})
	a.listed(t, pricesPath, back.id(t))
	if got := a.call(t, "GET", pricesPath+"/archived", nil).want(t, 200).list(t); len(got) != 0 {
		t.Errorf("still archived: %v", got)
	}
}

func TestPriceRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	valid := price("m", 1)
	long := func(change fields) fields {
		return fields{"long_context": with(fields{"threshold_prompt_tokens": 1, "input_cost_per_million_tokens": 1, "output_cost_per_million_tokens": 1}, change)}
	}
	const unknownMode = "sync_mode: unknown variant `never`, expected one of `tracking`, `pinned`, `auto`"
	a.refused(t, "POST", pricesPath, valid, []refusal{
		{fields{"model_pattern": ""}, 400, "model_pattern must not be blank"},
		{fields{"model_pattern": "gpt-*-mini"}, 400, "'gpt-*-mini': a * is allowed only at the end"},
		{fields{"model_pattern": "**"}, 400, "'**': a * is allowed only at the end"},
		{fields{"model_pattern": strings.Repeat("x", 256)}, 400, "model_pattern must be at most 255 characters"},
		{fields{"model_provider": " "}, 400, "model_provider must not be blank"},
		{fields{"catalog_slug": ""}, 400, "catalog_slug must not be blank"},
		{fields{"input_cost_per_million_tokens": -1}, 400, "input_cost_per_million_tokens must not be negative"},
		{fields{"output_cost_per_million_tokens": 1e9}, 400, "output_cost_per_million_tokens must be a number with at most 8 digits before the point and 12 after it"},
		{fields{"cache_write_cost_per_million_tokens": -1}, 400, "cache_write_cost_per_million_tokens must not be negative"},
		{fields{"change_reason": strings.Repeat("é", 1001)}, 400, "change_reason must be at most 1000 characters"},
		{fields{"price": 1}, 400, "unknown field `price`"},
		{fields{"sync_mode": "never"}, 422, unknownMode},
		{fields{"input_cost_per_million_tokens": nil}, 422, "missing field `input_cost_per_million_tokens`"},
		{fields{"model_pattern": nil}, 422, "missing field `model_pattern`"},
		{fields{"input_cost_per_million_tokens": "1"}, 422, "input_cost_per_million_tokens: invalid type: string, expected a number"},
		{fields{"provider_id": "x"}, 422, "provider_id: UUID parsing failed"},
		{fields{"effective_from": "tomorrow"}, 422, "effective_from: invalid time: expected RFC 3339, such as 2027-01-31T12:00:00Z"},
		{long(fields{"threshold_prompt_tokens": 0}), 400, "threshold_prompt_tokens must be at least 1"},
		{long(fields{"threshold_prompt_tokens": nil}), 422, "long_context: missing field `threshold_prompt_tokens`"},
		{long(fields{"input_cost_per_million_tokens": -1}), 400, "long_context.input_cost_per_million_tokens must not be negative"},
		{long(fields{"output_cost_per_million_tokens": true}), 422, "long_context.output_cost_per_million_tokens: invalid type: boolean, expected a number"},
		{long(fields{"tier": 1}), 400, "long_context: unknown field `tier`"},
	})
	planned := pricesPath + "/" + a.price(t, with(valid, fields{"effective_from": farFuture})).id(t)
	a.refused(t, "PUT", planned, nil, []refusal{
		{fields{"sync_mode": "never"}, 422, unknownMode},
		{fields{"input_cost_per_million_tokens": -1}, 400, "input_cost_per_million_tokens must not be negative"},
		{fields{"model_pattern": "n"}, 400, "unknown field `model_pattern`"},
		{long(fields{"threshold_prompt_tokens": -5}), 400, "threshold_prompt_tokens must be at least 1"},
	})
	stranger := uuid.NewString()
	a.call(t, "POST", pricesPath, with(valid, fields{"provider_id": stranger})).wantError(t, 404, "not_found_error", "provider "+stranger+" not found")
	missing := "pricing version " + stranger + " not found in this org"
	for method, path := range map[string]string{"GET": "/version/" + stranger, "PUT": "/" + stranger, "DELETE": "/" + stranger, "POST": "/" + stranger + "/restore"} {
		a.call(t, method, pricesPath+path, fields{}).wantError(t, 404, "not_found_error", missing)
	}
	for _, query := range []string{"", "?model_pattern=", "?model_provider=openai"} {
		a.call(t, "GET", pricesPath+"/history"+query, nil).wantError(t, 400, "invalid_request_error", "missing field `model_pattern`")
	}
}

func TestImportAndSyncPrices(t *testing.T) {
	t.Parallel()
	a := setup(t)
	defaults := a.call(t, "GET", pricesPath+"/defaults", nil).want(t, 200).list(t)
	imported := func(body fields) any {
		t.Helper()
		return a.call(t, "POST", pricesPath+"/import-defaults", body).want(t, 200).field(t, "imported")
	}
	one := defaults[0]
	a.call(t, "POST", pricesPath+"/import-defaults", fields{"ids": []string{uuid.Nil.String()}}).
		wantError(t, 404, "not_found_error", "pricing default "+uuid.Nil.String()+" not found")
	a.call(t, "POST", pricesPath+"/import-defaults", fields{"sync_mode": "never"}).want(t, 422)
	if got := imported(fields{"ids": []string{}}); got != 0.0 {
		t.Errorf("no ids imported %v", got)
	}
	if got := imported(fields{"ids": []any{one["id"], one["id"]}, "sync_mode": "auto"}); got != 1.0 {
		t.Errorf("one id imported %v", got)
	}
	rule := a.call(t, "GET", pricesPath, nil).want(t, 200).list(t)[0]
	wantFields(t, rule, fields{"change_source": "import", "sync_mode": "auto", "catalog_slug": one["model_provider"], "model_provider": one["model_provider"],
		"model_pattern": one["model_pattern"], "input_cost_per_million_tokens": one["input_cost_per_million_tokens"]})
	if got := imported(fields{}); got != float64(len(defaults)-1) {
		t.Errorf("the rest imported %v of %d", got, len(defaults))
	}
	if got := imported(fields{}); got != 0.0 {
		t.Errorf("importing again imported %v", got)
	}

	synced := func() any {
		t.Helper()
		return a.call(t, "POST", pricesPath+"/sync-defaults", nil).want(t, 200).field(t, "synced")
	}
	if got := synced(); got != 0.0 {
		t.Errorf("nothing moved, and %v were synced", got)
	}
	mine := func(mode string) fields {
		return fields{"model_pattern": one["model_pattern"], "model_provider": one["model_provider"], "input_cost_per_million_tokens": 77.0,
			"output_cost_per_million_tokens": 77.0, "sync_mode": mode}
	}
	a.price(t, mine("pinned"))
	if got := synced(); got != 0.0 {
		t.Errorf("a pinned price was synced: %v", got)
	}
	for _, mode := range []string{"tracking", "auto"} {
		a.price(t, mine(mode))
		if got := synced(); got != 1.0 {
			t.Errorf("%s: %v were synced", mode, got)
		}
		versions := a.call(t, "GET", pricesPath+"/history?model_pattern="+url.QueryEscape(one["model_pattern"].(string))+"&model_provider="+one["model_provider"].(string), nil).want(t, 200).list(t)
		if v := versions[0]; v["change_source"] != "sync_manual" || v["sync_mode"] != mode || v["input_cost_per_million_tokens"] != one["input_cost_per_million_tokens"] {
			t.Errorf("%s: synced to %v", mode, v)
		}
	}
}

// TestEffectivePricing resolves in the documented order, takes one price away after the
// other, and sees the next one.
func TestEffectivePricing(t *testing.T) {
	t.Parallel()
	a := setup(t)
	const model = "claude-haiku-4-5"
	provider := a.call(t, "POST", providersPath, fields{"name": "A", "model_provider": "anthropic", "base_url": "https://api.anthropic.com", "api_key": "k", "models": []string{model}}).want(t, 200).id(t)
	other := a.provider(t, "O", model)
	id := a.call(t, "GET", providersPath+"/"+provider+"/model-mappings", nil).want(t, 200).list(t)[0]["id"].(string)
	a.price(t, with(price("*", 90), fields{"model_provider": "nobody"}))                                // another family's
	a.price(t, with(price(model, 91), fields{"provider_id": other, "model_provider": "anthropic-two"})) // another provider's
	a.price(t, with(price(model, 92), fields{"effective_from": farFuture}))                             // not yet
	tiers := []struct {
		body   fields
		source string
	}{
		{with(price(model, 1), fields{"provider_id": provider}), "org_instance"},
		{with(price("claude-h*", 2), fields{"provider_id": provider}), "org_instance"},
		{with(price("claude-*", 3), fields{"provider_id": provider}), "org_instance"},
		{with(price(model, 4), fields{"model_provider": "anthropic"}), "org_catalog"},
		{with(price("*", 5), fields{"catalog_slug": "anthropic"}), "org_catalog"},
		{price("claude-haiku-*", 6), "org_generic"},
		{price("*", 7), "org_generic"},
	}
	// Two of the same pattern without a family would be one rule.
	tiers[0].body["model_provider"] = "one"
	var ids []string
	for _, tier := range tiers {
		ids = append(ids, a.price(t, tier.body).id(t))
	}
	for _, row := range a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t) { // the same model, on the other provider
		if got := row["effective_pricing"].(map[string]any)["input_cost_per_million_tokens"]; row["provider_id"] == other && got != 91.0 {
			t.Errorf("of the other provider: %v", got)
		}
	}
	for i, tier := range tiers {
		want := with(pricing(tier.source), fields{"pricing_rule_id": ids[i], "input_cost_per_million_tokens": float64(i + 1), "output_cost_per_million_tokens": 10.0})
		for _, null := range []string{"cache_read_cost_per_million_tokens", "cache_write_cost_per_million_tokens"} {
			want[null] = nil
		}
		for where, row := range map[string]fields{"listing": a.listed(t, mappingsPath, id), "id": a.call(t, "GET", mappingsPath+"/"+id, nil).object(t),
			"provider": a.call(t, "GET", providersPath+"/"+provider+"/model-mappings", nil).list(t)[0], "PUT": a.call(t, "PUT", mappingsPath+"/"+id, fields{}).object(t)} {
			if diff := cmp.Diff(want, row["effective_pricing"]); diff != "" {
				t.Errorf("%d, %s (-want +got):\n%s", i, where, diff)
			}
		}
		a.call(t, "DELETE", pricesPath+"/"+ids[i], nil).want(t, 200)
	}
	shipped := a.listed(t, mappingsPath, id)["effective_pricing"].(map[string]any)
	if shipped["source"] != "barndoor_default" || shipped["input_cost_per_million_tokens"] != 1.0 || shipped["cache_write_cost_per_million_tokens"] != 1.25 || shipped["pricing_rule_id"] == nil {
		t.Errorf("shipped: %v", shipped)
	}
	a.call(t, "PUT", providersPath+"/"+provider, fields{"billing_mode": "not_metered", "billing_reason": "local"}).want(t, 200)
	if diff := cmp.Diff(pricing("not_metered"), a.listed(t, mappingsPath, id)["effective_pricing"]); diff != "" {
		t.Errorf("not metered (-want +got):\n%s", diff)
	}
}

// A price that was scheduled is in force when its time has come, with no write.
func TestScheduledPriceTakesEffect(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.provider(t, "P", "m")
	a.price(t, price("m", 1))
	planned := a.price(t, with(price("m", 2), fields{"effective_from": farFuture}))
	cost := func() any {
		row := a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0]
		return row["effective_pricing"].(map[string]any)["input_cost_per_million_tokens"]
	}
	if got := cost(); got != 1.0 {
		t.Errorf("before: %v", got)
	}
	if _, err := storetest.Connect(t, a.db.SuperuserURL).Exec(t.Context(), `UPDATE model_pricing SET effective_from = now() WHERE id = $1`, planned.id(t)); err != nil {
		t.Fatal(err)
	}
	if got := cost(); got != 2.0 {
		t.Errorf("after: %v", got)
	}
	if rule := a.listed(t, pricesPath, planned.id(t)); rule["scheduled_count"] != 0.0 {
		t.Errorf("still scheduled: %v", rule)
	}
}

// A price outlives the provider that it was for: what was billed by it stays known.
func TestPriceOfADeletedProvider(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P", "m")
	v := a.price(t, with(price("m", 1), fields{"provider_id": provider}))
	if v.field(t, "provider_name") != "P" {
		t.Errorf("provider_name is %v", v.field(t, "provider_name"))
	}
	a.call(t, "DELETE", providersPath+"/"+provider, nil).want(t, 200)
	left := a.call(t, "GET", pricesPath+"/version/"+v.id(t), nil).want(t, 200)
	if left.field(t, "provider_id") != provider || left.field(t, "provider_name") != nil {
		t.Errorf("left: %s", left.body)
	}
}

// Where the organization requires prices, what has none cannot be enabled, on whichever
// way; what was enabled before can still be changed.
func TestPriceRequired(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P", "old", "off")
	rows := map[any]string{}
	for _, m := range a.call(t, "GET", mappingsPath, nil).list(t) {
		rows[m["upstream_model"]] = mappingsPath + "/" + m["id"].(string)
	}
	a.call(t, "PUT", rows["off"], fields{"enabled": false}).want(t, 200)
	a.call(t, "PUT", adminPath+"governance-config", fields{"require_pricing_for_mappings": true}).want(t, 200)
	missing := func(model string) string {
		return "'" + model + "' has no price on this provider, and the organization requires one: add it under model pricing, or leave the row disabled"
	}
	enable := func(model string, more fields) answer {
		return a.call(t, "POST", mappingsPath, with(fields{"provider_id": provider, "model_alias": model, "upstream_model": model}, more))
	}
	enable("new", nil).wantError(t, 400, "invalid_request_error", missing("new"))
	enable("off", nil).wantError(t, 400, "invalid_request_error", missing("off")) // a fold enables it again
	enable("new", fields{"enabled": false}).want(t, 200)
	a.call(t, "PUT", rows["off"], fields{"enabled": true}).wantError(t, 400, "invalid_request_error", missing("off"))
	a.call(t, "PUT", rows["old"], fields{"priority": 3}).want(t, 200)
	enable("old", fields{"priority": 4}).want(t, 200)
	a.call(t, "PUT", rows["old"], fields{"upstream_model": "other", "model_alias": "other"}).wantError(t, 400, "invalid_request_error", missing("other"))
	a.call(t, "POST", providersPath, with(openAI("Q"), fields{"models": []string{"gpt-5", "new"}})).wantError(t, 400, "invalid_request_error", "models: "+missing("new"))
	enable("gpt-5", nil).want(t, 200) // shipped

	a.price(t, price("new", 1))
	a.price(t, with(price("off", 1), fields{"effective_from": farFuture}))
	enable("new", nil).want(t, 200)
	enable("off", nil).want(t, 400)
	a.call(t, "PUT", providersPath+"/"+provider, fields{"billing_mode": "not_metered", "billing_reason": "local"}).want(t, 200)
	enable("off", nil).want(t, 200)
}
