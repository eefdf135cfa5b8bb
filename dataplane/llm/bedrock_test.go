package llm

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An error of Bedrock's says in Anthropic's envelope what it said, and its name.
func TestBedrockError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exception string
		status    int
		body      string
		want      Said
	}{
		"Header":    {"ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/", 429, `{"message":"Too many requests"}`, Said{Type: "rate_limit_error", Message: "Too many requests", ErrorCode: "ThrottlingException"}},
		"InStream":  {"serviceUnavailableException", 0, `{"message":"m"}`, Said{Type: "overloaded_error", Message: "m", ErrorCode: "ServiceUnavailableException"}},
		"InBody":    {"", 403, `{"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"m"}`, Said{Type: "authentication_error", Message: "m", ErrorCode: "UnrecognizedClientException"}},
		"Capital":   {"", 403, `{"Message":"m"}`, Said{Type: "permission_error", Message: "m"}},
		"Nameless":  {"", 503, `{"message":"m"}`, Said{Type: "api_error", Message: "m"}},
		"Newcomer":  {"BrandNewException", 404, `{"message":"m"}`, Said{Type: "not_found_error", Message: "m", ErrorCode: "BrandNewException"}},
		"Model":     {"modelStreamErrorException", 0, `{"message":"m","originalStatusCode":500,"originalMessage":"o"}`, Said{Type: "api_error", Message: "m", ErrorCode: "ModelStreamErrorException"}},
		"Page":      {"", 502, "<html>\n\"x\"</html>\n", Said{Type: "api_error", Message: "<html>\n\"x\"</html>"}},
		"Nothing":   {"ModelTimeoutException", 408, ``, Said{Type: "timeout_error", Message: "ModelTimeoutException", ErrorCode: "ModelTimeoutException"}},
		"WrongType": {"ValidationException", 400, `{"message":1}`, Said{Type: "invalid_request_error", Message: `{"message":1}`, ErrorCode: "ValidationException"}},
	} {
		body := BedrockError(c.exception, c.status, []byte(c.body))
		if diff := cmp.Diff(c.want, ReadError(body)); diff != "" {
			t.Errorf("%s: %s -want +got\n%s", name, body, diff)
		}
		for _, b := range body {
			if b == '\n' {
				t.Errorf("%s: more than one line: %q", name, body)
			}
		}
		if !json.Valid(body) || Messages.ReadAnswer(body) != ErrorAnswer {
			t.Errorf("%s: not one of Anthropic's errors: %s", name, body)
		}
	}
}

func TestBedrockChunks(t *testing.T) {
	t.Parallel()
	var chunks BedrockChunks
	var got []byte
	for _, chunk := range []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a \"amazon-bedrock-\" b"}}`,
		`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":9,"outputTokenCount":10}}`,
		"{\"type\":\"ping\",\n \"x\": 1}",
	} {
		var err error
		if got, err = chunks.Append(got, []byte(chunk)); err != nil {
			t.Fatal(err)
		}
	}
	want := "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a \\\"amazon-bedrock-\\\" b\"}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n" +
		"event: ping\ndata: {\"type\":\"ping\", \"x\": 1}\n\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, bad := range []string{``, `x`, `[]`, `{"type":1}`, `{"type":"a"`, `{"type":"a"}{}`, `{"type":"a","type":"b"}`} {
		if _, err := chunks.Append(nil, []byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if out, err := chunks.Append(nil, []byte(`{"type":"a\nevent: b\r"}`)); err != nil || string(out) != "event: aevent: b\ndata: {\"type\":\"a\\nevent: b\\r\"}\n\n" {
		t.Errorf("a name broke out of its line: %q %v", out, err)
	}
}
