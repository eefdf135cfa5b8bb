package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/client"
)

// checkOwnRoute refuses a model whose part in the route of its own name is told in two
// ways.
func (p *planner) checkOwnRoute(e *entry, want object) {
	route := p.file.find(keyRoutes, text(want[fieldModel]))
	if route == nil {
		return
	}
	in := slices.ContainsFunc(route.targets, func(t *entry) bool { return targetKey(t.given) == e.key() })
	if in != (want[fieldBareAlias] == true) {
		p.fail(e.problem(fieldBareAlias, "bare_alias must be %t, since the route %s at %s has the model %s it", in, route.name(), route.pos, map[bool]string{true: "in", false: "not in"}[in]))
	}
}

// route plans a route: it is the whole of its targets, in their order.
func (p *planner) route(e *entry) {
	current := p.state.route(e.name())
	for _, t := range e.targets {
		key := targetKey(t.given)
		p.checkModel(t, !slices.ContainsFunc(current, func(r *row) bool { return targetKey(r.fields) == key }))
	}
	own := slices.ContainsFunc(e.targets, func(t *entry) bool { return text(t.given[fieldModel]) == e.name() })
	plainName := !slices.ContainsFunc(e.targets, func(t *entry) bool { return t.given[fieldBareAlias] == false })
	if len(current) == 0 && !own && plainName {
		p.createRoute(e)
		return
	}
	r := &routePlan{planner: p, entry: e, current: current}
	r.change = Change{Action: ActionUpdate, Kind: e.kind.noun, Name: e.name()}
	if len(current) == 0 {
		r.change.Action = ActionCreate
	}
	r.targets()
	r.order()
	r.removals()
	if len(r.change.Fields) > 0 {
		p.Changes = append(p.Changes, r.change)
	}
}

// checkModel refuses a target whose model is not enabled on its provider. One that is there
// already may stay while its model is disabled.
func (p *planner) checkModel(t *entry, isNew bool) {
	key := targetKey(t.given)
	e := p.file.find(keyModels, key)
	r, _ := p.state.find(keyModels, key)
	switch {
	case e != nil && isNew && e.given[fieldEnabled] == false, e == nil && r != nil && isNew && r.fields[fieldEnabled] == false:
		p.fail(t.problem(fieldModel, "the model %s is disabled, so that no target can be made of it", targetName(t.given)))
	case e != nil:
	case r == nil:
		p.fail(t.problem(fieldModel, "the model %s is not enabled: add it under models", targetName(t.given)))
	case p.pruned(keyModels):
		p.fail(t.problem(fieldModel, "the model %s is needed and not in the file, whose list of models would delete it", targetName(t.given)))
	}
}

// createRoute plans a route that is not there, all its targets in one call.
func (p *planner) createRoute(e *entry) {
	change := Change{Action: ActionCreate, Kind: e.kind.noun, Name: e.name()}
	for i, t := range e.targets {
		change.Fields = append(change.Fields, FieldChange{Field: fmt.Sprintf("targets[%d]", i), New: showTarget(t)})
	}
	p.Changes = append(p.Changes, change)
	p.step(phaseRoutes, "create the route "+e.name(), e, nil, func(ctx context.Context) error {
		body := object{"model_alias": e.name()}
		var targets []any
		for _, t := range e.targets {
			fields := merged(t.given)
			delete(fields, fieldBareAlias) // true, as of every target that a route is created with
			target, err := p.state.toAPI(t.kind, fields)
			if err != nil {
				return err
			}
			targets = append(targets, target)
		}
		body["targets"] = targets
		raw, err := encode(body, p.opt.Note)
		if err == nil {
			_, err = content(p.state.c.CreateRouteWithBody(ctx, nil, mediaJSON, raw))
		}
		return err
	})
}

// showTarget is a target in a change: its name, and the settings that the file gives.
func showTarget(t *entry) any {
	settings := merged(t.given)
	delete(settings, fieldProvider)
	delete(settings, fieldModel)
	if len(settings) == 0 {
		return targetName(t.given)
	}
	return object{targetName(t.given): settings}
}

