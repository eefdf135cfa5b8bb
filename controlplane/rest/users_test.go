package rest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// attribution are the fields of who made and changed a resource, as after a creation by
// a service account.
func attribution(created map[string]any) fields {
	return fields{"change_note": nil, "last_change_note": nil, "created_at": created["created_at"], "updated_at": created["created_at"],
		"created_by_user_id": nil, "created_by_email": nil, "created_by_name": "Acme automation",
		"last_modified_by_user_id": nil, "last_modified_by_email": nil, "last_modified_by_name": nil, "last_modified_at": nil}
}

// sequence is what an automation does with a resource: every update is echoed by the
// update, by the read and by the listing.
func (a *api) sequence(t *testing.T, collection string, created answer, want fields, steps []fields) {
	t.Helper()
	path := collection + "/" + created.id(t)
	for name, value := range attribution(created.object(t)) {
		want[name] = value
	}
	if diff := cmp.Diff(want, created.object(t)); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	for _, step := range append([]fields{nil}, steps...) {
		answered := created
		if step != nil {
			answered = a.call(t, "PUT", path, step).want(t, 200)
			for name, value := range step {
				want[name] = value
			}
			want["last_change_note"] = step["change_note"]
			want["change_note"] = step["change_note"]
			got := answered.object(t)
			for _, moved := range []string{"updated_at", "last_modified_at", "last_modified_by_name"} {
				want[moved] = got[moved]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", step, diff)
			}
		}
		read := a.call(t, "GET", path, nil).want(t, 200)
		if diff := cmp.Diff(string(answered.body), string(read.body)); diff != "" {
			t.Errorf("%v: read after it:\n%s", step, diff)
		}
		var listed map[string]any
		for _, row := range a.call(t, "GET", collection, nil).want(t, 200).list(t) {
			if row["id"] == created.id(t) {
				listed = row
			}
		}
		if diff := cmp.Diff(answered.object(t), listed); diff != "" {
			t.Errorf("%v: listed after it:\n%s", step, diff)
		}
	}
	if got := a.call(t, "GET", path, nil).field(t, "last_modified_by_name"); got != "Acme automation" {
		t.Errorf("last modified by %v", got)
	}
	if diff := cmp.Diff(fields{"deleted": true}, a.call(t, "DELETE", path, nil).want(t, 200).object(t)); diff != "" {
		t.Error(diff)
	}
	a.call(t, "DELETE", path, nil).want(t, 404)
	a.call(t, "GET", path, nil).want(t, 404)
}

func TestUserSequence(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.call(t, "POST", usersPath, fields{"email": "admin@acme.example", "name": "A", "role": "admin"}).want(t, 200)
	created := a.call(t, "POST", usersPath, fields{"email": "dana@acme.example", "name": "Dana"}).want(t, 200)
	want := fields{"id": created.id(t), "org_id": a.org.String(), "email": "dana@acme.example", "name": "Dana", "role": "member", "enabled": true,
		"has_password": false, "groups": []any{}, "last_sign_in_at": nil}
	a.sequence(t, usersPath, created, want, []fields{
		{"email": "dana.k@acme.example"}, {"name": "Dana K."}, {"role": "admin"}, {"role": "member"}, {"enabled": false}, {"enabled": true},
		{"change_note": "why"}, {},
	})
	// A password is told by has_password alone.
	full := a.call(t, "POST", usersPath, fields{"email": "k@acme.example", "name": "K", "role": "admin", "password": password, "enabled": false,
		"change_note": "new"}).want(t, 200)
	for name, value := range (fields{"role": "admin", "has_password": true, "enabled": false, "change_note": "new", "last_change_note": "new"}) {
		if full.field(t, name) != value {
			t.Errorf("%s is %v, want %v", name, full.field(t, name), value)
		}
	}
	path := usersPath + "/" + full.id(t)
	if got := a.call(t, "PUT", path, `{"password":null}`).want(t, 200).field(t, "has_password"); got != false {
		t.Error("null does not take the password away")
	}
	if got := a.call(t, "PUT", path, fields{"password": password}).want(t, 200).field(t, "has_password"); got != true {
		t.Error("no password after it was set")
	}
	if got := a.call(t, "PUT", path, fields{"name": "L"}).want(t, 200).field(t, "has_password"); got != true {
		t.Error("another change takes the password away")
	}
}

func TestUserRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	valid := fields{"email": "dana@acme.example", "name": "Dana"}
	existing := a.call(t, "POST", usersPath, fields{"email": "Taken@acme.example", "name": "T"}).want(t, 200).id(t)
	for _, c := range []struct {
		change  fields
		status  int
		message string
	}{
		{fields{"email": ""}, 400, "email must not be blank"},
		{fields{"email": "dana"}, 400, "email must be an email address"},
		{fields{"email": "a@b@c"}, 400, "email must be an email address"},
		{fields{"email": "Dana <d@acme.example>"}, 400, "email must be an email address"},
		{fields{"email": strings.Repeat("x", 250) + "@b.example"}, 400, "email must be at most 255 characters"},
		{fields{"name": " Dana"}, 400, "name must not start or end with a space"},
		{fields{"role": "owner"}, 400, "role must be 'admin' or 'member'"},
		{fields{"password": "elevenchars"}, 400, "password must have 12 to 256 characters"},
		{fields{"password": strings.Repeat("x", 257)}, 400, "password must have 12 to 256 characters"},
		{fields{"change_note": strings.Repeat("x", 1001)}, 400, "change_note must be at most 1000 characters"},
		{fields{"groups": []string{"g"}}, 400, "unknown field `groups`"},
		{fields{"email": 1}, 422, "email: invalid type: number, expected a string"},
		{fields{"enabled": "yes"}, 422, "enabled: invalid type: string, expected a boolean"},
	} {
		a.call(t, "POST", usersPath, with(valid, c.change)).wantError(t, c.status, "invalid_request_error", c.message)
		a.call(t, "PUT", usersPath+"/"+existing, c.change).wantError(t, c.status, "invalid_request_error", c.message)
	}
	a.call(t, "POST", usersPath, fields{"name": "x"}).wantError(t, 422, "invalid_request_error", "missing field `email`")
	a.call(t, "POST", usersPath, with(valid, fields{"email": "tAKEN@acme.example"})).
		wantError(t, 409, "conflict_error", "An account with this email address already exists.")
	other := a.call(t, "POST", usersPath, valid).want(t, 200).id(t)
	a.call(t, "PUT", usersPath+"/"+other, fields{"email": "taken@acme.example"}).
		wantError(t, 409, "conflict_error", "An account with this email address already exists.")
	a.as(t, "Other", tenant.RoleAdmin).call(t, "POST", usersPath, fields{"email": "Taken@acme.example", "name": "T"}).want(t, 200) // each organization its own
	stranger := uuid.NewString()
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		a.call(t, method, usersPath+"/"+stranger, map[string]any{"GET": nil, "DELETE": nil, "PUT": "{}"}[method]).
			wantError(t, 404, "not_found_error", "user {id: "+stranger+"} not found")
	}
}

// An organization keeps somebody who can administer it; who never had anybody is no
// worse off.
func TestLastAdmin(t *testing.T) {
	t.Parallel()
	a := setup(t)
	first := usersPath + "/" + a.call(t, "POST", usersPath, fields{"email": "a@acme.example", "name": "A", "role": "admin"}).want(t, 200).id(t)
	second := usersPath + "/" + a.call(t, "POST", usersPath, fields{"email": "b@acme.example", "name": "B", "role": "admin", "enabled": false}).want(t, 200).id(t)
	const message = "the organization would be left without an enabled administrator"
	for _, change := range []fields{{"role": "member"}, {"enabled": false}} {
		a.call(t, "PUT", first, change).wantError(t, 409, "conflict_error", message)
	}
	a.call(t, "DELETE", first, nil).wantError(t, 409, "conflict_error", message)
	a.call(t, "PUT", first, fields{"name": "AA", "role": "admin"}).want(t, 200)
	a.call(t, "PUT", second, fields{"enabled": true}).want(t, 200)
	a.call(t, "PUT", first, fields{"role": "member"}).want(t, 200)
	a.call(t, "DELETE", second, nil).wantError(t, 409, "conflict_error", message)
	a.call(t, "DELETE", first, nil).want(t, 200)
}

func TestUserIfMatch(t *testing.T) {
	t.Parallel()
	a := setup(t)
	user := a.call(t, "POST", usersPath, fields{"email": "a@acme.example", "name": "A"}).want(t, 200)
	group := a.call(t, "POST", peopleGroupsPath, fields{"name": "g"}).want(t, 200)
	for _, c := range []struct {
		path, seen string
		change     string
	}{
		{usersPath + "/" + user.id(t), user.header.Get("ETag"), `{"name":"B"}`},
		{peopleGroupsPath + "/" + group.id(t), group.header.Get("ETag"), `{"description":"B"}`},
	} {
		if got := a.call(t, "GET", c.path, nil).header.Get("ETag"); got != c.seen {
			t.Errorf("%s: ETag %s read, %s on creation", c.path, got, c.seen)
		}
		changed := a.with(t, "If-Match", c.seen, "PUT", c.path, c.change).want(t, 200).header.Get("ETag")
		a.with(t, "If-Match", c.seen, "PUT", c.path, c.change).want(t, 412)
		a.with(t, "If-Match", c.seen, "DELETE", c.path, "").want(t, 412)
		a.with(t, "If-Match", changed, "DELETE", c.path, "").want(t, 200)
	}
	// Signing in is no change.
	dana := a.person(t, unique(), "member")
	path := usersPath + "/" + dana.call(t, "GET", "/auth/session", nil).id(t)
	before := a.call(t, "GET", path, nil)
	if before.field(t, "last_sign_in_at") == nil || before.field(t, "last_modified_at") != nil {
		t.Errorf("after a sign-in: %s", before.body)
	}
}

