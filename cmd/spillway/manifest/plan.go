package manifest

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/spillway-gateway/spillway/api/client"
)

// Options say how a file is applied.
type Options struct {
	// Prune deletes what the file does not name, of the kinds that it has a list of.
	Prune bool
	// Rotate sends every credential that the file refers to, whether or not it must be.
	Rotate bool
	// Note is the change note of every change.
	Note string
	// Env reads the environment, where the file's credentials may be. Required.
	Env func(string) string
}

// Actions of a change.
const (
	ActionCreate = "create"
	ActionUpdate = "update"
	ActionDelete = "delete"
)

// Change is what becomes of one resource.
type Change struct {
	Action string        `json:"action"`
	Kind   string        `json:"kind"`
	Name   string        `json:"name"`
	Fields []FieldChange `json:"fields,omitempty"`
	// Notes are what else comes of it.
	Notes []string `json:"notes,omitempty"`
}

// FieldChange is what becomes of one field. Old is nil for a creation.
type FieldChange struct {
	Field string `json:"field"`
	Old   any    `json:"old"`
	New   any    `json:"new"`
}

// mention stands in a change for a value that is not shown.
type mention string

// The order of the steps. What a route needs is there before the route is changed, and
// nothing is taken away before everything that needed it does without.
const (
	phaseLoosen = iota // of what governance demands
	phaseConnections
	phaseProviders
	phaseModels
	phaseRoutes
	phaseGroups
	phasePolicies
	phaseTighten // of what governance demands
	phaseDisable
	phaseDelete // and after it by kind, the last kind first
)

var phaseOf = map[string]int{keyConnections: phaseConnections, keyProviders: phaseProviders, keyModels: phaseModels, keyRoutes: phaseRoutes, keyGroups: phaseGroups,
	keyAccess: phasePolicies, keyRateLimits: phasePolicies, keyBudgets: phasePolicies, keyGovernance: phaseTighten}

// step is one call of the API.
type step struct {
	phase int
	what  string // "create the provider OpenAI"
	entry *entry // of the file, or nil
	row   *row   // that is changed, or nil
	do    func(ctx context.Context) error
}

// Plan is how an organization differs from a file, and the steps that end that.
type Plan struct {
	Changes []Change
	steps   []step
	state   *state
}

// planner makes a plan.
type planner struct {
	*Plan
	file     *File
	opt      Options
	problems []error
}

// New compares the organization with the file. Nothing is changed.
func New(ctx context.Context, c *client.Client, file *File, opt Options) (*Plan, error) {
	s, err := readState(ctx, c)
	if err != nil {
		return nil, err
	}
	return plan(s, file, opt)
}

func plan(s *state, file *File, opt Options) (*Plan, error) {
	kinds, err := table()
	if err != nil {
		return nil, err
	}
	p := &planner{Plan: &Plan{state: s}, file: file, opt: opt}
	p.checkReferences()
	for _, k := range kinds {
		for _, e := range file.of(k.key) {
			p.entry(e)
		}
	}
	if opt.Prune {
		for _, k := range slices.Backward(kinds) {
			p.prune(k)
		}
	}
	if len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	slices.SortStableFunc(p.steps, func(a, b step) int { return a.phase - b.phase })
	return p.Plan, nil
}

func (p *planner) fail(err error) { p.problems = append(p.problems, err) }

func (p *planner) step(phase int, what string, e *entry, r *row, do func(context.Context) error) {
	p.steps = append(p.steps, step{phase, what, e, r, do})
}

func (p *planner) entry(e *entry) {
	if e.kind.key == keyRoutes {
		p.route(e)
		return
	}
	r, err := p.state.find(e.kind.key, e.key())
	switch {
	case err != nil:
		p.fail(e.problem(fieldName, "%s", err))
	case r == nil:
		p.create(e)
	default:
		p.update(e, r)
	}
}

// create plans a resource that is not there.
func (p *planner) create(e *entry) {
	change := Change{Action: ActionCreate, Kind: e.kind.noun, Name: e.name()}
	for _, f := range e.kind.fields {
		if v, ok := e.given[f.name]; ok && !(e.kind.key == keyModels && f.required) && f.name != fieldName { // but the name
			change.Fields = append(change.Fields, FieldChange{Field: f.name, New: v})
		}
	}
	secret := p.secret(e, &change, true)
	p.Changes = append(p.Changes, change)
	p.step(phaseOf[e.kind.key], "create the "+e.kind.noun+" "+e.name(), e, nil, func(ctx context.Context) error {
		body, err := p.state.toAPI(e.kind, e.given)
		if err != nil {
			return err
		}
		if e.kind.key == keyModels {
			body["model_alias"] = body[fieldModel]
		}
		made, err := p.send(ctx, e.kind, nil, merged(body, secret))
		if err == nil {
			err = p.state.made(e.kind, e.name(), made)
		}
		return err
	})
}

