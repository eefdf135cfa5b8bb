package clients

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// failures are what can go wrong; each tool's says has the words that the person must see, as far as it
// shows any.
var failures = []struct {
	name string
	way  func(of *cli) way // nil: the route does not exist, or the key is refused
	does provider.Behavior
}{
	{"OutOfQuota", func(of *cli) way { return of.ways[0] }, provider.Behavior{Kind: "insufficient_quota"}},
	{"OutOfQuotaTranslated", func(of *cli) way { return of.ways[1] }, provider.Behavior{Kind: "insufficient_quota"}},
	{"Forbidden", func(of *cli) way { return of.ways[0] }, provider.Behavior{Status: http.StatusForbidden}},
	{"Down", func(of *cli) way { return way{first: of.ways[0].first, then: of.ways[1].first, down: -1} }, provider.Behavior{Status: http.StatusServiceUnavailable}},
	{"CannotTranslate", func(of *cli) way { return way{first: of.foreign} }, provider.Behavior{}},
	{"UnknownModel", nil, provider.Behavior{}},
	{"RefusedKey", nil, provider.Behavior{}},
}

// tellFailures runs each failure: the person must be told of it, in words.
func tellFailures(t *testing.T, of *cli) {
	t.Helper()
	e := env.Start(t, env.Options{})
	route := func(name string) string { return strings.ToLower(of.route + "-" + name) }
	for _, f := range failures {
		if f.way != nil {
			f.way(of).open(e, route(f.name), f.does)
		}
	}
	e.Live()
	for _, f := range failures {
		if of.says[f.name] == "" {
			continue // the tool says nothing and goes on trying
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			key := e.APIKey
			if f.name == "RefusedKey" {
				key = key[:len(key)-1] + "~"
			}
			person := of.start(t, e, key)
			args := of.hasty(person)
			if f.name == "CannotTranslate" {
				args = append(args, of.foreignArgs...)
				person.env = append(person.env, of.foreignEnv...)
			}
			got := of.ask(t, person, route(f.name), "Hello", args...)
			if want := of.says[f.name]; !strings.Contains(strings.ToLower(got.failure), strings.ToLower(want)) {
				t.Errorf("says %q, want %q; %s", got.failure, want, got.outcome)
			}
		})
	}
}