// routePlan is the plan of a route that is there in part.
type routePlan struct {
	*planner
	entry   *entry
	current []*row
	change  Change
	added   int
}

func (r *routePlan) find(key string) *row {
	i := slices.IndexFunc(r.current, func(c *row) bool { return targetKey(c.fields) == key })
	if i < 0 {
		return nil
	}
	return r.current[i]
}

// targets adds those that are not there, and then changes those that are: first what lets
// them serve, at the end what keeps them from it.
func (r *routePlan) targets() {
	var late []func()
	for _, t := range r.entry.targets {
		row := r.find(targetKey(t.given))
		switch {
		case row == nil && text(t.given[fieldModel]) == r.entry.name():
			r.ownTarget(t)
		case row == nil:
			r.add(t)
		case row.enablement(): // what there is to say of it is said under models
		default:
			if disable := r.settings(t, row); disable != nil {
				late = append(late, disable)
			}
		}
	}
	for _, disable := range late {
		disable()
	}
}

// ownTarget is a model that comes into the route of its own name.
func (r *routePlan) ownTarget(t *entry) {
	e := r.file.find(keyModels, targetKey(t.given))
	if e == nil || e.given[fieldBareAlias] != true {
		r.fail(t.problem(fieldModel, "the model %s is in the route of its own name by bare_alias: true under models", targetName(t.given)))
	}
}

// add appends a target after those that are there.
func (r *routePlan) add(t *entry) {
	last := int64(-1)
	if n := len(r.current); n > 0 {
		last = whole(r.current[n-1].raw["priority"])
	}
	r.added++
	priority := last + int64(r.added)
	r.change.Fields = append(r.change.Fields, FieldChange{Field: "target " + targetName(t.given), New: showTarget(t)})
	r.step(phaseRoutes, "add the target "+targetName(t.given)+" to the route "+r.entry.name(), t, nil, func(ctx context.Context) error {
		body, err := r.state.toAPI(t.kind, t.given)
		if err != nil {
			return err
		}
		_, err = r.send(ctx, t.kind, nil, merged(body, object{"model_alias": r.entry.name(), "priority": priority}))
		return err
	})
}

// settings changes those of a target. A change that keeps it from serving is returned, to
// be planned when the others are.
func (r *routePlan) settings(t *entry, row *row) func() {
	var change Change
	changed := r.differences(t, row, r.wanted(t), &change)
	if len(changed) == 0 {
		return nil
	}
	for _, f := range change.Fields {
		f.Field = "target " + targetName(t.given) + " " + f.Field
		r.change.Fields = append(r.change.Fields, f)
	}
	do := func() {
		r.step(phaseRoutes, "change the target "+targetName(t.given)+" of the route "+r.entry.name(), t, row, func(ctx context.Context) error {
			body, err := r.state.toAPI(t.kind, changed)
			if err == nil {
				_, err = r.send(ctx, t.kind, row, body)
			}
			return err
		})
	}
	if changed[fieldEnabled] == false {
		return do
	}
	do()
	return nil
}

// order puts the targets that stay and those that came into the order of the file.
func (r *routePlan) order() {
	var is, want []string
	names := map[string]string{}
	for _, c := range r.current {
		key := targetKey(c.fields)
		if slices.ContainsFunc(r.entry.targets, func(t *entry) bool { return targetKey(t.given) == key }) {
			is = append(is, key)
		}
	}
	kept := len(is)
	for _, t := range r.entry.targets {
		key := targetKey(t.given)
		names[key] = targetName(t.given)
		want = append(want, key)
		if !slices.Contains(is, key) {
			is = append(is, key)
		}
	}
	if slices.Equal(is, want) && !r.ownComes() {
		return
	}
	show := func(list []string) (out []any) {
		for _, key := range list {
			out = append(out, names[key])
		}
		return out
	}
	if len(r.current) > 0 {
		r.change.Fields = append(r.change.Fields, FieldChange{"order", show(is[:kept]), show(want)})
	}
	r.step(phaseRoutes, "put the targets of the route "+r.entry.name()+" in order", r.entry, nil, func(ctx context.Context) error {
		return r.reorder(ctx, want)
	})
}

