package tenant_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func TestRouteGroupMembers(t *testing.T) {
	t.Parallel()
	g, err := tenant.NewRouteGroup(tenant.RouteGroupPatch{Name: ptr("G"), Aliases: &[]string{"a", "b", "c"}})
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(g.Aliases)
	is := func(what string, got tenant.RouteGroupConfig, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got.Aliases); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if diff := cmp.Diff(before, g.Aliases); diff != "" {
			t.Fatalf("%s: the group that was read has changed:\n%s", what, diff)
		}
	}
	added, err := g.Add([]string{"d", "a", "d"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	is("added", added, "a", "b", "c", "d")
	renamed, had := g.Rename("b", "x")
	is("renamed", renamed, "a", "x", "c")
	twin, _ := g.Rename("a", "c")
	is("renamed to another member", twin, "c", "b")
	removed, hadToo := g.Remove("a")
	is("removed", removed, "b", "c")
	if _, none := g.Rename("z", "y"); !had || !hadToo || none {
		t.Error("whether it was a member is not told")
	}
	_, err = g.Add(nil, nil)
	refused(t, err, "model_aliases", "at least one model alias is required")
}

func TestRouteGroupLimits(t *testing.T) {
	t.Parallel()
	many := make([]string, 10001)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	for name, c := range map[string]struct {
		patch          tenant.RouteGroupPatch
		param, message string
	}{
		"Most":        {tenant.RouteGroupPatch{Aliases: ptr(many[:10000]), Description: tenant.Change[string]{Set: true, Value: ptr(strings.Repeat("é", 1000))}}, "", ""},
		"TooMany":     {tenant.RouteGroupPatch{Aliases: &many}, "model_aliases", "model_aliases must have at most 10000 entries"},
		"Description": {tenant.RouteGroupPatch{Description: tenant.Change[string]{Set: true, Value: ptr(strings.Repeat("é", 1001))}}, "description", "description must be at most 1000 characters"},
		"Blank":       {tenant.RouteGroupPatch{Aliases: &[]string{""}}, "model_aliases", "model_aliases must not be blank"},
		"Name":        {tenant.RouteGroupPatch{Name: ptr(" ")}, "name", "name must not be blank"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.patch.Name == nil {
				c.patch.Name = ptr("G")
			}
			_, err := tenant.NewRouteGroup(c.patch)
			refused(t, err, c.param, c.message)
		})
	}
}
