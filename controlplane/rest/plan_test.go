package rest_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// planOf is what an automation would write to keep what it reads, of the fields that it
// holds: nulls too.
func planOf(read map[string]any, held []string) fields {
	out := fields{}
	for _, name := range held {
		out[name] = read[name]
	}
	return out
}

// secondPlanIsEmpty goes the way of an automation: create, read, write the same, read.
// Whatever was sent, the second read is the first, and so is the listing. It returns the
// id.
func (a *api) secondPlanIsEmpty(t *testing.T, path string, sent, want fields, held []string) string {
	t.Helper()
	created := a.call(t, "POST", path, sent).want(t, 200)
	one := path + "/" + created.id(t)
	first := a.call(t, "GET", one, nil).want(t, 200)
	wantFields(t, first.object(t), want)
	again := a.call(t, "PUT", one, planOf(first.object(t), held)).want(t, 200)
	second := a.call(t, "GET", one, nil).want(t, 200)
	for what, got := range map[string]answer{"create": created, "first read": first, "update": again} {
		if diff := cmp.Diff(stable(second.object(t)), stable(got.object(t))); diff != "" {
			t.Errorf("%s is not the second read:\n%s", what, diff)
		}
	}
	if diff := cmp.Diff(second.object(t), a.listed(t, path, created.id(t))); diff != "" {
		t.Errorf("the listing is not the second read:\n%s", diff)
	}
	return created.id(t)
}

// wantFields checks some of a resource's fields.
func wantFields(t *testing.T, got map[string]any, want fields) {
	t.Helper()
	for name, value := range want {
		if _, shown := got[name]; !shown {
			t.Errorf("%s is not shown in %v", name, got)
		}
		if diff := cmp.Diff(value, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// listed is a resource as its listing shows it.
func (a *api) listed(t *testing.T, path, id string) map[string]any {
	t.Helper()
	list := a.call(t, "GET", path, nil).want(t, 200).list(t)
	i := slices.IndexFunc(list, func(row map[string]any) bool { return row["id"] == id })
	if i < 0 {
		t.Fatalf("%s does not list %s", path, id)
	}
	return list[i]
}

// planStep is one change of a plan.
type planStep struct {
	name         string
	change, more fields // more: what follows from it
}

// fieldUpdates changes one field after the other: the answer and the next read show it,
// and nothing else moves.
func (a *api) fieldUpdates(t *testing.T, path string, steps []planStep) {
	t.Helper()
	want := stable(a.call(t, "GET", path, nil).want(t, 200).object(t))
	for _, s := range steps {
		got := a.call(t, "PUT", path, s.change).want(t, 200)
		for _, changes := range []fields{s.change, s.more} {
			for name, value := range changes {
				if _, shown := want[name]; shown || name != "change_note" {
					want[name] = value
				}
			}
		}
		if diff := cmp.Diff(want, stable(got.object(t))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, diff)
		}
		read := a.call(t, "GET", path, nil).want(t, 200)
		if diff := cmp.Diff(string(got.body), string(read.body)); diff != "" {
			t.Errorf("%s: read after update:\n%s", s.name, diff)
		}
	}
}

// refusal is a body that is answered with an error.
type refusal struct {
	change  any
	status  int
	message string
}

// refused sends each over a valid body, and expects the error.
func (a *api) refused(t *testing.T, method, path string, valid fields, refusals []refusal) {
	t.Helper()
	for _, c := range refusals {
		body := c.change
		if changes, some := c.change.(fields); some {
			body = with(valid, changes)
		}
		a.call(t, method, path, body).wantError(t, c.status, "invalid_request_error", c.message)
	}
}

// deletedOnce deletes a resource; the second time, and for a read, it is not there.
func (a *api) deletedOnce(t *testing.T, path string, missing string) {
	t.Helper()
	r := a.call(t, "DELETE", path, nil).want(t, 200)
	if diff := cmp.Diff(fields{"deleted": true}, r.object(t)); diff != "" {
		t.Error(diff)
	}
	for _, method := range []string{"DELETE", "GET"} {
		a.call(t, method, path, nil).wantError(t, 404, "not_found_error", missing)
	}
}
