package rest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

const routesPath = adminPath + "routes"

// routed is what a listing says of routes: name, targets as provider/model, and groups.
func routed(t *testing.T, r answer) (out []string) {
	t.Helper()
	for _, route := range r.list(t) {
		out = append(out, routeText(route))
	}
	return out
}

func routeText(route map[string]any) string {
	text := route["model_alias"].(string) + ":"
	for _, target := range route["targets"].([]any) {
		m := target.(map[string]any)
		text += fmt.Sprintf(" %s/%s", m["provider_name"], m["upstream_model"])
	}
	for _, g := range route["model_route_groups"].([]any) {
		text += fmt.Sprintf(" [%s]", g.(map[string]any)["name"])
	}
	return text
}

// named are the names of a list of resources.
func named(list any) (out []string) {
	for _, n := range list.([]any) {
		out = append(out, n.(map[string]any)["name"].(string))
	}
	return out
}

func routeTo(alias string, targets ...fields) fields {
	return fields{"model_alias": alias, "targets": append([]fields{}, targets...)}
}

func onProvider(id, model string) fields { return fields{"provider_id": id, "upstream_model": model} }

// twoProviders enables "m" on both, and "n" on the second but not for long.
func twoProviders(t *testing.T, a *api) (first, second string) {
	t.Helper()
	return a.provider(t, "A", "m"), a.provider(t, "B", "m", "n")
}

