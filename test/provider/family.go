package provider

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// vendor is who says that it is compatible with OpenAI's chat, and how far it is not.
type vendor struct {
	path   string // of its API
	embeds bool   // whether it has embeddings

	takes    []string // the fields of a body that it knows, all others are refused; nil: it leaves out what it does not know
	refuses  []string // fields that it knows and refuses
	text     bool     // content is a string, never a list
	ordered  bool     // instructions come first
	turns    bool     // after instructions the user and the assistant take turns
	noSchema bool     // response_format is text or json_object
	strict   []string // fields of a message that it does not know, and refuses
	exactIDs bool     // a call's id is nine letters and digits
	missed   bool     // while it thinks it wants what it thought back with every call
	invalid  int      // the status of a body that it refuses; 0 is 400

	faults  map[string]fault
	shape   func(fault) any // of its errors; nil: OpenAI's
	inside  func(fault) any // of an error inside a 200; nil: the same
	event   func(fault) any // of an error inside a stream; nil: the same
	usage   bool            // comes unasked, in the chunk that ends the answer
	thought string          // what it calls reasoning_content, where it is another name
	comment string          // keeps a stream alive
	blank   string          // keeps an answer that is no stream alive
}

// onChat are fields that nearly all take.
var onChat = []string{"model", "messages", "stream", "temperature", "top_p", "max_tokens", "stop", "tools", "tool_choice", "response_format",
	"presence_penalty", "frequency_penalty", "n", "parallel_tool_calls", "reasoning_effort"}

// thoughts are the fields of a message in which one or another vendor writes what it thought.
var thoughts = []string{"reasoning_content", "reasoning", "reasoning_details"}

