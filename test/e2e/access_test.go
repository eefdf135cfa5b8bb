package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// policyFor makes a model access policy for a group and returns its id.
func policyFor(e *env.Env, group, kind, name string, targets ...map[string]any) string {
	var p struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/model-access", map[string]any{
		"name": name, "scope_type": "group", "scope_value": group, "policy_type": kind, "targets": targets}), &p)
	return p.ID
}

// keyOf makes a key that acts as a group, and is the header that it is sent in.
func keyOf(e *env.Env, group string) (id string, header map[string]string) {
	var key struct{ ID, Key string }
	e.Must(e.Admin(http.MethodPost, "/api-keys", map[string]any{"name": group, "group_name": group}), &key)
	return key.ID, map[string]string{"X-Bd-Api-Key": key.Key}
}

// listed are the models that a key is shown, of those that begin so.
func listed(e *env.Env, key map[string]string, begin string) (names []string) {
	var list struct{ Data []struct{ ID string } }
	e.Must(e.Call(0, "/v1/models", "", key), &list)
	for _, m := range list.Data {
		if strings.HasPrefix(m.ID, begin) {
			names = append(names, m.ID)
		}
	}
	return names
}

var callsOf = map[string]struct{ path, body string }{
	"chat":       {"/v1/chat/completions", `{"model":%q,"messages":[{"role":"user","content":"Hello"}]}`},
	"messages":   {"/v1/messages", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"Hello"}]}`},
	"responses":  {"/v1/responses", `{"model":%q,"input":"Hello"}`},
	"embeddings": {"/v1/embeddings", `{"model":%q,"input":"Hello"}`},
	"count":      {countPath, `{"model":%q,"messages":[{"role":"user","content":"Hello"}]}`},
}

func asKey(e *env.Env, key map[string]string, what, model string) env.Answer {
	c, header := callsOf[what], maps.Clone(key)
	header["Anthropic-Version"] = "2023-06-01"
	return e.Call(0, c.path, fmt.Sprintf(c.body, model), header)
}

// One group of people gets a group of routes: what they see and what they may call are the
// same, on every endpoint, and the others are not touched.
func TestAccessToAGroupOfRoutes(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	cheap, _ := pair(e, "x-cheap", "openai", nil)
	dear, _ := pair(e, "x-dear", "openai", nil)
	var group struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/model-route-groups", map[string]any{"name": "cheap ones", "model_aliases": []string{"x-cheap"}}), &group)
	policyFor(e, "interns", "allowlist", "Interns: cheap", map[string]any{"kind": "route_group", "group_id": group.ID})
	_, intern := keyOf(e, "interns")
	_, other := keyOf(e, "seniors")
	e.Live()

	if diff := cmp.Diff([]string{"x-cheap"}, listed(e, intern, "")); diff != "" {
		t.Errorf("an intern sees (-want +got):\n%s", diff)
	}
	for _, key := range []map[string]string{other, {}} {
		if got := listed(e, key, "x-"); !slices.Contains(got, "x-dear") || !slices.Contains(got, "x-cheap") {
			t.Errorf("another sees %q", got)
		}
		if a := asKey(e, key, "chat", "x-dear"); a.Status != 200 {
			t.Errorf("another calls: %d %s", a.Status, a.Body)
		}
	}
	before := asked(e, dear)
	for what := range callsOf {
		if a := asKey(e, intern, what, "x-cheap"); a.Status != 200 {
			t.Errorf("%s of what is allowed: %d %s", what, a.Status, a.Body)
		}
		a := asKey(e, intern, what, "x-dear")
		want := map[bool]int{true: 400, false: 403}[what == "responses"]
		if a.Status != want || a.Header.Get("X-Bd-Error-Origin") != "gateway" || a.Header.Get("X-Should-Retry") != "false" ||
			!strings.Contains(string(a.Body), "model_access_denied") || !strings.Contains(string(a.Body), `\"Interns: cheap\"`) {
			t.Errorf("%s of what is denied: %d, origin %q, retry %q: %s", what, a.Status, a.Header.Get("X-Bd-Error-Origin"), a.Header.Get("X-Should-Retry"), a.Body)
		}
	}
	if asked(e, dear) != before || asked(e, cheap) == 0 {
		t.Error("a denied request reached a provider, or an allowed one did not")
	}
	// The address of the provider's own model is another name, and not in the group.
	if a := asKey(e, intern, "chat", "x-cheap/"+cheap); a.Status != 403 {
		t.Errorf("by address: %d %s", a.Status, a.Body)
	}
	// What is hidden and what is not there are told alike.
	hidden, unknown := e.Call(0, "/v1/models/x-dear", "", intern), e.Call(0, "/v1/models/x-none", "", intern)
	if hidden.Status != 404 || strings.ReplaceAll(string(hidden.Body), "x-dear", "x-none") != string(unknown.Body) {
		t.Errorf("hidden: %d %s; unknown: %s", hidden.Status, hidden.Body, unknown.Body)
	}
	if h := health(e); len(h.Routes) != 0 {
		t.Errorf("a denial was noted: %+v", h.Routes)
	}
}

