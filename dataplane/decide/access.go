package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// Access is what one caller may call: the policies that are for it. Nil allows
// everything. The lists are shared by all callers that they are for, so that an
// organization with ten thousand keys holds each policy once.
type Access struct {
	lists [][]*policy
	deny  bool // what no allowlist speaks of
}

// Denial is why a caller may not use a target.
type Denial struct {
	// Policy is the name of the policy that denies, or empty: there is no allowlist for
	// the caller, and the organization denies by default.
	Policy string
}

// String is for whoever asked: it names the policy and nothing of what is in it.
func (d Denial) String() string {
	if d.Policy == "" {
		return "no model access policy allows it, and the organization denies by default"
	}
	return fmt.Sprintf("model access policy %q does not allow it", d.Policy)
}

// Denies judges one target of a route. A denylist that names it denies; else an allowlist
// that does allows; else any allowlist at all denies; else the organization's default
// holds.
func (a *Access) Denies(r *Route, t *Target) (by Denial, denied bool) {
	if a == nil {
		return Denial{}, false
	}
	var unlisted *policy
	granted := false
	for _, list := range a.lists {
		for _, p := range list {
			switch {
			case p.deny:
				if p.names(r, t) {
					return Denial{p.name}, true
				}
			case !granted:
				granted = p.names(r, t)
				if unlisted == nil {
					unlisted = p
				}
			}
		}
	}
	switch {
	case granted:
		return Denial{}, false
	case unlisted != nil:
		return Denial{unlisted.name}, true
	}
	return Denial{}, a.deny
}

func (a *Access) allows(r *Route, t *Target) bool {
	_, denied := a.Denies(r, t)
	return !denied
}

// Closes reports whether the caller may use none of a route's targets, and who denies the
// first.
func (a *Access) Closes(r *Route) (by Denial, closed bool) {
	for i, t := range r.Targets {
		d, denied := a.Denies(r, t)
		if !denied {
			return Denial{}, false
		}
		if i == 0 {
			by = d
		}
	}
	return by, len(r.Targets) > 0
}

// policy is one compiled policy. A grant is narrow and a denial wide where the two
// differ: see the fields.
type policy struct {
	name string
	deny bool
	// aliases are names of routes as they are called; direct the same for
	// "<provider>/<model>", whose provider is read without case.
	aliases, direct patterns
	groups          []*group
	models          patterns // upstream models
	// providers: a grant is of their own addresses only, a denial of all that they serve.
	providers map[uuid.UUID]bool
	// at are routes by name where a provider serves them; a denial is of its upstream
	// models too, by whatever name.
	at map[uuid.UUID]*patterns
}

// group is the names of the routes in a group.
type group struct{ aliases, direct map[string]bool }

func (g *group) names(r *Route) bool {
	if r.Direct {
		return g.direct[r.Name]
	}
	return g.aliases[r.Name]
}

func (p *policy) names(r *Route, t *Target) bool {
	if r.Direct && p.direct.match(r.Name) || !r.Direct && p.aliases.match(r.Name) || p.models.match(t.UpstreamModel) {
		return true
	}
	if (r.Direct || p.deny) && p.providers[t.Provider.ID] {
		return true
	}
	if at := p.at[t.Provider.ID]; at != nil && (at.match(r.alias()) || p.deny && at.match(t.UpstreamModel)) {
		return true
	}
	return slices.ContainsFunc(p.groups, func(g *group) bool { return g.names(r) })
}

// alias is the name that the route's rows have in common.
func (r *Route) alias() string {
	if r.Direct {
		return r.Targets[0].UpstreamModel
	}
	return r.Name
}

// patterns are names, and beginnings of names. To match takes one look-up and one more
// for each length of a beginning.
type patterns struct {
	exact, begin map[string]bool
	lengths      []int
}

func (p *patterns) add(pattern string) {
	begin, open := strings.CutSuffix(pattern, "*")
	if !open {
		p.exact = set(p.exact, pattern, true)
		return
	}
	p.begin = set(p.begin, begin, true)
	if !slices.Contains(p.lengths, len(begin)) {
		p.lengths = append(p.lengths, len(begin))
	}
}

// set is for maps of which most are never made.
func set[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[key] = value
	return m
}

func (p *patterns) match(name string) bool {
	if p.exact[name] {
		return true
	}
	for _, n := range p.lengths {
		if n <= len(name) && p.begin[name[:n]] {
			return true
		}
	}
	return false
}

