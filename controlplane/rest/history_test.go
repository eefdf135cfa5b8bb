package rest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// pagesOf follows a listing from page to page, two at a time, and returns its ids.
func (a *api) pagesOf(t *testing.T, path string, list func(answer) []map[string]any) (ids []string) {
	t.Helper()
	for next := path + "&limit=2"; next != ""; {
		r := a.call(t, "GET", next, nil).want(t, 200)
		page := list(r)
		if len(page) > 2 {
			t.Fatalf("%d on a page", len(page))
		}
		for _, item := range page {
			ids = append(ids, item["id"].(string))
		}
		next = ""
		if link := r.header.Get("Link"); link != "" {
			next = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
		}
	}
	return ids
}

func idsOf(list []map[string]any) (ids []string) {
	for _, item := range list {
		ids = append(ids, item["id"].(string))
	}
	return ids
}

func TestPriceHistoryPages(t *testing.T) {
	t.Parallel()
	a := setup(t)
	for year := range 5 {
		body := with(price("gpt 5&x*", 1), fields{"model_provider": "openai", "effective_from": fmt.Sprintf("29%02d-01-01T00:00:00Z", 10-year)})
		a.price(t, body)
	}
	path := pricesPath + "/history?model_pattern=gpt+5%26x%2A&model_provider=openai"
	whole := idsOf(a.call(t, "GET", path, nil).want(t, 200).list(t))
	if len(whole) != 5 {
		t.Fatalf("%d versions", len(whole))
	}
	paged := a.pagesOf(t, path, func(r answer) []map[string]any { return r.list(t) })
	if diff := cmp.Diff(whole, paged); diff != "" {
		t.Errorf("(-whole +pages):\n%s", diff)
	}
	stranger := uuid.NewString()
	a.call(t, "GET", path+"&after="+stranger, nil).wantError(t, 400, "invalid_request_error", "after: the rule has no version "+stranger)
	a.call(t, "GET", path+"&limit=0", nil).wantError(t, 400, "invalid_request_error", "limit must be between 1 and 1000")
}

func TestRoutingRulePages(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.routes(t)
	path := rulesPath + "?policy_id=" + a.policy(t, "auto")
	for i := range 5 {
		a.call(t, "POST", path, routingRule(fmt.Sprint("R", i))).want(t, 201)
	}
	rules := func(r answer) (list []map[string]any) {
		for _, rule := range r.field(t, "rules").([]any) {
			list = append(list, rule.(map[string]any))
		}
		return list
	}
	whole := idsOf(rules(a.call(t, "GET", path, nil).want(t, 200)))
	if diff := cmp.Diff(whole, a.pagesOf(t, path, rules)); diff != "" || len(whole) != 5 {
		t.Errorf("(-whole +pages):\n%s", diff)
	}
	a.call(t, "GET", path+"&limit=1001", nil).wantError(t, 400, "invalid_request_error", "limit must be between 1 and 1000")
}