// ownComes reports whether a model comes into the route of its own name: it has a
// priority of its own already, so that its place is not known.
func (r *routePlan) ownComes() bool {
	return slices.ContainsFunc(r.entry.targets, func(t *entry) bool {
		return text(t.given[fieldModel]) == r.entry.name() && r.find(targetKey(t.given)) == nil
	})
}

// reorder sets the priorities of a route in one call. The call takes no If-Match, so the
// order is read just before it: one that somebody changed meanwhile is left as it is.
func (r *routePlan) reorder(ctx context.Context, want []string) error {
	resp, err := r.state.c.GetRouteWithResponse(ctx, r.entry.name())
	if err != nil {
		return err
	}
	body := admin.ModelMappingReorder{Entries: []admin.ModelMappingPriority{}}
	var before, now []uuid.UUID
	ids := map[string]uuid.UUID{}
	for _, c := range r.current {
		before = append(before, c.id)
	}
	for _, t := range resp.JSON200.Targets {
		ids[targetKey(object{fieldProvider: t.ProviderName, fieldModel: t.UpstreamModel})] = t.Id
		if slices.Contains(before, t.Id) {
			now = append(now, t.Id)
		}
	}
	if !slices.Equal(before, now) {
		return &client.Error{Status: http.StatusPreconditionFailed, Message: "the targets of the route were changed since they were read"}
	}
	for i, key := range want {
		id, ok := ids[key]
		if !ok {
			return fmt.Errorf("the target %s is not there", key)
		}
		body.Entries = append(body.Entries, admin.ModelMappingPriority{Id: id, Priority: i})
	}
	var as admin.ReorderModelMappingsParams
	if len(body.Entries) == len(resp.JSON200.Targets) { // with others that are to go, the API takes no condition
		as.IfMatch = new(resp.HTTPResponse.Header.Get("ETag"))
	}
	if _, err := r.state.c.ReorderModelMappingsWithResponse(ctx, &as, body); err != nil {
		return err
	}
	for _, s := range r.steps { // a model that is in the route may have another change to come
		if s.row != nil && slices.Contains(slices.Collect(maps.Values(ids)), s.row.id) {
			if err := r.state.revise(ctx, s.row); err != nil {
				return err
			}
		}
	}
	return nil
}

// removals takes away the targets that the file does not have, when the others serve.
func (r *routePlan) removals() {
	for _, c := range r.current {
		key := targetKey(c.fields)
		if slices.ContainsFunc(r.entry.targets, func(t *entry) bool { return targetKey(t.given) == key }) {
			continue
		}
		if c.enablement() {
			r.leaveOwn(c)
			continue
		}
		r.change.Fields = append(r.change.Fields, FieldChange{Field: "target " + targetName(c.fields), Old: targetName(c.fields)})
		r.remove(phaseRoutes, "remove the target "+targetName(c.fields)+" from the route "+r.entry.name(), c)
	}
}

// leaveOwn takes a model out of the route of its own name. Where the file has the model,
// that is said there.
func (r *routePlan) leaveOwn(c *row) {
	if r.file.find(keyModels, targetKey(c.fields)) != nil {
		return
	}
	r.change.Fields = append(r.change.Fields, FieldChange{Field: "target " + targetName(c.fields), Old: targetName(c.fields)})
	r.step(phaseRoutes, "take the model "+targetName(c.fields)+" out of the route "+r.entry.name(), r.entry, c, func(ctx context.Context) error {
		_, err := r.send(ctx, c.kind, c, object{fieldBareAlias: false})
		return err
	})
}

// encode is a body with a change note, where there is one.
func encode(body object, note string) (*bytes.Reader, error) {
	if note != "" {
		body = merged(body, object{"change_note": note})
	}
	raw, err := json.Marshal(body)
	return bytes.NewReader(raw), err
}