// vendors are by the name of their family.
//
// Groq: https://console.groq.com/docs/openai (fields), https://console.groq.com/docs/errors.
// Together: https://docs.together.ai/docs/error-codes. Mistral: https://docs.mistral.ai/api.
// xAI: https://docs.x.ai/docs/key-information/debugging. Fireworks:
// https://docs.fireworks.ai/troubleshooting/status_error_codes/inference_error_code.
// Perplexity: https://docs.perplexity.ai/api-reference/chat-completions-post. OpenRouter:
// https://openrouter.ai/docs/api-reference/errors and /streaming. DeepSeek:
// https://api-docs.deepseek.com/quick_start/error_codes and /rate_limit. Cohere:
// https://docs.cohere.com/docs/compatibility-api and https://docs.cohere.com/reference/errors.
// Google: https://ai.google.dev/gemini-api/docs/openai and /troubleshooting. A custom one
// stands for vLLM: https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html.
var vendors = map[string]vendor{
	"groq": {path: "/openai/v1", refuses: []string{"logprobs", "top_logprobs", "logit_bias"}, strict: []string{"reasoning_content", "reasoning_details"}, thought: "reasoning", faults: map[string]fault{
		"400": {typ: "invalid_request_error", message: "'messages.0' : discriminator property 'role' has invalid value"},
		"413": {typ: "tokens", code: "rate_limit_exceeded", message: "Request too large for model `%s` in organization `org` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again."},
		"498": {typ: "internal_server_error", code: "capacity_exceeded", message: "Flex tier capacity exceeded, please try again later."},
	}},
	"together": {path: "/v1", embeds: true, thought: "reasoning", faults: map[string]fault{
		"402": {typ: "credit_limit", message: "Credit limit exceeded, please add credits to continue."},
		"403": {typ: "invalid_request_error", message: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens and 2000 `max_new_tokens`"},
	}},
	"mistral": {path: "/v1", embeds: true, takes: append([]string{"random_seed", "safe_prompt", "prediction", "prompt_mode", "metadata"}, onChat...), ordered: true, exactIDs: true, strict: thoughts, invalid: 422, shape: mistralError, usage: true, faults: map[string]fault{
		"400":             {typ: "invalid_request_message_order", code: "3230", message: "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"},
		"401":             {typ: "unauthorized", message: "Unauthorized"},
		"422":             {param: "messages", message: "Field required"},
		"429":             {typ: "rate_limited", code: "1300", message: "Requests rate limit exceeded"},
		"503":             {typ: "service_unavailable", code: "1700", message: "Service tier capacity exceeded for this model."},
		"model_not_found": {typ: "invalid_model", code: "1500", message: "Invalid model: %s"},
	}},
	"xai": {path: "/v1", shape: func(f fault) any { return object("code", f.typ, "error", f.message) }, faults: map[string]fault{
		"400":         {typ: "Client specified an invalid argument", message: "Invalid request content: Argument not supported on this model: stop"},
		"403":         {typ: "The caller does not have permission to execute the specified operation", message: "Your team has either used all available credits or reached its monthly spending limit."},
		"429":         {typ: "Some resource has been exhausted", message: "Too many requests for team."},
		"503":         {typ: "The service is currently unavailable", message: "The model is at capacity."},
		"invalid_key": {typ: "Client specified an invalid argument", message: "Incorrect API key provided: xa***y. You can obtain an API key from https://console.x.ai."},
	}},
	"fireworks": {path: "/inference/v1", embeds: true, takes: append([]string{"stream_options", "max_completion_tokens", "user", "top_k", "logprobs", "top_logprobs", "logit_bias"}, onChat...), shape: fireworksError, faults: map[string]fault{
		"400": {typ: "invalid_request_error", message: "Extra inputs are not permitted, field: 'x', value: True"},
		"404": {typ: "invalid_request_error", code: "NOT_FOUND", message: "Model not found, inaccessible, and/or not deployed"},
		"412": {typ: "invalid_request_error", message: "Account acme is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices."},
		"503": {typ: "internal", code: "UNAVAILABLE", message: "Service temporarily overloaded"},
	}},
	"perplexity": {path: "", refuses: []string{"stream_options", "tools", "tool_choice"}, text: true, turns: true, shape: numbered, usage: true, faults: map[string]fault{
		"400":             {typ: "invalid_message", code: "400", message: "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s)."},
		"429":             {typ: "request_rate_limit_exceeded", code: "429", message: "Request rate limit exceeded, please try again later."},
		"503":             {typ: "service_unavailable", code: "503", message: "The model is overloaded."},
		"model_not_found": {typ: "invalid_model", code: "400", message: "Invalid model '%s'. Permitted models can be found in the documentation."},
	}},
	"openrouter": {path: "/api/v1", embeds: true, shape: numbered, inside: openRouterAnswer, event: openRouterChunk, thought: "reasoning", comment: ": OPENROUTER PROCESSING", faults: map[string]fault{
		"400": {code: "400", message: "%s is not a valid model ID"},
		"402": {code: "402", message: "This request requires more credits, or fewer max_tokens."},
		"403": {code: "403", message: "%s requires moderation on Acme. Your input was flagged for \"hate\". No credits were charged."},
		"429": {code: "429", message: "Provider returned error"},
		"502": {code: "502", message: "Provider disconnected"},
		"503": {code: "503", message: "No available model provider meets your routing requirements"},
	}},
	"deepseek": {path: "/v1", text: true, noSchema: true, missed: true, comment: ": keep-alive", blank: "\n\n\n", faults: map[string]fault{
		"422": {typ: "invalid_request_error", code: "invalid_request_error", message: "Failed to deserialize the JSON body into the target type: messages[0]: data did not match any variant"},
		"503": {typ: "service_unavailable_error", message: "Service is too busy. We advise users to temporarily switch to alternative LLM API service providers."},
	}},
	"cohere": {path: "/compatibility/v1", embeds: true, refuses: []string{"stream_options"}, text: true, shape: func(f fault) any { return object("id", newID(""), "message", f.message) }, usage: true, faults: map[string]fault{
		"400": {message: "invalid request: temperature must be between 0 and 1.0 inclusive."},
		"401": {message: "invalid api token"},
		"429": {message: "You are using a Trial key, which is limited to 10 API calls / minute."},
		"503": {message: "service unavailable"},
	}},
	"google_ai": {path: "/v1beta/openai", embeds: true, takes: append([]string{"stream_options", "max_completion_tokens", "extra_body"}, onChat...), strict: thoughts, shape: googleList, faults: map[string]fault{
		"400":         {typ: "INVALID_ARGUMENT", code: "400", message: "Invalid JSON payload received. Unknown name \"x\": Cannot find field."},
		"429":         {typ: "RESOURCE_EXHAUSTED", code: "429", message: "You exceeded your current quota, please check your plan and billing details. Please retry in 52.4s."},
		"503":         {typ: "UNAVAILABLE", code: "503", message: "The model is overloaded. Please try again later."},
		"invalid_key": {typ: "INVALID_ARGUMENT", code: "400", message: "API key not valid. Please pass a valid API key."},
	}},
	"custom": {path: "/v1", embeds: true, text: true, shape: func(f fault) any {
		return object("object", "error", "message", f.message, "type", f.typ, "param", nil, "code", json.Number(f.code))
	}, faults: map[string]fault{
		"400": {typ: "BadRequestError", code: "400", message: "This model's maximum context length is 4096 tokens."},
		"404": {typ: "NotFoundError", code: "404", message: "The model `%s` does not exist."},
		"503": {typ: "ServiceUnavailableError", code: "503", message: "The engine is dead."},
	}},
}

// mistralError is Mistral's, which for a body that it cannot read has the findings where
// the message is.
func mistralError(f fault) any {
	switch f.status {
	case http.StatusUnauthorized: // the answer of the door before it
		return object("message", f.message, "request_id", newID(""))
	case http.StatusUnprocessableEntity:
	default:
		return object("object", "error", "message", f.message, "type", f.typ, "param", nil, "code", f.code)
	}
	finding := object("type", "extra_forbidden", "loc", []string{"body", f.param}, "msg", f.message)
	return object("object", "error", "message", object("detail", []any{finding}), "type", "invalid_request_error", "param", nil, "code", nil)
}

func fireworksError(f fault) any {
	if f.code == "" {
		return object("error", object("object", "error", "type", f.typ, "message", f.message))
	}
	return object("error", object("object", "error", "type", f.typ, "code", f.code, "message", f.message))
}

// numberedError is an error whose code is a number, with a type where it has one.
func numberedError(f fault) json.RawMessage {
	if f.code == "" {
		f.code = strconv.Itoa(f.status)
	}
	if f.typ == "" {
		return object("code", json.Number(f.code), "message", f.message)
	}
	return object("message", f.message, "type", f.typ, "code", json.Number(f.code))
}

func numbered(f fault) any { return object("error", numberedError(f)) }

// openRouterAnswer and openRouterChunk are what went wrong at the model's own provider
// once it had begun.
func openRouterAnswer(f fault) any {
	failed := object("index", 0, "message", object("role", "assistant", "content", ""), "finish_reason", "error", "error", numberedError(f))
	return object("id", newID("gen-"), "object", "chat.completion", "choices", []any{failed})
}

func openRouterChunk(f fault) any {
	failed := object("index", 0, "delta", object("content", ""), "finish_reason", "error")
	return object("id", newID("gen-"), "object", "chat.completion.chunk", "error", numberedError(f), "choices", []any{failed})
}

// googleList is a list of one, as Google's compatible endpoint answers.
func googleList(f fault) any {
	if n, err := strconv.Atoi(f.code); err == nil {
		f.status = n
	}
	return []json.RawMessage{googleError(f)}
}

// family is one call of a dialect of OpenAI's as a vendor speaks it.
type family struct {
	dialect
	vendor
}

func (d family) authorize(h http.Header, known func(string) bool) *fault {
	if key := d.credential(h); key == "" || !known(key) {
		return new(d.fault(http.StatusUnauthorized, "", ""))
	}
	return nil
}

func (d family) fault(status int, kind, model string) fault {
	for _, key := range []string{kind, strconv.Itoa(status)} {
		if _, own := d.faults[key]; own {
			return lookup(d.faults, status, kind, model)
		}
	}
	f := d.dialect.fault(status, kind, model)
	if _, err := strconv.Atoi(f.code); err != nil && d.shape != nil {
		f.code = strconv.Itoa(f.status) // those with a shape of their own have no words for it
	}
	return f
}

func (d family) errorBody(f fault, requestID string) any {
	switch {
	case f.status == http.StatusOK && d.inside != nil:
		return d.inside(f)
	case d.shape != nil:
		return d.shape(f)
	}
	return d.dialect.errorBody(f, requestID)
}

func (d family) errorEvent(f fault, _ int) event {
	if d.event != nil {
		return newEvent(content, "", d.event(f))
	}
	return newEvent(content, "", d.errorBody(f, ""))
}

func (family) headers(h http.Header, _ int, requestID string, _ time.Duration) {
	h.Set("X-Request-Id", requestID)
}

// own writes a vendor's own name for what a model thought.
func (d family) own(wire []byte) []byte {
	if d.thought == "" {
		return wire
	}
	return bytes.ReplaceAll(wire, []byte(`"reasoning_content":`), []byte(`"`+d.thought+`":`))
}

func (d family) document(c call, a answer) any {
	return json.RawMessage(d.own(encode(d.dialect.document(c, a))))
}

// keepAlive is what comes before an answer that is no stream while it is waited for.
func (d family) keepAlive() string { return d.blank }

func (d family) stream(c call, a answer) (events []event) {
	wait := event{opening, []byte(d.comment + "\n\n")}
	told := !d.usage
	for _, e := range d.dialect.stream(c, a) {
		e.wire = d.own(e.wire)
		if e.place == closing && !told {
			told = true
			e.wire = append(bytes.TrimSuffix(e.wire, []byte("}\n\n")), `,"usage":`+string(encode(newChatUsage(a.usage)))+"}\n\n"...)
		}
		if d.comment != "" {
			events = append(events, wait)
		}
		events = append(events, e)
	}
	return events
}

// foreign are beginnings of headers by which another vendor would know who asks, or how.
var foreign = []string{"X-Api-Key", "Api-Key", "X-Goog-", "Anthropic-", "Openai-", "X-Amz-"}

// call is the plan of a call: what the vendor refuses is a problem too, since the gateway
// knows of it.
func (d family) call(x *exchange) (name string, refusal *fault, good func() error) {
	for header := range x.r.Header {
		if slices.ContainsFunc(foreign, func(p string) bool { return strings.HasPrefix(header, p) }) {
			x.problems = append(x.problems, "a header of another vendor's reached it: "+header)
		}
	}
	if x.r.URL.RawQuery != "" {
		x.problems = append(x.problems, "asked with the query "+x.r.URL.RawQuery)
	}
	name, refusal, good = model(x)
	if _, embeds := d.dialect.(embeddings); embeds || refusal != nil {
		return name, refusal, good
	}
	param, why := d.objection(x.received)
	if why == "" {
		return name, nil, good
	}
	x.problems = append(x.problems, param+": "+why)
	if param == "reasoning_content" && d.missed { // nobody can know before who thought what
		x.problems = x.problems[:len(x.problems)-1]
	}
	refused := d.fault(max(d.invalid, http.StatusBadRequest), "", name)
	refused.param, refused.message = param, why
	return name, &refused, good
}

// vendorMessage is what vendors look at in a message.
type vendorMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []chatCall      `json:"tool_calls"`
	Thought json.RawMessage `json:"reasoning_content"`
}

