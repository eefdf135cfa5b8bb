package provider

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// azure is a dialect of OpenAI's as Azure speaks it: another header for the key, other
// errors, and results of its content filter.
// https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
type azure struct{ dialect }

func (azure) credential(h http.Header) string { return h.Get("Api-Key") }

func (d azure) authorize(h http.Header, known func(string) bool) *fault {
	if key := d.credential(h); key == "" || !known(key) {
		return &fault{status: 401, code: "401", message: "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}
	}
	return nil
}

var azureFaults = map[string]fault{
	"400":            {code: "BadRequest", message: "The request is invalid."},
	"401":            {code: "401", message: "Access denied due to invalid subscription key or wrong API endpoint."},
	"403":            {code: "403", message: "Access denied due to Virtual Network/Firewall rules."},
	"404":            {code: "DeploymentNotFound", message: "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."},
	"408":            {code: "Timeout", message: "The operation was timeout."},
	"429":            {code: "429", message: "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after 2 seconds."},
	"500":            {code: "InternalServerError", message: "Internal server error"},
	"503":            {code: "ServiceUnavailable", message: "The service is temporarily unable to process your request. Please try again later."},
	"content_filter": {status: 400, code: "content_filter", message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."},
}

func (azure) fault(status int, kind, model string) fault {
	f := lookup(azureFaults, status, kind, model)
	if f.code == "" {
		f.code = strconv.Itoa(f.status)
	}
	return f
}

func (azure) errorBody(f fault, _ string) any {
	if f.code != "content_filter" {
		return object("error", object("code", f.code, "message", f.message))
	}
	return object("error", object("message", f.message, "type", nil, "param", "prompt", "code", f.code, "status", 400,
		"innererror", object("code", "ResponsibleAIPolicyViolation", "content_filter_result", object("hate", object("filtered", true, "severity", "high")))))
}

func (d azure) errorEvent(f fault, _ int) event { return newEvent(content, "", d.errorBody(f, "")) }

// stream begins, in chat, with what the filter found in the prompt: a chunk without choices.
func (d azure) stream(c call, a answer) []event {
	events := d.dialect.stream(c, a)
	if _, isChat := d.dialect.(chat); !isChat {
		return events
	}
	filtered := newEvent(opening, "", object("choices", []any{}, "created", 0, "id", "", "model", "", "object", "",
		"prompt_filter_results", []any{object("prompt_index", 0, "content_filter_results", object("hate", object("filtered", false, "severity", "safe")))}))
	return append([]event{filtered}, events...)
}

func (azure) headers(h http.Header, status int, requestID string, _ time.Duration) {
	h.Set("X-Request-Id", requestID)
	h.Set("Apim-Request-Id", requestID)
	h.Set("X-Ms-Region", "East US")
	if status == http.StatusTooManyRequests {
		h.Set("Retry-After-Ms", "2000")
	}
}

var azureDated = regexp.MustCompile(`^api-version=20[0-9]{2}-[0-9]{2}-[0-9]{2}(-preview)?$`)

// azureCall is the plan of a call. dated: it needs the date of an API.
func (s *Server) azureCall(dated bool) plan {
	return func(x *exchange) (name string, refusal *fault, good func() error) {
		if query := x.r.URL.RawQuery; dated != azureDated.MatchString(query) || !dated && query != "" && query != "api-version=preview" {
			x.problems = append(x.problems, "asked with the query "+query)
		}
		if x.r.Header.Get("Authorization") != "" || x.r.Header.Get("X-Api-Key") != "" {
			x.problems = append(x.problems, "a credential that is not Azure's reached it")
		}
		if deployment := x.r.PathValue("deployment"); deployment != "" {
			x.received = withModel(x.received, deployment)
		}
		return model(x)
	}
}

// withModel is a body in which the address's deployment stands for the model.
func withModel(body []byte, deployment string) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return body
	}
	fields["model"] = encode(deployment)
	return encode(fields)
}

func (s *Server) azureRoutes(mux *http.ServeMux) {
	for call, d := range map[string]dialect{"chat/completions": chat{}, "embeddings": embeddings{}, "responses": responses{}} {
		spoken := always(azure{d})
		mux.HandleFunc("POST /openai/v1/"+call, s.handle(spoken, s.azureCall(false)))
		if strings.HasPrefix(call, "responses") { // the body names the deployment
			mux.HandleFunc("POST /openai/"+call, s.handle(spoken, s.azureCall(true)))
			continue
		}
		mux.HandleFunc("POST /openai/deployments/{deployment}/"+call, s.handle(spoken, s.azureCall(true)))
	}
}
