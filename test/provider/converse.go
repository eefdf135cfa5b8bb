package provider

import (
	"bytes"
	"encoding/json"
	"strings"
)

// converse is the body of AWS Bedrock's Converse and ConverseStream, all of the dialect
// but its headers and its framing: whose server answers it embeds it and adds
// credential, authorize and headers. The address names the model and says whether to
// stream, so whoever reads the address fills both in.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
type converse struct {
	model    string
	streamed bool
	// frame writes an event or an exception; nil: as a server-sent event.
	frame func(p place, name string, payload any) event
}

func (d converse) parse(body []byte) (call, *fault) {
	c := call{model: d.model, stream: d.streamed, promptTokens: estimateTokens(body)}
	var in converseBody
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&in); err != nil {
		return c, invalid("The request body could not be read: %v", err)
	}
	for _, check := range []func(*converseBody) *fault{
		converseTurns, converseNames, converseResults, converseSettings, converseToolSpecs, d.abilities,
	} {
		if refusal := check(&in); refusal != nil {
			return c, refusal
		}
	}
	if in.InferenceConfig.MaxTokens != nil {
		c.maxTokens = *in.InferenceConfig.MaxTokens
	}
	for _, m := range in.Messages {
		if text := m.text(); m.Role == "user" && text != "" {
			c.userText = text
		}
	}
	return c, nil
}

func (converse) usage(u Usage) json.RawMessage {
	return object("inputTokens", u.Input, "outputTokens", u.Output, "totalTokens", u.Input+u.Output+u.CacheRead+u.CacheWrite,
		"cacheReadInputTokens", u.CacheRead, "cacheWriteInputTokens", u.CacheWrite, "serverToolUsage", object())
}

func (d converse) document(_ call, a answer) any {
	blocks := []json.RawMessage{object("text", a.text())}
	if a.tool != nil {
		blocks = append(blocks, object("toolUse", object("input", a.tool.input, "name", a.tool.name, "toolUseId", "tooluse_"+a.tool.id)))
	}
	return object("metrics", object("latencyMs", 551), "output", object("message", object("content", blocks, "role", "assistant")),
		"stopReason", stopReason(a), "usage", d.usage(a.usage))
}

// event frames an event; all of Converse's have padding, so that their length says
// nothing of their content.
func (d converse) event(p place, name string, namesAndValues ...any) event {
	payload := object(append(namesAndValues, "p", "abcdefghijkl")...)
	if d.frame != nil {
		return d.frame(p, name, payload)
	}
	return newEvent(p, name, payload)
}

func (d converse) stream(_ call, a answer) []event {
	events := []event{d.event(opening, "messageStart", "role", "assistant")}
	delta := func(index int, value json.RawMessage) {
		events = append(events, d.event(content, "contentBlockDelta", "contentBlockIndex", index, "delta", value))
	}
	for _, word := range a.words {
		delta(0, object("text", word))
	}
	last := 0
	if a.tool != nil {
		last = 1
		events = append(events, d.event(content, "contentBlockStop", "contentBlockIndex", 0), d.event(content, "contentBlockStart",
			"contentBlockIndex", 1, "start", object("toolUse", object("name", a.tool.name, "toolUseId", "tooluse_"+a.tool.id))))
		for _, part := range a.tool.parts() {
			delta(1, object("toolUse", object("input", part)))
		}
	}
	return append(events,
		d.event(closing, "contentBlockStop", "contentBlockIndex", last),
		d.event(closing, "messageStop", "stopReason", stopReason(a)),
		d.event(closing, "metadata", "metrics", object("latencyMs", 551), "usage", d.usage(a.usage)))
}

// converseFaults are the errors by preset or, where none is set, by status.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors
var converseFaults = map[string]fault{
	"400": {typ: "ValidationException", message: "The provided request is not valid"},
	"401": {status: 403, typ: "UnrecognizedClientException", message: "The security token included in the request is invalid."},
	"402": {status: 400, typ: "ServiceQuotaExceededException", message: "Your request exceeds the service quota for your account."},
	"403": {typ: "AccessDeniedException", message: "You don't have access to the model with the specified model ID."},
	"404": {typ: "ResourceNotFoundException", message: "Could not resolve the foundation model from the provided model identifier: %s."},
	"408": {typ: "ModelTimeoutException", message: "The request took too long to process."},
	"424": {typ: "ModelErrorException", message: "The request failed because of an error while processing the model."},
	"429": {typ: "ThrottlingException", message: "Too many requests, please wait before trying again."},
	"500": {typ: "InternalServerException", message: "The system encountered an unexpected error during processing. Try your request again."},
	"503": {typ: "ServiceUnavailableException", message: "Bedrock is unable to process your request."},
	"529": {status: 503, typ: "ServiceUnavailableException", message: "Too many connections, please wait before trying again."},

	"overloaded_error": {status: 503, typ: "ServiceUnavailableException", message: "Bedrock is unable to process your request."},
	"rate_limit_error": {status: 429, typ: "ThrottlingException", message: "Too many tokens, please wait before trying again."},
	"api_error":        {status: 500, typ: "InternalServerException", message: "The system encountered an unexpected error during processing. Try your request again."},
}

func (converse) fault(status int, kind, model string) fault {
	return lookup(converseFaults, status, kind, model)
}

// errorBody has no type in it: the header x-amzn-errortype says it.
func (converse) errorBody(f fault, _ string) any { return object("message", f.message) }

// errorEvent is an exception. Its name begins in lower case.
func (d converse) errorEvent(f fault, _ int) event {
	name := strings.ToLower(f.typ[:1]) + f.typ[1:]
	if d.frame != nil {
		return d.frame(content, name, object("message", f.message))
	}
	return newEvent(content, name, object("message", f.message))
}
