package rest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

const password = "correct horse battery"

// person makes an account with the role and signs in to it.
func (a *api) person(t *testing.T, email, role string) *api {
	t.Helper()
	a.call(t, "POST", usersPath, fields{"email": email, "name": "Dana", "role": role, "password": password}).want(t, 200)
	return a.signedIn(t, email, password)
}

func (a *api) signedIn(t *testing.T, email, password string) *api {
	t.Helper()
	r := a.login(t, fields{"email": email, "password": password, "organization": a.orgName(t)}, nil).want(t, 200)
	other := *a
	other.token, other.cookie = "", cookieOf(t, r)
	return &other
}

// login is sent as a stranger.
func (a *api) login(t *testing.T, body fields, change func(*http.Request)) answer {
	t.Helper()
	stranger := *a
	stranger.token, stranger.cookie = "", ""
	return stranger.sendJSON(t, "POST", "/auth/login", body, func(r *http.Request) {
		r.Header.Del("Authorization")
		if change != nil {
			change(r)
		}
	})
}

func (a *api) orgName(t *testing.T) string {
	t.Helper()
	return a.call(t, "GET", "/auth/session", nil).want(t, 200).field(t, "organization").(map[string]any)["name"].(string)
}

// cookieOf is what a browser sends back.
func cookieOf(t *testing.T, a answer) string {
	t.Helper()
	pair, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	if pair == "" {
		t.Fatalf("no cookie: %v", a.header)
	}
	return pair
}

// gatewayURL is where the operator says that callers reach the gateway.
const gatewayURL = "https://gateway.example.com"

// unique is an address that no other test has.
func unique() string { return uuid.NewString() + "@acme.example" }

func TestSignIn(t *testing.T) {
	t.Parallel()
	a := setup(t)
	email := unique()
	user := a.call(t, "POST", usersPath, fields{"email": email, "name": "Dana", "role": "admin", "password": password}).want(t, 200).id(t)
	r := a.login(t, fields{"email": strings.ToUpper(email), "password": password}, nil).want(t, 200)
	for _, attribute := range []string{"spillway-session=", "; Path=/", "; HttpOnly", "; SameSite=Lax", "; Expires="} {
		if !strings.Contains(r.header.Get("Set-Cookie"), attribute) {
			t.Errorf("the cookie has no %q: %s", attribute, r.header.Get("Set-Cookie"))
		}
	}
	dana := *a
	dana.token, dana.cookie = "", cookieOf(t, r)
	session := dana.call(t, "GET", "/auth/session", nil).want(t, 200)
	if diff := cmp.Diff(string(r.body), string(session.body)); diff != "" {
		t.Errorf("the session is not what signing in answered:\n%s", diff)
	}
	got := session.object(t)
	want := fields{"kind": "user", "id": user, "email": email, "name": "Dana", "role": "admin", "expires_at": got["expires_at"], "organization": got["organization"], "gateway_url": gatewayURL}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// What the person does is theirs.
	provider := dana.call(t, "POST", providersPath, openAI("P")).want(t, 200)
	for name, value := range (fields{"created_by_user_id": user, "created_by_email": email, "created_by_name": "Dana"}) {
		if provider.field(t, name) != value {
			t.Errorf("%s is %v, want %v", name, provider.field(t, name), value)
		}
	}
	event := a.call(t, "GET", auditPath+"?actor_id="+user, nil).want(t, 200).list(t)
	if len(event) != 1 || event[0]["actor_kind"] != "user" || event[0]["actor_name"] != "Dana" {
		t.Errorf("audit: %v", event)
	}

	out := dana.call(t, "POST", "/auth/logout", nil).want(t, 200)
	if !strings.Contains(out.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("the cookie stays: %s", out.header.Get("Set-Cookie"))
	}
	ended := dana.call(t, "GET", "/auth/session", nil).wantError(t, 401, "authentication_error", "the session has ended: sign in again")
	if !strings.Contains(ended.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Error("the cookie of an ended session stays")
	}
	a.call(t, "POST", "/auth/logout", nil).wantError(t, 400, "invalid_request_error", "the request has no session to end")
	machine := a.call(t, "GET", "/auth/session", nil).want(t, 200)
	if machine.field(t, "kind") != "service_account" || machine.field(t, "expires_at") != nil || machine.field(t, "email") != nil {
		t.Errorf("of an access token: %s", machine.body)
	}
}

