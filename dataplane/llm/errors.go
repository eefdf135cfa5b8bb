package llm

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Error is an error of the gateway's own making, before it is put in a dialect.
type Error struct {
	Status  int    // HTTP status; also chooses the dialect's type
	Code    string // machine-readable, e.g. "model_not_found"
	Param   string // the request field at fault, or empty
	Message string
	// Metadata is shown as error.metadata, where not nil.
	Metadata any
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
		inner := messagesError{Type: messagesErrorType(e.Status), Message: e.Message, Metadata: e.Metadata}
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
		}{chatError{e.Message, chatErrorType(e), orNull(e.Code), orNull(e.Param), e.Metadata}}
	}
	out, err := json.Marshal(body)
	if err != nil { // only Metadata could fail, and it is the gateway's own type
		return []byte(`{"error":{"message":"internal error","type":"api_error"}}`)
	}
	return out
}

// ErrorEvent writes e as the event that ends a broken stream of dialect d.
func (d Dialect) ErrorEvent(e *Error, requestID string) []byte {
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
	Type    string // error.type, or Google's error.status
	Code    string // error.code; a number is written out
	Message string
	// ErrorCode is Anthropic's error.details.error_code.
	ErrorCode string
	// RetryDelay is Google's error.details[].retryDelay, e.g. "52s".
	RetryDelay string
}

// ReadError reads an error body: {"error": {...}}, {"error": "text"}, Google's
// list around it, {"message": ...}, {"detail": ...}. What is not there is empty;
// a body that is none of them is returned as the message.
func ReadError(body []byte) Said {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message looseText       `json:"message"`
		Detail  looseText       `json:"detail"`
		Type    looseText       `json:"type"`
		Code    looseText       `json:"code"`
		// OpenAI's responses stream: {"type":"response.failed","response":{"error":...}}
		Response struct {
			Error json.RawMessage `json:"error"`
		} `json:"response"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return Said{Message: string(body)}
	}
	if len(outer.Error) == 0 {
		outer.Error = outer.Response.Error
	}
	said := readInner(outer.Error)
	if said == (Said{}) {
		said = Said{Type: string(outer.Type), Code: string(outer.Code), Message: string(outer.Message + outer.Detail)}
	}
	return said
}

func readInner(raw json.RawMessage) Said {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return Said{Message: text}
	}
	var e struct {
		Type    looseText       `json:"type"`
		Status  looseText       `json:"status"`
		Code    looseText       `json:"code"`
		Message looseText       `json:"message"`
		Details json.RawMessage `json:"details"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return Said{}
	}
	said := Said{Type: string(e.Type), Code: string(e.Code), Message: string(e.Message)}
	if said.Type == "" {
		said.Type = string(e.Status)
	}
	said.readDetails(e.Details)
	return said
}

func (s *Said) readDetails(raw json.RawMessage) {
	type detail struct {
		ErrorCode  looseText `json:"error_code"`
		RetryDelay looseText `json:"retryDelay"`
	}
	var one detail
	if json.Unmarshal(raw, &one) == nil {
		s.ErrorCode = string(one.ErrorCode)
	}
	var list []detail
	if json.Unmarshal(raw, &list) == nil {
		for _, d := range list {
			if d.RetryDelay != "" {
				s.RetryDelay = string(d.RetryDelay)
			}
		}
	}
}

// looseText reads a JSON string or number as text, and anything else as nothing:
// providers disagree on the type of "code", and an error must be read all the same.
type looseText string

func (t *looseText) UnmarshalJSON(b []byte) error {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(b, &s) == nil:
		*t = looseText(s)
	case json.Unmarshal(b, &n) == nil:
		*t = looseText(n)
	default:
		*t = ""
	}
	return nil
}

// NumericCode is Code as an HTTP status, or 0.
func (s Said) NumericCode() int {
	n, err := strconv.Atoi(s.Code)
	if err != nil || n < 100 || n > 599 {
		return 0
	}
	return n
}
