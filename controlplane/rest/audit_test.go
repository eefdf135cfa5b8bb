package rest_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const auditPath = adminPath + "audit-events"

// changesOf are an event's changes as "action kind before after".
func changesOf(t *testing.T, event map[string]any) (list []string) {
	t.Helper()
	for _, c := range event["changes"].([]any) {
		change := c.(map[string]any)
		list = append(list, change["action"].(string)+" "+change["kind"].(string))
	}
	return list
}

func TestAuditEvents(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P", "m")
	mapping := a.call(t, "GET", mappingsPath, nil).list(t)[0]["id"].(string)
	a.call(t, "PUT", mappingsPath+"/"+mapping, fields{"priority": 3, "change_note": "cheaper last"}).want(t, 200)
	a.call(t, "PUT", mappingsPath+"/"+mapping, fields{"priority": -1, "retry_on_429_count": 11}).want(t, 400) // changes nothing
	a.call(t, "DELETE", providersPath+"/"+provider, nil).want(t, 200)

	list := a.call(t, "GET", auditPath, nil).want(t, 200).list(t)
	var got [][]string
	for _, e := range list {
		got = append(got, append([]string{e["operation"].(string)}, changesOf(t, e)...))
	}
	want := [][]string{
		{"deleteProvider", "delete providers", "delete provider_credentials", "delete model_mappings"},
		{"updateModelMapping", "update model_mappings"},
		{"createProvider", "create providers", "create provider_credentials", "create model_mappings"},
	}
	if diff := cmp.Diff(want, got[:3]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	update := list[1]
	change := update["changes"].([]any)[0].(map[string]any)
	if diff := cmp.Diff([]any{map[string]any{"priority": 0.0}, map[string]any{"priority": 3.0}, "cheaper last", "service_account", mapping},
		[]any{change["before"], change["after"], update["change_note"], update["actor_kind"], update["resource_id"]}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for version, e := list[0]["version"].(float64), 0; e < 3; e++ {
		if list[e]["version"] != version-float64(e) {
			t.Errorf("event %d is of version %v, want %v", e, list[e]["version"], version-float64(e))
		}
	}
}

func TestAuditEventsFiltersAndPages(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P", "m")
	for range 4 {
		a.call(t, "POST", keysPath, fields{"name": "k"}).want(t, 200)
	}
	count := func(query string) int { return len(a.call(t, "GET", auditPath+query, nil).want(t, 200).list(t)) }
	mapping := a.call(t, "GET", mappingsPath, nil).list(t)[0]["id"].(string)
	for query, want := range map[string]int{
		"?operation=createApiKey": 4, "?operation=nothing": 0, "?resource_id=" + provider: 1,
		"?resource_id=" + mapping: 1, // made beside the provider
		"?actor_id=" + provider:   0,
	} {
		if got := count(query); got != want {
			t.Errorf("%s: %d events, want %d", query, got, want)
		}
	}
	var seen []string
	for next, pages := "?limit=3&operation=createApiKey", 0; next != ""; pages++ {
		page := a.call(t, "GET", auditPath+next, nil).want(t, 200)
		for _, e := range page.list(t) {
			seen = append(seen, e["id"].(string))
		}
		link, _, _ := strings.Cut(strings.TrimPrefix(page.header.Get("Link"), "<"), ">")
		if next = ""; link != "" {
			u, err := url.Parse(link)
			if err != nil {
				t.Fatal(err)
			}
			next = "?" + u.RawQuery
		}
		if pages > 3 {
			t.Fatal("the pages do not end")
		}
	}
	if len(seen) != 4 || len(map[string]bool{seen[0]: true, seen[1]: true, seen[2]: true, seen[3]: true}) != 4 {
		t.Errorf("pages gave %v", seen)
	}
	for _, bad := range []string{"?limit=0", "?limit=1001", "?limit=x", "?resource_id=x"} {
		a.call(t, "GET", auditPath+bad, nil).want(t, 400)
	}
}

// No secret and no hash of one is in the trail.
func TestAuditEventsHideSecrets(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.provider(t, "P", "m")
	key := a.call(t, "POST", keysPath, fields{"name": "k"}).want(t, 200)
	a.call(t, "POST", keysPath+"/"+key.id(t)+"/rotate", fields{"grace_secs": 60}).want(t, 200)
	trail := string(a.call(t, "GET", auditPath, nil).want(t, 200).body)
	for _, word := range []string{"hash", "ciphertext", `"api_key"`, key.field(t, "key").(string)} {
		if strings.Contains(trail, word) {
			t.Errorf("the trail has %q", word)
		}
	}
	if !strings.Contains(trail, `"key_prefix"`) && !strings.Contains(trail, "previous_valid_until") {
		t.Error("the rotation left no trace")
	}
}