func TestRouteCreate(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first, second := twoProviders(t, a)
	tuned := with(onProvider(second, "n"), fields{"retry_on_429_count": 2, "request_timeout_secs": 7, "cooldown_failure_threshold": 3, "enabled": false,
		"embeddings_failover": "any_model"})
	made := a.call(t, "POST", routesPath, with(routeTo("team/smart: 100%", onProvider(first, "m"), tuned), fields{"change_note": "why"})).want(t, 200)
	if got := routeText(made.object(t)); got != "team/smart: 100%: A/m B/n" {
		t.Errorf("got %s", got)
	}
	if made.field(t, "targets_available") != 1.0 {
		t.Errorf("targets available: %v of 2, one of which is off", made.field(t, "targets_available"))
	}
	target := made.field(t, "targets").([]any)[1].(map[string]any)
	stored := fields{"retry_on_429_count": 2.0, "request_timeout_secs": 7.0, "cooldown_failure_threshold": 3.0, "enabled": false, "priority": 1.0,
		"embeddings_failover": "any_model",
		"bare_alias":          true, "source": "custom", "last_change_note": "why"}
	for name, want := range stored {
		if diff := cmp.Diff(want, target[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	read := a.call(t, "GET", routesPath+"/"+url.PathEscape("team/smart: 100%"), nil).want(t, 200)
	if diff := cmp.Diff(string(made.body), string(read.body)); diff != "" {
		t.Errorf("the read is not the answer:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"team/smart: 100%: A/m B/n"}, routed(t, a.call(t, "GET", routesPath, nil).want(t, 200))); diff != "" {
		t.Errorf("the listing, in which enablements are no routes (-want +got):\n%s", diff)
	}
	stranger := uuid.NewString()
	for name, c := range map[string]struct {
		body           fields
		status         int
		kind           string
		message, param string
	}{
		"Exists":   {routeTo("team/smart: 100%", onProvider(first, "m")), 409, "conflict_error", "A route with this name already exists.", "model_alias"},
		"NoTarget": {routeTo("x"), 400, "invalid_request_error", "at least one target is required", "targets"},
		"Blank":    {routeTo(" ", onProvider(first, "m")), 400, "invalid_request_error", "model_alias must not be blank", "model_alias"},
		"Provider": {routeTo("x", onProvider(first, "m"), onProvider(stranger, "m")), 404, "not_found_error", "provider " + stranger + " not found", "targets[1].provider_id"},
		"Range": {routeTo("x", with(onProvider(first, "m"), fields{"retry_on_429_count": 11})), 400, "invalid_request_error",
			"retry_on_429_count must be between 0 and 10", "targets[0].retry_on_429_count"},
		"NotEnabled": {routeTo("x", onProvider(first, "other")), 400, "invalid_request_error",
			"Cannot route to 'other' on this provider: the model is not enabled. Enable it under LLM Configuration → Models first, then create the route.", "targets[0].upstream_model"},
		"Twice":   {routeTo("x", onProvider(first, "m"), onProvider(first, "m")), 409, "conflict_error", "A mapping of this alias to this model on this provider already exists.", "targets[1].upstream_model"},
		"BadUUID": {routeTo("x", onProvider("y", "m")), 422, "invalid_request_error", "targets[0].provider_id: UUID parsing failed", "targets[0].provider_id"},
		"Unknown": {routeTo("x", with(onProvider(first, "m"), fields{"priority": 1})), 400, "invalid_request_error", "targets[0]: unknown field `priority`", "targets[0].priority"},
	} {
		got := a.call(t, "POST", routesPath, c.body).wantError(t, c.status, c.kind, c.message)
		if p := got.errorField(t, "param"); p != c.param {
			t.Errorf("%s: param %q, want %q", name, p, c.param)
		}
	}
	if got := routed(t, a.call(t, "GET", routesPath, nil)); len(got) != 1 {
		t.Errorf("a refused route left something: %q", got)
	}
}

// A model is enabled where that is asked for, and a route of a model's own name is its
// enablement.
func TestRouteCreateEnables(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first, second := twoProviders(t, a)
	enabling := fields{"enable_models": true}
	a.call(t, "POST", routesPath, with(routeTo("x", onProvider(first, "new"), onProvider(second, "m")), enabling)).want(t, 200)
	own := a.call(t, "POST", routesPath, routeTo("m", onProvider(second, "m"), onProvider(first, "m"))).want(t, 200)
	if got := routeText(own.object(t)); got != "m: B/m A/m" {
		t.Errorf("got %s", got)
	}
	var enablements []string
	for _, m := range a.call(t, "GET", mappingsPath, nil).list(t) {
		if m["model_alias"] == m["upstream_model"] {
			enablements = append(enablements, fmt.Sprintf("%s/%s %v", m["provider_name"], m["upstream_model"], m["bare_alias"]))
		}
	}
	if diff := cmp.Diff([]string{"A/m true", "B/m true", "B/n false", "A/new false"}, enablements); diff != "" {
		t.Errorf("enablements (-want +got):\n%s", diff)
	}
}

// Targets come after those that are there, all or none, and none twice.
func TestRouteAddTargets(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first, second := twoProviders(t, a)
	a.call(t, "POST", routesPath, routeTo("x", onProvider(first, "m"))).want(t, 200)
	made := a.call(t, "POST", routesPath, routeTo("m", onProvider(first, "m"))).want(t, 200)
	path := routesPath + "/x/targets"
	got := a.call(t, "POST", path, fields{"targets": []any{onProvider(second, "n"), with(onProvider(first, "new"), fields{"retry_on_429_count": 1})},
		"enable_models": true, "change_note": "more"}).want(t, 200)
	if text := routeText(got.object(t)); text != "x: A/m B/n A/new" {
		t.Errorf("got %s", text)
	}
	if last := got.field(t, "targets").([]any)[2].(map[string]any); last["retry_on_429_count"] != 1.0 || last["last_change_note"] != "more" {
		t.Errorf("the last target: %v", last)
	}
	if read := a.call(t, "GET", routesPath+"/x", nil); string(read.body) != string(got.body) || read.header.Get("ETag") != got.header.Get("ETag") {
		t.Errorf("the read is not the answer:\n%s\n%s", got.body, read.body)
	}
	for name, c := range map[string]struct {
		path, message, param string
		status               int
		targets              []any
	}{
		"There":        {path, "A mapping of this alias to this model on this provider already exists.", "targets[1].upstream_model", 409, []any{onProvider(second, "m"), onProvider(second, "n")}},
		"OwnNameThere": {routesPath + "/m/targets", "A mapping of this alias to this model on this provider already exists.", "targets[0].upstream_model", 409, []any{onProvider(first, "m")}},
		"None":         {path, "at least one target is required", "targets", 400, []any{}},
		"NotEnabled": {path, "Cannot route to 'other' on this provider: the model is not enabled. Enable it under LLM Configuration → Models first, then create the route.",
			"targets[1].upstream_model", 400, []any{onProvider(second, "m"), onProvider(first, "other")}},
		"NoRoute": {routesPath + "/y/targets", "route 'y' not found", "", 404, []any{onProvider(first, "m")}},
	} {
		r := a.call(t, "POST", c.path, fields{"targets": c.targets}).want(t, c.status)
		if r.errorField(t, "message") != c.message || r.errorField(t, "param") != c.param {
			t.Errorf("%s: got %s", name, r.body)
		}
	}
	if diff := cmp.Diff([]string{"m: A/m", "x: A/m B/n A/new"}, routed(t, a.call(t, "GET", routesPath, nil))); diff != "" {
		t.Errorf("a refused target left something (-want +got):\n%s", diff)
	}
	stale := made.header.Get("ETag")
	add := func(model string) answer {
		return a.sendJSON(t, "POST", routesPath+"/m/targets", fields{"targets": []any{onProvider(second, model)}}, func(r *http.Request) { r.Header.Set("If-Match", stale) })
	}
	add("m").want(t, 200)
	add("n").want(t, 412)
}

func TestRoutePages(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first, _ := twoProviders(t, a)
	for _, alias := range []string{"b/b", "B b", "é", "a&b"} {
		a.call(t, "POST", routesPath, routeTo(alias, onProvider(first, "m"))).want(t, 200)
	}
	var got []string
	for next := routesPath + "?limit=1"; next != ""; {
		page := a.call(t, "GET", next, nil).want(t, 200)
		got = append(got, routed(t, page)...)
		next = ""
		if link := nextLink.FindStringSubmatch(page.header.Get("Link")); link != nil {
			next = link[1]
		}
	}
	if diff := cmp.Diff([]string{"B b: A/m", "a&b: A/m", "b/b: A/m", "é: A/m"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// renamable is a route of three targets, the second of which is an enablement, in a group
// and named by policies.
func renamable(t *testing.T, a *api) (group, policy, at string) {
	t.Helper()
	first, second := twoProviders(t, a)
	a.call(t, "POST", routesPath, routeTo("m", onProvider(second, "n"), onProvider(first, "m"), onProvider(second, "m"))).want(t, 200)
	for _, m := range a.call(t, "GET", routesPath+"/m", nil).want(t, 200).field(t, "targets").([]any) {
		a.call(t, "PUT", mappingsPath+"/"+m.(map[string]any)["id"].(string), fields{"priority": 5}).want(t, 200) // ties
	}
	group = a.call(t, "POST", groupsPath, fields{"name": "G", "model_aliases": []any{"a", "m", "z"}}).want(t, 200).id(t)
	policy = a.call(t, "POST", accessPath, with(accessPolicy("Named"), fields{"targets": []any{aliasTarget("x"), aliasTarget("m"), aliasTarget("m*")}})).want(t, 200).id(t)
	at = a.call(t, "POST", accessPath, with(accessPolicy("At"), fields{"targets": []any{fields{"kind": "provider_model", "provider_id": second, "model": "m"}}})).want(t, 200).id(t)
	return group, policy, at
}

func (a *api) members(t *testing.T, group string) any {
	t.Helper()
	return a.call(t, "GET", groupsPath+"/"+group, nil).want(t, 200).field(t, "model_aliases")
}

func TestRouteRename(t *testing.T) {
	t.Parallel()
	a := setup(t)
	group, policy, at := renamable(t, a)
	order := routeText(a.call(t, "GET", routesPath+"/m", nil).want(t, 200).object(t))[len("m:"):]
	r := a.call(t, "PUT", routesPath+"/m/rename", fields{"model_alias": "new/one", "change_note": "why"}).want(t, 200)
	if got := routeText(r.field(t, "route").(map[string]any)); got != "new/one:"+order {
		t.Errorf("got %s, want the order of %s", got, order)
	}
	moved := r.field(t, "moved").(map[string]any)
	if diff := cmp.Diff([]string{"G"}, named(moved["model_route_groups"])); diff != "" {
		t.Errorf("groups:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Named", "At"}, named(moved["model_access_policies"])); diff != "" || moved["targets"] != 3.0 || moved["kept_enablements"] != 2.0 {
		t.Errorf("moved: %v\n%s", moved, diff)
	}
	if diff := cmp.Diff([]any{"a", "new/one", "z"}, a.members(t, group)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{aliasTarget("x"), aliasTarget("new/one"), aliasTarget("m*")}, a.call(t, "GET", accessPath+"/"+policy, nil).field(t, "targets")); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if got := a.call(t, "GET", accessPath+"/"+at, nil).field(t, "targets").([]any); len(got) != 2 || got[0].(map[string]any)["model"] != "m" || got[1].(map[string]any)["model"] != "new/one" {
		t.Errorf("a model that has the old name still is denied by it too: %v", got)
	}
	a.call(t, "GET", routesPath+"/m", nil).wantError(t, 404, "not_found_error", "route 'm' not found")
	for _, m := range a.call(t, "GET", mappingsPath, nil).list(t) {
		if m["model_alias"] == m["upstream_model"] && (m["enabled"] != true || m["bare_alias"] != false) {
			t.Errorf("the enablement %v is not as it was", m["model_alias"])
		}
	}
	events := a.call(t, "GET", adminPath+"audit-events?operation=renameRoute", nil).want(t, 200).list(t)
	if len(events) != 1 || events[0]["change_note"] != "why" || len(events[0]["changes"].([]any)) != 8 { // a move, two copies of two that stay, a group, two policies
		t.Errorf("the trail: %v", events)
	}
	other := a.call(t, "POST", routesPath+"/new%2Fone/duplicate", fields{"model_alias": "copy"}).want(t, 200)
	if got := routeText(other.object(t)); got != "copy:"+order[:len(order)-len(" [G]")] {
		t.Errorf("a copy is in no group, and in order: %s, want %s", got, order)
	}
	for _, path := range []string{routesPath + "/copy/duplicate", routesPath + "/copy/rename"} {
		method := map[bool]string{true: "PUT", false: "POST"}[path == routesPath+"/copy/rename"]
		a.call(t, method, path, fields{"model_alias": "new/one"}).wantError(t, 409, "conflict_error", "A route with this name already exists.")
		a.call(t, method, path, fields{"model_alias": ""}).wantError(t, 400, "invalid_request_error", "model_alias must not be blank")
		a.call(t, method, path, `{}`).wantError(t, 422, "invalid_request_error", "missing field `model_alias`")
	}
	a.call(t, "PUT", routesPath+"/none%2F/rename", fields{"model_alias": "x"}).wantError(t, 404, "not_found_error", "route 'none/' not found")
}

func TestRouteDelete(t *testing.T) {
	t.Parallel()
	a := setup(t)
	group, _, _ := renamable(t, a)
	r := a.call(t, "DELETE", routesPath+"/m", nil).want(t, 200).object(t)
	if diff := cmp.Diff([]string{"G"}, named(r["model_route_groups"])); diff != "" {
		t.Errorf("groups:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Named"}, named(r["model_access_policies"])); diff != "" || r["deleted"] != true || r["targets"] != 3.0 || r["kept_enablements"] != 2.0 {
		t.Errorf("%v\n%s", r, diff)
	}
	if diff := cmp.Diff([]any{"a", "z"}, a.members(t, group)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if got := routed(t, a.call(t, "GET", routesPath, nil)); len(got) != 0 {
		t.Errorf("routes left: %q", got)
	}
	if got := a.call(t, "GET", mappingsPath, nil).list(t); len(got) != 3 {
		t.Errorf("%d models are enabled, want the 3", len(got))
	}
	a.call(t, "DELETE", routesPath+"/m", nil).wantError(t, 404, "not_found_error", "route 'm' not found")
}

// What ends or renames a route by way of its rows does the same to its groups.
func TestRoutesByTheirMappings(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first, second := twoProviders(t, a)
	row := func(alias, provider string) string {
		return mappingsPath + "/" + a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": alias, "upstream_model": "m"}).want(t, 200).id(t)
	}
	alone, one, two, byProvider := row("alone", first), row("pair", first), row("pair", second), row("gone", second)
	group := a.call(t, "POST", groupsPath, fields{"name": "G", "model_aliases": []any{"alone", "pair", "gone", "m", "later"}}).want(t, 200).id(t)
	for _, step := range []struct {
		name, method, path string
		body               any
		want               []any
	}{
		{"renamed by its only row", "PUT", alone, fields{"model_alias": "solo"}, []any{"solo", "pair", "gone", "m", "later"}},
		{"one of two leaves", "PUT", one, fields{"model_alias": "other"}, []any{"solo", "pair", "gone", "m", "later"}},
		{"the last joins another", "PUT", two, fields{"model_alias": "other"}, []any{"solo", "gone", "m", "later"}},
		{"deleted by its only row", "DELETE", alone, nil, []any{"gone", "m", "later"}},
		{"deleted with its provider", "DELETE", providersPath + "/" + second, nil, []any{"m", "later"}},
		{"an enablement is no route", "PUT", one, fields{"priority": 1}, []any{"m", "later"}},
	} {
		a.call(t, step.method, step.path, step.body).want(t, 200)
		if diff := cmp.Diff(step.want, a.members(t, group)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	a.call(t, "GET", byProvider, nil).want(t, 404)
	for _, m := range a.call(t, "GET", mappingsPath, nil).list(t) {
		if m["model_alias"] == "m" {
			a.call(t, "DELETE", mappingsPath+"/"+m["id"].(string), nil).want(t, 200)
		}
	}
	if diff := cmp.Diff([]any{"m", "later"}, a.members(t, group)); diff != "" {
		t.Errorf("an enablement is no route (-want +got):\n%s", diff)
	}
}

// TestRouteConditions: two administrators change one route, each in every way there is; the
// second is told.
func TestRouteConditions(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first, second := twoProviders(t, a)
	const path = routesPath + "/smart"
	made := a.call(t, "POST", routesPath, routeTo("smart", onProvider(first, "m"), onProvider(second, "m"))).want(t, 200)
	etag := func() string { return a.call(t, "GET", path, nil).want(t, 200).header.Get("ETag") }
	if got := made.header.Get("ETag"); got != etag() {
		t.Errorf("ETag %s made, %s read", got, etag())
	}
	target := func(i int) string {
		return a.call(t, "GET", path, nil).field(t, "targets").([]any)[i].(map[string]any)["id"].(string)
	}
	added := ""
	third := a.provider(t, "C", "m")
	for _, step := range []struct {
		name   string
		change func() answer
	}{
		{"Added", func() answer {
			r := a.call(t, "POST", mappingsPath, fields{"provider_id": second, "model_alias": "smart", "upstream_model": "n", "priority": 9})
			added = r.id(t)
			return r
		}},
		{"Changed", func() answer { return a.call(t, "PUT", mappingsPath+"/"+target(0), fields{"retry_on_429_count": 1}) }},
		{"RemovedOlder", func() answer { return a.call(t, "DELETE", mappingsPath+"/"+target(1), nil) }},
		{"RemovedNewest", func() answer { return a.call(t, "DELETE", mappingsPath+"/"+added, nil) }},
		{"MovedIn", func() answer {
			other := a.call(t, "POST", mappingsPath, fields{"provider_id": second, "model_alias": "other", "upstream_model": "m"}).id(t)
			return a.call(t, "PUT", mappingsPath+"/"+other, fields{"model_alias": "smart"})
		}},
		{"Of another provider", func() answer {
			return a.call(t, "POST", mappingsPath, fields{"provider_id": third, "model_alias": "smart", "upstream_model": "m"})
		}},
		{"ProviderGone", func() answer { return a.call(t, "DELETE", providersPath+"/"+third, nil) }},
	} {
		before := etag()
		step.change().want(t, 200)
		if after := etag(); after == before {
			t.Errorf("%s: the ETag is %s still", step.name, after)
		}
	}
	stale, now := `"1.1"`, etag()
	order := fmt.Sprintf(`{"entries":[{"id":%q,"priority":1},{"id":%q,"priority":0}]}`, target(0), target(1))
	calls := []struct{ method, path, body string }{
		{"PUT", mappingsPath + "/reorder", order}, {"POST", path + "/duplicate", `{"model_alias":"copy"}`},
		{"PUT", path + "/rename", `{"model_alias":"smarter"}`}, {"DELETE", routesPath + "/smarter", ""},
	}
	for _, c := range calls[:3] {
		a.with(t, "If-Match", stale, c.method, c.path, c.body).wantError(t, 412, "conflict_error", "the resource was changed since you read it: read it again")
	}
	a.with(t, "If-Match", stale, "DELETE", path, "").want(t, 412)
	if etag() != now {
		t.Error("a stale call changed the route")
	}
	a.with(t, "If-Match", now, "PUT", mappingsPath+"/reorder", order).want(t, 200)
	a.with(t, "If-Match", now, "PUT", mappingsPath+"/reorder", order).want(t, 412)
	now = etag()
	copied := a.with(t, "If-Match", now, "POST", path+"/duplicate", `{"model_alias":"copy"}`).want(t, 200)
	if got := a.call(t, "GET", routesPath+"/copy", nil).header.Get("ETag"); got != copied.header.Get("ETag") || etag() != now {
		t.Errorf("the copy has %s, was answered as %s; the route has %s, had %s", got, copied.header.Get("ETag"), etag(), now)
	}
	renamed := a.with(t, "If-Match", now, "PUT", path+"/rename", `{"model_alias":"smarter"}`).want(t, 200).header.Get("ETag")
	a.with(t, "If-Match", renamed, "DELETE", routesPath+"/smarter", "").want(t, 200)
}

// TestReorderIfMatch: an ETag is one route's.
func TestReorderIfMatch(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first, second := twoProviders(t, a)
	ids := map[string]string{}
	for _, alias := range []string{"x", "y"} {
		r := a.call(t, "POST", routesPath, routeTo(alias, onProvider(first, "m"), onProvider(second, "m"))).want(t, 200)
		ids[alias] = r.field(t, "targets").([]any)[0].(map[string]any)["id"].(string)
	}
	for _, m := range a.call(t, "GET", mappingsPath, nil).list(t) {
		if m["model_alias"] == "n" {
			ids["enablement"] = m["id"].(string)
		}
	}
	entries := func(list ...string) string {
		var parts []string
		for i, id := range list {
			parts = append(parts, fmt.Sprintf(`{"id":%q,"priority":%d}`, id, i))
		}
		return `{"entries":[` + strings.Join(parts, ",") + `]}`
	}
	const message = "If-Match needs entries that are all of one route"
	for _, body := range []string{entries(ids["x"], ids["y"]), entries(ids["enablement"]), entries()} {
		a.with(t, "If-Match", "*", "PUT", mappingsPath+"/reorder", body).wantError(t, 400, "invalid_request_error", message)
		a.call(t, "PUT", mappingsPath+"/reorder", body).want(t, 200)
	}
	stranger := uuid.NewString()
	a.with(t, "If-Match", "*", "PUT", mappingsPath+"/reorder", entries(ids["x"], stranger)).
		wantError(t, 404, "not_found_error", "model mapping {id: "+stranger+"} not found")
	a.with(t, "If-Match", "*", "PUT", mappingsPath+"/reorder", entries(stranger)).want(t, 404)
}
