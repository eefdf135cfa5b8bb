package llm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// Error is an error of the gateway's own making, before it is put in a dialect.
type Error struct {
	Status  int    // HTTP status; also chooses the dialect's type
	Code    string // machine-readable, e.g. "model_not_found"
	Param   string // the request field at fault, or empty
	Message string
	// Type is the dialect's word for it where the status is not enough to tell, or empty.
	Type string
	// Metadata is shown as error.metadata, where not nil.
	Metadata any
	// Hopeless is set where trying again cannot help and the status does not say so.
	Hopeless bool
}

// Final reports whether trying again cannot help: SDKs are then told not to.
func (e *Error) Final() bool {
	return e.Hopeless || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

type chatError struct {
	Message  string  `json:"message"`
	Type     string  `json:"type"`
	Code     *string `json:"code"`
	Param    *string `json:"param"`
	Metadata any     `json:"metadata,omitempty"`
}

type messagesError struct {
	Type     string           `json:"type"`
	Message  string           `json:"message"`
	Details  *messagesDetails `json:"details,omitempty"`
	Metadata any              `json:"metadata,omitempty"`
}

// messagesDetails is where Anthropic's SDKs look for a code.
type messagesDetails struct {
	ErrorCode string `json:"error_code"`
}

// Envelope writes e as a whole answer body of dialect d.
func (d Dialect) Envelope(e *Error, requestID string) []byte {
	var body any
	switch d {
	case Messages:
		inner := messagesError{Type: e.typeOr(messagesErrorType(e.Status)), Message: e.Message, Metadata: e.Metadata}
		if e.Code != "" {
			inner.Details = &messagesDetails{e.Code}
		}
		body = struct {
			Type      string        `json:"type"`
			Error     messagesError `json:"error"`
			RequestID string        `json:"request_id"`
		}{"error", inner, requestID}
	default:
		body = struct {
			Error chatError `json:"error"`
		}{chatError{e.Message, e.typeOr(chatErrorType(e)), orNull(e.Code), orNull(e.Param), e.Metadata}}
	}
	out, err := json.Marshal(body)
	if err != nil { // only Metadata could fail, and it is the gateway's own type
		return []byte(`{"error":{"message":"internal error","type":"api_error"}}`)
	}
	return out
}

// ErrorEvent writes e as the event that ends a broken stream of dialect d, which went
// as far as the trail says.
func (d Dialect) ErrorEvent(e *Error, requestID string, trail *Trail) []byte {
	if d == Responses {
		return trail.failed(e, requestID)
	}
	var out []byte
	if d == Messages {
		out = append(out, "event: error\n"...)
	}
	out = append(out, "data: "...)
	out = append(out, d.Envelope(e, requestID)...)
	return append(out, "\n\n"...)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// typeOr is the error's own type, or the one that its status stands for.
func (e *Error) typeOr(byStatus string) string {
	if e.Type != "" {
		return e.Type
	}
	return byStatus
}

// messagesErrorType: https://docs.anthropic.com/en/api/errors
func messagesErrorType(status int) string {
	switch status {
	case 400, 405, 422:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 408, 504:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	return "api_error"
}

// chatErrorType: https://platform.openai.com/docs/guides/error-codes
func chatErrorType(e *Error) string {
	switch e.Status {
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 429:
		return "rate_limit_error"
	}
	if e.Status >= 500 {
		return "server_error"
	}
	return "invalid_request_error"
}

// Said is what a provider's error body says, in whatever dialect it came.
type Said struct {
	Type    string // error.type, Google's error.status, or the name of AWS's exception
	Code    string // error.code; a number is written out
	Message string
	// ErrorCode is Anthropic's error.details.error_code.
	ErrorCode string
	// RetryDelay is Google's error.details[].retryDelay, e.g. "52s".
	RetryDelay string
}

// ReadError reads an error body: {"error": {...}}, {"error": "text"}, Google's
// list around it, {"message": ...}, {"detail": ...}, the latter inside the former, AWS's
// {"__type": ...}, and the error inside an event of OpenAI's responses stream. What is not there is empty; a body that is none of them
// is returned as the message.
func ReadError(body []byte) Said {
	s := scanner{b: body}
	s.space()
	if s.peek() == '[' { // the first element of Google's list
		s.i++
		s.space()
	}
	if s.peek() != '{' {
		return Said{Message: string(bytes.TrimSpace(body))}
	}
	var outer, inner Said
	err := s.object(1, func(key string) error {
		switch key {
		case "error":
			return s.errorValue(1, &inner)
		case "detail":
			return s.errorValue(1, &outer)
		case "choices":
			return s.choiceErrors(&outer)
		case "response":
			return s.only("error", &inner)
		case "message":
			if s.peek() == '{' { // Mistral's, around what FastAPI found
				return s.only("detail", &outer)
			}
		}
		return s.errorField(1, key, &outer)
	})
	switch {
	case err != nil:
		return Said{Message: string(bytes.TrimSpace(body))}
	case inner == Said{}:
		return outer
	}
	return inner
}

// only reads one field of an object of a body, as an error.
func (s *scanner) only(name string, said *Said) error {
	return s.fields(1, func(key string) error {
		if key == name {
			return s.errorValue(2, said)
		}
		return s.value(2)
	})
}

// choiceErrors reads the error inside a choice, where a router reports what went wrong at
// the model's own provider.
func (s *scanner) choiceErrors(said *Said) error {
	if s.peek() != '[' {
		return s.value(1)
	}
	return s.elements(func() error {
		return s.fields(2, func(key string) error {
			if key == "error" {
				return s.errorValue(3, said)
			}
			return s.value(3)
		})
	})
}

// exceptionName is the name in a type as AWS writes it: after the service's namespace, and
// before an address.
func exceptionName(text string) string {
	if _, name, found := strings.Cut(text, "#"); found {
		text = name
	}
	text, _, _ = strings.Cut(text, ":")
	return text
}

// errorValue reads the value of "error": an object, or its text.
func (s *scanner) errorValue(depth int, said *Said) error {
	if s.peek() == '"' {
		text, err := s.text()
		said.Message = text
		return err
	}
	if s.peek() == '[' { // FastAPI's, as Mistral sends it: one object for each field
		return s.elements(func() error { return s.invalidField(depth+1, said) })
	}
	return s.fields(depth, func(key string) error {
		if key == "details" {
			return s.details(depth+1, said)
		}
		return s.errorField(depth+1, key, said)
	})
}

// invalidField reads one finding about a request: {"loc": [...], "msg": "...", "type": "..."}.
func (s *scanner) invalidField(depth int, said *Said) error {
	return s.fields(depth, func(key string) error {
		text, err := s.loose(depth + 1)
		if text != "" && (key == "msg" || key == "message") {
			if said.Message != "" {
				said.Message += "; "
			}
			said.Message += text
		}
		return err
	})
}

func (s *scanner) errorField(depth int, key string, said *Said) error {
	text, err := s.loose(depth)
	switch key {
	case "type":
		said.Type = text
	case "status":
		if said.Type == "" {
			said.Type = text
		}
	case "code":
		said.Code = text
	case "__type":
		said.Type = exceptionName(text)
	case "message", "detail":
		said.Message += text
	case "Message":
		if said.Message == "" {
			said.Message = text
		}
	}
	return err
}

// details are an object of Anthropic's or a list of Google's.
func (s *scanner) details(depth int, said *Said) error {
	detail := func() error {
		return s.fields(depth+1, func(key string) error {
			text, err := s.loose(depth + 2)
			switch {
			case text == "":
			case key == "error_code":
				said.ErrorCode = text
			case key == "retryDelay":
				said.RetryDelay = text
			}
			return err
		})
	}
	if s.peek() == '[' {
		return s.elements(detail)
	}
	return detail()
}

// loose reads a string or a number as text, and anything else as nothing: providers
// disagree on the type of "code", and an error must be read all the same.
func (s *scanner) loose(depth int) (string, error) {
	if s.peek() == '"' {
		return s.text()
	}
	start := s.i
	err := s.value(depth)
	if c := s.b[start:s.i]; len(c) > 0 && (c[0] == '-' || c[0]-'0' <= 9) {
		return string(c), err
	}
	return "", err
}

// NumericCode is Code as an HTTP status, or 0.
func (s Said) NumericCode() int {
	n, err := strconv.Atoi(s.Code)
	if err != nil || n < 100 || n > 599 {
		return 0
	}
	return n
}
