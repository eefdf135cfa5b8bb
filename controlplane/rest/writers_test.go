package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestConcurrentWriters: sixteen at once, each with creations, changes and what is refused.
// Every change has a version of its own, and none is missing.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P", "m")
	versionOf := func() int {
		return int(a.call(t, "GET", adminPath+"config-status", nil).want(t, 200).field(t, "version").(float64))
	}
	const writers, rounds = 16, 4
	before := versionOf()
	tags := make([][]string, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds {
				made := a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": fmt.Sprintf("r-%d-%d", w, i), "upstream_model": "m"})
				if made.status != http.StatusOK {
					t.Errorf("got %d %s", made.status, made.body)
					return
				}
				path := mappingsPath + "/" + made.object(t)["id"].(string)
				changed := a.call(t, "PUT", path, fields{"priority": i + 1})
				if r := a.call(t, "PUT", path, fields{"retry_on_429_count": 11}); r.status != http.StatusBadRequest { // takes no version
					t.Errorf("got %d %s", r.status, r.body)
				}
				if r := a.with(t, "If-Match", made.header.Get("ETag"), "PUT", path, `{"priority":9}`); r.status != http.StatusPreconditionFailed {
					t.Errorf("got %d %s", r.status, r.body)
				}
				tags[w] = append(tags[w], made.header.Get("ETag"), changed.header.Get("ETag"))
			}
		})
	}
	wg.Wait()
	var versions []int
	for _, tag := range slices.Concat(tags...) {
		var v int
		if _, err := fmt.Sscanf(strings.Trim(tag, `"`), "%d", &v); err != nil {
			t.Fatalf("ETag %q: %v", tag, err)
		}
		versions = append(versions, v)
	}
	slices.Sort(versions)
	for i, v := range versions {
		if v != before+1+i {
			t.Fatalf("the versions after %d are %v", before, versions)
		}
	}
	if after := versionOf(); after != before+2*writers*rounds || len(versions) != 2*writers*rounds {
		t.Errorf("from %d to %d by %d changes", before, after, len(versions))
	}
}

// TestTwoAdministrators change one route at the same moment: one of them is told to read it
// again, and the other's change is whole.
func TestTwoAdministrators(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.call(t, "POST", routesPath, routeTo("smart", onProvider(a.provider(t, "P", "m"), "m"))).want(t, 200)
	seen := a.call(t, "GET", routesPath+"/smart", nil).want(t, 200).header.Get("ETag")
	statuses := make([]int, 2)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() {
			statuses[i] = a.with(t, "If-Match", seen, "PUT", routesPath+"/smart/rename", fmt.Sprintf(`{"model_alias":"name-%d"}`, i)).status
		})
	}
	wg.Wait()
	slices.Sort(statuses)
	// The second finds the route under another name.
	if statuses[0] != http.StatusOK || statuses[1] != http.StatusNotFound {
		t.Errorf("renamed at once: %v", statuses)
	}
	alias := a.call(t, "GET", routesPath, nil).list(t)[0]["model_alias"].(string)
	read := a.call(t, "GET", routesPath+"/"+alias, nil).want(t, 200)
	id := read.field(t, "targets").([]any)[0].(map[string]any)["id"].(string)
	for i := range statuses {
		wg.Go(func() {
			body := fmt.Sprintf(`{"entries":[{"id":%q,"priority":%d}]}`, id, 5+i)
			statuses[i] = a.with(t, "If-Match", read.header.Get("ETag"), "PUT", mappingsPath+"/reorder", body).status
		})
	}
	wg.Wait()
	slices.Sort(statuses)
	if statuses[0] != http.StatusOK || statuses[1] != http.StatusPreconditionFailed {
		t.Errorf("reordered at once: %v", statuses)
	}
}