// Over https the cookie is one that only https carries and only this host sets.
func TestSignInOverTLS(t *testing.T) {
	t.Parallel()
	a := setup(t)
	email := unique()
	a.person(t, email, "member")
	https := func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }
	r := a.login(t, fields{"email": email, "password": password}, https).want(t, 200)
	cookie := r.header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-spillway-session=") || !strings.Contains(cookie, "; Secure") || strings.Contains(cookie, "Domain") {
		t.Errorf("got %s", cookie)
	}
	dana := *a
	dana.cookie = cookieOf(t, r)
	dana.send(t, "GET", "/auth/session", "", https).want(t, 200)
	// A cookie that plain http could have planted is not looked at over https.
	dana.cookie = strings.TrimPrefix(dana.cookie, "__Host-")
	dana.send(t, "GET", "/auth/session", "", https).want(t, 401)
}

// Nothing that is wrong is told from anything else.
func TestSignInRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	b := a.as(t, "Other", tenant.RoleAdmin)
	email, twice, disabled, without := unique(), unique(), unique(), unique()
	a.person(t, email, "member")
	a.person(t, twice, "member")
	b.person(t, twice, "member")
	a.call(t, "POST", usersPath, fields{"email": disabled, "name": "D", "password": password, "enabled": false}).want(t, 200)
	a.call(t, "POST", usersPath, fields{"email": without, "name": "W"}).want(t, 200)
	var answers []string
	for name, body := range map[string]fields{
		"WrongPassword":   {"email": email, "password": password + "x"},
		"EmptyPassword":   {"email": email, "password": ""},
		"Unknown":         {"email": unique(), "password": password},
		"Disabled":        {"email": disabled, "password": password},
		"NoPassword":      {"email": without, "password": ""},
		"Elsewhere":       {"email": email, "password": password, "organization": b.orgName(t)},
		"NoOrganization":  {"email": email, "password": password, "organization": "nowhere"},
		"SeveralAccounts": {"email": twice, "password": password},
	} {
		r := a.login(t, body, nil)
		r.wantError(t, 401, "authentication_error", "the email address or the password is wrong; with accounts in several organizations, name the organization")
		if r.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: a cookie is set", name)
		}
		answers = append(answers, string(r.body))
	}
	for _, body := range answers {
		if body != answers[0] {
			t.Errorf("answers differ: %s and %s", body, answers[0])
		}
	}
	a.login(t, fields{"email": twice, "password": password, "organization": strings.ToUpper(b.orgName(t))}, nil).want(t, 200)
	a.login(t, fields{"email": email, "password": password, "token": "x"}, nil).wantError(t, 400, "invalid_request_error", "unknown field `token`")
	a.login(t, fields{"email": email}, nil).wantError(t, 422, "invalid_request_error", "missing field `password`")
	a.login(t, fields{"email": email, "password": 1}, nil).wantError(t, 422, "invalid_request_error", "password: invalid type: number, expected a string")
}

