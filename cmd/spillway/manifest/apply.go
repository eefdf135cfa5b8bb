package manifest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/client"
)

// ErrChangedMeanwhile says that somebody changed the organization since it was compared
// with the file. Nothing was done.
var ErrChangedMeanwhile = errors.New("the organization was changed since the plan was made: nothing is done, run it again")

// StepsError says how far applying a file came. What was done stays; applying the file
// again goes on from there.
type StepsError struct {
	Done []string // what was done
	Left []string // what was not; the first is what failed
	At   *Pos     // where the file says what failed; nil where it does not
	Err  error
}

func (e *StepsError) Error() string {
	message := e.Err.Error()
	if client.StatusOf(e.Err) == http.StatusPreconditionFailed {
		message = "somebody changed it meanwhile (" + message + ")"
	}
	text := ""
	if e.At != nil {
		text = e.At.String() + ": "
	}
	text += "could not " + e.Left[0] + ": " + message
	if len(e.Left) > 1 {
		text += "; not done either: " + strings.Join(e.Left[1:], ", ")
	}
	if len(e.Done) > 0 {
		text += fmt.Sprintf("; %d of %d steps are done, and running it again goes on from there", len(e.Done), len(e.Done)+len(e.Left))
	}
	return text
}

func (e *StepsError) Unwrap() error { return e.Err }

// Apply makes the changes and calls done with each step that is made. What was changed
// since the plan was made is left as it is, and is an error.
func (p *Plan) Apply(ctx context.Context, done func(step string)) error {
	for _, s := range p.steps {
		if s.row == nil || p.state.etags[s.row.id] != "" {
			continue
		}
		if err := p.state.revise(ctx, s.row); client.StatusOf(err) == http.StatusNotFound {
			return ErrChangedMeanwhile
		} else if err != nil {
			return err
		}
	}
	// The revisions just read are those of the plan only if nothing was changed since.
	version, err := newestVersion(ctx, p.state.c)
	if err != nil {
		return err
	}
	if version != p.state.version {
		return ErrChangedMeanwhile
	}
	for i, s := range p.steps {
		if err := s.do(ctx); err != nil {
			e := &StepsError{Err: err, At: s.at(err)}
			for j, t := range p.steps {
				if j < i {
					e.Done = append(e.Done, t.what)
				} else {
					e.Left = append(e.Left, t.what)
				}
			}
			return e
		}
		done(s.what)
	}
	return nil
}

// at is where the file says what a step failed over.
func (s step) at(err error) *Pos {
	if s.entry == nil {
		return nil
	}
	at := s.entry.pos
	if refused, ok := errors.AsType[*client.Error](err); ok {
		at = s.entry.place(refused.Param)
	}
	return &at
}

// send creates a resource, or changes the one that r is, and returns it as it is then.
func (p *planner) send(ctx context.Context, k *kind, r *row, body object) (object, error) {
	raw, err := encode(body, p.opt.Note)
	if err != nil {
		return nil, err
	}
	ops := p.state.ops[k.key]
	var resp *http.Response
	if r == nil {
		resp, err = ops.create(ctx, raw)
	} else {
		resp, err = ops.update(ctx, r.id, new(p.state.etags[r.id]), raw)
	}
	answer, err := content(resp, err)
	if err != nil {
		return nil, err
	}
	if r != nil { // a later step may change it again
		p.state.etags[r.id] = resp.Header.Get("ETag")
	}
	v, err := decode(answer)
	o, _ := v.(object)
	return o, err
}

// revise reads the revision that a resource has now.
func (s *state) revise(ctx context.Context, r *row) error {
	resp, err := s.ops[r.kind.key].get(ctx, r.id)
	if err != nil {
		return err
	}
	s.etags[r.id] = resp.Header.Get("ETag")
	return resp.Body.Close()
}

// made notes a resource that was created, for those that refer to it.
func (s *state) made(k *kind, name string, o object) error {
	id, err := uuid.Parse(text(o["id"]))
	if err == nil {
		s.remember(k, name, id)
	}
	return err
}

