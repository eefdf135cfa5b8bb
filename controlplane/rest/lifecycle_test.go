package rest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// lifecycle is what an automation does with a resource of a kind, from its creation to its
// end: it reads by scanning the listing, and whatever it wrote must come back the same
// each time, or its next plan is not empty.
type lifecycle struct {
	path string
	// minimal are the required fields alone; defaults is what the server adds to them.
	minimal, defaults fields
	// optional are the fields that may be null on creation.
	optional []string
	// all has every field that a creation takes.
	all fields
	// updates are made one after the other to what all made.
	updates []update
	// second is how another one differs from minimal; nil: by its name.
	second fields
	// gone is the message for an id that is not there; goneOnUpdate, where set, for an
	// update of it.
	gone, goneOnUpdate string
}

// update is one change, and what follows from it; nil in either is null.
type update struct {
	name         string
	change, more fields
}

func (l lifecycle) run(t *testing.T, a *api) {
	t.Helper()
	id := l.creates(t, a)
	l.changes(t, a, l.path+"/"+id)
	l.conditions(t, a, l.path+"/"+id)
	a.call(t, "DELETE", l.path+"/"+id, nil).want(t, 200)
	for _, method := range []string{"DELETE", "GET", "PUT"} {
		gone := fmt.Sprintf(l.gone, id)
		if method == "PUT" && l.goneOnUpdate != "" {
			gone = l.goneOnUpdate
		}
		a.call(t, method, l.path+"/"+id, ifPut(method)).wantError(t, 404, "not_found_error", gone)
	}
	stranger := uuid.NewString()
	a.call(t, "DELETE", l.path+"/"+stranger, nil).wantError(t, 404, "not_found_error", fmt.Sprintf(l.gone, stranger))
	a.call(t, "GET", l.path+"/x", nil).wantError(t, 400, "invalid_request_error", "id: UUID parsing failed")
	l.pages(t, a)
}

func ifPut(method string) any {
	if method == "PUT" {
		return `{}`
	}
	return nil
}

// creates makes one with the required fields, one with nulls for all others, and one with
// everything, which it returns.
func (l lifecycle) creates(t *testing.T, a *api) string {
	t.Helper()
	minimal := a.call(t, "POST", l.path, l.minimal).want(t, 200)
	l.same(t, a, minimal)
	want := with(l.minimal, nil)
	for name, value := range l.defaults {
		want[name] = value
	}
	holds(t, "minimal", minimal, want)
	a.call(t, "DELETE", l.path+"/"+minimal.id(t), nil).want(t, 200)

	nulls := with(l.minimal, nil)
	for _, name := range l.optional {
		nulls[name] = nil
	}
	explicit := a.as(t, "Nulls", tenant.RoleAdmin).call(t, "POST", l.path, nulls).want(t, 200)
	holds(t, "nulls", explicit, want)

	all := a.call(t, "POST", l.path, l.all).want(t, 200)
	l.same(t, a, all)
	holds(t, "all", all, with(l.all, fields{"last_change_note": l.all["change_note"]}))
	return all.id(t)
}

// changes makes the updates: the answer and every read show it, and nothing else moves.
func (l lifecycle) changes(t *testing.T, a *api, path string) {
	t.Helper()
	want := stable(a.call(t, "GET", path, nil).want(t, 200).object(t))
	for _, u := range l.updates {
		got := a.call(t, "PUT", path, u.change).want(t, 200)
		want["last_change_note"], want["change_note"] = u.change["change_note"], u.change["change_note"]
		for _, changes := range []fields{u.change, u.more} {
			for name, value := range changes {
				if name != "change_note" {
					want[name] = value
				}
			}
		}
		if diff := cmp.Diff(want, stable(got.object(t))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", u.name, diff)
		}
		l.same(t, a, got)
	}
}

// conditions: a stale write is none, and the revision is in every answer.
func (l lifecycle) conditions(t *testing.T, a *api, path string) {
	t.Helper()
	read := a.call(t, "GET", path, nil).want(t, 200)
	written := a.call(t, "PUT", path, `{}`).want(t, 200)
	old, now := read.header.Get("ETag"), written.header.Get("ETag")
	if old == "" || old == now {
		t.Errorf("ETag %q after %q", now, old)
	}
	for _, method := range []string{"PUT", "DELETE"} {
		body, _ := ifPut(method).(string)
		a.with(t, "If-Match", old, method, path, body).wantError(t, 412, "conflict_error", "the resource was changed since you read it: read it again")
	}
	a.with(t, "If-Match", now, "PUT", path, `{}`).want(t, 200)
	a.call(t, "PUT", path, `{"bogus":1}`).wantError(t, 400, "invalid_request_error", "unknown field `bogus`")
}

// pages: two of them, one at a time.
func (l lifecycle) pages(t *testing.T, a *api) {
	t.Helper()
	other := a.as(t, "Pages", tenant.RoleAdmin)
	first := other.call(t, "POST", l.path, l.minimal).want(t, 200).id(t)
	differs := fields{"name": "Second"}
	if l.second != nil {
		differs = l.second
	}
	second := other.call(t, "POST", l.path, with(l.minimal, differs)).want(t, 200).id(t)
	page := other.call(t, "GET", l.path+"?limit=1", nil).want(t, 200)
	if list := page.list(t); len(list) != 1 || list[0]["id"] != first || page.header.Get("Link") == "" {
		t.Errorf("the first page: %s", page.body)
	}
	page = other.call(t, "GET", l.path+"?limit=1&after="+first, nil).want(t, 200)
	if list := page.list(t); len(list) != 1 || list[0]["id"] != second || page.header.Get("Link") != "" {
		t.Errorf("the second page: %s", page.body)
	}
}

// same checks that a read and the listing show what was answered.
func (l lifecycle) same(t *testing.T, a *api, answered answer) {
	t.Helper()
	read := a.call(t, "GET", l.path+"/"+answered.id(t), nil).want(t, 200)
	if diff := cmp.Diff(string(answered.body), string(read.body)); diff != "" {
		t.Errorf("the read is not the answer:\n%s", diff)
	}
	listed := false
	for _, item := range a.call(t, "GET", l.path, nil).want(t, 200).list(t) {
		if item["id"] != answered.id(t) {
			continue
		}
		listed = true
		if diff := cmp.Diff(answered.object(t), item); diff != "" {
			t.Errorf("the listing is not the answer:\n%s", diff)
		}
	}
	if !listed {
		t.Error("it is not in the listing")
	}
}

// holds checks the fields that are wanted; nil is null.
func holds(t *testing.T, what string, got answer, want fields) {
	t.Helper()
	for name, value := range want {
		if diff := cmp.Diff(value, got.field(t, name)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", what, name, diff)
		}
	}
}
