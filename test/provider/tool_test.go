package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var readsFile = Behavior{Tokens: 1, Tool: &ToolCall{Name: "Read", Input: json.RawMessage(`{"path":"a.txt"}`)}}

func TestMessagesTool(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", readsFile)
	var whole struct {
		Content []struct {
			Type, ID, Name string
			Input          json.RawMessage
		}
		StopReason string `json:"stop_reason"`
	}
	if err := json.Unmarshal([]byte(read(t, b.ask(t, messagesPath, body(messagesPath, "m", false)))), &whole); err != nil {
		t.Fatal(err)
	}
	if use := whole.Content[1]; use.Type != "tool_use" || use.ID == "" || use.Name != "Read" || string(use.Input) != `{"path":"a.txt"}` || whole.StopReason != "tool_use" {
		t.Errorf("got %+v", whole)
	}

	names, data := sse(t, read(t, b.ask(t, messagesPath, body(messagesPath, "m", true))))
	want := []string{
		"message_start", "ping", "content_block_start", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
	}
	if diff := cmp.Diff(names, want); diff != "" {
		t.Error(diff)
	}
	var input strings.Builder
	for _, d := range data {
		var event struct {
			Index int
			Delta struct {
				PartialJSON string `json:"partial_json"`
			}
		}
		if err := json.Unmarshal([]byte(d), &event); err != nil {
			t.Fatal(err)
		}
		input.WriteString(event.Delta.PartialJSON)
	}
	if got := input.String(); got != `{"path":"a.txt"}` || !strings.Contains(data[9], `"stop_reason":"tool_use"`) || !strings.Contains(data[8], `"index":1`) {
		t.Errorf("input %s in %s", got, data)
	}
}

func TestChatTool(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", readsFile)
	type function struct{ Name, Arguments string }
	type choice struct {
		Message, Delta struct {
			ToolCalls []struct {
				ID, Type string
				Function function
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	parse := func(raw string) choice {
		var doc struct{ Choices []choice }
		if err := json.Unmarshal([]byte(raw), &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Choices) == 0 {
			return choice{}
		}
		return doc.Choices[0]
	}
	want := function{"Read", `{"path":"a.txt"}`}
	whole := parse(read(t, b.ask(t, chatPath, body(chatPath, "m", false))))
	if calls := whole.Message.ToolCalls; len(calls) != 1 || calls[0].ID == "" || calls[0].Type != "function" || calls[0].Function != want || whole.FinishReason != "tool_calls" {
		t.Errorf("got %+v", whole)
	}

	var got function
	finish := ""
	_, data := sse(t, read(t, b.ask(t, chatPath, body(chatPath, "m", true))))
	for _, d := range data[:len(data)-1] {
		c := parse(d)
		finish += c.FinishReason
		for _, call := range c.Delta.ToolCalls {
			got.Name += call.Function.Name
			got.Arguments += call.Function.Arguments
		}
	}
	if got != want || finish != "tool_calls" {
		t.Errorf("got %+v, finished by %q", got, finish)
	}
}

// A tool without input is called with an empty object.
func TestToolWithoutInput(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{Tool: &ToolCall{Name: "Now"}})
	if got := read(t, b.ask(t, messagesPath, body(messagesPath, "m", false))); !strings.Contains(got, `"name":"Now","input":{}`) {
		t.Error(got)
	}
}

func TestResponsesTool(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", readsFile)
	type item struct {
		Type, Name, Arguments string
		CallID                string `json:"call_id"`
	}
	type response struct{ Output []item }
	check := func(got response) {
		t.Helper()
		if len(got.Output) != 2 || got.Output[1].CallID == "" {
			t.Fatalf("got %+v", got)
		}
		got.Output[1].CallID = ""
		if want := (item{Type: "function_call", Name: "Read", Arguments: `{"path":"a.txt"}`}); got.Output[1] != want {
			t.Errorf("got %+v, want %+v", got.Output[1], want)
		}
	}
	var whole response
	if err := json.Unmarshal([]byte(read(t, b.ask(t, responsesPath, body(responsesPath, "m", false)))), &whole); err != nil {
		t.Fatal(err)
	}
	check(whole)

	names, data := sse(t, read(t, b.ask(t, responsesPath, body(responsesPath, "m", true))))
	want := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.output_item.added",
		"response.function_call_arguments.delta", "response.function_call_arguments.delta", "response.function_call_arguments.done",
		"response.output_item.done", "response.completed",
	}
	if diff := cmp.Diff(names, want); diff != "" {
		t.Error(diff)
	}
	var arguments strings.Builder
	for i, d := range data {
		var event struct {
			Number   int `json:"sequence_number"`
			Delta    string
			Response response
		}
		if err := json.Unmarshal([]byte(d), &event); err != nil {
			t.Fatal(err)
		}
		if event.Number != i {
			t.Errorf("event %d has number %d", i, event.Number)
		}
		if names[i] == "response.function_call_arguments.delta" {
			arguments.WriteString(event.Delta)
		}
		if names[i] == "response.completed" {
			check(event.Response)
		}
	}
	if arguments.String() != `{"path":"a.txt"}` {
		t.Errorf("the deltas make %s", arguments.String())
	}
}
