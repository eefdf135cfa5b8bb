package provider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// chat is the OpenAI chat completions dialect.
type chat struct {
	anyIDs bool // ids of calls may be as long as they like
}

const fingerprint = "fp_50cad350e4"

func (chat) credential(h http.Header) string { return bearer(h) }

func (d chat) authorize(h http.Header, known func(string) bool) *fault {
	key := d.credential(h)
	if key == "" {
		return &fault{status: 401, typ: "invalid_request_error", message: "You didn't provide an API key. You need to provide your " +
			"API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."}
	}
	if !known(key) {
		f := d.fault(401, "", "")
		return &f
	}
	return nil
}

func (d chat) parse(body []byte) (call, *fault) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role       string     `json:"role"`
			Content    text       `json:"content"`
			ToolCalls  []chatCall `json:"tool_calls"`
			ToolCallID string     `json:"tool_call_id"`
		} `json:"messages"`
		StreamOptions *struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		MaxTokens           int `json:"max_tokens"`
		MaxCompletionTokens int `json:"max_completion_tokens"`

		Tools  []json.RawMessage `json:"tools"`
		Effort string            `json:"reasoning_effort"`
	}
	refuse := func(param, format string, args ...any) (call, *fault) {
		return call{model: in.Model, stream: in.Stream}, &fault{status: 400, typ: "invalid_request_error", param: param, message: fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return refuse("", "We could not parse the JSON body of your request. (%v)", err)
	}
	if in.Model == "" {
		return refuse("", "you must provide a model parameter")
	}
	if len(in.Messages) == 0 {
		return refuse("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	if in.StreamOptions != nil && !in.Stream {
		return refuse("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if len(in.Tools) > 0 && in.Effort != "none" && thinksInResponses(in.Model) {
		return refuse("reasoning_effort", "Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. Please use /v1/responses instead.", in.Model)
	}
	c := call{model: in.Model, stream: in.Stream, promptTokens: estimateTokens(body)}
	c.includeUsage = in.StreamOptions != nil && in.StreamOptions.IncludeUsage
	c.maxTokens = cmp.Or(in.MaxCompletionTokens, in.MaxTokens)
	asked := false               // whether an assistant message with tool calls is being answered
	waiting := map[string]bool{} // its calls that have no answer yet
	for i, m := range in.Messages {
		if m.Role != "tool" && len(waiting) > 0 {
			return refuse(fmt.Sprintf("messages.[%d].role", i), "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(slices.Sorted(maps.Keys(waiting)), ", "))
		}
		for n, call := range m.ToolCalls {
			if waiting[call.ID] = true; len(call.ID) > maxChatID && !d.anyIDs {
				return refuse(fmt.Sprintf("messages[%d].tool_calls[%d].id", i, n), "Invalid 'messages[%d].tool_calls[%d].id': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", i, n, maxChatID, len(call.ID))
			}
		}
		delete(waiting, m.ToolCallID)
		switch m.Role {
		case "user":
			c.userText = string(m.Content)
		case "tool":
			if !asked || m.ToolCallID == "" {
				return refuse(fmt.Sprintf("messages.[%d].role", i), "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
			}
		case "assistant", "system", "developer", "function":
		default:
			return refuse(fmt.Sprintf("messages[%d].role", i), "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)
		}
		asked = len(m.ToolCalls) > 0 || (asked && m.Role == "tool")
	}
	return c, nil
}

// How long the id of a call may be in chat and in responses, as the errors say that come for
// longer ones.
const maxChatID, maxCallID = 40, 64

// chatCall is what is looked at in a call of the conversation.
type chatCall struct {
	ID string `json:"id"`
}

// thinksInResponses: from gpt-5.4 on OpenAI's models, which think unless they are told not
// to, take no tools in chat completions while they do.
func thinksInResponses(model string) bool {
	return slices.ContainsFunc([]string{"gpt-5.4", "gpt-5.5", "gpt-5.6"}, func(p string) bool { return strings.HasPrefix(model, p) })
}

type chatUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		Cached int `json:"cached_tokens"`
		Audio  int `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
		Audio     int `json:"audio_tokens"`
		Accepted  int `json:"accepted_prediction_tokens"`
		Rejected  int `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

func newChatUsage(u Usage) *chatUsage {
	out := &chatUsage{PromptTokens: u.Input + u.CacheRead + u.CacheWrite, CompletionTokens: u.Output}
	out.TotalTokens = out.PromptTokens + out.CompletionTokens
	out.PromptDetails.Cached = u.CacheRead
	out.CompletionDetails.Reasoning = u.Reasoning
	return out
}

type chatChoice struct {
	Index        int             `json:"index"`
	Message      json.RawMessage `json:"message,omitempty"`
	Delta        *chatDelta      `json:"delta,omitempty"`
	Logprobs     any             `json:"logprobs"`
	FinishReason *string         `json:"finish_reason"`
}

type chatDelta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`

	Reasoning string            `json:"reasoning_content,omitempty"`
	ToolCalls []json.RawMessage `json:"tool_calls,omitempty"`
}

type chatDocument struct {
	ID          string       `json:"id"`
	Object      string       `json:"object"`
	Created     int64        `json:"created"`
	Model       string       `json:"model"`
	Choices     []chatChoice `json:"choices"`
	Usage       *chatUsage   `json:"usage,omitempty"`
	ServiceTier string       `json:"service_tier"`
	Fingerprint string       `json:"system_fingerprint"`
}

// chatChunk has "usage": null in every chunk but the last when usage was asked for,
// and no such name when it was not.
type chatChunk struct {
	chatDocument
	Usage json.RawMessage `json:"usage,omitempty"`
}

func finishReason(a answer) *string {
	if a.truncated {
		return new("length")
	}
	if a.tool != nil {
		return new("tool_calls")
	}
	return new("stop")
}

// calls is a tool call as OpenAI writes it: its arguments are a string.
func (t *toolUse) calls() []json.RawMessage {
	return []json.RawMessage{object("id", "call_"+t.id, "type", "function", "function", object("name", t.name, "arguments", string(t.input)))}
}

// deltas is the same in a stream.
func (t *toolUse) deltas() (list []*chatDelta) {
	start := object("index", 0, "id", "call_"+t.id, "type", "function", "function", object("name", t.name, "arguments", ""))
	list = append(list, &chatDelta{ToolCalls: []json.RawMessage{start}})
	for _, part := range t.parts() {
		list = append(list, &chatDelta{ToolCalls: []json.RawMessage{object("index", 0, "function", object("arguments", part))}})
	}
	return list
}

func (chat) document(c call, a answer) any {
	message := []any{"role", "assistant", "content", a.text(), "refusal", nil, "annotations", []any{}}
	if len(a.thoughts) > 0 {
		message = append(message, "reasoning_content", a.thought())
	}
	if a.tool != nil {
		message = append(message, "tool_calls", a.tool.calls())
	}
	return chatDocument{
		ID: "chatcmpl-" + a.id, Object: "chat.completion", Created: a.created.Unix(), Model: c.model,
		Choices: []chatChoice{{
			Message:      object(message...),
			FinishReason: finishReason(a),
		}},
		Usage: newChatUsage(a.usage), ServiceTier: "default", Fingerprint: fingerprint,
	}
}

func (chat) stream(c call, a answer) []event {
	chunk := func(p place, usage json.RawMessage, choices ...chatChoice) event {
		doc := chatDocument{
			ID: "chatcmpl-" + a.id, Object: "chat.completion.chunk", Created: a.created.Unix(), Model: c.model,
			Choices: choices, ServiceTier: "default", Fingerprint: fingerprint,
		}
		return newEvent(p, "", chatChunk{doc, usage})
	}
	var none json.RawMessage
	if c.includeUsage {
		none = json.RawMessage("null")
	}
	events := []event{chunk(opening, none, chatChoice{Delta: &chatDelta{Role: "assistant", Content: new("")}})}
	for _, word := range a.thoughts {
		events = append(events, chunk(content, none, chatChoice{Delta: &chatDelta{Reasoning: word}}))
	}
	for _, word := range a.words {
		events = append(events, chunk(content, none, chatChoice{Delta: &chatDelta{Content: &word}}))
	}
	if a.tool != nil {
		for _, delta := range a.tool.deltas() {
			events = append(events, chunk(content, none, chatChoice{Delta: delta}))
		}
	}
	events = append(events, chunk(closing, none, chatChoice{Delta: &chatDelta{}, FinishReason: finishReason(a)}))
	if c.includeUsage {
		events = append(events, chunk(closing, encode(newChatUsage(a.usage)), []chatChoice{}...))
	}
	return append(events, event{closing, []byte("data: [DONE]\n\n")})
}

// chatFaults are the errors by preset or, where none is set, by status.
var chatFaults = map[string]fault{
	"400": {typ: "invalid_request_error", code: "invalid_value", param: "messages", message: "Invalid value for 'messages'."},
	"401": {typ: "invalid_request_error", code: "invalid_api_key", message: "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys."},
	"402": {typ: "unknown_error", code: "invalid_request_error", message: "Insufficient Balance"},
	"403": {typ: "invalid_request_error", message: "You have insufficient permissions for this operation. Missing scopes: model.request. Check that you have the correct role in your organization and project."},
	"404": {typ: "invalid_request_error", code: "model_not_found", message: "The model `%s` does not exist or you do not have access to it."},
	"408": {typ: "timeout", message: "Request timed out."},
	"413": {typ: "invalid_request_error", code: "request_too_large", message: "Request body is too large."},
	"422": {typ: "invalid_request_error", message: "Unprocessable entity: the request was well-formed but could not be followed."},
	"429": {typ: "requests", code: "rate_limit_exceeded", message: "Rate limit reached for %s in organization org-demo on requests per min (RPM): Limit 500, Used 500, Requested 1. " +
		"Please try again in 120ms. Visit https://platform.openai.com/account/rate-limits to learn more."},
	"500": {typ: "server_error", message: "The server had an error while processing your request. Sorry about that!"},
	"502": {typ: "server_error", message: "Bad gateway."},
	"503": {typ: "server_error", code: "service_unavailable", message: "The server is currently overloaded with other requests. Sorry about that! Please retry your request shortly."},
	"529": {typ: "overloaded_error", code: "overloaded_error", message: "Overloaded"},

	"insufficient_quota": {typ: "insufficient_quota", code: "insufficient_quota", message: "You exceeded your current quota, please check your plan and billing details. " +
		"For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."},
	"credit_balance": {status: 429, typ: "insufficient_quota", code: "credit_balance_exhausted", message: "Your credit balance is exhausted. Please add credits to continue."},
	"usage_limit":    {status: 429, typ: "insufficient_quota", code: "organization_usage_limit_exceeded", message: "Your organization has reached its usage limit."},

	"overloaded_error":    {typ: "server_error", code: "overloaded_error", message: "Overloaded"},
	"rate_limit_exceeded": {typ: "requests", code: "rate_limit_exceeded", message: "Rate limit reached. Please try again in 120ms."},
	"rate_limit_error":    {typ: "requests", code: "rate_limit_exceeded", message: "Rate limit reached. Please try again in 120ms."},
	"server_error":        {typ: "server_error", message: "The server had an error while processing your request. Sorry about that!"},
}

func (chat) fault(status int, kind, model string) fault {
	return lookup(chatFaults, status, kind, model)
}

func (chat) errorBody(f fault, _ string) any {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return object("error", object("message", f.message, "type", f.typ, "param", orNull(f.param), "code", orNull(f.code)))
}

func (d chat) errorEvent(f fault, _ int) event { return newEvent(content, "", d.errorBody(f, "")) }

func (chat) headers(h http.Header, status int, requestID string, took time.Duration) {
	h.Set("X-Request-Id", requestID)
	h.Set("Openai-Processing-Ms", strconv.FormatInt(took.Milliseconds(), 10))
	h.Set("Openai-Version", "2020-10-01")
	h.Set("Openai-Organization", "org-demo")
	left := "499"
	if status == http.StatusTooManyRequests {
		left = "0"
	}
	h.Set("X-Ratelimit-Limit-Requests", "500")
	h.Set("X-Ratelimit-Remaining-Requests", left)
	h.Set("X-Ratelimit-Reset-Requests", "120ms")
	h.Set("X-Ratelimit-Limit-Tokens", "200000")
	h.Set("X-Ratelimit-Remaining-Tokens", "199000")
	h.Set("X-Ratelimit-Reset-Tokens", "300ms")
}
