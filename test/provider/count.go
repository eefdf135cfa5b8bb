package provider

import (
	"encoding/json"
	"net/http"
)

// countPath is the name under which Anthropic's count of tokens is scripted, for all
// models alike.
const countPath = "/v1/messages/count_tokens"

// countTokens is the plan of a count: it needs the model, as for a message, and none of
// what only an answer needs.
func countTokens(x *exchange) (name string, refusal *fault, good func() error) {
	var in struct {
		Model     string `json:"model"`
		MaxTokens *int   `json:"max_tokens"`
	}
	err := json.Unmarshal(x.received, &in)
	x.call.model = in.Model
	switch {
	case err != nil:
		refusal = &fault{status: 400, typ: "invalid_request_error", message: "The request body is not valid JSON: " + err.Error()}
	case in.Model == "":
		refusal = &fault{status: 400, typ: "invalid_request_error", message: "model: Field required"}
	case in.MaxTokens != nil:
		refusal = &fault{status: 400, typ: "invalid_request_error", message: "max_tokens: Extra inputs are not permitted"}
	}
	return countPath, refusal, func() error {
		return x.body(http.StatusOK, "application/json", encode(object("input_tokens", estimateTokens(x.received))))
	}
}