// Failures are limited for an address whether it has an account or not, and a sign-in
// that succeeds costs nothing.
func TestSignInIsLimited(t *testing.T) {
	t.Parallel()
	a := setup(t)
	known := unique()
	a.person(t, known, "member")
	for range 3 {
		a.login(t, fields{"email": known, "password": password}, nil).want(t, 200)
	}
	for _, email := range []string{known, unique()} {
		var wg sync.WaitGroup
		statuses := make([]int, 12)
		for i := range statuses {
			wg.Go(func() { statuses[i] = a.login(t, fields{"email": email, "password": "wrong wrong wrong"}, nil).status })
		}
		wg.Wait()
		counts := map[int]int{}
		for _, status := range statuses {
			counts[status]++
		}
		if diff := cmp.Diff(map[int]int{401: 10, 429: 2}, counts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r := a.login(t, fields{"email": strings.ToUpper(email), "password": password}, nil)
		r.wantError(t, 429, "invalid_request_error", "too many attempts to sign in: try again later")
		if wait := r.header.Get("Retry-After"); wait == "" || wait == "0" {
			t.Errorf("Retry-After %q", wait)
		}
	}
	a.login(t, fields{"email": unique(), "password": password}, nil).want(t, 401) // nobody else waits for it
}

// A browser sends the cookie whoever asks it to, so a change must show that it comes from
// here. A bearer token is not sent by itself.
func TestCrossSiteRequests(t *testing.T) {
	t.Parallel()
	a := setup(t)
	dana := a.person(t, unique(), "admin")
	const message = "a request with a session must show that it comes from this site: by its Origin, or by an X-Spillway-Request header"
	own := strings.TrimPrefix(a.url, "http://")
	cases := map[string]struct {
		header  map[string]string
		refused bool
	}{
		"Nothing":            {nil, true},
		"CustomHeader":       {map[string]string{"X-Spillway-Request": "1"}, false},
		"SameOrigin":         {map[string]string{"Origin": "http://" + own}, false},
		"SameOriginFetch":    {map[string]string{"Sec-Fetch-Site": "same-origin"}, false},
		"OtherOrigin":        {map[string]string{"Origin": "https://evil.example"}, true},
		"OtherPort":          {map[string]string{"Origin": "http://127.0.0.1:1"}, true},
		"NullOrigin":         {map[string]string{"Origin": "null"}, true},
		"CrossSite":          {map[string]string{"Sec-Fetch-Site": "cross-site"}, true},
		"SameSite":           {map[string]string{"Sec-Fetch-Site": "same-site"}, true},
		"CrossSiteAndHeader": {map[string]string{"Sec-Fetch-Site": "cross-site", "X-Spillway-Request": "1"}, true},
	}
	for name, c := range cases {
		set := func(r *http.Request) {
			r.Header.Del("X-Spillway-Request")
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
		}
		r := dana.sendJSON(t, "POST", keysPath, fields{"name": name}, set)
		if !c.refused {
			r.want(t, 200)
		} else if r.status != 403 || r.errorField(t, "message") != message {
			t.Errorf("%s: got %d %s", name, r.status, r.body)
		}
		dana.send(t, "GET", keysPath, "", set).want(t, 200) // reading changes nothing
	}
	a.call(t, "POST", keysPath, fields{"name": "by token"}).want(t, 200)
	// Nor may another site sign its visitors in.
	email := unique()
	a.call(t, "POST", usersPath, fields{"email": email, "name": "E", "password": password}).want(t, 200)
	a.login(t, fields{"email": email, "password": password}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }).
		wantError(t, 403, "permission_error", message)
}

// Sessions end by themselves, by their owner, by an administrator, with the password and
// with the account.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	a := setupAlone(t)
	conn := storetest.Connect(t, a.db.SuperuserURL)
	email := unique()
	user := a.call(t, "POST", usersPath, fields{"email": email, "name": "Dana", "password": password}).want(t, 200).id(t)
	path := usersPath + "/" + user
	for name, end := range map[string]func(dana *api){
		"Idle": func(*api) {
			if _, err := conn.Exec(t.Context(), `UPDATE sessions SET last_seen_at = now() - interval '12 hours'`); err != nil {
				t.Fatal(err)
			}
		},
		"Expired": func(*api) {
			if _, err := conn.Exec(t.Context(), `UPDATE sessions SET expires_at = now()`); err != nil {
				t.Fatal(err)
			}
		},
		"ByOwner": func(dana *api) {
			id := dana.call(t, "GET", userPath+"sessions", nil).want(t, 200).list(t)[0]["id"].(string)
			dana.call(t, "DELETE", userPath+"sessions/"+id, nil).want(t, 200)
		},
		"ByAdmin": func(*api) {
			if got := a.call(t, "DELETE", path+"/sessions", nil).want(t, 200).field(t, "ended"); got != 1.0 {
				t.Errorf("ended %v sessions", got)
			}
		},
		"NewPassword": func(*api) { a.call(t, "PUT", path, fields{"password": password}).want(t, 200) },
		"Disabled": func(*api) {
			a.call(t, "PUT", path, fields{"enabled": false}).want(t, 200)
			a.call(t, "PUT", path, fields{"enabled": true}).want(t, 200)
		},
	} {
		dana := a.signedIn(t, email, password)
		dana.call(t, "GET", "/auth/session", nil).want(t, 200)
		end(dana)
		if r := dana.call(t, "GET", "/auth/session", nil); r.status != 401 {
			t.Errorf("%s: the session goes on: %d %s", name, r.status, r.body)
		}
		if got := a.call(t, "GET", path+"/sessions", nil).want(t, 200).list(t); len(got) != 0 {
			t.Errorf("%s: sessions are listed: %v", name, got)
		}
	}
	if got := a.call(t, "DELETE", path, nil).want(t, 200).field(t, "deleted"); got != true {
		t.Errorf("deleted: %v", got)
	}
	a.call(t, "GET", path+"/sessions", nil).wantError(t, 404, "not_found_error", "user {id: "+user+"} not found")
}

