package rest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const classifyPath = adminPath + "classify"

// TestClassify has one case for every class that an answer can have: each answer is
// held against the document, which lists them.
func TestClassify(t *testing.T) {
	t.Parallel()
	a := setup(t)
	verdict := func(class string, failover bool, health any) fields {
		return fields{"class": class, "failover": failover, "health": health, "retry_after_secs": nil, "message": ""}
	}
	cases := map[string]struct {
		sent fields
		want fields
		more fields // what differs in want
	}{
		"OK":          {fields{"status": 200, "body": `{"choices":[]}`}, verdict("ok", false, nil), nil},
		"RateLimited": {fields{"status": 429}, verdict("rate_limited", true, "rate_limited"), nil},
		"RetryAfter": {fields{"status": 429, "headers": fields{"retry-after": "2.5"}, "body": `{"error":{"message":"Slow down"}}`},
			verdict("rate_limited", true, "rate_limited"), fields{"retry_after_secs": 2.5, "message": "Slow down"}},
		"RetryAfterPast": {fields{"status": 429, "headers": fields{"Retry-After": "Mon, 02 Jan 2006 15:04:05 GMT"}},
			verdict("rate_limited", true, "rate_limited"), fields{"retry_after_secs": 0.0}},
		"RetryAfterUnreadable": {fields{"status": 429, "headers": fields{"Retry-After": "soon"}}, verdict("rate_limited", true, "rate_limited"), nil},
		"CaseVariants": {fields{"status": 429, "headers": fields{"retry-after": "9", "Retry-After": "7", "x-other": ""}},
			verdict("rate_limited", true, "rate_limited"), fields{"retry_after_secs": 7.0}},
		"QuotaIn429": {fields{"status": 429, "body": `{"error":{"code":"insufficient_quota","message":"No quota"}}`},
			verdict("usage_limit", true, "usage_limit"), fields{"message": "No quota"}},
		"Entitlement": {fields{"status": 429, "body": "Extra usage is required for long context requests."},
			verdict("entitlement", true, nil), fields{"message": "Extra usage is required for long context requests."}},
		"Overloaded": {fields{"status": 529, "headers": fields{"Retry-After": "4"}}, verdict("overloaded", true, "overloaded"), fields{"retry_after_secs": 4.0}},
		"AuthRejected": {fields{"status": 401, "body": `{"error":{"message":"bad key sk-secret"}}`}, verdict("auth_rejected", true, "failure"),
			fields{"message": "the provider rejected the credential"}},
		"ModelNotFound": {fields{"status": 404}, verdict("model_not_found", true, nil), nil},
		"ServerError":   {fields{"status": 503, "headers": fields{"Retry-After": "4"}}, verdict("server_error", true, "failure"), nil},
		"Timeout":       {fields{"status": 408}, verdict("timeout", true, "failure"), nil},
		"Redirect":      {fields{"status": 302}, verdict("bad_answer", true, "failure"), nil},
		"BadRequest": {fields{"status": 400, "body": `{"error":{"message":"see https://example.com/x"}}`}, verdict("invalid_request", false, nil),
			fields{"message": "see (address)"}},
		"Unknown":     {fields{"status": 418}, verdict("unknown", false, nil), nil},
		"NullsAbsent": {fields{"status": 404, "headers": nil, "body": nil, "phase": nil}, verdict("model_not_found", true, nil), nil},
		"Answered":    {fields{"status": 500, "phase": "answered"}, verdict("server_error", true, "failure"), nil},
		"AnsweredOK":  {fields{"status": 200, "phase": "answered", "body": `{"error":{"type":"overloaded_error"}}`}, verdict("ok", false, nil), nil},
		"StreamOverloaded": {fields{"status": 200, "phase": "stream", "body": `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			verdict("overloaded", true, "overloaded"), fields{"message": "Overloaded"}},
		"StreamUnsaid": {fields{"status": 200, "phase": "stream"}, verdict("server_error", true, "failure"), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := a.call(t, "POST", classifyPath, c.sent).want(t, 200).object(t)
			if diff := cmp.Diff(with(c.want, c.more), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestClassifyDate: a date is judged by the clock.
func TestClassifyDate(t *testing.T) {
	t.Parallel()
	a := setup(t)
	at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	r := a.call(t, "POST", classifyPath, fields{"status": 429, "headers": fields{"Retry-After": at}}).want(t, 200)
	if got := r.field(t, "retry_after_secs").(float64); got < 3000 || got > 3600 {
		t.Errorf("got %g s, want about an hour", got)
	}
}

func TestClassifyRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	for _, c := range []struct {
		body    string
		status  int
		message string
	}{
		{`{}`, 422, "missing field `status`"},
		{`{"status":"429"}`, 422, "status: invalid type: string, expected an integer"},
		{`{"status":null}`, 422, "status: invalid type: null, expected an integer"},
		{`{"status":429,"headers":[]}`, 422, "headers: invalid type: array, expected an object"},
		{`{"status":429,"headers":{"Retry-After":5}}`, 422, "headers.Retry-After: invalid type: number, expected a string"},
		{`{"status":429,"headers":{"Retry-After":null}}`, 422, "headers.Retry-After: invalid type: null, expected a string"},
		{`{"status":429,"body":{}}`, 422, "body: invalid type: object, expected a string"},
		{`{"status":429,"phase":1}`, 422, "phase: invalid type: number, expected a string"},
		{`{"status":99}`, 400, "status must be between 100 and 599"},
		{`{"status":600}`, 400, "status must be between 100 and 599"},
		{`{"status":200,"phase":"dialing"}`, 400, "phase must be 'answered' or 'stream'"},
		{`{"status":199,"phase":"stream"}`, 400, "status must be between 200 and 299 when phase is 'stream'"},
		{`{"status":300,"phase":"stream"}`, 400, "status must be between 200 and 299 when phase is 'stream'"},
		{`{"status":429,"header":{}}`, 400, "unknown field `header`"},
		{`{"status":429,"headers":{"A":"1","A":"2"}}`, 400, "duplicate field `A`"},
	} {
		a.call(t, "POST", classifyPath, c.body).wantError(t, c.status, "invalid_request_error", c.message)
	}
	a.call(t, "POST", classifyPath, `{"status":500,"body":"`+strings.Repeat("x", 1<<20)+`"}`).
		wantError(t, 413, "invalid_request_error", "the request body is larger than 1 MiB")
	for _, status := range []int{100, 599} {
		a.call(t, "POST", classifyPath, fields{"status": status}).want(t, 200)
	}
	a.send(t, "POST", classifyPath, `{"status":429}`, func(r *http.Request) { r.Header.Del("Authorization") }).
		wantError(t, 401, "authentication_error", "an access token is required")
}
