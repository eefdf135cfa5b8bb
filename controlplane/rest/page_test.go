package rest_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

var nextLink = regexp.MustCompile(`^<(/[^>]*)>; rel="next"$`)

func TestPages(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P 0", "a", "b", "c", "d")
	for i := range 4 {
		a.provider(t, fmt.Sprintf("P %d", i+1))
		a.call(t, "POST", keysPath, fields{"name": "k"}).want(t, 200)
		a.price(t, price(fmt.Sprint("m", i), 1))
	}
	for _, path := range []string{providersPath, mappingsPath, keysPath, pricesPath, providersPath + "/" + provider + "/model-mappings"} {
		all := a.call(t, "GET", path, nil).want(t, 200)
		if all.header.Get("Link") != "" {
			t.Errorf("GET %s: a whole listing has a next page", path)
		}
		var got []map[string]any
		pages := 0
		for next := path + "?limit=2"; next != ""; pages++ {
			r := a.call(t, "GET", next, nil).want(t, 200)
			got = append(got, r.list(t)...)
			next = ""
			if link := r.header.Get("Link"); link != "" {
				next = nextLink.FindStringSubmatch(link)[1]
			}
		}
		if diff := cmp.Diff(all.list(t), got); diff != "" {
			t.Errorf("GET %s in pages (-whole +pages):\n%s", path, diff)
		}
		if want := (len(got) + 1) / 2; pages != want {
			t.Errorf("GET %s: got %d pages, want %d", path, pages, want)
		}
		first := all.list(t)[0]["id"].(string)
		if got := a.call(t, "GET", path+"?after="+first, nil).want(t, 200).list(t); len(got) != len(all.list(t))-1 {
			t.Errorf("GET %s after the first: got %d", path, len(got))
		}
		if got := a.call(t, "GET", path+"?limit=1000&after=ffffffff-ffff-ffff-ffff-ffffffffffff", nil).want(t, 200).list(t); len(got) != 0 {
			t.Errorf("GET %s after the last: got %d", path, len(got))
		}
		for _, limit := range []string{"0", "-1", "1001"} {
			a.call(t, "GET", path+"?limit="+limit, nil).wantError(t, 400, "invalid_request_error", "limit must be between 1 and 1000")
		}
		a.call(t, "GET", path+"?limit=x", nil).wantError(t, 400, "invalid_request_error", "limit: invalid value, expected an integer")
		a.call(t, "GET", path+"?limit=", nil).wantError(t, 400, "invalid_request_error", "limit: invalid value, expected an integer")
		a.call(t, "GET", path+"?after=x", nil).wantError(t, 400, "invalid_request_error", "after: UUID parsing failed")
	}
}

// TestPageAfterADeletedRow: a listing goes on where it was, whatever happened to the
// row it had come to.
func TestPageAfterADeletedRow(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first, second := a.provider(t, "first"), a.provider(t, "second")
	a.call(t, "DELETE", providersPath+"/"+first, nil).want(t, 200)
	got := a.call(t, "GET", providersPath+"?after="+first, nil).want(t, 200).list(t)
	if len(got) != 1 || got[0]["id"] != second {
		t.Errorf("got %v, want the second", got)
	}
	a.call(t, "GET", providersPath+"?after="+uuid.Nil.String(), nil).want(t, 200)
}
