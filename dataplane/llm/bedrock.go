package llm

import (
	"bytes"
	"encoding/json"
)

// bedrockFaults are Bedrock's exceptions as types of Anthropic's errors, where the status
// that comes with them would be read otherwise, or none comes: inside a stream. All others
// go by their status.
// https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html
var bedrockFaults = map[string]string{
	"ThrottlingException":           "rate_limit_error",
	"ServiceQuotaExceededException": "rate_limit_error",
	"ServiceUnavailableException":   "overloaded_error", // too much demand, says the guide, and not the caller's
	"ServiceUnavailable":            "overloaded_error",
	"ModelNotReadyException":        "rate_limit_error",
	"ModelTimeoutException":         "timeout_error",
	"ModelErrorException":           "api_error",
	"ModelStreamErrorException":     "api_error",
	"InternalServerException":       "api_error",
	"InternalFailure":               "api_error",
	"ValidationException":           "invalid_request_error",
	"AccessDeniedException":         "permission_error",
	"ResourceNotFoundException":     "not_found_error",
	"ExpiredTokenException":         "authentication_error",
	"UnrecognizedClientException":   "authentication_error",
	"InvalidSignatureException":     "authentication_error",
	"IncompleteSignatureException":  "authentication_error",
	"InvalidClientTokenId":          "authentication_error",
}

// ExceptionName is the name of an exception of AWS's in one form, however it came: in a
// header with the address of its documentation behind it, in a body with its namespace
// before it, in a stream with a small letter first.
// https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html#operation-error-serialization
func ExceptionName(text string) string {
	text = exceptionName(text)
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		text = string(text[0]-'a'+'A') + text[1:]
	}
	return text
}

// BedrockError is an error of Bedrock's in Anthropic's envelope, on one line: the type says
// the same, and error_code is the exception's name. name is as it came, or empty where only
// the body may have it; status is 0 for an error inside a stream.
func BedrockError(name string, status int, body []byte) []byte {
	var said struct {
		Type    string `json:"__type"`
		Message string `json:"message"` // or "Message", which is the same to the decoder
	}
	if json.Unmarshal(body, &said) != nil {
		said.Message = string(bytes.TrimSpace(body))
	}
	if name = ExceptionName(name); name == "" {
		name = ExceptionName(said.Type)
	}
	kind := bedrockFaults[name]
	if kind == "" {
		kind = messagesErrorType(status)
	}
	inner := messagesError{Type: kind, Message: said.Message}
	if inner.Message == "" {
		inner.Message = name
	}
	if name != "" {
		inner.Details = &messagesDetails{name}
	}
	out, _ := json.Marshal(struct { // two strings and a name: nothing that could fail
		Type  string        `json:"type"`
		Error messagesError `json:"error"`
	}{"error", inner})
	return out
}

// BedrockChunks writes what Bedrock streams of one of Anthropic's models as the events it
// is made of. The zero value is ready.
type BedrockChunks struct{ r reader }

// Append writes one chunk, which is an event's data, as the whole event. What Bedrock adds
// of its own (how long it took, in the last) is left out: clients know the dialect, not
// that.
func (c *BedrockChunks) Append(dst, chunk []byte) ([]byte, error) {
	c.r.again()
	m := c.r.document(chunk)
	name := c.r.text(m, "type")
	if c.r.err != nil {
		return dst, c.r.err
	}
	if !bytes.Contains(chunk, []byte(`"amazon-bedrock-`)) {
		return AppendEvent(dst, name, chunk), nil
	}
	w := writer{b: make([]byte, 0, len(chunk))}
	w.open('{')
	for _, f := range m {
		if !bytes.HasPrefix(f.key, []byte("amazon-bedrock-")) {
			w.same(f)
		}
	}
	w.close('}')
	return AppendEvent(dst, name, w.b), nil
}

// AppendEvent writes a server-sent event. Line ends in the name are left out, and those in
// the data, which in JSON say nothing, too.
func AppendEvent(dst []byte, name string, data []byte) []byte {
	w := writer{b: append(dst, "event: "...)}
	w.value([]byte(name))
	w.b = append(w.b, "\ndata: "...)
	w.value(data)
	return append(w.b, "\n\n"...)
}