func TestDenylistBeatsAllowlist(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	pair(e, "x-a", "openai", nil)
	pair(e, "x-b", "openai", nil)
	all := map[string]any{"kind": "model_alias", "alias": "x-*"}
	policyFor(e, "ops", "allowlist", "Ops", all)
	deny := policyFor(e, "ops", "denylist", "Not B", map[string]any{"kind": "model_alias", "alias": "x-b"})
	_, ops := keyOf(e, "ops")
	e.Live()
	if got := listed(e, ops, "x-b"); slices.Contains(got, "x-b") {
		t.Errorf("listed: %q", got)
	}
	a := asKey(e, ops, "chat", "x-b")
	if a.Status != 403 || !strings.Contains(string(a.Body), `\"Not B\"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := asKey(e, ops, "chat", "x-a"); a.Status != 200 {
		t.Errorf("what only the allowlist names: %d %s", a.Status, a.Body)
	}
	// A change is live on the nodes within two seconds, whoever asks them.
	e.Must(e.Admin(http.MethodPut, "/model-access/"+deny, map[string]any{"enabled": false}), nil)
	within(t, 2*time.Second, "the policy to be off", func() bool { return asKey(e, ops, "chat", "x-b").Status == 200 })
	e.Must(e.Admin(http.MethodPut, "/governance-config", map[string]any{"require_pricing_for_mappings": false, "default_model_access": "deny"}), nil)
	within(t, 2*time.Second, "the default to be live", func() bool { return e.Chat(0, "x-a", false).Status == 403 })
	if a := asKey(e, ops, "chat", "x-a"); a.Status != 200 {
		t.Errorf("whoever has an allowlist: %d %s", a.Status, a.Body)
	}
}

// Every hop is checked: failing over never leads where the caller may not go.
func TestAccessOnEveryHop(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	first, second := pair(e, "x-hop", "anthropic", nil)
	model := func(name string) map[string]any { return map[string]any{"kind": "model", "model": name} }
	policyFor(e, "no-second", "denylist", "Not the second", model(second))
	policyFor(e, "no-first", "denylist", "Not the first", model(first))
	_, noSecond := keyOf(e, "no-second")
	_, noFirst := keyOf(e, "no-first")
	e.Live()
	e.Provider.Script(first, provider.Behavior{Status: 503})
	before := asked(e, second)
	for _, what := range []string{"messages", "chat", "responses"} {
		a := asKey(e, noSecond, what, "x-hop")
		if a.Status != 503 || !strings.Contains(string(a.Body), `"reason":"access_denied"`) || !strings.Contains(string(a.Body), `\"Not the second\"`) {
			t.Errorf("%s: %d %s", what, a.Status, a.Body)
		}
	}
	if n := asked(e, second); n != before {
		t.Errorf("the second target was asked %d times", n-before)
	}
	before = asked(e, first)
	for _, what := range []string{"messages", "chat", "responses", "count"} {
		a := asKey(e, noFirst, what, "x-hop")
		if a.Status != 200 || attempt(a) != "2" || a.Header.Get("X-Bd-Provider-Failover-Count") != "0" {
			t.Errorf("%s: %d by attempt %s: %s", what, a.Status, attempt(a), a.Body)
		}
	}
	if n := asked(e, first); n != before {
		t.Errorf("the first target was asked %d times", n-before)
	}
}

