package rest_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestBody(t *testing.T) {
	t.Parallel()
	a := setup(t)
	const notJSON = "the request body is not valid JSON: "
	cases := []struct {
		name, body string
		status     int
		message    string
	}{
		{"Empty", ``, 400, notJSON + "unexpected EOF"},
		{"Cut", `{"name":`, 400, notJSON + "unexpected EOF"},
		{"TrailingComma", `{"name":"x",}`, 400, ""},
		{"TwoValues", `{"name":"x"} {}`, 400, notJSON + "there is text after the value"},
		{"TrailingText", `{"name":"x"}x`, 400, notJSON + "there is text after the value"},
		{"NotUTF8", "{\"name\":\"\xff\"}", 400, notJSON + "it is not UTF-8"},
		{"Zero", `{"name":"a\u0000b"}`, 400, notJSON + "a string contains the character U+0000"},
		{"Deep", `{"name":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400, notJSON + "it is nested deeper than 64 levels"},
		{"Duplicate", `{"name":"x","name":"y"}`, 400, "duplicate field `name`"},
		{"DuplicateEscaped", `{"name":"x","n\u0061me":"y"}`, 400, "duplicate field `name`"},
		{"CaseVariant", `{"name":"x","Name":"y"}`, 400, "unknown field `Name`"},
		{"Unknown", `{"name":"x","budget":1}`, 400, "unknown field `budget`"},
		{"UnknownBeforeMissing", `{"budget":1}`, 400, "unknown field `budget`"},
		{"Array", `[]`, 422, "invalid type: array, expected an object"},
		{"Null", `null`, 422, "invalid type: null, expected an object"},
		{"Text", `"x"`, 422, "invalid type: string, expected an object"},
		{"RequiredNull", `{"name":null}`, 422, "name: invalid type: null, expected a string"},
		{"WrongType", `{"name":5}`, 422, "name: invalid type: number, expected a string"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := a.call(t, "POST", keysPath, c.body).want(t, c.status)
			if c.message != "" {
				r.wantError(t, c.status, "invalid_request_error", c.message)
			}
		})
	}
	a.call(t, "POST", keysPath, `{"name":"`+strings.Repeat("x", 1<<20)+`"}`).
		wantError(t, 413, "invalid_request_error", "the request body is larger than 1 MiB")
	if got := a.call(t, "GET", keysPath, nil).want(t, 200).list(t); len(got) != 0 {
		t.Errorf("a refused key was stored: %v", got)
	}
}

func TestErrorNamesItsField(t *testing.T) {
	t.Parallel()
	a := setup(t)
	r := a.call(t, "PUT", mappingsPath+"/reorder", `{"entries":[{"id":"x","priority":1}]}`).want(t, 422)
	if code, param := r.errorField(t, "code"), r.errorField(t, "param"); code != "invalid_type" || param != "entries[0].id" {
		t.Errorf("got code %q and param %q", code, param)
	}
}

func TestRouting(t *testing.T) {
	t.Parallel()
	a := setup(t)
	for _, path := range []string{"/v1/models", "/docs/nothing", "/auth/nothing", adminPath + "nothing", providersPath + "/", "/api/llm-gateway/admin"} {
		a.call(t, "GET", path, nil).wantError(t, 404, "not_found_error", "there is nothing at this path")
	}
	for method, path := range map[string]string{"PATCH": providersPath, "POST": providersPath + "/x", "GET": "/oauth/token"} {
		a.call(t, method, path, nil).wantError(t, 405, "invalid_request_error", "the method "+method+" is not allowed here")
	}
	for _, path := range []string{providersPath, mappingsPath, keysPath} {
		a.call(t, "GET", path+"/not-a-uuid", nil).wantError(t, 400, "invalid_request_error", "id: UUID parsing failed")
	}
	a.call(t, "DELETE", mappingsPath+"/reorder", nil).wantError(t, 400, "invalid_request_error", "id: UUID parsing failed")
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	a := setup(t)
	h := a.call(t, "GET", providersPath, nil).want(t, http.StatusOK).header
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if h.Get("X-Request-Id") == "" {
		t.Error("no request id")
	}
}

func TestInternalErrorIsOpaque(t *testing.T) {
	t.Parallel()
	a := setupAlone(t)
	a.db.Store.Close() // as if the database went away
	r := a.call(t, "GET", providersPath, nil).want(t, 500)
	id := r.header.Get("X-Request-Id")
	r.wantError(t, 500, "internal_error", "internal error; request id "+id)
	if log := a.log.String(); !strings.Contains(log, id) || !strings.Contains(log, "closed pool") {
		t.Errorf("the log does not say what happened to %s:\n%s", id, log)
	}
}
