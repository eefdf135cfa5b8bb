package manifest

import (
	"slices"
)

// wanted is the whole of what the file says of a resource, its defaults too.
func (p *planner) wanted(e *entry) object {
	out := object{}
	for _, f := range e.kind.fields {
		v, ok := e.given[f.name]
		if !ok {
			v = f.fallback
		}
		out[f.name] = v
	}
	if e.kind.secret() {
		out[fieldAuthType] = p.authType(e, out)
	}
	return out
}

// authType is how a provider or connection identifies itself, as it is stored.
func (p *planner) authType(e *entry, want object) any {
	family := text(want["model_provider"])
	switch given := text(e.given[fieldAuthType]); given {
	case "", "api_key":
		if connection := text(want["connection"]); connection != "" && given == "" {
			if c := p.file.find(keyConnections, kindOf(keyConnections).fold(connection)); c != nil {
				return p.authType(c, p.wanted(c))
			}
			if r, _ := p.state.find(keyConnections, kindOf(keyConnections).fold(connection)); r != nil {
				return r.fields[fieldAuthType]
			}
		}
		return p.state.defaultAuth[family]
	case "oauth_passthrough":
		if family == "anthropic" {
			return "claude_oauth"
		}
		return "codex_oauth"
	default:
		return given
	}
}

// together are fields of which one decides what the API makes of the others: they are
// sent with it.
var together = [][]string{{"billing_mode", "billing_reason", "billing_note"}, {"scope_type", "scope_id", "scope_value"}}

// differences are the fields to send, and puts those that differ into the change.
func (p *planner) differences(e *entry, r *row, want object, change *Change) object {
	changed := object{}
	for _, f := range e.kind.fields {
		from, to := p.compared(e, f.name, r, want)
		moves := p.limitMoves(e, f.name, want)
		if alike(e.kind, f, from, to) && !moves {
			continue
		}
		if moves && same(from, to) {
			change.Notes = append(change.Notes, f.name+" is sent, since the provider's changes")
		}
		if f.immutable {
			p.fail(e.problem(f.name, "%s of the %s %s cannot be changed from %v to %v: delete it first", f.name, e.kind.noun, e.name(), from, to))
		}
		changed[f.name] = want[f.name]
		change.Fields = append(change.Fields, FieldChange{f.name, from, to})
	}
	for _, group := range together {
		if !slices.ContainsFunc(group, func(name string) bool { _, ok := changed[name]; return ok }) {
			continue
		}
		for _, name := range group {
			if _, ok := e.kind.field(name); ok {
				changed[name] = want[name]
			}
		}
	}
	return changed
}

// alike reports whether two values of a field come to the same: names are the same however
// they are written.
func alike(k *kind, f field, a, b any) bool {
	if f.refers != "" {
		refers := kindOf(f.refers)
		return refers.fold(text(a)) == refers.fold(text(b))
	}
	if k.key == keyAccess && f.name == fieldTargets {
		a, b = foldedTargets(a), foldedTargets(b)
	}
	return same(a, b) || blank(a) && blank(b)
}

// foldedTargets are the targets of a model access policy with the names in them folded.
func foldedTargets(v any) any {
	list, _ := v.([]any)
	out := []any{}
	for _, item := range list {
		target := merged(item.(object))
		for name, refers := range accessFields {
			if v, ok := target[name]; ok && refers != "" {
				target[name] = kindOf(refers).fold(text(v))
			}
		}
		out = append(out, target)
	}
	return out
}

// blank is nothing, in the forms that the API takes for it.
func blank(v any) bool { return v == nil || v == "" }

// The time limits that a model mapping has from its provider, where it has none of its
// own, and those that hold without both.
var inherited = map[string]int64{"request_timeout_secs": 120, "stream_idle_timeout_secs": 180}

// compared are a field as it is and as it should be. The API shows the time limits of a
// mapping as they apply, so they are compared as they apply.
func (p *planner) compared(e *entry, name string, r *row, want object) (from, to any) {
	if _, ok := inherited[name]; ok && e.kind.schema == "ModelMapping" && want[name] == nil {
		_, after := p.limitOf(text(want[fieldProvider]), name)
		return r.fields[name], after
	}
	return r.fields[name], want[name]
}

// limitOf is a time limit that a provider's mappings have from it, now and after the plan.
func (p *planner) limitOf(provider, name string) (before, after any) {
	before, after = inherited[name], inherited[name]
	key := kindOf(keyProviders).fold(provider)
	if r, _ := p.state.find(keyProviders, key); r != nil {
		if v := r.fields[name]; v != nil {
			before = v
		}
		after = before
	}
	if e := p.file.find(keyProviders, key); e != nil {
		after = inherited[name]
		if v := p.wanted(e)[name]; v != nil {
			after = v
		}
	}
	return before, after
}

// limitMoves reports whether a time limit of a mapping's provider changes. The API does not
// tell whether a mapping has the limit from its provider or an equal one of its own, so it
// must be sent then, to be what it should be afterwards.
func (p *planner) limitMoves(e *entry, name string, want object) bool {
	if _, ok := inherited[name]; !ok || e.kind.schema != "ModelMapping" {
		return false
	}
	before, after := p.limitOf(text(want[fieldProvider]), name)
	return !same(before, after)
}
