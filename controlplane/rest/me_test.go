package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

const notPermitted = "principal is not permitted to perform this action"

// A member does all that is under /user, and nothing that is an administrator's. A machine
// has nothing of its own.
func TestMembers(t *testing.T) {
	t.Parallel()
	a := setup(t)
	member := a.person(t, unique(), "member")
	machine := a.as(t, "Machines", tenant.RoleAdmin)
	for _, op := range operations(t) {
		least, _ := tenant.LeastRole(tenant.Operation(op.id))
		if op.id == "logout" {
			continue
		}
		r := member.call(t, op.method, op.fill(uuid.NewString()), "not even JSON")
		if least == tenant.RoleMember && (r.status == 403 || r.status == 401) {
			t.Errorf("%s: a member is refused: %s", op.id, r.body)
		}
		if least != tenant.RoleMember {
			r.wantError(t, 403, "permission_error", notPermitted)
		}
		if strings.HasPrefix(op.path, userPath) && op.id != "listOwnModels" && op.id != "watchOwnChanges" {
			machine.call(t, op.method, op.fill(uuid.NewString()), "{}").wantError(t, 403, "permission_error", notPermitted)
		}
	}
}

func TestProfile(t *testing.T) {
	t.Parallel()
	a := setup(t)
	email := unique()
	dana := a.person(t, email, "member")
	mine := dana.call(t, "GET", userPath+"profile", nil).want(t, 200)
	theirs := a.call(t, "GET", usersPath+"/"+mine.id(t), nil).want(t, 200)
	if diff := cmp.Diff(string(theirs.body), string(mine.body)); diff != "" {
		t.Errorf("(-administrator +own):\n%s", diff)
	}
	changed := dana.with(t, "If-Match", mine.header.Get("ETag"), "PUT", userPath+"profile", `{"name":"Dana K."}`).want(t, 200)
	if changed.field(t, "name") != "Dana K." || changed.field(t, "last_modified_by_email") != email {
		t.Errorf("got %s", changed.body)
	}
	dana.with(t, "If-Match", mine.header.Get("ETag"), "PUT", userPath+"profile", `{"name":"Dana L."}`).want(t, 412)
	dana.call(t, "PUT", userPath+"profile", fields{"role": "admin"}).wantError(t, 400, "invalid_request_error", "unknown field `role`")
	dana.call(t, "PUT", userPath+"profile", fields{"name": ""}).wantError(t, 400, "invalid_request_error", "name must not be blank")
	if got := dana.call(t, "GET", "/auth/session", nil).field(t, "name"); got != "Dana K." {
		t.Errorf("the session says %v", got)
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	a := setup(t)
	email := unique()
	dana := a.person(t, email, "member")
	elsewhere := a.signedIn(t, email, password)
	const next = "another long password"
	change := func(current, next string) answer {
		return dana.call(t, "PUT", userPath+"password", fields{"current_password": current, "new_password": next})
	}
	change("wrong", next).wantError(t, 400, "invalid_request_error", "current_password is wrong")
	change(password, "short").wantError(t, 400, "invalid_request_error", "new_password must have 12 to 256 characters")
	if diff := cmp.Diff(fields{"ok": true}, change(password, next).want(t, 200).object(t)); diff != "" {
		t.Error(diff)
	}
	dana.call(t, "GET", "/auth/session", nil).want(t, 200)
	elsewhere.call(t, "GET", "/auth/session", nil).want(t, 401)
	a.login(t, fields{"email": email, "password": password}, nil).want(t, 401)
	a.signedIn(t, email, next)
	// A session alone has no more tries than a stranger: two failed above.
	for range 8 {
		change("wrong", next).want(t, 400)
	}
	change(next, password).wantError(t, 429, "invalid_request_error", "too many attempts to sign in: try again later")
}

// A hash that is weaker than those of now is replaced when its owner signs in.
func TestWeakHashesAreReplaced(t *testing.T) {
	t.Parallel()
	a := setup(t)
	email := unique()
	id := a.call(t, "POST", usersPath, fields{"email": email, "name": "Dana"}).want(t, 200).id(t)
	// Argon2id of the password with m=64 KiB, t=1, p=1.
	const weak = "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$wZeUqErRQM9fr7+3IJVQyFsb5QPhYeqkXwNGZgBH/L4"
	conn := storetest.Connect(t, a.db.SuperuserURL)
	if _, err := conn.Exec(t.Context(), `UPDATE users SET password_hash = $2, password_changed_at = now() WHERE id = $1`, id, weak); err != nil {
		t.Fatal(err)
	}
	seen := a.call(t, "GET", usersPath+"/"+id, nil).header.Get("ETag")
	a.login(t, fields{"email": email, "password": password + "x"}, nil).want(t, 401)
	a.signedIn(t, email, password)
	var hash string
	if err := conn.QueryRow(t.Context(), `SELECT password_hash FROM users WHERE id = $1`, id).Scan(&hash); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=128,t=1,p=1$") {
		t.Errorf("the hash is still %.40s", hash)
	}
	if got := a.call(t, "GET", usersPath+"/"+id, nil).header.Get("ETag"); got != seen {
		t.Errorf("the revision moved from %s to %s", seen, got)
	}
	a.signedIn(t, email, password)
}

