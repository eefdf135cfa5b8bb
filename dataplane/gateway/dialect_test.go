package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// dialect is what the tests of this package need to know of a wire format: with a row
// here all of them run for it. A stream's events name the model that answered.
type dialect struct {
	name, path, family, baseURL, auth string

	request string   // with %s for the model and %t for whether to stream
	whole   string   // an answer without a stream
	events  []string // of a recorded stream
	held    int      // how many events come before the first content
	ping    string   // keeps a connection alive and says nothing
	beat    string   // the same, of the gateway's making
	failed  string   // the event by which a provider says that it broke
	// cutShort is how many events at the end a provider may leave out without the answer
	// being broken, as long as it ends its body in order.
	cutShort int
}

var dialects = []dialect{
	{
		name: "Chat", path: "/v1/chat/completions", family: "openai", baseURL: "http://provider.test/v1", auth: "bearer_api_key",
		request: `{"model":%q,"stream":%t,"messages":[{"role":"user","content":"hi"}]}`,
		whole:   `{"id":"c1","object":"chat.completion","model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":"Hello world"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`,
		events: []string{
			`data: {"id":"c1","object":"chat.completion.chunk","model":%q,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n",
			": processing\n\n",
			`data: {"id":"c1","object":"chat.completion.chunk","model":%q,"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}` + "\n\n",
			`data: {"id":"c1","object":"chat.completion.chunk","model":%q,"choices":[{"index":0,"delta":{"content":" w\u00f6rld"},"finish_reason":null}]}` + "\n\n",
			`data: {"id":"c1","object":"chat.completion.chunk","model":%q,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n",
			`data: {"id":"c1","object":"chat.completion.chunk","model":%q,"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}` + "\n\n",
			"data: [DONE]\n\n",
		},
		held: 2, ping: ": ping\n\n", beat: ": keep-alive\n\n", cutShort: 2,
		failed: `data: {"error":{"message":"The server is overloaded","type":"server_error","code":"overloaded"}}` + "\n\n",
	},
	{
		name: "Messages", path: "/v1/messages", family: "anthropic", baseURL: "http://provider.test", auth: "x_api_key",
		request: `{"model":%q,"stream":%t,"max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`,
		whole:   `{"id":"m1","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":"Hello world"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}`,
		events: []string{
			"event: message_start\n" + `data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n",
			"event: ping\n" + `data: {"type":"ping"}` + "\n\n",
			"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n",
			"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}` + "\n\n",
			"event: content_block_delta\r\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" w\u00f6rld"}}` + "\r\n\r\n",
			"event: content_block_stop\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n",
			"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}` + "\n\n",
			"event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n",
		},
		held: 3, ping: "event: ping\ndata: {\"type\":\"ping\"}\n\n", beat: "event: ping\ndata: {\"type\": \"ping\"}\n\n",
		failed: "event: error\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n",
	},
	{
		name: "Responses", path: "/v1/responses", family: "openai", baseURL: "http://provider.test/v1", auth: "bearer_api_key",
		request: `{"model":%q,"stream":%t,"input":"hi"}`,
		whole:   `{"id":"r1","object":"response","status":"completed","model":%q,"output":[{"id":"o1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hello world","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}`,
		events: []string{
			"event: response.created\n" + `data: {"type":"response.created","sequence_number":0,"response":{"id":"r1","object":"response","status":"in_progress","model":%q,"output":[]}}` + "\n\n",
			"event: response.in_progress\n" + `data: {"type":"response.in_progress","sequence_number":1,"response":{"id":"r1","object":"response","status":"in_progress","model":%q,"output":[]}}` + "\n\n",
			"event: response.output_item.added\n" + `data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"o1","type":"message","status":"in_progress","role":"assistant","content":[]}}` + "\n\n",
			"event: response.content_part.added\n" + `data: {"type":"response.content_part.added","sequence_number":3,"item_id":"o1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}` + "\n\n",
			"event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"o1","output_index":0,"content_index":0,"delta":"Hello"}` + "\n\n",
			"event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":5,"item_id":"o1","output_index":0,"content_index":0,"delta":" w\u00f6rld"}` + "\n\n",
			"event: response.output_text.done\n" + `data: {"type":"response.output_text.done","sequence_number":6,"item_id":"o1","output_index":0,"content_index":0,"text":"Hello w\u00f6rld"}` + "\n\n",
			"event: response.completed\n" + `data: {"type":"response.completed","sequence_number":7,"response":{"id":"r1","object":"response","status":"completed","model":%q,"output":[{"id":"o1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hello w\u00f6rld","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}` + "\n\n",
		},
		held: 4, ping: ": ping\n\n", beat: ": keep-alive\n\n",
		failed: "event: response.failed\n" + `data: {"type":"response.failed","sequence_number":5,"response":{"id":"r1","object":"response","status":"failed","error":{"code":"server_is_overloaded","message":"Selected model is at capacity"}}}` + "\n\n",
	},
}

// body is a request's body.
func (d *dialect) body(model string, stream bool) string {
	return fmt.Sprintf(d.request, model, stream)
}

// answer is a whole answer of a model's.
func (d *dialect) answer(model string) string { return fmt.Sprintf(d.whole, model) }

// stream is the recorded stream as a model's.
func (d *dialect) stream(model string) []string {
	events := make([]string, len(d.events))
	for i, e := range d.events {
		if events[i] = e; strings.Contains(e, "%q") {
			events[i] = fmt.Sprintf(e, model)
		}
	}
	return events
}

// good is all of what a model answers.
func (d *dialect) good(model string, stream bool) string {
	if stream {
		return strings.Join(d.stream(model), "")
	}
	return d.answer(model)
}

// lifecycle are the events that come before content, content the first one with some.
func (d *dialect) lifecycle(model string) []string { return d.stream(model)[:d.held] }
func (d *dialect) content(model string) string     { return d.stream(model)[d.held] }

// errorEvent reads text as exactly one error event of the dialect's, of the gateway's
// making, and returns its code.
func (d *dialect) errorEvent(t *testing.T, text string) string {
	t.Helper()
	data, ok := strings.CutPrefix(text, map[string]string{"Chat": "data: ", "Messages": "event: error\ndata: ", "Responses": "event: response.failed\ndata: "}[d.name])
	data, whole := strings.CutSuffix(data, "\n\n")
	if !ok || !whole || strings.Contains(data, "\n") {
		t.Errorf("want exactly one error event, got %q", text)
		return ""
	}
	type said struct {
		Message, Type string
		Code          string
		Details       struct {
			ErrorCode string `json:"error_code"`
		}
	}
	var event struct {
		Type     string
		Error    said
		Response struct {
			Status string
			Error  said
		}
	}
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		t.Errorf("no JSON in %q: %v", text, err)
	}
	if d.name == "Responses" {
		if event.Type != "response.failed" || event.Response.Status != "failed" || event.Response.Error.Message == "" {
			t.Errorf("no failed response in %q", text)
		}
		return event.Response.Error.Code
	}
	if event.Error.Message == "" || event.Error.Type == "" {
		t.Errorf("no error in %q", text)
	}
	if d.name == "Messages" && event.Type != "error" {
		t.Errorf("type %q, want error: %s", event.Type, text)
	}
	return event.Error.Code + event.Error.Details.ErrorCode
}

// ways runs a test for every dialect, streaming and not.
func ways(t *testing.T, test func(t *testing.T, d *dialect, stream bool)) {
	asked(t, []bool{false, true}, test)
}

// asked runs a test for every dialect, streaming and not as kinds say.
func asked(t *testing.T, kinds []bool, test func(t *testing.T, d *dialect, stream bool)) {
	for i := range dialects {
		for _, stream := range kinds {
			name := dialects[i].name
			if stream {
				name += "Streamed"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, &dialects[i], stream)
			})
		}
	}
}

// streams runs a test for every dialect's streams.
func streams(t *testing.T, test func(t *testing.T, d *dialect)) {
	for i := range dialects {
		t.Run(dialects[i].name, func(t *testing.T) {
			t.Parallel()
			test(t, &dialects[i])
		})
	}
}