// explain says of access what happens, and who denies.
func TestExplainAccess(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	first, second := pair(e, "x-hop", "openai", nil)
	policyFor(e, "half", "denylist", "Half", map[string]any{"kind": "model", "model": first})
	policyFor(e, "none", "allowlist", "None", map[string]any{"kind": "model", "model": "another"})
	e.Live()
	e.Provider.Script(second, provider.Behavior{Status: 503, Body: "{}"})
	for group, want := range map[string]struct{ kind, denied string }{
		"half": {"failed", `model access policy "Half" does not allow it`}, "none": {"refused", `model access policy "None" does not allow it`},
	} {
		id, key := keyOf(e, group)
		e.Live()
		var told struct {
			Resolution struct{ Kind string }
			Steps      []struct {
				Reason   string
				DeniedBy string `json:"denied_by"`
			}
		}
		question := map[string]any{"model": "x-hop", "api_key_id": id, "answers": []any{map[string]any{"position": 2, "status": 503, "body": "{}"}}}
		x := explain(e, question)
		e.Must(e.Admin(http.MethodPost, "/explain", question), &told)
		if diff := cmp.Diff(real(asKey(e, key, "chat", "x-hop"), false), x.told()); diff != "" || x.Outcome.Kind != want.kind {
			t.Errorf("%s: %s (-happened +explained):\n%s", group, x.Outcome.Kind, diff)
		}
		if s := told.Steps[0]; s.Reason != "access_denied" || s.DeniedBy != want.denied {
			t.Errorf("%s: %s, %+v", group, told.Resolution.Kind, s)
		}
	}
	var body struct{ Error struct{ Code string } }
	_, key := keyOf(e, "none")
	e.Live()
	if err := json.Unmarshal(asKey(e, key, "chat", "x-hop").Body, &body); err != nil || body.Error.Code != "model_access_denied" {
		t.Errorf("%v, %+v", err, body)
	}
}

// What a node would refuse is not saved, whatever came to stand in the database.
func TestWhatCannotBeServedIsNotSaved(t *testing.T) {
	t.Parallel()
	url, superuser := storetest.Empty(t, storetest.Template)
	e := env.Start(t, env.Options{DatabaseURL: url})
	id := e.AddProvider("broken", "openai", "m")
	if _, err := storetest.Connect(t, superuser).Exec(t.Context(), `UPDATE providers SET base_url = 'nowhere' WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	if a := e.Admin(http.MethodPost, "/model-mappings", map[string]any{"provider_id": id, "model_alias": "x", "upstream_model": "m"}); a.Status != 400 || !strings.Contains(string(a.Body), "base_url") {
		t.Errorf("a target more: status %d: %s", a.Status, a.Body)
	}
	var rows []struct{ ID string }
	e.Must(e.Admin(http.MethodGet, "/providers/"+id+"/model-mappings", nil), &rows)
	a := e.Admin(http.MethodPut, "/model-mappings/"+rows[0].ID, map[string]any{"priority": 3})
	if a.Status != 400 || !strings.Contains(string(a.Body), `"param":"base_url"`) || !strings.Contains(string(a.Body), "does_not_compile") {
		t.Errorf("a row changed: status %d: %s", a.Status, a.Body)
	}
	e.Must(e.Admin(http.MethodPut, "/providers/"+id, map[string]any{"base_url": e.ProviderURL + "/v1", "api_key": "k"}), nil)
	e.AddTarget("x", id, "m", 1, nil)
	e.Live()
	if a := e.Chat(0, "x", false); a.Status != 200 {
		t.Errorf("repaired: status %d: %s", a.Status, a.Body)
	}
}

// A route keeps its access under its new name, on the nodes too.
func TestRenamedRouteKeepsItsAccess(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	pair(e, "x-a", "openai", nil)
	pair(e, "x-b", "openai", nil)
	var group struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/model-route-groups", map[string]any{"name": "A", "model_aliases": []string{"x-a"}}), &group)
	policyFor(e, "ops", "allowlist", "Ops", map[string]any{"kind": "route_group", "group_id": group.ID})
	_, ops := keyOf(e, "ops")
	e.Must(e.Admin(http.MethodPut, "/routes/x-a/rename", map[string]any{"model_alias": "x/new: name"}), nil)
	e.Live()
	if diff := cmp.Diff([]string{"x/new: name"}, listed(e, ops, "")); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	for model, status := range map[string]int{"x/new: name": 200, "x-a": 404, "x-b": 403} {
		if a := asKey(e, ops, "chat", model); a.Status != status {
			t.Errorf("%s: status %d, want %d: %s", model, a.Status, status, a.Body)
		}
	}
	e.Must(e.Admin(http.MethodDelete, "/routes/x%2Fnew:%20name", nil), nil)
	e.Live()
	if got := listed(e, ops, ""); len(got) != 0 {
		t.Errorf("listed after the end: %q", got)
	}
}
