package manifest

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
	switch {
	case err != nil:
		p.fail(e.problem(field, "%s", err))
	case r == nil:
		p.fail(e.problem(field, "there is no %s %q, and the file has none", k.noun, name))
	case p.pruned(kind):
		p.fail(e.problem(field, "the %s %q is needed and not in the file, whose list of %s would delete it", k.noun, name, kind))
	}
}

// pruned reports whether resources of a kind are deleted that the file does not name.
func (p *planner) pruned(kind string) bool { return p.opt.Prune && p.file.named[kind] }
