package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spillway-gateway/spillway/api/admin"
)

// maxErrorBytes bounds what is read of an error's body.
const maxErrorBytes = 1 << 20

// Error is the answer to a call that was refused or failed.
type Error struct {
	// Status is the answer's HTTP status: 404, say, where there is no such resource,
	// 409 where the call contradicts what is stored, 412 where If-Match does not hold.
	Status int
	// Type is the envelope's: invalid_request_error, authentication_error,
	// permission_error, not_found_error, conflict_error or internal_error. It is empty
	// where the answer is not the API's, but a proxy's on the way.
	Type string
	// Code is a stable word for the case, where there is one.
	Code string
	// Message says what is wrong, for a person.
	Message string
	// Param is the path of the field at fault, such as "targets[0].provider_id".
	Param string
	// RequestID names the call in the control plane's log.
	RequestID string
}

// Error is the message as the API gave it; a bare status where it gave none.
func (e *Error) Error() string { return e.Message }

// StatusOf returns the HTTP status of a call's error, or 0 where the error is no answer.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// readError makes an error of an answer, which it closes.
func readError(resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	if err != nil {
		return fmt.Errorf("reading the answer (%s): %w", resp.Status, err)
	}
	e := &Error{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id")}
	var envelope admin.Error
	if json.Unmarshal(raw, &envelope) == nil && envelope.Error.Message != "" {
		e.Type, e.Message = string(envelope.Error.Type), envelope.Error.Message
		if envelope.Error.Code != nil {
			e.Code = *envelope.Error.Code
		}
		if envelope.Error.Param != nil {
			e.Param = *envelope.Error.Param
		}
		return e
	}
	e.Message = fmt.Sprintf("the server answered %d %s", resp.StatusCode, strings.ToLower(http.StatusText(resp.StatusCode)))
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e.Message += ": redirects are not followed; is the URL the control plane's?"
	}
	return e
}