func TestOwnAPIKeys(t *testing.T) {
	t.Parallel()
	a := setup(t)
	email := unique()
	dana, eve := a.person(t, email, "member"), a.person(t, unique(), "admin")
	user := dana.call(t, "GET", "/auth/session", nil).id(t)
	own := userPath + "api-keys"
	created := dana.call(t, "POST", own, fields{"name": "laptop", "scopes": []string{"chat"}}).want(t, 200)
	path := own + "/" + created.id(t)
	row := dana.call(t, "GET", path, nil).want(t, 200)
	for name, value := range (fields{"kind": "user", "user_id": user, "user_email": email, "name": "laptop", "group_name": nil, "created_by_user_id": user}) {
		if row.field(t, name) != value {
			t.Errorf("%s is %v, want %v", name, row.field(t, name), value)
		}
	}
	if diff := cmp.Diff(string(row.body), string(a.call(t, "GET", keysPath+"/"+created.id(t), nil).want(t, 200).body)); diff != "" {
		t.Errorf("(-own +administrator):\n%s", diff)
	}
	byAdmin := a.call(t, "POST", keysPath, fields{"name": "given", "user_id": user}).want(t, 200)
	a.call(t, "POST", keysPath, fields{"name": "machine"}).want(t, 200)
	if got := dana.call(t, "GET", own, nil).want(t, 200).list(t); len(got) != 2 {
		t.Errorf("%d keys are listed, want 2", len(got))
	}
	// Nobody else's are there, an administrator's included.
	missing := "api key {id: " + created.id(t) + "} not found"
	eve.call(t, "GET", path, nil).wantError(t, 404, "not_found_error", missing)
	eve.call(t, "PATCH", path, fields{"disabled": true}).wantError(t, 404, "not_found_error", missing)
	eve.call(t, "DELETE", path, nil).wantError(t, 404, "not_found_error", missing)
	eve.call(t, "POST", path+"/rotate", fields{}).wantError(t, 404, "not_found_error", missing)
	for _, taken := range []fields{{"user_id": user}, {"group_name": "g"}, {"user_email": email}} {
		for name := range taken {
			dana.call(t, "POST", own, with(fields{"name": "x"}, taken)).wantError(t, 400, "invalid_request_error", "unknown field `"+name+"`")
		}
	}

	dana.call(t, "PATCH", path, fields{"disabled": true}).want(t, 200)
	dana.call(t, "PATCH", path, fields{"disabled": false}).want(t, 200)
	// What an administrator disabled stays so, however often its owner disables it.
	for _, id := range []string{created.id(t), byAdmin.id(t)} {
		a.call(t, "PATCH", keysPath+"/"+id, fields{"disabled": true}).want(t, 200)
		dana.call(t, "PATCH", own+"/"+id, fields{"disabled": true}).want(t, 200)
		dana.call(t, "PATCH", own+"/"+id, fields{"disabled": false}).
			wantError(t, 403, "permission_error", "an administrator disabled this key: only an administrator enables it again")
		a.call(t, "PATCH", keysPath+"/"+id, fields{"disabled": false}).want(t, 200)
		dana.call(t, "PATCH", own+"/"+id, fields{"disabled": true}).want(t, 200)
		dana.call(t, "PATCH", own+"/"+id, fields{"disabled": false}).want(t, 200)
	}
	rotated := dana.call(t, "POST", path+"/rotate", fields{}).want(t, 200)
	if _, there := a.keyEntries(t)[node.HashKey(rotated.field(t, "key").(string))]; !there {
		t.Error("the rotated key is not served")
	}
	if diff := cmp.Diff(fields{"revoked": true}, dana.call(t, "DELETE", path, nil).want(t, 200).object(t)); diff != "" {
		t.Error(diff)
	}
	if _, there := a.keyEntries(t)[node.HashKey(rotated.field(t, "key").(string))]; there {
		t.Error("the revoked key is served")
	}
}

