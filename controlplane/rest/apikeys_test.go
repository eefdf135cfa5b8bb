package rest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

func TestAPIKeyCreate(t *testing.T) {
	t.Parallel()
	a := setup(t)
	user := uuid.NewString()
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	cases := []struct {
		body fields
		want fields // of the row
	}{
		{fields{"name": "build"}, fields{"kind": "machine"}},
		{fields{"name": "dana", "user_id": user, "user_email": "dana@acme.example"}, fields{"kind": "user", "user_id": user, "user_email": "dana@acme.example"}},
		{fields{"name": "team", "group_name": "ml", "scopes": []string{"chat"}, "expires_at": expires},
			fields{"kind": "machine", "group_name": "ml", "scopes": []any{"chat"}, "expires_at": expires}},
	}
	for _, c := range cases {
		r := a.call(t, "POST", keysPath, c.body).want(t, 200)
		created := r.object(t)
		key := created["key"].(string)
		if !node.WellFormedKey(key) || created["key_prefix"] != key[:8] {
			t.Errorf("not a key with its prefix: %s", r.body)
		}
		want := fields{"org_id": a.org.String(), "id": r.id(t), "name": c.body["name"], "key_prefix": key[:8], "scopes": []any{},
			"created_at": created["created_at"], "created_by_name": "Acme automation"}
		for _, null := range []string{"user_id", "user_email", "group_name", "expires_at", "revoked_at", "disabled_at", "last_used_at",
			"created_by_user_id", "created_by_email", "last_modified_by_user_id", "last_modified_by_email", "last_modified_by_name", "last_modified_at",
			"last_change_note", "change_note"} {
			want[null] = nil
		}
		for name, value := range c.want {
			want[name] = value
		}
		read := a.call(t, "GET", keysPath+"/"+r.id(t), nil).want(t, 200)
		if diff := cmp.Diff(want, read.object(t)); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		wantAnswer := fields{"key": key}
		for _, name := range []string{"id", "name", "key_prefix", "scopes", "created_at", "group_name", "expires_at"} {
			wantAnswer[name] = want[name]
		}
		if diff := cmp.Diff(wantAnswer, created); diff != "" {
			t.Errorf("created (-want +got):\n%s", diff)
		}
	}
	if got := a.call(t, "GET", keysPath, nil).want(t, 200).list(t); len(got) != len(cases) {
		t.Errorf("got %d keys, want %d", len(got), len(cases))
	}
}

func TestAPIKeyRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	valid := fields{"name": "k"}
	cases := []struct {
		change  fields
		status  int
		message string
	}{
		{fields{"name": ""}, 400, "name must not be blank"},
		{fields{"user_id": uuid.NewString(), "group_name": "g"}, 400, "user_id and group_name are mutually exclusive"},
		{fields{"expires_at": "2020-01-01T00:00:00Z"}, 400, "expires_at must be in the future"},
		{fields{"user_email": "nobody"}, 400, "user_email must be an email address"},
		{fields{"scopes": []string{""}}, 400, "scopes must not be blank"},
		{fields{"key": "bd-mine"}, 400, "unknown field `key`"},
		{fields{"name": nil}, 422, "missing field `name`"},
		{fields{"expires_at": "tomorrow"}, 422, "expires_at: invalid time: expected RFC 3339, such as 2027-01-31T12:00:00Z"},
		{fields{"user_id": "dana"}, 422, "user_id: UUID parsing failed"},
		{fields{"scopes": []any{"a", 1}}, 422, "scopes[1]: invalid type: number, expected a string"},
	}
	for _, c := range cases {
		a.call(t, "POST", keysPath, with(valid, c.change)).wantError(t, c.status, "invalid_request_error", c.message)
	}
	stranger := uuid.NewString()
	notFound := "api key {id: " + stranger + "} not found"
	a.call(t, "GET", keysPath+"/"+stranger, nil).wantError(t, 404, "not_found_error", notFound)
	a.call(t, "DELETE", keysPath+"/"+stranger, nil).wantError(t, 404, "not_found_error", notFound)
	a.call(t, "PATCH", keysPath+"/"+stranger, fields{"disabled": true}).wantError(t, 404, "not_found_error", notFound)
	a.call(t, "POST", keysPath+"/"+stranger+"/rotate", fields{}).wantError(t, 404, "not_found_error", notFound)
}

// keyEntries are the keys that a node would serve.
func (a *api) keyEntries(t *testing.T) map[node.Hash]node.Key {
	t.Helper()
	s, err := a.db.Store.Snapshot(t.Context(), a.org)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[node.Hash]node.Key{}
	for _, k := range s.Keys {
		entries[k.Hash] = k
	}
	if len(entries) != len(s.Keys) {
		t.Errorf("a hash is in the snapshot twice: %+v", s.Keys)
	}
	return entries
}

