package tenant

import (
	"slices"
	"strings"
)

// Readdressing carries a provider's new name into what calls its models
// "<provider>/<model>" by text.
type Readdressing struct {
	From, To string // as AddressName writes them
	// Routes are the names of routes that have a '/' in them: such a name is the route's,
	// whichever provider it begins like.
	Routes []string
}

// rename returns how a name, or a pattern that ends in '*', is written with the provider's
// new name. Ours says that it means models of the provider; also, that it means a route too,
// by the old name.
func (r Readdressing) rename(name string) (next string, ours, also bool) {
	provider, model, scoped := strings.Cut(name, "/")
	if !scoped || AddressName(provider) != r.From {
		return name, false, false
	}
	begin, open := strings.CutSuffix(name, "*")
	also = slices.ContainsFunc(r.Routes, func(route string) bool { return route == name || open && strings.HasPrefix(route, begin) })
	return r.To + "/" + model, true, also
}

// Name is rename for what has one name: a route's stays the route's.
func (r Readdressing) Name(name string) (next string, changed bool) {
	next, ours, also := r.rename(name)
	if also {
		return name, false
	}
	return next, ours
}

// Access carries the new name into the targets of a policy.
func (r Readdressing) Access(c *AccessConfig) (changed bool) {
	var targets []Target
	for _, t := range c.Targets {
		if t.Kind != TargetModelAlias {
			targets = append(targets, t)
			continue
		}
		next, ours, also := r.rename(*t.Alias)
		if !ours || also {
			targets = append(targets, t)
		}
		if ours {
			t.Alias = &next
			targets, changed = append(targets, t), true
		}
	}
	c.Targets = targets
	return changed
}

// Group carries the new name into the members of a group.
func (r Readdressing) Group(c *RouteGroupConfig) (changed bool) {
	var aliases []string
	for _, alias := range c.Aliases {
		next, ours, also := r.rename(alias)
		if !ours || also {
			aliases = append(aliases, alias)
		}
		if ours {
			aliases, changed = append(aliases, next), true
		}
	}
	if changed {
		c.Aliases = RouteGroupConfig{}.with(aliases)
	}
	return changed
}

// Policy carries the new name into the slots of a routing policy and its determiner.
func (r Readdressing) Policy(c *RoutingPolicyConfig) (changed bool) {
	c.Slots = slices.Clone(c.Slots)
	for i, s := range c.Slots {
		if next, ours := r.Name(s.Alias); ours {
			c.Slots[i].Alias, changed = next, true
		}
	}
	if c.Determiner != nil {
		if next, ours := r.Name(*c.Determiner); ours {
			c.Determiner, changed = &next, true
		}
	}
	return changed
}