// secret is the credential to send, which the change mentions.
func (p *planner) secret(e *entry, change *Change, needed bool) object {
	if e.secret == nil || !needed {
		return nil
	}
	v, err := e.secret.resolve(p.opt.Env)
	if err != nil {
		p.fail(err)
		return nil
	}
	change.Fields = append(change.Fields, FieldChange{Field: e.secret.field, New: mention(e.secret.String())})
	return object{e.secret.field: v}
}

func merged(all ...object) object {
	out := object{}
	for _, o := range all {
		for k, v := range o {
			out[k] = v
		}
	}
	return out
}

// update plans what must be changed of a resource that is there.
func (p *planner) update(e *entry, r *row) {
	want := p.wanted(e)
	change := Change{Action: ActionUpdate, Kind: e.kind.noun, Name: shownName(e)}
	changed := p.differences(e, r, want, &change)
	if e.kind.key == keyModels {
		p.checkOwnRoute(e, want)
	}
	secret := p.secret(e, &change, p.secretNeeded(e, r, want, changed))
	if len(change.Fields) == 0 {
		return
	}
	p.Changes = append(p.Changes, change)
	what := strings.TrimSpace("change the " + e.kind.noun + " " + shownName(e))
	early, late := takenAway(e.kind, changed)
	send := func(fields, secret object) func(context.Context) error {
		return func(ctx context.Context) error {
			body, err := p.state.toAPI(e.kind, fields)
			if err == nil {
				_, err = p.send(ctx, e.kind, r, merged(body, secret))
			}
			return err
		}
	}
	if e.kind.single {
		p.governance(e, r, changed, send)
		return
	}
	if len(early)+len(secret) > 0 {
		p.step(phaseOf[e.kind.key], what, e, r, send(early, secret))
	}
	if len(late) > 0 {
		p.step(phaseDisable, map[bool]string{true: what, false: what + " at last"}[len(early)+len(secret) == 0], e, r, send(late, nil))
	}
}

// shownName is the name of an entry in a change; what is there once has none.
func shownName(e *entry) string {
	if e.kind.single {
		return ""
	}
	return e.name()
}

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

// secretNeeded reports whether the credential must be sent with a change.
func (p *planner) secretNeeded(e *entry, r *row, want, changed object) bool {
	if !e.kind.secret() {
		return false
	}
	stored := text(r.raw["secret_path"]) != "" || r.raw["stores_key_material"] == true
	moved := elsewhere(text(r.fields["base_url"]), text(want["base_url"]))
	if moved && stored && e.secret == nil && blank(want["connection"]) {
		p.fail(e.problem("base_url", "moving the %s %s to another host needs its credential: give api_key or credentials", e.kind.noun, e.name()))
	}
	_, auth := changed[fieldAuthType]
	return p.opt.Rotate || moved || auth || !stored
}

// elsewhere reports whether an address is of another host, or no longer https: then a
// stored credential is not taken along.
func elsewhere(from, to string) bool {
	a, errA := url.Parse(from)
	b, errB := url.Parse(to)
	return errA != nil || errB != nil || !strings.EqualFold(a.Host, b.Host) || a.Scheme != b.Scheme
}

// takenAway parts from a change what keeps a provider or a model from serving: that is made
// late, when everything that needed it does without.
func takenAway(k *kind, changed object) (early, late object) {
	if k.key != keyProviders && k.key != keyModels {
		return changed, nil
	}
	early, late = merged(changed), object{}
	for _, name := range []string{fieldEnabled, fieldBareAlias} {
		if v, ok := changed[name]; ok && v == false {
			delete(early, name)
			late[name] = v
		}
	}
	return early, late
}

// governance plans what the organization demands of its configuration: a demand for prices
// ends before models are made that may have none, everything else holds when there is what
// it asks for. The API takes the whole of it at a time.
func (p *planner) governance(e *entry, r *row, changed object, send func(fields, secret object) func(context.Context) error) {
	const prices = "require_pricing_for_mappings"
	rest := merged(changed)
	now := merged(r.fields)
	if changed[prices] == false {
		delete(rest, prices)
		now[prices] = false
		p.step(phaseLoosen, "demand no prices any more", e, r, send(now, nil))
	}
	if len(rest) > 0 {
		p.step(phaseTighten, "change the governance", e, r, send(merged(now, rest), nil))
	}
}

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
