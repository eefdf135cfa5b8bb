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
	p.checkGroups()
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

// secretNeeded reports whether the credential must be sent with a change.
func (p *planner) secretNeeded(e *entry, r *row, want, changed object) bool {
	if !e.kind.secret() {
		return false
	}
	shared := !blank(r.fields["connection"]) // then what is stored is the connection's
	stored := !shared && text(r.raw["secret_path"]) != "" || r.raw["stores_key_material"] == true
	moved := elsewhere(text(r.fields["base_url"]), text(want["base_url"]))
	switch own := e.secret == nil && blank(want["connection"]); {
	case own && shared:
		p.fail(e.problem("", "the %s %s has its connection's credential, and without the connection needs its own: give api_key or credentials", e.kind.noun, e.name()))
	case own && moved && stored:
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
