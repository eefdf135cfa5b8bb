package tenant_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func TestEffectiveBehavior(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		count, maxWaitSecs int
		want               string
	}{
		{0, 0, "On a rate limit, fails over at once."},
		{0, 30, "On a rate limit, fails over at once."},
		{1, 0, "On a rate limit, tries this target 1 more time, waiting about 1 s, then fails over."},
		{1, 10, "On a rate limit, tries this target 1 more time, waiting what the provider asks, at most 10 s, then fails over."},
		{2, 0, "On a rate limit, tries this target up to 2 more times, waiting about 1 s each time, then fails over."},
		{2, 10, "On a rate limit, tries this target up to 2 more times, waiting what the provider asks, at most 10 s each time, then fails over."},
		{10, 180, "On a rate limit, tries this target up to 10 more times, waiting what the provider asks, at most 180 s each time, then fails over."},
	} {
		m := tenant.MappingConfig{RetryOn429Count: c.count, RetryOn429MaxWaitSecs: c.maxWaitSecs}
		if got := m.EffectiveBehavior(); got != c.want {
			t.Errorf("%d retries, at most %d s: got %q, want %q", c.count, c.maxWaitSecs, got, c.want)
		}
	}
}

// limitOf is one field of a cooldown policy with its range.
type limitOf struct {
	name        string
	least, most int
	field       func(*tenant.CooldownPatch) **int
}

var cooldownLimits = []limitOf{
	{"cooldown_failure_threshold", 0, 10000, func(p *tenant.CooldownPatch) **int { return &p.FailureThreshold }},
	{"cooldown_window_secs", 1, 3600, func(p *tenant.CooldownPatch) **int { return &p.WindowSecs }},
	{"cooldown_first_secs", 1, 3600, func(p *tenant.CooldownPatch) **int { return &p.FirstSecs }},
	{"cooldown_max_secs", 1, 3600, func(p *tenant.CooldownPatch) **int { return &p.MaxSecs }},
	{"cooldown_rate_limited_secs", 1, 3600, func(p *tenant.CooldownPatch) **int { return &p.RateLimitedSecs }},
	{"cooldown_overloaded_secs", 0, 3600, func(p *tenant.CooldownPatch) **int { return &p.OverloadedSecs }},
}

// alone sets one field; first and max move along where that alone breaks no rule.
func (l limitOf) alone(value int) tenant.CooldownPatch {
	var p tenant.CooldownPatch
	switch l.name {
	case "cooldown_first_secs":
		p.MaxSecs = ptr(l.most)
	case "cooldown_max_secs":
		p.FirstSecs = ptr(l.least)
	}
	*l.field(&p) = &value
	return p
}

func TestCooldownLimits(t *testing.T) {
	t.Parallel()
	valid := tenant.MappingPatch{Alias: ptr("smart"), UpstreamModel: ptr("m")}
	base, err := tenant.NewMapping(valid)
	if err != nil {
		t.Fatal(err)
	}
	if base.Cooldown != node.DefaultCooldown() {
		t.Errorf("got %+v without a policy", base.Cooldown)
	}
	refuses := func(p tenant.CooldownPatch) string {
		create := valid
		create.Cooldown = p
		_, created := tenant.NewMapping(create)
		_, updated := base.Update(tenant.MappingPatch{Cooldown: p})
		if fmt.Sprint(created) != fmt.Sprint(updated) {
			t.Errorf("create says %v, update says %v", created, updated)
		}
		var e *tenant.Error
		if errors.As(created, &e) {
			return e.Param + ": " + e.Message
		}
		return ""
	}
	for _, l := range cooldownLimits {
		message := fmt.Sprintf("%s: %s must be between %d and %d", l.name, l.name, l.least, l.most)
		for value, want := range map[int]string{l.least - 1: message, l.least: "", l.most: "", l.most + 1: message} {
			if got := refuses(l.alone(value)); got != want {
				t.Errorf("%s %d: got %q, want %q", l.name, value, got, want)
			}
		}
	}
	const order = "cooldown_first_secs: cooldown_first_secs (%d) must not be greater than cooldown_max_secs (%d)"
	for _, c := range []struct {
		patch tenant.CooldownPatch
		want  string
	}{
		{tenant.CooldownPatch{FirstSecs: ptr(301)}, fmt.Sprintf(order, 301, 300)},
		{tenant.CooldownPatch{MaxSecs: ptr(29)}, fmt.Sprintf(order, 30, 29)},
		{tenant.CooldownPatch{FirstSecs: ptr(8), MaxSecs: ptr(7)}, fmt.Sprintf(order, 8, 7)},
		{tenant.CooldownPatch{FirstSecs: ptr(7), MaxSecs: ptr(7)}, ""},
	} {
		if got := refuses(c.patch); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestCooldownUpdate: an update sets the fields it names and no other.
func TestCooldownUpdate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var first, second, both tenant.CooldownPatch
		for _, l := range cooldownLimits {
			draw := func(when string) *int {
				return rapid.Ptr(rapid.IntRange(l.least, l.most), true).Draw(t, l.name+when)
			}
			a, b := draw(" at first"), draw(" then")
			*l.field(&first), *l.field(&second) = a, b
			if *l.field(&both) = b; b == nil {
				*l.field(&both) = a
			}
		}
		create := func(p tenant.CooldownPatch) (tenant.MappingConfig, error) {
			return tenant.NewMapping(tenant.MappingPatch{Alias: ptr("smart"), UpstreamModel: ptr("m"), Cooldown: p})
		}
		created, err := create(first)
		if err != nil {
			t.Skip("first is longer than max")
		}
		got, gotErr := created.Update(tenant.MappingPatch{Cooldown: second})
		want, wantErr := create(both)
		if wantErr != nil {
			want = created // a refused update changes nothing
		}
		if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Fatalf("got %v, want %v:\n%s", gotErr, wantErr, diff)
		}
	})
}
