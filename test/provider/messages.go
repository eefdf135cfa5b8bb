package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// messages is the Anthropic messages dialect.
type messages struct{}

func (messages) credential(h http.Header) string { return credential(h) }

func (d messages) authorize(h http.Header, known func(string) bool) *fault {
	key := d.credential(h)
	if key == "" {
		return &fault{status: 401, typ: "authentication_error", message: "x-api-key header is required"}
	}
	if !known(key) {
		f := d.fault(401, "", "")
		return &f
	}
	if h.Get("Anthropic-Version") == "" {
		return &fault{status: 400, typ: "invalid_request_error", message: "anthropic-version: header is required"}
	}
	return nil
}

// openAIOnly are parameters the messages API refuses; a translator must drop them.
var openAIOnly = []string{
	"frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "n", "parallel_tool_calls", "presence_penalty",
	"reasoning_effort", "response_format", "seed", "stop", "stream_options", "top_logprobs",
}

type inMessage struct {
	Role    string `json:"role"`
	Content blocks `json:"content"`
}

func (messages) parse(body []byte) (call, *fault) {
	var in struct {
		Model     string      `json:"model"`
		Stream    bool        `json:"stream"`
		MaxTokens *int        `json:"max_tokens"`
		Messages  []inMessage `json:"messages"`
	}
	refuse := func(format string, args ...any) (call, *fault) {
		return call{model: in.Model, stream: in.Stream}, &fault{status: 400, typ: "invalid_request_error", message: fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return refuse("The request body is not valid JSON: %v", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return refuse("The request body is not valid JSON: %v", err)
	}
	for _, name := range openAIOnly {
		if _, there := fields[name]; there {
			return refuse("%s: Extra inputs are not permitted", name)
		}
	}
	switch {
	case in.Model == "":
		return refuse("model: Field required")
	case in.MaxTokens == nil:
		return refuse("max_tokens: Field required")
	case *in.MaxTokens < 1:
		return refuse("max_tokens: Input should be greater than or equal to 1")
	case len(in.Messages) == 0:
		return refuse("messages: at least one message is required")
	}
	c := call{model: in.Model, stream: in.Stream, maxTokens: *in.MaxTokens, promptTokens: estimateTokens(body)}
	for i, m := range in.Messages {
		if m.Role != "user" && m.Role != "assistant" && m.Role != "system" {
			return refuse("messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		if m.Role == "user" && m.Content.text != "" {
			c.userText = m.Content.text
		}
		if m.Content.forged {
			return refuse("messages.%d.content.0: Invalid `signature` in `thinking` block", i)
		}
		if missing := unanswered(in.Messages, i); missing != "" {
			return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
				"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i, missing)
		}
	}
	return c, nil
}

// blocks is what is checked of a message's content.
type blocks struct {
	text    string
	uses    []string // ids of tool_use blocks
	results []string // tool_use ids of tool_result blocks
	forged  bool     // a thought that this provider did not sign
}

func (c *blocks) UnmarshalJSON(raw []byte) error {
	var t text
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	c.text = string(t)
	var list []struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		ToolUseID string `json:"tool_use_id"`
		Signature string `json:"signature"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil // a plain string
	}
	for _, block := range list {
		switch block.Type {
		case "tool_use":
			c.uses = append(c.uses, block.ID)
		case "tool_result":
			c.results = append(c.results, block.ToolUseID)
		case "thinking":
			c.forged = c.forged || !strings.HasPrefix(block.Signature, signed)
		}
	}
	return nil
}

// unanswered returns a tool_use id of message i that the next message does not
// answer.
func unanswered(list []inMessage, i int) string {
	if list[i].Role != "assistant" {
		return ""
	}
	for _, id := range list[i].Content.uses {
		if i+1 >= len(list) || !slices.Contains(list[i+1].Content.results, id) {
			return id
		}
	}
	return ""
}

type messagesUsage struct {
	InputTokens   int `json:"input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	CacheDetail   struct {
		FiveMinutes int `json:"ephemeral_5m_input_tokens"`
		OneHour     int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	OutputTokens int    `json:"output_tokens"`
	ServiceTier  string `json:"service_tier"`
}

func newMessagesUsage(u Usage, output int) messagesUsage {
	out := messagesUsage{InputTokens: u.Input, CacheCreation: u.CacheWrite, CacheRead: u.CacheRead, OutputTokens: output, ServiceTier: "standard"}
	out.CacheDetail.FiveMinutes = u.CacheWrite
	return out
}

type messagesDocument struct {
	ID           string            `json:"id"`
	Type         string            `json:"type"`
	Role         string            `json:"role"`
	Model        string            `json:"model"`
	Content      []json.RawMessage `json:"content"`
	StopReason   *string           `json:"stop_reason"`
	StopSequence *string           `json:"stop_sequence"`
	Usage        messagesUsage     `json:"usage"`
}

func stopReason(a answer) *string {
	if a.truncated {
		return new("max_tokens")
	}
	if a.tool != nil {
		return new("tool_use")
	}
	return new("end_turn")
}

func (messages) document(c call, a answer) any {
	var blocks []json.RawMessage
	if len(a.thoughts) > 0 {
		blocks = append(blocks, object("type", "thinking", "thinking", a.thought(), "signature", a.signature()))
	}
	blocks = append(blocks, object("type", "text", "text", a.text()))
	if a.tool != nil {
		blocks = append(blocks, a.tool.block(a.tool.input))
	}
	return messagesDocument{
		ID: "msg_" + a.id, Type: "message", Role: "assistant", Model: c.model,
		Content:    blocks,
		StopReason: stopReason(a), Usage: newMessagesUsage(a.usage, a.usage.Output),
	}
}

// block is a tool call as Anthropic writes it; a stream starts it with no input.
func (t *toolUse) block(input json.RawMessage) json.RawMessage {
	return object("type", "tool_use", "id", "toolu_"+t.id, "name", t.name, "input", input)
}

// signed begins every signature that this provider gives out; it knows no others.
const signed = "c2lnbmVk"

func (a answer) signature() string { return signed + a.id }

// thinking is the block of thoughts in a stream.
func (a answer) thinking() []event {
	events := []event{typed(opening, "content_block_start", "index", 0, "content_block", object("type", "thinking", "thinking", "", "signature", ""))}
	for _, word := range a.thoughts {
		events = append(events, typed(content, "content_block_delta", "index", 0, "delta", object("type", "thinking_delta", "thinking", word)))
	}
	return append(events, typed(content, "content_block_delta", "index", 0, "delta", object("type", "signature_delta", "signature", a.signature())),
		typed(content, "content_block_stop", "index", 0))
}

// typed is an event whose data names it too.
func typed(p place, name string, rest ...any) event {
	return newEvent(p, name, object(append([]any{"type", name}, rest...)...))
}

func (messages) stream(c call, a answer) []event {
	start := messagesDocument{
		ID: "msg_" + a.id, Type: "message", Role: "assistant", Model: c.model,
		Content: []json.RawMessage{}, Usage: newMessagesUsage(a.usage, 1),
	}
	events := []event{
		typed(opening, "message_start", "message", start),
		typed(opening, "ping"),
	}
	last, where := 0, opening
	if len(a.thoughts) > 0 {
		events, last, where = append(events, a.thinking()...), 1, content
	}
	events = append(events, typed(where, "content_block_start", "index", last, "content_block", object("type", "text", "text", "")))
	for _, word := range a.words {
		events = append(events, typed(content, "content_block_delta", "index", last, "delta", object("type", "text_delta", "text", word)))
	}
	if a.tool != nil {
		events = append(events, typed(content, "content_block_stop", "index", last),
			typed(content, "content_block_start", "index", last+1, "content_block", a.tool.block(json.RawMessage("{}"))))
		last++
		for _, part := range a.tool.parts() {
			events = append(events, typed(content, "content_block_delta", "index", last, "delta", object("type", "input_json_delta", "partial_json", part)))
		}
	}
	return append(events,
		typed(closing, "content_block_stop", "index", last),
		typed(closing, "message_delta",
			"delta", object("stop_reason", stopReason(a), "stop_sequence", nil),
			"usage", object("input_tokens", a.usage.Input, "cache_creation_input_tokens", a.usage.CacheWrite,
				"cache_read_input_tokens", a.usage.CacheRead, "output_tokens", a.usage.Output)),
		typed(closing, "message_stop"))
}

// messagesFaults are the errors by preset or, where none is set, by status.
var messagesFaults = map[string]fault{
	"400": {typ: "invalid_request_error", message: "messages: Input should be a valid list"},
	"401": {typ: "authentication_error", message: "invalid x-api-key"},
	"402": {typ: "billing_error", message: "There is an issue with your organization's billing or payment information."},
	"403": {typ: "permission_error", message: "Your API key does not have permission to use the specified resource."},
	"404": {typ: "not_found_error", message: "model: %s"},
	"408": {typ: "timeout_error", message: "Request timed out"},
	"413": {typ: "request_too_large", message: "Request exceeds the maximum size"},
	"422": {typ: "invalid_request_error", message: "The request could not be processed"},
	"429": {typ: "rate_limit_error", message: "This request would exceed your organization's rate limit of 50 requests per minute (model: %s). Please reduce the frequency of your requests or try again later."},
	"500": {typ: "api_error", message: "Internal server error"},
	"502": {typ: "api_error", message: "Bad gateway"},
	"503": {typ: "api_error", message: "Service temporarily unavailable"},
	"529": {typ: "overloaded_error", message: "Overloaded"},

	"long_context":       {typ: "rate_limit_error", message: "Extra usage is required for long context requests."},
	"credit_balance":     {typ: "invalid_request_error", message: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},
	"insufficient_quota": {status: 400, typ: "invalid_request_error", message: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},
	"usage_limit":        {typ: "invalid_request_error", message: "You have reached your specified API usage limits. You will regain access on 2099-01-01 at 00:00 UTC."},

	"overloaded_error": {typ: "overloaded_error", message: "Overloaded"},
	"rate_limit_error": {typ: "rate_limit_error", message: "This request would exceed your organization's rate limit."},
	"api_error":        {typ: "api_error", message: "Internal server error"},
	"timeout_error":    {typ: "timeout_error", message: "Request timed out"},
}

func (messages) fault(status int, kind, model string) fault {
	return lookup(messagesFaults, status, kind, model)
}

func (messages) errorBody(f fault, requestID string) any {
	body := []any{"type", "error", "error", object("type", f.typ, "message", f.message)}
	if requestID != "" {
		body = append(body, "request_id", requestID)
	}
	return object(body...)
}

func (d messages) errorEvent(f fault, _ int) event {
	return newEvent(content, "error", d.errorBody(f, ""))
}

func (messages) headers(h http.Header, status int, requestID string, _ time.Duration) {
	h.Set("Request-Id", requestID)
	h.Set("Anthropic-Organization-Id", "00000000-0000-4000-8000-000000000000")
	reset := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
	for name, limit := range map[string][2]string{
		"Requests": {"50", "49"}, "Tokens": {"100000", "99000"}, "Input-Tokens": {"80000", "79000"}, "Output-Tokens": {"20000", "19900"},
	} {
		left := limit[1]
		if status == http.StatusTooManyRequests && name == "Requests" {
			left = "0"
		}
		h.Set("Anthropic-Ratelimit-"+name+"-Limit", limit[0])
		h.Set("Anthropic-Ratelimit-"+name+"-Remaining", left)
		h.Set("Anthropic-Ratelimit-"+name+"-Reset", reset)
	}
	if status == http.StatusTooManyRequests || status >= 500 {
		h.Set("X-Should-Retry", "true")
	}
}

// lookup finds an error by preset, else by status, else as an error nobody knows.
func lookup(table map[string]fault, status int, kind, model string) fault {
	f, known := table[kind]
	if !known {
		f, known = table[strconv.Itoa(status)]
	}
	if !known {
		f = fault{typ: kind, message: fmt.Sprintf("%s (status %d)", http.StatusText(status), status)}
		if kind == "" {
			f.typ = "unknown_error"
		}
	}
	if f.status == 0 {
		f.status = status
	}
	f.message = strings.ReplaceAll(f.message, "%s", model)
	return f
}
