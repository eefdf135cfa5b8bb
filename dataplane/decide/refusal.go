package decide

import (
	"fmt"
	"net/http"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Refusal is an error of the gateway's own, before it is put in a dialect.
type Refusal = llm.Error

// InvalidKey refuses a gateway key. It says nothing of why, since only the key's owner
// may know.
func InvalidKey() *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Code: "invalid_api_key", Message: "the gateway key is not valid"}
}

// UnknownModel refuses a model that no route answers to.
func UnknownModel(model string) *Refusal {
	return &Refusal{Status: http.StatusNotFound, Code: "model_not_found", Param: "model",
		Message: fmt.Sprintf("The model %q does not exist or you do not have access to it.", model)}
}

// AccessDenied refuses a model that the caller may not use. On responses it is a 400: Codex
// sends a request that was answered 403 another five times, and shows a 400 at once.
func AccessDenied(model string, by Denial, dialect llm.Dialect) *Refusal {
	status := http.StatusForbidden
	if dialect == llm.Responses {
		status = http.StatusBadRequest
	}
	return &Refusal{Status: status, Code: "model_access_denied", Param: "model", Hopeless: true,
		Message: fmt.Sprintf("You may not use the model %q: %s.", model, by)}
}

// UnknownEndpoint refuses a path that the gateway does not serve.
func UnknownEndpoint(method, path string) *Refusal {
	return &Refusal{Status: http.StatusNotFound, Code: "unknown_endpoint", Message: "unknown endpoint: " + method + " " + path}
}
