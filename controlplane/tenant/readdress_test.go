package tenant_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func TestReaddressing(t *testing.T) {
	t.Parallel()
	r := tenant.Readdressing{From: "open-ai", To: "eu", Routes: []string{"open-ai/route", "open-ai/team/x"}}
	alias := func(names ...string) (list []tenant.Target) {
		for _, name := range names {
			list = append(list, tenant.Target{Kind: tenant.TargetModelAlias, Alias: &name})
		}
		return list
	}
	for name, c := range map[string]struct{ had, has []string }{
		"Exact":        {[]string{"open-ai/m"}, []string{"eu/m"}},
		"Spelling":     {[]string{"Open AI/m"}, []string{"eu/m"}},
		"Pattern":      {[]string{"open-ai/gpt*"}, []string{"eu/gpt*"}},
		"Slashes":      {[]string{"open-ai/a/b"}, []string{"eu/a/b"}},
		"RouteToo":     {[]string{"open-ai/route"}, []string{"open-ai/route", "eu/route"}},
		"RoutesToo":    {[]string{"open-ai/*"}, []string{"open-ai/*", "eu/*"}},
		"OrderIsKept":  {[]string{"a", "open-ai/m", "b"}, []string{"a", "eu/m", "b"}},
		"OtherPovider": {[]string{"open-ai-2/m", "open-ai", "open-ai*", "*", "x/open-ai/m"}, []string{"open-ai-2/m", "open-ai", "open-ai*", "*", "x/open-ai/m"}},
	} {
		policy := tenant.AccessConfig{Targets: alias(c.had...)}
		group := tenant.RouteGroupConfig{Aliases: c.had}
		changed := !cmp.Equal(c.had, c.has)
		if got := r.Access(&policy); got != changed || !cmp.Equal(alias(c.has...), policy.Targets) {
			t.Errorf("%s: changed %v\n%s", name, got, cmp.Diff(alias(c.has...), policy.Targets))
		}
		if got := r.Group(&group); got != changed || !cmp.Equal(c.has, group.Aliases) {
			t.Errorf("%s: a group changed %v\n%s", name, got, cmp.Diff(c.has, group.Aliases))
		}
	}
	twice := tenant.RouteGroupConfig{Aliases: []string{"open-ai/m", "eu/m"}}
	if r.Group(&twice); !cmp.Equal([]string{"eu/m"}, twice.Aliases) {
		t.Errorf("got %v", twice.Aliases)
	}
	for had, has := range map[string]string{"open-ai/m": "eu/m", "open-ai/route": "open-ai/route", "m": "m"} {
		before := []tenant.RoutingSlot{{Alias: had}, {Alias: "x"}}
		policy := tenant.RoutingPolicyConfig{Slots: before, Determiner: &had}
		if got := r.Policy(&policy); got != (had != has) || policy.Slots[0].Alias != has || *policy.Determiner != has || before[0].Alias != had {
			t.Errorf("%s: changed %v: %v", had, got, policy.Slots)
		}
	}
}