// address is a pattern as the names of direct routes are written.
func address(pattern string) string {
	provider, model, whole := strings.Cut(pattern, "/")
	if !whole {
		return ProviderSlug(provider)
	}
	return ProviderSlug(provider) + "/" + model
}

// accessList are an organization's policies by whom they are for.
type accessList struct {
	deny                       bool
	everyone, anyUser, inGroup []*policy
	users, keys                map[uuid.UUID][]*policy
	groups                     map[string][]*policy
}

// compileAccess refuses what it does not understand: a policy that is passed over would
// let callers in.
func compileAccess(s *node.Snapshot) (*accessList, error) {
	l := &accessList{users: map[uuid.UUID][]*policy{}, keys: map[uuid.UUID][]*policy{}, groups: map[string][]*policy{}}
	switch s.DefaultModelAccess {
	case "", "allow":
	case "deny":
		l.deny = true
	default:
		return nil, &Defect{Field: "default_model_access", What: fmt.Sprintf("%q is neither allow nor deny", s.DefaultModelAccess)}
	}
	groups := make(map[uuid.UUID]*group, len(s.RouteGroups))
	for _, g := range s.RouteGroups {
		out := &group{map[string]bool{}, map[string]bool{}}
		for _, alias := range g.Aliases {
			out.aliases[alias], out.direct[address(alias)] = true, true
		}
		groups[g.ID] = out
	}
	for i := range s.AccessPolicies {
		source := &s.AccessPolicies[i]
		p, wrong := compilePolicy(source, groups)
		if wrong == nil {
			wrong = l.add(source, p)
		}
		if wrong != nil {
			wrong.Where = fmt.Sprintf("access_policies[%d]", i)
			return nil, wrong
		}
	}
	return l, nil
}

// add puts a policy where those it is for find it. What it is for and no caller can be yet
// (a team, a role) is nobody.
func (l *accessList) add(source *node.AccessPolicy, p *policy) *Defect {
	switch id := source.ScopeID; source.ScopeType {
	case "org":
		l.everyone = append(l.everyone, p)
	case "api_key":
		if id == nil {
			l.everyone = append(l.everyone, p)
		} else {
			l.keys[*id] = append(l.keys[*id], p)
		}
	case "user":
		if id == nil {
			l.anyUser = append(l.anyUser, p)
		} else {
			l.users[*id] = append(l.users[*id], p)
		}
	case "group":
		if name := source.ScopeValue; name == "" {
			l.inGroup = append(l.inGroup, p)
		} else {
			l.groups[name] = append(l.groups[name], p)
		}
	case "team", "project", "mcp_server", "agent", "role":
	default:
		return &Defect{Field: "scope_type", What: fmt.Sprintf("%q is not known here", source.ScopeType)}
	}
	return nil
}

// of is what the holder of a key may call.
func (l *accessList) of(k *node.Key) *Access {
	a := Access{deny: l.deny}
	also := func(list []*policy) {
		if len(list) > 0 {
			a.lists = append(a.lists, list)
		}
	}
	also(l.everyone)
	also(l.keys[k.ID])
	if k.UserID != nil {
		also(l.anyUser)
		also(l.users[*k.UserID])
	}
	groups := k.AllGroups()
	if len(groups) > 0 {
		also(l.inGroup)
	}
	for _, name := range groups {
		also(l.groups[name])
	}
	if a.lists == nil && !a.deny {
		return nil
	}
	return &a
}

func compilePolicy(source *node.AccessPolicy, groups map[uuid.UUID]*group) (*policy, *Defect) {
	p := &policy{name: source.Name}
	switch source.Type {
	case "allowlist":
	case "denylist":
		p.deny = true
	default:
		return nil, &Defect{Field: "policy_type", What: fmt.Sprintf("%q is not known here", source.Type)}
	}
	for _, t := range source.Targets {
		switch t.Kind {
		case "model_alias":
			p.aliases.add(t.Alias)
			if strings.ContainsAny(t.Alias, "/*") { // else no address is like it
				p.direct.add(address(t.Alias))
			}
		case "model":
			p.models.add(t.Model)
		case "provider":
			p.providers = set(p.providers, t.ProviderID, true)
		case "provider_model":
			at := p.at[t.ProviderID]
			if at == nil {
				at = new(patterns)
				p.at = set(p.at, t.ProviderID, at)
			}
			at.add(t.Model)
		case "route_group":
			if g := groups[t.GroupID]; g != nil { // else it is gone, and matches nothing
				p.groups = append(p.groups, g)
			}
		default:
			return nil, &Defect{Field: "targets", What: fmt.Sprintf("the kind %q is not known here", t.Kind)}
		}
	}
	return p, nil
}
