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

// UnknownEndpoint refuses a path that the gateway does not serve.
func UnknownEndpoint(method, path string) *Refusal {
	return &Refusal{Status: http.StatusNotFound, Code: "unknown_endpoint", Message: "unknown endpoint: " + method + " " + path}
}
