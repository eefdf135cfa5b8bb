package llm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// OwnError reports whether body is a whole error as dialect d writes it, with all that its
// clients read: such a one is passed on byte for byte, since tools go by its wording.
// https://platform.openai.com/docs/guides/error-codes, https://docs.anthropic.com/en/api/errors
func (d Dialect) OwnError(body []byte) bool {
	var said struct {
		Type  string                     `json:"type"`
		Error map[string]json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error == nil {
		return false
	}
	if d == Messages {
		return said.Type == "error" && isText(said.Error["type"]) && isText(said.Error["message"])
	}
	typ, typed := said.Error["type"]
	return isText(said.Error["message"]) && typed && orText(typ) && orText(said.Error["code"]) && orText(said.Error["param"])
}

func isText(v json.RawMessage) bool { return len(v) > 2 && v[0] == '"' }

// orText reports whether a field is a text, null or not there.
func orText(v json.RawMessage) bool { return len(v) == 0 || v[0] == '"' || string(v) == "null" }

// Refusal is a provider's error in dialect d's own envelope, whatever shape it came in: the
// same text, and the type and code that say the same there. What else the provider said of it
// is not kept: error.metadata is the gateway's, metadata, where not nil.
func (d Dialect) Refusal(status int, body []byte, requestID string, metadata any) []byte {
	e := refusal(d, status, body)
	e.Metadata = metadata
	return d.Envelope(&e, requestID)
}

func refusal(d Dialect, status int, body []byte) Error {
	said := ReadError(body)
	e := said.in(d, status)
	switch text := strings.TrimSpace(e.Message); {
	case text == "", strings.HasPrefix(text, "<"): // a page of somebody's in between
		e.Message = "the provider refused the request without saying why"
	case len(text) > maxRefusal:
		e.Message = strings.ToValidUTF8(text[:maxRefusal], "") + "…"
	}
	return e
}

// FailedAnswer reports whether a whole 2xx that tells of an error is nonetheless an answer
// of dialect d, which says in a field of its own that it failed.
func (d Dialect) FailedAnswer(body []byte) bool {
	var said struct {
		Status string
		Output *json.RawMessage
	}
	return d == Responses && json.Unmarshal(body, &said) == nil && said.Status == "failed" && said.Output != nil
}

// RefusalStatus is the status that a refusal inside a 2xx stands for.
func RefusalStatus(body []byte) int {
	said := ReadError(body)
	if status := said.NumericCode(); status >= 400 {
		return status
	}
	if f, known := said.fault(); known {
		return f.status
	}
	return http.StatusBadRequest
}

// maxRefusal bounds the text of a refusal that is written anew, in bytes.
const maxRefusal = 16 << 10

// OwnFailure reports whether an event in which a provider reports an error is one that
// clients of dialect d read as such.
func (d Dialect) OwnFailure(ev Event) bool {
	var said struct {
		Type     string `json:"type"`
		Message  string `json:"message"`
		Error    *struct{ Type, Message string }
		Response *struct {
			Error *struct{ Message string }
		}
	}
	// A code that is a number is read by all: only names and texts count here.
	if json.Unmarshal(ev.Data, &said) != nil {
		return false
	}
	inner := said.Error != nil && said.Error.Message != ""
	switch d {
	case Messages:
		return string(ev.Name) == "error" && said.Type == "error" && inner && said.Error.Type != ""
	case Responses:
		switch string(ev.kind()) {
		case "error":
			return inner || said.Message != ""
		case "response.failed":
			return said.Response != nil && said.Response.Error != nil && said.Response.Error.Message != ""
		}
		return false
	}
	return inner
}

// Failure is the event by which dialect d tells of an error that a provider reported in
// another shape, and which ends the stream. metadata is as Refusal has it.
func (d Dialect) Failure(data []byte, requestID string, trail *Trail, metadata any) []byte {
	e := refusal(d, 0, data)
	e.Metadata = metadata
	return d.ErrorEvent(&e, requestID, trail)
}

// saysOnlyMessage reports whether a chunk of a chat stream, or an answer, is an error as
// Cohere and AWS write it, which no word calls one: there is a message and nothing of an
// answer's, nor of an event's that is not known.
// https://docs.cohere.com/reference/errors
func saysOnlyMessage(data []byte) bool {
	var said map[string]json.RawMessage
	if !bytes.Contains(data, []byte(`"message"`)) || json.Unmarshal(data, &said) != nil || !isText(said["message"]) {
		return false
	}
	for key := range said {
		switch key {
		case "message", "id", "code", "request_id":
		default:
			return false
		}
	}
	return true
}

// saysError reports whether a chunk of a chat stream, or an answer, is an error in a shape
// of a vendor's own: Google's list, an object that calls itself one (Mistral), or a choice
// that ends in one (OpenRouter).
// https://openrouter.ai/docs/api-reference/errors
func saysError(data []byte) bool {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var list []struct {
			Error json.RawMessage `json:"error"`
		}
		return json.Unmarshal(data, &list) == nil && len(list) > 0 && len(list[0].Error) > 0
	}
	var said struct {
		Error   json.RawMessage `json:"error"`
		Object  string          `json:"object"`
		Type    string          `json:"type"`
		Choices []struct {
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
	}
	if json.Unmarshal(data, &said) != nil {
		return false
	}
	for _, c := range said.Choices {
		if c.FinishReason == "error" {
			return true
		}
	}
	return len(said.Error) > 0 && string(said.Error) != "null" || said.Object == "error" || said.Type == "error"
}