func TestOwnModels(t *testing.T) {
	t.Parallel()
	nodes := new(fleet)
	a := setupFleet(t, storetest.Shared(t), nodes)
	p := a.call(t, "POST", providersPath, with(openAI("Open AI"), fields{"models": []string{"m", "n"}})).want(t, 200).id(t)
	for _, model := range []string{"m", "n"} {
		a.call(t, "POST", mappingsPath, fields{"provider_id": p, "model_alias": "fast", "upstream_model": model}).want(t, 200)
	}
	off := a.call(t, "POST", mappingsPath, fields{"provider_id": p, "model_alias": "off", "upstream_model": "m", "enabled": false})
	off.want(t, 200)
	dana := a.person(t, unique(), "member")
	got := dana.call(t, "GET", userPath+"models", nil).want(t, 200)
	model := func(alias, upstream, display, kind string, grouped bool) any {
		return map[string]any{"model_alias": alias, "upstream_model": upstream, "provider_name": "Open AI", "provider_id": p, "display_model": display,
			"is_grouped": grouped, "model_kind": kind, "smart_slots": []any{}, "budget_status": nil}
	}
	want := fields{"model_count": 3.0, "models": []any{
		model("fast", "m", "fast", "route", true),
		model("open-ai/m", "m", "m", "direct", false),
		model("open-ai/n", "n", "n", "direct", false),
	}}
	if diff := cmp.Diff(want, got.object(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A route is unwell when none of its targets is well.
	judged := func(model string) node.RecordHealth {
		cooling := node.Judgement{State: node.StateEjected, Reason: "provider_errors", RemainingMilli: 9000}
		return node.RecordHealth{ProviderID: uuid.MustParse(p), UpstreamModel: model, Judgement: cooling,
			Policies: []node.PolicyHealth{{Policy: node.DefaultCooldown(), Judgement: cooling}}}
	}
	unwell := func() (list []string) {
		for _, m := range dana.call(t, "GET", userPath+"models", nil).want(t, 200).field(t, "models").([]any) {
			if m.(map[string]any)["route_health_status"] != nil {
				list = append(list, m.(map[string]any)["model_alias"].(string))
			}
		}
		return list
	}
	nodes.say(node.HealthReport{Records: []node.RecordHealth{judged("m")}})
	if diff := cmp.Diff([]string{"open-ai/m"}, unwell()); diff != "" {
		t.Errorf("one target cools (-want +got):\n%s", diff)
	}
	nodes.say(node.HealthReport{Records: []node.RecordHealth{judged("m"), judged("n")}})
	if diff := cmp.Diff([]string{"fast", "open-ai/m", "open-ai/n"}, unwell()); diff != "" {
		t.Errorf("both cool (-want +got):\n%s", diff)
	}
}

// A bearer token goes before a cookie, and a bad one is not saved by it.
func TestBearerGoesFirst(t *testing.T) {
	t.Parallel()
	a := setup(t)
	dana := a.person(t, unique(), "member")
	both := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	dana.send(t, "GET", providersPath, "", both(a.token)).want(t, 200)
	dana.send(t, "GET", userPath+"profile", "", both("bd-nonsense")).want(t, 401)
	dana.cookie = "spillway-session=" + strings.Repeat("A", 43)
	dana.call(t, "GET", userPath+"profile", nil).wantError(t, 401, "authentication_error", "the session has ended: sign in again")
	dana.cookie = "spillway-session=short"
	dana.call(t, "GET", userPath+"profile", nil).want(t, 401)
}
