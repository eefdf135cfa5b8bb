package llm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want Said
	}{
		"OpenAI":        {`{"error":{"message":"m","type":"t","param":null,"code":"c"}}`, Said{Type: "t", Code: "c", Message: "m"}},
		"NumericCode":   {`{"error":{"message":"m","code":401}}`, Said{Code: "401", Message: "m"}},
		"CodeOfNoKind":  {`{"error":{"message":"m","code":{"x":[1]},"type":null}}`, Said{Message: "m"}},
		"Anthropic":     {`{"type":"error","error":{"type":"t","message":"m","details":{"error_code":"e","x":1}},"request_id":"r"}`, Said{Type: "t", Message: "m", ErrorCode: "e"}},
		"Google":        {`[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"retryDelay":"52s"}]}}]`, Said{Type: "RESOURCE_EXHAUSTED", Code: "429", Message: "m", RetryDelay: "52s"}},
		"Text":          {`{"error":"plain"}`, Said{Message: "plain"}},
		"MessageOnly":   {` {"message":"m","code":7}`, Said{Code: "7", Message: "m"}},
		"Detail":        {`{"detail":"Unsupported parameter"}`, Said{Message: "Unsupported parameter"}},
		"DetailOfLists": {`{"detail":[{"loc":["body"]}]}`, Said{}},
		"DetailObject":  {`{"detail":{"message":"m","code":"token_expired"}}`, Said{Code: "token_expired", Message: "m"}},
		"DetailInside":  {`{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"Extra inputs are not permitted"}]},"type":"t","code":null}`, Said{Type: "t", Message: "Extra inputs are not permitted"}},
		"MessageOfNone": {`{"message":{"x":1,"detail":null},"type":"t"}`, Said{Type: "t"}},
		"Responses":     {`{"type":"response.failed","response":{"id":"r","error":{"code":"server_is_overloaded","message":"m"}}}`, Said{Code: "server_is_overloaded", Message: "m"}},
		"AWS":           {`{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"m"}`, Said{Type: "AccessDeniedException", Message: "m"}},
		"AWSType":       {`{"__type":"ThrottlingException:http://internal.amazon.com/coral/","message":"m","Message":"M"}`, Said{Type: "ThrottlingException", Message: "m"}},
		"Escapes":       {`{"error":{"message":"a\"b\u00e9"}}`, Said{Message: `a"bé`}},
		"HTML":          {"<html>\n", Said{Message: "<html>"}},
		"CutShort":      {`{"error":{"message":"m`, Said{Message: `{"error":{"message":"m`}},
		"Empty":         {"", Said{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, ReadError([]byte(c.body))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Whatever shape a vendor reports an error in, a chat stream ends with it, and nothing else
// ends it.
func TestChatErrorsInAStream(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]Meaning{
		`{"id":"1","message":"no"}`:                                Failed,
		`{"message":"no"}`:                                         Failed,
		`{"message":"","id":"1"}`:                                  Content,
		`{"message":{"role":"assistant"},"id":"1"}`:                Content,
		`{"id":"1","message":"queued","status":"waiting"}`:         Content,
		`{"type":"progress","message":"40 %"}`:                     Content,
		`{"id":"1","choices":[],"message":"no"}`:                   Content,
		`{"choices":[{"delta":{"content":"\"message\":\"no\""}}]}`: Content,
		`{"object":"error","message":"no","type":"x"}`:             Failed,
		`{"object":"x.chunk","message":"no"}`:                      Content,
		`[{"error":{"code":503,"message":"no"}}]`:                  Failed,
		`{"message":"no"`:                                          Content,
	} {
		if got := Chat.Outcome(Event{Data: []byte(data)}); got != want {
			t.Errorf("%s: got %v, want %v", data, got, want)
		}
	}
}

func FuzzReadError(f *testing.F) {
	for _, seed := range []string{`{"error":{"message":"m","code":1}}`, `[{"error":{"details":[{"retryDelay":"1s"}]}}]`, `[`, `{"error":`, `{"details":{}}`, `{"response":{"error":"x"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, body []byte) { ReadError(body) })
}

func TestEnvelopes(t *testing.T) {
	t.Parallel()
	e := &Error{Status: 404, Code: "model_not_found", Param: "model", Message: "no"}
	for dialect, want := range map[Dialect]string{
		Chat:      `{"error":{"message":"no","type":"invalid_request_error","code":"model_not_found","param":"model"}}`,
		Responses: `{"error":{"message":"no","type":"invalid_request_error","code":"model_not_found","param":"model"}}`,
		Messages:  `{"type":"error","error":{"type":"not_found_error","message":"no","details":{"error_code":"model_not_found"}},"request_id":"req_1"}`,
	} {
		if got := string(dialect.Envelope(e, "req_1")); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got, want := string(Messages.ErrorEvent(&Error{Status: 529, Message: "m"}, "r", nil)), "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"},\"request_id\":\"r\"}\n\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