// objection is what the vendor will not take in a body, or "".
func (d family) objection(body []byte) (param, why string) {
	var fields map[string]json.RawMessage
	var in struct {
		Messages []vendorMessage `json:"messages"`
		Format   struct {
			Type string `json:"type"`
		} `json:"response_format"`
		Thinking struct {
			Type string `json:"type"`
		} `json:"thinking"`
	}
	var loose struct {
		Messages []map[string]json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(body, &fields) != nil || json.Unmarshal(body, &in) != nil || json.Unmarshal(body, &loose) != nil {
		return "body", "not an object"
	}
	for field := range fields {
		if d.takes != nil && !slices.Contains(d.takes, field) || slices.Contains(d.refuses, field) {
			return field, "Extra inputs are not permitted"
		}
	}
	if d.noSchema && in.Format.Type == "json_schema" {
		return "response_format", "This response_format type is unavailable now"
	}
	before := "system"
	for i, m := range in.Messages {
		for _, field := range d.strict {
			if _, there := loose.Messages[i][field]; there {
				return "messages", "property '" + field + "' is unsupported"
			}
		}
		switch {
		case d.missed && in.Thinking.Type != "disabled" && m.Calls != nil && m.Thought == nil:
			return "reasoning_content", "The `reasoning_content` in the thinking mode must be passed back to the API."
		case d.text && len(m.Content) > 0 && m.Content[0] == '[':
			return "messages", "invalid type: sequence, expected a string"
		case (d.ordered || d.turns) && m.Role == "system" && before != "system":
			return "messages", "Unexpected role 'system' after role '" + before + "'"
		case d.ordered && m.Role == "user" && before == "tool":
			return "messages", "Unexpected role 'user' after role 'tool'"
		case d.exactIDs && slices.ContainsFunc(m.Calls, func(c chatCall) bool { return !exactID.MatchString(c.ID) }):
			return "messages", "Tool call id must be a-z, A-Z, 0-9, with a length of 9."
		case d.turns && m.Role == before && before != "system":
			return "messages", "user or tool message(s) should alternate with assistant message(s)"
		}
		before = m.Role
	}
	return "", ""
}

var exactID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// strayed answers at addresses under a family's that no vendor has.
func strayed(x *exchange) (name string, refusal *fault, good func() error) {
	name, _, good = model(x)
	x.problems = append(x.problems, "asked at an address that the vendor does not have: "+x.r.URL.Path)
	return name, &fault{status: http.StatusNotFound, typ: "invalid_request_error", message: "Unknown request URL"}, good
}

// familyRoutes serves each vendor under /family/<name> and the path of its own API, which
// a provider's base_url there has to have.
func (s *Server) familyRoutes(mux *http.ServeMux) {
	for name, v := range vendors {
		at := "POST /family/" + name + v.path
		chats := family{chat{anyIDs: name != "openrouter"}, v} // which passes the ids on to OpenAI
		mux.HandleFunc(at+"/chat/completions", s.handle(always(chats), chats.call))
		mux.HandleFunc("GET /family/"+name+v.path+"/models", s.auxiliary(modelList, always(chats), s.listModels))
		if v.embeds {
			embeds := family{embeddings{}, v}
			mux.HandleFunc(at+"/embeddings", s.handle(always(embeds), embeds.call))
		}
	}
	mux.HandleFunc("POST /family/{rest...}", s.handle(always(chat{}), strayed))
}
