package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// responses is the OpenAI responses dialect. Keys, headers and error bodies are those
// of chat.
type responses struct{ chat }

// inItem is what is checked of an input item.
type inItem struct {
	Type    string  `json:"type"`
	Role    string  `json:"role"`
	Content inParts `json:"content"`
	CallID  string  `json:"call_id"`
	Sealed  string  `json:"encrypted_content"`
}

// input is a text or a list of items.
type input struct {
	text  string
	items []inItem
}

func (in *input) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &in.text) == nil {
		in.items = []inItem{{Role: "user", Content: inParts(in.text)}}
		return nil
	}
	return json.Unmarshal(raw, &in.items)
}

// inParts is an item's text: a string, or the text of its parts.
type inParts string

func (p *inParts) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*p = inParts(s)
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Type == "input_text" || part.Type == "output_text" {
			*p += inParts(part.Text)
		}
	}
	return nil
}

// chatOnly are parameters of chat completions that the responses API refuses.
var chatOnly = []string{"messages", "max_tokens", "max_completion_tokens", "n", "response_format", "functions", "reasoning_effort", "stop"}

func (responses) parse(body []byte) (call, *fault) {
	var in struct {
		Model     string  `json:"model"`
		Stream    bool    `json:"stream"`
		Input     input   `json:"input"`
		Previous  string  `json:"previous_response_id"`
		MaxTokens int     `json:"max_output_tokens"`
		System    *string `json:"instructions"`
	}
	refuse := func(param, format string, args ...any) (call, *fault) {
		return call{model: in.Model, stream: in.Stream}, &fault{status: 400, typ: "invalid_request_error", param: param, message: fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return refuse("", "We could not parse the JSON body of your request. (%v)", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return refuse("", "We could not parse the JSON body of your request. (%v)", err)
	}
	for _, name := range chatOnly {
		if _, there := fields[name]; there {
			return refuse(name, "Unsupported parameter: '%s'. In the Responses API, this parameter has moved elsewhere.", name)
		}
	}
	if in.Model == "" {
		return refuse("model", "Missing required parameter: 'model'.")
	}
	if len(in.Input.items) == 0 {
		return refuse("input", "Missing required parameter: 'input'.")
	}
	c := call{model: in.Model, stream: in.Stream, maxTokens: in.MaxTokens, promptTokens: estimateTokens(body)}
	var calls []string
	for i, item := range in.Input.items {
		switch item.Type {
		case "", "message":
			if !slices.Contains([]string{"user", "assistant", "system", "developer"}, item.Role) {
				return refuse(fmt.Sprintf("input[%d].role", i), "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", item.Role)
			}
			if item.Role == "user" {
				c.userText = string(item.Content)
			}
		case "reasoning":
			if item.Sealed != "" && !strings.HasPrefix(item.Sealed, signed) {
				return refuse(fmt.Sprintf("input[%d]", i), "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.")
			}
		case "function_call", "custom_tool_call":
			if len(item.CallID) > maxCallID {
				return refuse("input", "Invalid 'input.call_id': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", maxCallID, len(item.CallID))
			}
			calls = append(calls, item.CallID)
		case "function_call_output", "custom_tool_call_output":
			if in.Previous == "" && !slices.Contains(calls, item.CallID) {
				return refuse("input", "No tool call found for function call output with call_id %s.", item.CallID)
			}
		}
	}
	return c, nil
}

func responseID(a answer) string { return "resp_" + a.id }

// response is a response object, in the order that OpenAI writes it.
func response(c call, a answer, status string, output []any, more ...any) json.RawMessage {
	fields := append([]any{"id", responseID(a), "object", "response", "created_at", a.created.Unix(), "status", status}, more...)
	return object(append(fields, "instructions", nil, "metadata", object(), "model", c.model, "output", output, "parallel_tool_calls", true, "previous_response_id", nil,
		"store", false, "temperature", 1.0, "text", object("format", object("type", "text")), "tool_choice", "auto", "tools", []any{}, "top_p", 1.0)...)
}

func responseUsage(u Usage) json.RawMessage {
	in := u.Input + u.CacheRead + u.CacheWrite
	return object("input_tokens", in, "input_tokens_details", object("cached_tokens", u.CacheRead), "output_tokens", u.Output,
		"output_tokens_details", object("reasoning_tokens", u.Reasoning), "total_tokens", in+u.Output)
}

func outputText(text string) json.RawMessage {
	return object("type", "output_text", "annotations", []any{}, "logprobs", []any{}, "text", text)
}

func outputMessage(a answer, status string, content ...any) json.RawMessage {
	if content == nil {
		content = []any{}
	}
	return object("id", "msg_"+a.id, "type", "message", "status", status, "content", content, "role", "assistant")
}

// item is a tool call as the responses API writes it.
func (t *toolUse) item(status, arguments string) json.RawMessage {
	return object("id", "fc_"+t.id, "type", "function_call", "status", status, "arguments", arguments, "call_id", "call_"+t.id, "name", t.name)
}

// end is how a whole answer ends: its status, what it says of it, and its event.
func (responses) end(c call, a answer) (document json.RawMessage, name string) {
	status, details := "completed", any(nil)
	if a.truncated {
		status, details = "incomplete", object("reason", "max_output_tokens")
	}
	var output []any
	if len(a.thoughts) > 0 {
		output = append(output, a.reasoning(a.thought()))
	}
	output = append(output, outputMessage(a, status, outputText(a.text())))
	if a.tool != nil {
		output = append(output, a.tool.item("completed", string(a.tool.input)))
	}
	return response(c, a, status, output, "error", nil, "incomplete_details", details, "usage", responseUsage(a.usage)), "response." + status
}

func (d responses) document(c call, a answer) any {
	document, _ := d.end(c, a)
	return document
}

func (d responses) stream(c call, a answer) []event {
	var events []event
	add := func(p place, name string, rest ...any) {
		events = append(events, newEvent(p, name, object(append([]any{"type", name, "sequence_number", len(events)}, rest...)...)))
	}
	begun := response(c, a, "in_progress", []any{}, "error", nil, "incomplete_details", nil, "usage", nil)
	add(opening, "response.created", "response", begun)
	add(opening, "response.in_progress", "response", begun)
	index, where := 0, opening
	if len(a.thoughts) > 0 {
		index, where = 1, content
		a.think(add)
	}
	at := []any{"item_id", "msg_" + a.id, "output_index", index, "content_index", 0}
	add(where, "response.output_item.added", "output_index", index, "item", outputMessage(a, "in_progress"))
	add(where, "response.content_part.added", append(at, "part", outputText(""))...)
	for _, word := range a.words {
		add(content, "response.output_text.delta", append(at[:6:6], "delta", word, "logprobs", []any{})...)
	}
	end := closing
	if a.tool != nil {
		end = content
	}
	add(end, "response.output_text.done", append(at[:6:6], "text", a.text(), "logprobs", []any{})...)
	add(end, "response.content_part.done", append(at[:6:6], "part", outputText(a.text()))...)
	add(end, "response.output_item.done", "output_index", index, "item", outputMessage(a, "completed", outputText(a.text())))
	if a.tool != nil {
		a.tool.stream(add, index+1)
	}
	document, name := d.end(c, a)
	add(closing, name, "response", document)
	return events
}

// stream adds a tool call's events after those of the text.
func (t *toolUse) stream(add func(p place, name string, rest ...any), index int) {
	at := []any{"item_id", "fc_" + t.id, "output_index", index}
	add(content, "response.output_item.added", "output_index", index, "item", t.item("in_progress", ""))
	for _, part := range t.parts() {
		add(content, "response.function_call_arguments.delta", append(at[:4:4], "delta", part)...)
	}
	add(closing, "response.function_call_arguments.done", append(at[:4:4], "arguments", string(t.input))...)
	add(closing, "response.output_item.done", "output_index", index, "item", t.item("completed", string(t.input)))
}

// reasoning is what a model thought, as an item: readable in parts, and encrypted.
func (a answer) reasoning(summary string) json.RawMessage {
	parts := []any{}
	if summary != "" {
		parts = append(parts, object("type", "summary_text", "text", summary))
	}
	return object("id", "rs_"+a.id, "type", "reasoning", "summary", parts, "encrypted_content", signed+a.id)
}

// think adds the events of a reasoning item.
func (a answer) think(add func(p place, name string, rest ...any)) {
	at := []any{"item_id", "rs_" + a.id, "output_index", 0, "summary_index", 0}
	add(opening, "response.output_item.added", "output_index", 0, "item", a.reasoning(""))
	add(opening, "response.reasoning_summary_part.added", append(at[:6:6], "part", object("type", "summary_text", "text", ""))...)
	for _, word := range a.thoughts {
		add(content, "response.reasoning_summary_text.delta", append(at[:6:6], "delta", word)...)
	}
	add(content, "response.reasoning_summary_text.done", append(at[:6:6], "text", a.thought())...)
	add(content, "response.reasoning_summary_part.done", append(at[:6:6], "part", object("type", "summary_text", "text", a.thought()))...)
	add(content, "response.output_item.done", "output_index", 0, "item", a.reasoning(a.thought()))
}

// responsesFaults are chat's but for how a stream says that a model is overloaded.
var responsesFaults = func() map[string]fault {
	faults := maps.Clone(chatFaults)
	faults["overloaded_error"] = fault{typ: "server_error", code: "server_is_overloaded", message: "Overloaded: selected model is at capacity."}
	faults["context_length_exceeded"] = fault{typ: "invalid_request_error", code: "context_length_exceeded", message: "Your input exceeds the context window of this model."}
	return faults
}()

func (responses) fault(status int, kind, model string) fault {
	return lookup(responsesFaults, status, kind, model)
}

func (responses) errorEvent(f fault, at int) event {
	failed := object("id", newID("resp_"), "object", "response", "created_at", time.Now().Unix(), "status", "failed",
		"error", object("code", f.code, "message", f.message), "incomplete_details", nil, "instructions", nil, "metadata", object(), "model", "", "output", []any{},
		"parallel_tool_calls", true, "tool_choice", "auto", "tools", []any{}, "usage", nil)
	return newEvent(content, "response.failed", object("type", "response.failed", "sequence_number", at, "response", failed))
}

// codex is ChatGPT's backend for Codex: responses on a plan, with a person's token.
type codex struct{ responses }

func (d codex) authorize(h http.Header, known func(string) bool) *fault {
	switch {
	case !isJWT(bearer(h)) || !known(bearer(h)):
		return &fault{status: 401, message: "Unauthorized"}
	case h.Get("Chatgpt-Account-Id") == "":
		return &fault{status: 400, message: "Missing chatgpt-account-id header"}
	}
	return nil
}

// parse refuses what the plan's backend does not take although OpenAI's API does.
func (d codex) parse(body []byte) (call, *fault) {
	c, f := d.responses.parse(body)
	if f != nil {
		return c, f
	}
	var in struct {
		MaxTokens *int  `json:"max_output_tokens"`
		Store     *bool `json:"store"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return c, &fault{status: 400, message: err.Error()}
	}
	refuse := func(message string) (call, *fault) { return c, &fault{status: 400, message: message} }
	switch {
	case in.MaxTokens != nil:
		return refuse("Unsupported parameter: max_output_tokens")
	case in.Store == nil || *in.Store:
		return refuse("Store must be set to false")
	case !c.stream:
		return refuse("Stream must be set to true")
	}
	return c, nil
}

func (codex) fault(status int, kind, model string) fault {
	switch kind {
	case "usage_limit", "insufficient_quota", "credit_balance":
		return fault{status: 429, typ: "usage_limit_reached", code: "usage_limit_reached", message: "The usage limit has been reached"}
	}
	return lookup(responsesFaults, status, kind, model)
}

const planWindow = 3600 // seconds until a plan's window begins anew

// errorBody is {"detail": ...} for all but the plan's limits.
func (codex) errorBody(f fault, _ string) any {
	if f.typ != "usage_limit_reached" {
		return object("detail", f.message)
	}
	return object("error", object("type", f.typ, "message", f.message, "plan_type", "plus", "resets_in_seconds", planWindow,
		"resets_at", time.Now().Unix()+planWindow))
}

func (codex) headers(h http.Header, status int, requestID string, _ time.Duration) {
	used := "12"
	if status == http.StatusTooManyRequests {
		used = "100"
	}
	h.Set("X-Request-Id", requestID)
	h.Set("X-Codex-Plan-Type", "plus")
	for name, share := range map[string]string{"Primary": used, "Secondary": "3"} {
		h.Set("X-Codex-"+name+"-Used-Percent", share)
		h.Set("X-Codex-"+name+"-Reset-After-Seconds", strconv.Itoa(planWindow))
		h.Set("X-Codex-"+name+"-Reset-At", strconv.FormatInt(time.Now().Unix()+planWindow, 10))
	}
}
