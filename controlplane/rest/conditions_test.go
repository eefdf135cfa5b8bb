package rest_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

// with sends a body with a header.
func (a *api) with(t *testing.T, name, value, method, path, body string) answer {
	t.Helper()
	return a.send(t, method, path, body, func(r *http.Request) { r.Header.Set(name, value) })
}

// Two administrators edit one resource: the second is told, and nothing of the first
// one's change is lost.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	a := setup(t)
	provider := a.provider(t, "P", "m")
	mapping := a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0]["id"].(string)
	key := a.call(t, "POST", keysPath, fields{"name": "k"}).want(t, 200).id(t)
	for _, c := range []struct{ path, method, change string }{
		{mappingsPath + "/" + mapping, "PUT", `{"priority":3}`},
		{providersPath + "/" + provider, "PUT", `{"name":"Q"}`},
		{keysPath + "/" + key, "PATCH", `{"disabled":true}`},
	} {
		seen := a.call(t, "GET", c.path, nil).want(t, 200).header.Get("ETag")
		changed := a.with(t, "If-Match", seen, c.method, c.path, c.change).want(t, 200).header.Get("ETag")
		if changed == seen || changed == "" {
			t.Errorf("%s: ETag %s after the change, %s before", c.path, changed, seen)
		}
		if got := a.call(t, "GET", c.path, nil).header.Get("ETag"); got != changed {
			t.Errorf("%s: ETag %s read, %s on the change", c.path, got, changed)
		}
		const message = "the resource was changed since you read it: read it again"
		for _, stale := range []string{seen, "W/" + changed, `"x", "y"`} {
			a.with(t, "If-Match", stale, c.method, c.path, c.change).wantError(t, 412, "conflict_error", message)
			a.with(t, "If-Match", stale, "DELETE", c.path, "").wantError(t, 412, "conflict_error", message)
		}
		for _, bad := range []string{changed[1:], "7", `"a"b"`, `"`} {
			a.with(t, "If-Match", bad, c.method, c.path, c.change).want(t, 400)
		}
		a.with(t, "If-Match", "*", c.method, c.path, c.change).want(t, 200)
		last := a.call(t, "GET", c.path, nil).header.Get("ETag")
		a.with(t, "If-Match", `"1", `+last, "DELETE", c.path, "").want(t, 200)
	}
}

// What one change does to a row beside it moves that row's revision and no other's.
func TestRevisionsAreOfTheRow(t *testing.T) {
	t.Parallel()
	a := setup(t)
	p, q := a.provider(t, "P", "m"), a.provider(t, "Q", "n")
	read := func(id string) string {
		return a.call(t, "GET", providersPath+"/"+id, nil).want(t, 200).header.Get("ETag")
	}
	p1, q1 := read(p), read(q)
	a.call(t, "PUT", providersPath+"/"+q, fields{"name": "R"}).want(t, 200)
	if read(p) != p1 || read(q) == q1 {
		t.Errorf("P %s then %s, Q %s then %s", p1, read(p), q1, read(q))
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	a := setup(t)
	const body = `{"name":"P","model_provider":"openai","base_url":"https://api.openai.com/v1","api_key":"k"}`
	first := a.with(t, "Idempotency-Key", "one", "POST", providersPath, body).want(t, 200)
	again := a.with(t, "Idempotency-Key", "one", "POST", providersPath, body).want(t, 200)
	if first.id(t) != again.id(t) || string(first.body) != string(again.body) || again.header.Get("Idempotent-Replayed") != "true" || first.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("first %s, then %s %v", first.body, again.body, again.header)
	}
	a.with(t, "Idempotency-Key", "one", "POST", providersPath, strings.Replace(body, `"P"`, `"Q"`, 1)).
		wantError(t, 422, "invalid_request_error", "the Idempotency-Key was used with another request: choose a new one")
	a.with(t, "Idempotency-Key", strings.Repeat("x", 256), "POST", providersPath, body).want(t, 400)
	// Another caller's key of the same name is another key.
	a.as(t, "Other", "admin").with(t, "Idempotency-Key", "one", "POST", providersPath, body).want(t, 200)
	// A call that failed is made again.
	a.with(t, "Idempotency-Key", "two", "POST", providersPath, body).want(t, 409)
	a.call(t, "DELETE", providersPath+"/"+first.id(t), nil).want(t, 200)
	a.with(t, "Idempotency-Key", "two", "POST", providersPath, body).want(t, 200)
	if got := a.call(t, "GET", providersPath, nil).list(t); len(got) != 1 {
		t.Errorf("%d providers", len(got))
	}
}