// remove plans a deletion.
func (p *planner) remove(phase int, what string, r *row) {
	p.step(phase, what, nil, r, func(ctx context.Context) error {
		_, err := content(p.state.ops[r.kind.key].remove(ctx, r.id, new(p.state.etags[r.id])))
		return err
	})
}

// prune plans the deletion of what the file does not name.
func (p *planner) prune(k *kind) {
	if !p.file.named[k.key] || k.single {
		return
	}
	kinds, _ := table()
	phase := phaseDelete + len(kinds) - slices.Index(kinds, k)
	if k.key == keyRoutes {
		p.pruneRoutes(k, phase)
		return
	}
	for _, r := range p.state.rows[k.key] {
		if p.file.find(k.key, keyOf(k, r.fields)) != nil || p.goesAlong(r) {
			continue
		}
		p.checkNeeded(r)
		p.Changes = append(p.Changes, Change{Action: ActionDelete, Kind: k.noun, Name: r.name(), Notes: p.alsoGone(r)})
		p.remove(phase, "delete the "+k.noun+" "+r.name(), r)
	}
}

// pruneRoutes deletes the routes that the file does not name, target by target. A route
// that is nothing but models under their own names belongs to the models.
func (p *planner) pruneRoutes(k *kind, phase int) {
	for _, name := range p.state.routes() {
		if p.file.find(keyRoutes, name) != nil {
			continue
		}
		var gone []*row
		for _, r := range p.state.route(name) {
			if !r.enablement() {
				gone = append(gone, r)
			}
		}
		if len(gone) == 0 {
			continue
		}
		p.Changes = append(p.Changes, Change{Action: ActionDelete, Kind: k.noun, Name: name, Notes: p.losing(name)})
		for _, r := range gone {
			p.remove(phase, "delete the target "+targetName(r.fields)+" of the route "+name, r)
		}
	}
}

// losing are the groups that lose a route with its last target, of those that the file says
// nothing of.
func (p *planner) losing(route string) (notes []string) {
	for _, g := range p.state.rows[keyGroups] {
		list, _ := g.fields["routes"].([]any)
		if !p.stays(route) && !p.pruned(keyGroups) && p.file.find(keyGroups, keyOf(g.kind, g.fields)) == nil && slices.Contains(list, any(route)) {
			notes = append(notes, "the route group "+g.name()+" loses it")
		}
	}
	return notes
}

// goesAlong reports whether a model is deleted with its provider.
func (p *planner) goesAlong(r *row) bool {
	provider := kindOf(keyProviders).fold(text(r.fields[fieldProvider]))
	return r.kind.key == keyModels && p.pruned(keyProviders) && p.file.find(keyProviders, provider) == nil
}

// alsoGone says what the deletion of a provider or a model takes along.
func (p *planner) alsoGone(r *row) (notes []string) {
	for _, m := range p.state.rows[keyModels] {
		if r.kind.key == keyProviders && same(m.raw["provider_id"], r.raw["id"]) {
			notes = append(notes, "its model "+m.model()+" goes with it")
		}
	}
	for _, key := range []string{keyRateLimits, keyBudgets} {
		for _, l := range p.state.rows[key] {
			if r.kind.key == keyProviders && same(l.raw["target_provider_id"], r.raw["id"]) && !p.pruned(key) && p.file.find(key, keyOf(l.kind, l.fields)) == nil {
				notes = append(notes, "the "+l.kind.noun+" "+l.name()+" is for it, and counts nothing any more")
			}
		}
	}
	for _, t := range p.state.rows[keyRoutes] {
		if t.enablement() || p.file.find(keyRoutes, t.alias()) != nil || p.pruned(keyRoutes) {
			continue
		}
		switch {
		case r.kind.key == keyProviders && same(t.raw["provider_id"], r.raw["id"]):
			notes = append(notes, "its target in the route "+t.alias()+" goes with it")
		case r.kind.key == keyModels && targetKey(t.fields) == keyOf(r.kind, r.fields):
			notes = append(notes, "the route "+t.alias()+" has a target that can serve no more")
		}
	}
	return notes
}
