package provider

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// google is what Google's own APIs have in common: errors, and who may call.
type google struct{ server *Server }

func (google) credential(h http.Header) string { return bearer(h) }

func (d google) authorize(h http.Header, _ func(string) bool) *fault {
	if d.server.google.whose(bearer(h)) == "" {
		return &fault{status: 401, typ: "UNAUTHENTICATED", message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential."}
	}
	return nil
}

// googleFaults are Google's canonical errors.
// https://cloud.google.com/apis/design/errors#handling_errors
var googleFaults = map[string]fault{
	"400": {typ: "INVALID_ARGUMENT", message: "Request contains an invalid argument."},
	"401": {typ: "UNAUTHENTICATED", message: "Request had invalid authentication credentials."},
	"403": {typ: "PERMISSION_DENIED", message: "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/%s' (or it may not exist)."},
	"404": {typ: "NOT_FOUND", message: "Publisher Model `%s` was not found or your project does not have access to it."},
	"408": {typ: "DEADLINE_EXCEEDED", message: "Deadline expired before operation could complete."},
	"429": {typ: "RESOURCE_EXHAUSTED", message: "Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details."},
	"500": {typ: "INTERNAL", message: "Internal error encountered."},
	"503": {typ: "UNAVAILABLE", message: "The service is currently unavailable."},
	"504": {typ: "DEADLINE_EXCEEDED", message: "Deadline expired before operation could complete."},
}

func (google) fault(status int, kind, model string) fault {
	return lookup(googleFaults, status, kind, model)
}

func googleError(f fault) json.RawMessage {
	return object("error", object("code", f.status, "message", f.message, "status", f.typ))
}

// vertexChat is Google's compatible endpoint, whose errors are a list of one.
type vertexChat struct {
	chat
	google
}

func (d vertexChat) credential(h http.Header) string { return d.google.credential(h) }
func (d vertexChat) authorize(h http.Header, known func(string) bool) *fault {
	return d.google.authorize(h, known)
}
func (d vertexChat) fault(status int, kind, model string) fault {
	return d.google.fault(status, kind, model)
}
func (vertexChat) errorBody(f fault, _ string) any { return []json.RawMessage{googleError(f)} }
func (d vertexChat) errorEvent(f fault, _ int) event {
	return newEvent(content, "", d.errorBody(f, ""))
}

func (d vertexChat) parse(body []byte) (call, *fault) {
	c, f := d.chat.parse(body)
	if f != nil {
		f.typ = "INVALID_ARGUMENT"
		return c, f
	}
	if publisher, _, named := strings.Cut(c.model, "/"); !named || publisher == "" {
		f = &fault{status: 400, typ: "INVALID_ARGUMENT", message: "Malformed publisher model name: " + c.model}
	}
	return c, f
}

// vertexClaude is Anthropic's dialect on Google's cloud: what its models refuse comes in
// Anthropic's envelope, what the cloud refuses in Google's.
type vertexClaude struct {
	messages
	google
}

func (d vertexClaude) credential(h http.Header) string { return d.google.credential(h) }
func (d vertexClaude) authorize(h http.Header, known func(string) bool) *fault {
	return d.google.authorize(h, known)
}
func (d vertexClaude) fault(status int, kind, model string) fault {
	if status == 200 || status == 400 || status == 529 {
		return d.messages.fault(status, kind, model)
	}
	return d.google.fault(status, kind, model)
}
func (d vertexClaude) errorBody(f fault, requestID string) any {
	if strings.ToUpper(f.typ) == f.typ {
		return googleError(f)
	}
	return d.messages.errorBody(f, requestID)
}

func (vertexClaude) headers(h http.Header, _ int, requestID string, _ time.Duration) {
	h.Set("Request-Id", "req_vrtx_"+requestID)
}

// vertexRefused are betas and fields that the cloud is known to refuse.
var (
	vertexRefusedBetas = []string{"effort-2025-11-24", "prompt-caching-scope-2026-01-05", "structured-outputs-2025-11-13", "context-1m-2025-08-07",
		"fine-grained-tool-streaming-2025-05-14", "advanced-tool-use-2025-11-20", "mid-conversation-output-config-2026-07-01", "oauth-2025-04-20"}
	vertexRefusedFields = []string{"model", "safeguards", "diagnostics", "service_tier", "speed", "cache_control", "mcp_servers", "container"}
)

// vertexCall is the plan of a call to a model of Anthropic's.
func (s *Server) vertexCall(x *exchange) (name string, refusal *fault, good func() error) {
	called, verb, _ := cutLast(x.r.PathValue("call"), ":")
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(x.received, &fields); err != nil {
		return called, &fault{status: 400, typ: "INVALID_ARGUMENT", message: "Invalid JSON payload received."}, nil
	}
	counting := called == "count-tokens"
	refusal = vertexRefuses(x, fields, counting)
	if counting {
		var model string
		if err := json.Unmarshal(fields["model"], &model); err != nil && refusal == nil {
			refusal = &fault{status: 400, typ: "invalid_request_error", message: "model: Field required"}
		}
		x.call.model = model
		return countPath, refusal, func() error {
			return x.body(http.StatusOK, "application/json", encode(object("input_tokens", estimateTokens(x.received))))
		}
	}
	if refusal == nil && vertexBefore48.MatchString(called) && bytes.Contains(fields["messages"], []byte(`"role":"system"`)) {
		refusal = &fault{status: 400, typ: "invalid_request_error", message: "messages.1: role 'system' is not supported on this model"}
		x.problems = append(x.problems, refusal.message)
	}
	delete(fields, "anthropic_version")
	fields["model"] = encode(called)
	var invalid *fault
	if x.call, invalid = x.dialect.parse(encode(fields)); invalid != nil && refusal == nil {
		refusal = invalid
	}
	if streams := map[string]bool{"rawPredict": false, "streamRawPredict": true}; refusal == nil {
		if stream, known := streams[verb]; !known || stream != x.call.stream {
			x.problems = append(x.problems, "asked at :"+verb+" for another kind of answer than the body says")
		}
	}
	return called, refusal, x.generate
}

// vertexBefore48 are models that take no system messages in the middle of a conversation.
// https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
var vertexBefore48 = regexp.MustCompile(`^claude-(3-|(opus|sonnet|haiku)-4(-[0-7])?($|@))`)

// vertexRefuses is why the cloud refuses a request whatever the model.
func vertexRefuses(x *exchange, fields map[string]json.RawMessage, counting bool) *fault {
	if x.r.URL.RawQuery != "" {
		x.problems = append(x.problems, "a query that Google does not know: "+x.r.URL.RawQuery)
		return &fault{status: 400, typ: "INVALID_ARGUMENT", message: "Invalid JSON payload received. Unknown name \"" + x.r.URL.RawQuery + "\": Cannot bind query parameter."}
	}
	if x.r.Header.Get("Anthropic-Version") != "" || x.r.Header.Get("X-Api-Key") != "" {
		x.problems = append(x.problems, "a header that Anthropic wants and Google does not")
	}
	refuse := func(message string) *fault {
		return &fault{status: 400, typ: "invalid_request_error", message: message}
	}
	if string(fields["anthropic_version"]) != `"vertex-2023-10-16"` {
		return refuse("anthropic_version: Field required")
	}
	for _, beta := range strings.Split(x.r.Header.Get("Anthropic-Beta"), ",") {
		if slices.Contains(vertexRefusedBetas, strings.TrimSpace(beta)) {
			return refuse("Unexpected value(s) `" + beta + "` for the `anthropic-beta` header. Please consult our documentation at docs.anthropic.com or try again without the header.")
		}
	}
	for _, name := range vertexRefusedFields {
		if _, there := fields[name]; there && (name != "model" || !counting) {
			return refuse(name + ": Extra inputs are not permitted")
		}
	}
	if filesAtURLs.Match(fields["messages"]) {
		return refuse(urlSources)
	}
	_, edits := fields["context_management"]
	if edits && !strings.Contains(x.r.Header.Get("Anthropic-Beta"), "context-management-2025-06-27") {
		return refuse("context_management: Extra inputs are not permitted")
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (s *Server) vertexRoutes(mux *http.ServeMux) {
	const at = "/v1/projects/{project}/locations/{location}"
	const place = "POST " + at
	claude, compatible, tokens := vertexClaude{google: google{s}}, vertexChat{google: google{s}}, googleTokens{}
	mux.HandleFunc(place+"/publishers/anthropic/models/{call}", s.handle(always(claude), s.vertexCall))
	mux.HandleFunc(place+"/endpoints/openapi/chat/completions", s.handle(always(compatible), model))
	mux.HandleFunc("GET "+at, s.auxiliary("location", always(compatible), func(x *exchange) any {
		return object("name", strings.TrimPrefix(x.r.URL.Path, "/v1/"), "locationId", x.r.PathValue("location"))
	}))
	mux.HandleFunc("POST "+GoogleTokenPath, s.handle(always(tokens), s.googleToken))
	mux.HandleFunc("POST "+GoogleIAMPath+"{account}", s.handle(always(tokens), s.googleImpersonate))
	mux.HandleFunc("GET "+googleMetadataPath, s.googleMetadata)
}