func TestAPIKeyDisableAndRevoke(t *testing.T) {
	t.Parallel()
	a := setup(t)
	created := a.call(t, "POST", keysPath, fields{"name": "k"}).want(t, 200)
	path, hash := keysPath+"/"+created.id(t), node.HashKey(created.field(t, "key").(string))

	a.call(t, "PATCH", path, fields{}).wantError(t, 422, "invalid_request_error", "missing field `disabled`")
	first := a.call(t, "PATCH", path, fields{"disabled": true}).want(t, 200).field(t, "disabled_at")
	again := a.call(t, "PATCH", path, fields{"disabled": true}).want(t, 200).field(t, "disabled_at")
	if first == nil || first != again {
		t.Errorf("disabling twice keeps the first time: got %v then %v", first, again)
	}
	if !a.keyEntries(t)[hash].Disabled {
		t.Error("the snapshot does not say that the key is disabled")
	}
	if got := a.call(t, "PATCH", path, fields{"disabled": false}).want(t, 200).field(t, "disabled_at"); got != nil {
		t.Errorf("enabled again: got disabled_at %v", got)
	}

	r := a.call(t, "DELETE", path, nil).want(t, 200)
	if diff := cmp.Diff(fields{"revoked": true}, r.object(t)); diff != "" {
		t.Error(diff)
	}
	revoked := a.call(t, "GET", path, nil).want(t, 200).field(t, "revoked_at")
	a.call(t, "DELETE", path, nil).want(t, 200)
	if got := a.call(t, "GET", path, nil).want(t, 200).field(t, "revoked_at"); got == nil || got != revoked {
		t.Errorf("revoking twice keeps the first time: got %v then %v", revoked, got)
	}
	if got := a.keyEntries(t); len(got) != 0 {
		t.Errorf("a revoked key is in the snapshot: %v", got)
	}
	a.call(t, "PATCH", path, fields{"disabled": false}).wantError(t, 409, "conflict_error", "the api key is revoked")
	a.call(t, "POST", path+"/rotate", fields{}).wantError(t, 409, "conflict_error", "the api key is revoked")
}

func TestAPIKeyRotate(t *testing.T) {
	t.Parallel()
	a := setup(t)
	created := a.call(t, "POST", keysPath, fields{"name": "k"}).want(t, 200)
	path, old := keysPath+"/"+created.id(t), node.HashKey(created.field(t, "key").(string))

	for _, grace := range []int{-1, 604801} {
		a.call(t, "POST", path+"/rotate", fields{"grace_secs": grace}).wantError(t, 400, "invalid_request_error", "grace_secs must be between 0 and 604800")
	}
	before := time.Now()
	rotated := a.call(t, "POST", path+"/rotate", fields{"grace_secs": 3600}).want(t, 200)
	if rotated.id(t) != created.id(t) {
		t.Error("a rotated key keeps its id")
	}
	second := node.HashKey(rotated.field(t, "key").(string))
	entries := a.keyEntries(t)
	if k, ok := entries[second]; !ok || k.ExpiresAt != nil {
		t.Errorf("the new secret: got %+v", k)
	}
	k, ok := entries[old]
	if !ok || k.ExpiresAt == nil || k.ExpiresAt.Before(before.Add(3599*time.Second)) || k.ExpiresAt.After(time.Now().Add(3601*time.Second)) {
		t.Errorf("the old secret lives for an hour: got %+v", k)
	}

	third := node.HashKey(a.call(t, "POST", path+"/rotate", fields{"grace_secs": 10}).want(t, 200).field(t, "key").(string))
	entries = a.keyEntries(t)
	if _, ok := entries[old]; ok || len(entries) != 2 {
		t.Errorf("a second rotation ends the oldest secret: got %v", entries)
	}
	a.call(t, "POST", path+"/rotate", fields{}).want(t, 200)
	entries = a.keyEntries(t)
	if _, ok := entries[third]; ok || len(entries) != 1 {
		t.Errorf("without grace only the new secret lives: got %v", entries)
	}
}

func TestAPIKeyRotatedSecretNeverOutlivesItsKey(t *testing.T) {
	t.Parallel()
	a := setup(t)
	expires := time.Now().Add(time.Minute).UTC().Truncate(time.Second)
	created := a.call(t, "POST", keysPath, fields{"name": "k", "expires_at": expires.Format(time.RFC3339)}).want(t, 200)
	a.call(t, "POST", keysPath+"/"+created.id(t)+"/rotate", fields{"grace_secs": 3600}).want(t, 200)
	for hash, k := range a.keyEntries(t) {
		if k.ExpiresAt == nil || !k.ExpiresAt.Equal(expires) {
			t.Errorf("%x expires at %v, want %v", hash[:4], k.ExpiresAt, expires)
		}
	}
}
