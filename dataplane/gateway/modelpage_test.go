package gateway

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/dataplane/decide"
)

func named(names string) (models []decide.Model) {
	for name := range strings.SplitSeq(names, "") {
		models = append(models, decide.Model{ID: name})
	}
	return models
}

func names(models []decide.Model) (text string) {
	for _, m := range models {
		text += m.ID
	}
	return text
}

func TestModelPage(t *testing.T) {
	t.Parallel()
	for query, c := range map[string]struct {
		want  string
		more  bool
		param string // of the refusal
	}{
		"":                       {"bdfhj", false, ""},
		"limit=5":                {"bdfhj", false, ""},
		"limit=1000":             {"bdfhj", false, ""},
		"limit=2":                {"bd", true, ""},
		"limit=2&after_id=d":     {"fh", true, ""},
		"limit=2&after_id=f":     {"hj", false, ""},
		"limit=2&after_id=e":     {"fh", true, ""}, // gone
		"after_id=j":             {"", false, ""},
		"after_id=a":             {"bdfhj", false, ""},
		"limit=2&before_id=h":    {"df", true, ""},
		"limit=2&before_id=g":    {"df", true, ""}, // gone
		"limit=2&before_id=f":    {"bd", false, ""},
		"before_id=b":            {"", false, ""},
		"limit=0":                {"", false, "limit"},
		"limit=1001":             {"", false, "limit"},
		"limit=two":              {"", false, "limit"},
		"after_id=b&before_id=j": {"", false, "before_id"},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		page, more, refusal := modelPage(named("bdfhj"), values)
		param := ""
		if refusal != nil {
			param = refusal.Param
		}
		if names(page) != c.want || more != c.more || param != c.param {
			t.Errorf("%q: got %q, more %v, refused for %q, want %+v", query, names(page), more, param, c)
		}
	}
}

// Whoever turns pages, forwards or backwards, sees every model once and in order.
func TestModelPagesAreTheWholeList(t *testing.T) {
	t.Parallel()
	all := named("abcdefghij")
	rapid.Check(t, func(t *rapid.T) {
		limit, back := rapid.StringMatching(`[1-9]`).Draw(t, "limit"), rapid.Bool().Draw(t, "back")
		query, seen := url.Values{"limit": {limit}}, []decide.Model{}
		if back {
			query.Set("before_id", "zz")
		}
		for range len(all) + 1 {
			page, more, refusal := modelPage(all, query)
			if refusal != nil || len(page) == 0 {
				t.Fatalf("%v: %d models, %v", query, len(page), refusal)
			}
			if back {
				seen = append(slices.Clone(page), seen...)
				query.Set("before_id", page[0].ID)
			} else {
				seen = append(seen, page...)
				query.Set("after_id", page[len(page)-1].ID)
			}
			if !more {
				break
			}
		}
		if names(seen) != names(all) {
			t.Fatalf("saw %q, want %q", names(seen), names(all))
		}
	})
}