// A secret is shown once, whatever the key: it is kept nowhere.
func TestIdempotencyKeyOfASecret(t *testing.T) {
	t.Parallel()
	a := setupAlone(t)
	created := a.with(t, "Idempotency-Key", "one", "POST", keysPath, `{"name":"k"}`).want(t, 200)
	again := a.with(t, "Idempotency-Key", "one", "POST", keysPath, `{"name":"k"}`).want(t, 409)
	if got := again.errorField(t, "code"); got != "idempotency_key_used" || !strings.Contains(again.errorField(t, "message"), created.id(t)) {
		t.Errorf("got %s", again.body)
	}
	var kept int
	err := storetest.Connect(t, a.db.SuperuserURL).QueryRow(t.Context(), `SELECT count(*) FROM idempotency_keys WHERE answer IS NOT NULL OR status IS NOT NULL`).Scan(&kept)
	if err != nil || kept != 0 {
		t.Errorf("%d answers are kept, %v", kept, err)
	}
}

// Many send the same call at once: one is made, and nobody is told otherwise.
func TestIdempotencyKeyAtOnce(t *testing.T) {
	t.Parallel()
	a := setup(t)
	const senders = 8
	key := uuid.NewString()
	answers := make([]answer, senders)
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			answers[i] = a.with(t, "Idempotency-Key", key, "POST", providersPath,
				`{"name":"P","model_provider":"openai","base_url":"https://api.openai.com/v1","api_key":"k"}`)
		})
	}
	wg.Wait()
	var id string
	for _, got := range answers {
		switch got.status {
		case 200:
			if id != "" && got.id(t) != id {
				t.Errorf("two providers: %s and %s", id, got.id(t))
			}
			id = got.id(t)
		case 409:
			if code := got.errorField(t, "code"); code != "idempotency_key_in_use" {
				t.Errorf("got %s", got.body)
			}
		default:
			t.Errorf("got %d: %s", got.status, got.body)
		}
	}
	if list := a.call(t, "GET", providersPath, nil).list(t); len(list) != 1 || id == "" {
		t.Errorf("%d providers, id %q", len(list), id)
	}
}

// Every resource that can be changed has the condition, and every creation the key.
func TestDocumentHasConditions(t *testing.T) {
	t.Parallel()
	doc := theDocument()
	has := func(op *openapi3.Operation, name string) bool {
		return op.Parameters.GetByInAndName(openapi3.ParameterInHeader, name) != nil
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			single := strings.HasSuffix(path, "/{id}") || strings.HasSuffix(path, "/routes/{alias}")
			answer := op.Responses.Status(http.StatusOK)
			if answer == nil {
				answer = op.Responses.Status(http.StatusCreated)
			}
			switch {
			case op.OperationID == "endOwnSession": // nobody edits a session
			case method == http.MethodPut && single, method == http.MethodPatch && single, method == http.MethodDelete && single:
				if !has(op, "If-Match") || op.Responses.Status(http.StatusPreconditionFailed) == nil {
					t.Errorf("%s has no If-Match or no 412", op.OperationID)
				}
			case method == http.MethodPost && strings.HasPrefix(op.OperationID, "create") && op.Security == nil:
				if !has(op, "Idempotency-Key") {
					t.Errorf("%s has no Idempotency-Key", op.OperationID)
				}
			case method == http.MethodGet && single:
				if answer.Value.Headers["ETag"] == nil {
					t.Errorf("%s has no ETag", op.OperationID)
				}
			}
		}
	}
}