// A role that changes holds for the next request, not for the next session.
func TestSessionFollowsTheAccount(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.call(t, "POST", usersPath, fields{"email": unique(), "name": "Other", "role": "admin"}).want(t, 200)
	dana := a.person(t, unique(), "admin")
	user := dana.call(t, "GET", "/auth/session", nil).id(t)
	dana.call(t, "GET", providersPath, nil).want(t, 200)
	a.call(t, "PUT", usersPath+"/"+user, fields{"role": "member"}).want(t, 200)
	dana.call(t, "GET", providersPath, nil).wantError(t, 403, "permission_error", "principal is not permitted to perform this action")
	dana.call(t, "GET", "/auth/session", nil).want(t, 200)
}

// Neither the token nor a password is kept anywhere, and a password comes back nowhere.
func TestNoPasswordIsKept(t *testing.T) {
	t.Parallel()
	a := setup(t)
	const canary = "canary of a password"
	email := unique()
	id := a.call(t, "POST", usersPath, fields{"email": email, "name": "Dana", "password": canary + " one"}).want(t, 200).id(t)
	a.call(t, "PUT", usersPath+"/"+id, fields{"password": canary + " two"}).want(t, 200)
	once := `{"email":"` + unique() + `","name":"Once","password":"` + canary + `"}`
	a.with(t, "Idempotency-Key", "k", "POST", usersPath, once).want(t, 200)
	if replayed := a.with(t, "Idempotency-Key", "k", "POST", usersPath, once).want(t, 200); replayed.header.Get("Idempotent-Replayed") != "true" {
		t.Error("the second call was made")
	}
	a.call(t, "POST", usersPath, fields{"email": "x", "name": "Dana", "password": canary}).want(t, 400)
	a.call(t, "POST", usersPath, fields{"email": unique(), "name": "Dana", "password": []string{canary}}).want(t, 422)
	a.login(t, fields{"email": email, "password": canary + " wrong"}, nil).want(t, 401)
	dana := a.signedIn(t, email, canary+" two")
	dana.call(t, "PUT", userPath+"password", fields{"current_password": canary, "new_password": canary + " three"}).want(t, 400)
	dana.call(t, "PUT", userPath+"password", fields{"current_password": canary + " two", "new_password": canary + " three"}).want(t, 200)
	kept := dump(t, a.db.SuperuserURL) + a.log.String() + a.answers.String()
	digest := sha256.Sum256([]byte("POST " + usersPath + "\n" + once)) // by which a password could be guessed
	if strings.Contains(kept, hex.EncodeToString(digest[:])) {
		t.Error("a plain digest of the request is kept")
	}
	_, token, _ := strings.Cut(dana.cookie, "=")
	for name, secret := range map[string]string{"password": canary, "session token": token} {
		if strings.Contains(kept, secret) {
			t.Errorf("the %s is kept, logged or answered", name)
		}
	}
	if strings.Contains(string(a.call(t, "GET", auditPath+"?resource_id="+id, nil).want(t, 200).body), "password_hash") {
		t.Error("the trail has the hash")
	}
}

// last_seen_at moves to the minute, so that a request is no write.
func TestSessionsListed(t *testing.T) {
	t.Parallel()
	a := setup(t)
	email := unique()
	a.person(t, email, "member")
	phone := a.signedIn(t, email, password)
	list := phone.call(t, "GET", userPath+"sessions", nil).want(t, 200).list(t)
	if len(list) != 2 || list[0]["current"] != false || list[1]["current"] != true || list[1]["client"] == "" {
		t.Fatalf("got %v", list)
	}
	begun, err := time.Parse(time.RFC3339, list[1]["created_at"].(string))
	if err != nil {
		t.Fatal(err)
	}
	ends, err := time.Parse(time.RFC3339, list[1]["expires_at"].(string))
	if err != nil || ends.Sub(begun) != 7*24*time.Hour {
		t.Errorf("a session of %v, %v", ends.Sub(begun), err)
	}
	page := phone.call(t, "GET", userPath+"sessions?limit=1", nil).want(t, 200)
	if want := fmt.Sprintf(`<%ssessions?after=%s&limit=1>; rel="next"`, userPath, list[0]["id"]); page.header.Get("Link") != want {
		t.Errorf("got Link %s, want %s", page.header.Get("Link"), want)
	}
	other := uuid.NewString()
	phone.call(t, "DELETE", userPath+"sessions/"+other, nil).wantError(t, 404, "not_found_error", "session {id: "+other+"} not found")
}
