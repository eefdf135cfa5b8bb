package manifest

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// checkReferences refuses a file that names what is neither there nor in the file, or what
// it says is to be deleted.
func (p *planner) checkReferences() {
	for _, e := range p.file.entries {
		for _, part := range append([]*entry{e}, e.targets...) {
			for _, f := range part.kind.fields {
				if name := text(part.given[f.name]); f.refers != "" && name != "" {
					p.checkReference(part, f.name, f.refers, name)
				}
			}
		}
		if e.kind.key == keyAccess {
			list, _ := e.given[fieldTargets].([]any)
			for _, target := range list {
				for name, refers := range accessFields {
					if v := text(target.(object)[name]); refers != "" && v != "" {
						p.checkReference(e, fieldTargets, refers, v)
					}
				}
			}
		}
		if e.secret != nil && !blank(e.given["connection"]) {
			p.fail(e.problem(e.secret.field, "a connection excludes a credential of the provider's own"))
		}
	}
}

func (p *planner) checkReference(e *entry, field, kind, name string) {
	k := kindOf(kind)
	if p.file.find(kind, k.fold(name)) != nil {
		return
	}
	r, err := p.state.find(kind, k.fold(name))
	if r == nil && p.dangling(e, field, name) {
		return
	}
	switch {
	case err != nil:
		p.fail(e.problem(field, "%s", err))
	case r == nil:
		p.fail(e.problem(field, "there is no %s %q, and the file has none", k.noun, name))
	case p.pruned(kind):
		p.fail(e.problem(field, "the %s %q is needed and not in the file, whose list of %s would delete it", k.noun, name, kind))
	}
}

// dangling reports whether what the file names is an id that the resource already refers to
// and that nothing has any more: a limit outlives the provider that it is for, and a file
// that was exported then says the id.
func (p *planner) dangling(e *entry, field, name string) bool {
	r, _ := p.state.find(e.kind.key, e.key())
	return r != nil && uuid.Validate(name) == nil && same(r.fields[field], name)
}

// checkNeeded refuses a deletion that the API would refuse when all else is done: of what a
// resource refers to that stays as it is, since the file says nothing of its kind.
func (p *planner) checkNeeded(r *row) {
	for _, user := range p.state.rows[map[string]string{keyConnections: keyProviders, keyGroups: keyAccess}[r.kind.key]] {
		if p.pruned(user.kind.key) || p.file.find(user.kind.key, keyOf(user.kind, user.fields)) != nil {
			continue
		}
		if needs(user, r) {
			p.fail(fmt.Errorf("the %s %q is not in the file, whose list of %s would delete it, and the %s %q needs it", r.kind.noun, r.name(), r.kind.key, user.kind.noun, user.name()))
		}
	}
}

// checkGroups refuses a group in the file with a route that the same file ends: with its last
// target a route is taken out of its groups, and this one would not be what the file says.
func (p *planner) checkGroups() {
	for _, e := range p.file.of(keyGroups) {
		list, _ := e.given["routes"].([]any)
		for _, name := range list {
			if route := text(name); len(p.state.route(route)) > 0 && !p.stays(route) {
				p.fail(e.problem("routes", "the route %q is needed and not in the file, which leaves it no target", route))
			}
		}
	}
}

// stays reports whether a route still has a target when all is done.
func (p *planner) stays(route string) bool {
	if p.file.find(keyRoutes, route) != nil {
		return true
	}
	for _, e := range p.file.of(keyModels) {
		if text(e.given[fieldModel]) == route && e.given[fieldBareAlias] == true {
			return true
		}
	}
	return slices.ContainsFunc(p.state.route(route), func(r *row) bool {
		provider := kindOf(keyProviders).fold(text(r.fields[fieldProvider]))
		switch {
		case p.pruned(keyProviders) && p.file.find(keyProviders, provider) == nil:
			return false
		case !r.enablement():
			return !p.pruned(keyRoutes)
		}
		return p.file.find(keyModels, targetKey(r.fields)) == nil && !p.pruned(keyModels)
	})
}

// needs reports whether a provider uses the connection, or a policy is for the group.
func needs(user, r *row) bool {
	id := r.id.String()
	targets, _ := user.raw[fieldTargets].([]any)
	return same(user.raw["connection_id"], id) || slices.ContainsFunc(targets, func(t any) bool { return same(t.(object)["group_id"], id) })
}

// pruned reports whether resources of a kind are deleted that the file does not name.
func (p *planner) pruned(kind string) bool { return p.opt.Prune && p.file.named[kind] }