func TestPeoplePages(t *testing.T) {
	t.Parallel()
	a := setup(t)
	for _, name := range []string{"a", "b", "c"} {
		a.call(t, "POST", usersPath, fields{"email": name + "@acme.example", "name": name}).want(t, 200)
		a.call(t, "POST", peopleGroupsPath, fields{"name": name}).want(t, 200)
	}
	for _, path := range []string{usersPath, peopleGroupsPath} {
		first := a.call(t, "GET", path+"?limit=2", nil).want(t, 200)
		rows := first.list(t)
		if len(rows) != 2 || !strings.Contains(first.header.Get("Link"), rows[1]["id"].(string)) {
			t.Errorf("%s: %d rows, Link %q", path, len(rows), first.header.Get("Link"))
		}
		last := a.call(t, "GET", path+"?limit=2&after="+rows[1]["id"].(string), nil).want(t, 200)
		if rows := last.list(t); len(rows) != 1 || rows[0]["name"] != "c" || last.header.Get("Link") != "" {
			t.Errorf("%s: the last page is %v", path, rows)
		}
		a.call(t, "GET", path+"?limit=0", nil).want(t, 400)
	}
}

func TestGroupSequence(t *testing.T) {
	t.Parallel()
	a := setup(t)
	var ids []string
	var members []any
	for _, name := range []string{"a", "b", "c"} {
		id := a.call(t, "POST", usersPath, fields{"email": name + "@acme.example", "name": name}).want(t, 200).id(t)
		ids = append(ids, id)
		members = append(members, map[string]any{"user_id": id, "email": name + "@acme.example", "name": name})
	}
	created := a.call(t, "POST", peopleGroupsPath, fields{"name": "research", "user_ids": []string{ids[1], ids[0], ids[1]}}).want(t, 200)
	path := peopleGroupsPath + "/" + created.id(t)
	if diff := cmp.Diff(members[:2], created.field(t, "members")); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	member := func(want ...any) {
		t.Helper()
		if diff := cmp.Diff(append([]any{}, want...), a.call(t, "GET", path, nil).want(t, 200).field(t, "members")); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
	}
	a.call(t, "PUT", path, fields{"user_ids": []string{ids[2]}}).want(t, 200)
	member(members[2])
	a.call(t, "POST", path+"/members", fields{"user_ids": []string{ids[0], ids[2]}}).want(t, 200)
	member(members[0], members[2])
	if got := a.call(t, "GET", usersPath+"/"+ids[0], nil).field(t, "groups"); !cmp.Equal(got, []any{"research"}) {
		t.Errorf("groups of a member: %v", got)
	}
	a.call(t, "DELETE", path+"/members/"+ids[0], nil).want(t, 200)
	member(members[2])
	a.call(t, "DELETE", path+"/members/"+ids[0], nil).wantError(t, 404, "not_found_error", "user "+ids[0]+" is not in the group")
	a.call(t, "DELETE", usersPath+"/"+ids[2], nil).want(t, 200) // leaves it
	member()
	a.call(t, "DELETE", path, nil).want(t, 200)

	created = a.call(t, "POST", peopleGroupsPath, fields{"name": "research"}).want(t, 200)
	a.sequence(t, peopleGroupsPath, created, fields{"id": created.id(t), "org_id": a.org.String(), "name": "research", "description": nil, "members": []any{}},
		[]fields{{"description": "d"}, {}, {"change_note": "why"}, {}, {"description": nil}})
}

func TestGroupRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	stranger := uuid.NewString()
	path := peopleGroupsPath + "/" + a.call(t, "POST", peopleGroupsPath, fields{"name": "Research"}).want(t, 200).id(t)
	for _, c := range []struct {
		body    fields
		status  int
		kind    string
		message string
	}{
		{fields{"name": ""}, 400, "invalid_request_error", "name must not be blank"},
		{fields{"name": "x", "description": strings.Repeat("x", 1001)}, 400, "invalid_request_error", "description must be at most 1000 characters"},
		{fields{"name": "x", "members": []string{}}, 400, "invalid_request_error", "unknown field `members`"},
		{fields{"name": "x", "user_ids": []string{"y"}}, 422, "invalid_request_error", "user_ids[0]: UUID parsing failed"},
		{fields{}, 422, "invalid_request_error", "missing field `name`"},
		{fields{"name": "x", "user_ids": []string{stranger}}, 404, "not_found_error", "user " + stranger + " not found"},
		{fields{"name": "rESEARCH"}, 409, "conflict_error", "A group with this name already exists."},
	} {
		a.call(t, "POST", peopleGroupsPath, c.body).wantError(t, c.status, c.kind, c.message)
	}
	a.call(t, "PUT", path, fields{"name": "y"}).wantError(t, 400, "invalid_request_error", "unknown field `name`")
	a.call(t, "PUT", path, fields{"user_ids": []string{stranger}}).wantError(t, 404, "not_found_error", "user "+stranger+" not found")
	a.call(t, "POST", path+"/members", fields{"user_ids": []string{}}).wantError(t, 400, "invalid_request_error", "user_ids cannot be empty")
	a.call(t, "POST", path+"/members", fields{"user_ids": []string{stranger}}).wantError(t, 404, "not_found_error", "user "+stranger+" not found")
	missing := "group {id: " + stranger + "} not found"
	a.call(t, "GET", peopleGroupsPath+"/"+stranger, nil).wantError(t, 404, "not_found_error", missing)
	a.call(t, "PUT", peopleGroupsPath+"/"+stranger, fields{}).wantError(t, 404, "not_found_error", missing)
	a.call(t, "DELETE", peopleGroupsPath+"/"+stranger, nil).wantError(t, 404, "not_found_error", missing)
	a.call(t, "POST", peopleGroupsPath+"/"+stranger+"/members", fields{"user_ids": []string{stranger}}).wantError(t, 404, "not_found_error", missing)
	a.call(t, "DELETE", peopleGroupsPath+"/"+stranger+"/members/"+stranger, nil).wantError(t, 404, "not_found_error", missing)
	if got := a.call(t, "GET", path, nil).want(t, 200).field(t, "last_modified_at"); got != nil {
		t.Errorf("a refused change is attributed: %v", got)
	}
}

// What nodes learn of a person's keys: groups, and that the person is gone or disabled.
func TestKeysFollowTheirUser(t *testing.T) {
	t.Parallel()
	a := setup(t)
	user := a.call(t, "POST", usersPath, fields{"email": "dana@acme.example", "name": "Dana"}).want(t, 200).id(t)
	create := func(more fields) node.Hash {
		return node.HashKey(a.call(t, "POST", keysPath, with(fields{"name": "k"}, more)).want(t, 200).field(t, "key").(string))
	}
	own, bound, foreign, machine := create(fields{"user_id": user}), create(fields{"group_name": "ops"}), create(fields{"user_id": uuid.NewString()}), create(nil)
	for _, name := range []string{"research", "Zoo"} {
		a.call(t, "POST", peopleGroupsPath, fields{"name": name, "user_ids": []string{user}}).want(t, 200)
	}
	groups := func() map[node.Hash][]string {
		out := map[node.Hash][]string{}
		for hash, k := range a.keyEntries(t) {
			out[hash] = k.Groups
		}
		return out
	}
	if diff := cmp.Diff(map[node.Hash][]string{own: {"Zoo", "research"}, bound: {"ops"}, foreign: nil, machine: nil}, groups()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	disabled := func() (list []bool) {
		entries := a.keyEntries(t)
		for _, hash := range []node.Hash{own, bound, foreign, machine} {
			list = append(list, entries[hash].Disabled)
		}
		return list
	}
	for _, enabled := range []bool{false, true} {
		a.call(t, "PUT", usersPath+"/"+user, fields{"enabled": enabled}).want(t, 200)
		if diff := cmp.Diff([]bool{!enabled, false, false, false}, disabled()); diff != "" {
			t.Errorf("enabled %v: disabled keys (-want +got):\n%s", enabled, diff)
		}
	}
	a.call(t, "DELETE", usersPath+"/"+user, nil).want(t, 200)
	if _, there := a.keyEntries(t)[own]; there || len(a.keyEntries(t)) != 3 {
		t.Error("the key outlives its user")
	}
	for _, k := range a.call(t, "GET", keysPath, nil).want(t, 200).list(t) {
		if (k["user_id"] == user) != (k["revoked_at"] != nil) {
			t.Errorf("revoked: %v", k)
		}
	}
}
