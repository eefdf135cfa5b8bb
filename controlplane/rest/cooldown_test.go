package rest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/api/node"
)

// The two policies of these tests: what a target without one has, and one that
// differs in every field.
var (
	defaultCooldown = fields{"cooldown_failure_threshold": 10.0, "cooldown_window_secs": 60.0, "cooldown_first_secs": 30.0, "cooldown_max_secs": 300.0,
		"cooldown_rate_limited_secs": 30.0, "cooldown_overloaded_secs": 10.0}
	customCooldown = fields{"cooldown_failure_threshold": 0.0, "cooldown_window_secs": 61.0, "cooldown_first_secs": 31.0, "cooldown_max_secs": 301.0,
		"cooldown_rate_limited_secs": 32.0, "cooldown_overloaded_secs": 11.0}
)

func cooldownOf(m map[string]any) fields {
	out := fields{}
	for name := range defaultCooldown {
		out[name] = m[name]
	}
	return out
}

func (a *api) snapshotCooldown(t *testing.T) *node.Cooldown {
	t.Helper()
	s, err := a.db.Store.Snapshot(t.Context(), a.org)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Mappings) != 1 {
		t.Fatalf("got %d mappings, want 1", len(s.Mappings))
	}
	return s.Mappings[0].Cooldown
}

// TestMappingCooldown takes a policy through create, every way to read it, update
// and fold, and looks at what the nodes get each time.
func TestMappingCooldown(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P")
	enable := fields{"provider_id": provider, "model_alias": "m", "upstream_model": "m"}
	created := a.call(t, "POST", mappingsPath, with(enable, customCooldown)).want(t, 200)
	path := mappingsPath + "/" + created.id(t)
	check := func(when string, answered answer, want fields, policy *node.Cooldown) {
		t.Helper()
		shown := map[string]map[string]any{
			"the answer": answered.object(t), "GET": a.call(t, "GET", path, nil).want(t, 200).object(t),
			"the listing":            a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0],
			"the provider's listing": a.call(t, "GET", providersPath+"/"+provider+"/model-mappings", nil).want(t, 200).list(t)[0],
		}
		for where, m := range shown {
			if diff := cmp.Diff(want, cooldownOf(m)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", when, where, diff)
			}
		}
		if diff := cmp.Diff(policy, a.snapshotCooldown(t)); diff != "" {
			t.Errorf("%s, the snapshot (-want +got):\n%s", when, diff)
		}
	}
	custom := node.Cooldown{FailureThreshold: 0, WindowSecs: 61, FirstSecs: 31, MaxSecs: 301, RateLimitedSecs: 32, OverloadedSecs: 11}
	check("created", created, customCooldown, &custom)
	check("an empty update", a.call(t, "PUT", path, fields{}).want(t, 200), customCooldown, &custom)
	check("the same again", a.call(t, "PUT", path, customCooldown).want(t, 200), customCooldown, &custom)

	one := node.DefaultCooldown()
	one.OverloadedSecs = 5
	update := with(defaultCooldown, fields{"cooldown_overloaded_secs": 5.0})
	check("one differs", a.call(t, "PUT", path, update).want(t, 200), update, &one)
	check("folded", a.call(t, "POST", mappingsPath, enable).want(t, 200), defaultCooldown, nil)
	folded := with(defaultCooldown, fields{"cooldown_overloaded_secs": 5.0})
	check("folded with one", a.call(t, "POST", mappingsPath, with(enable, fields{"cooldown_overloaded_secs": 5})).want(t, 200), folded, &one)
	check("back to the defaults", a.call(t, "PUT", path, defaultCooldown).want(t, 200), defaultCooldown, nil)
}

// TestMappingCooldownEachField: each field reaches its own place in the snapshot.
func TestMappingCooldownEachField(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.provider(t, "P", "m")
	path := mappingsPath + "/" + a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0]["id"].(string)
	for name, field := range map[string]func(*node.Cooldown) *int{
		"cooldown_failure_threshold": func(c *node.Cooldown) *int { return &c.FailureThreshold },
		"cooldown_window_secs":       func(c *node.Cooldown) *int { return &c.WindowSecs },
		"cooldown_first_secs":        func(c *node.Cooldown) *int { return &c.FirstSecs },
		"cooldown_max_secs":          func(c *node.Cooldown) *int { return &c.MaxSecs },
		"cooldown_rate_limited_secs": func(c *node.Cooldown) *int { return &c.RateLimitedSecs },
		"cooldown_overloaded_secs":   func(c *node.Cooldown) *int { return &c.OverloadedSecs },
	} {
		a.call(t, "PUT", path, with(defaultCooldown, fields{name: 77})).want(t, 200)
		want := node.DefaultCooldown()
		*field(&want) = 77
		if diff := cmp.Diff(&want, a.snapshotCooldown(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMappingEffectiveBehavior(t *testing.T) {
	t.Parallel()
	a := setup(t)
	row := fields{"provider_id": a.provider(t, "P"), "model_alias": "m", "upstream_model": "m"}
	created := a.call(t, "POST", mappingsPath, row).want(t, 200)
	path := mappingsPath + "/" + created.id(t)
	updated := a.call(t, "PUT", path, fields{"retry_on_429_count": 2, "retry_on_429_max_wait_secs": 10}).want(t, 200)
	const retries = "On a rate limit, tries this target up to 2 more times, waiting what the provider asks, at most 10 s each time, then fails over."
	for where, c := range map[string]struct {
		got  any
		want string
	}{
		"created": {created.field(t, "effective_behavior"), "On a rate limit, fails over at once."},
		"updated": {updated.field(t, "effective_behavior"), retries},
		"read":    {a.call(t, "GET", path, nil).field(t, "effective_behavior"), retries},
		"listed":  {a.call(t, "GET", mappingsPath, nil).list(t)[0]["effective_behavior"], retries},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", where, c.got, c.want)
		}
	}
	a.call(t, "PUT", path, fields{"effective_behavior": "x"}).wantError(t, 400, "invalid_request_error", "unknown field `effective_behavior`")
}
