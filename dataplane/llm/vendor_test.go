package llm

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

// vendorReads decodes a body with the types of the vendor's own SDK.
func vendorReads(t *testing.T, d Dialect, body []byte, kind string) {
	t.Helper()
	var into any
	switch {
	case d == Chat && kind == "request":
		into = &openai.ChatCompletionNewParams{}
	case d == Chat:
		into = &openai.ChatCompletion{}
	case d == Messages && kind == "request":
		into = &anthropic.BetaMessageNewParams{}
	case d == Messages:
		into = &anthropic.Message{}
	case kind == "request":
		into = &responses.ResponseNewParams{}
	default:
		into = &responses.Response{}
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Errorf("the vendor's SDK cannot read the %s: %v: %s", kind, err, body)
	}
}

// checkStream looks at a whole stream of a dialect as a strict client does: every event
// is framed and decodes, the order is right, and there is one end at most and nothing
// after it.
func checkStream(t *testing.T, d Dialect, out []byte) (text string, ended bool) {
	t.Helper()
	var f Framer
	c := streamCheck{t: t, open: -1}
	r := bytes.NewReader(out)
	for {
		_, err := f.Read(r)
		for {
			ev, ok := f.Next()
			if !ok {
				break
			}
			if ev.Data == nil {
				continue
			}
			if c.ended {
				t.Errorf("after the end: %s", ev.Data)
			}
			switch d {
			case Chat:
				c.chat(ev)
			case Messages:
				c.messages(ev)
			case Responses:
				c.responses(ev)
			}
		}
		f.Release()
		if err != nil {
			break
		}
	}
	return c.text.String(), c.ended
}

type streamCheck struct {
	t        *testing.T
	ended    bool // a good end, or an error event
	good     bool
	text     strings.Builder
	id       string
	begun    bool
	open     int64
	index    int64
	stopped  bool
	sequence int64
	finished bool
	calls    int64
}

func (c *streamCheck) chat(ev Event) {
	if string(ev.Data) == "[DONE]" {
		if !c.finished {
			c.t.Error("[DONE] before a reason to finish")
		}
		c.ended, c.good = true, true
		return
	}
	if hasError(ev.Data) {
		c.ended = true
		return
	}
	var chunk openai.ChatCompletionChunk
	if err := json.Unmarshal(ev.Data, &chunk); err != nil {
		c.t.Fatalf("%v: %s", err, ev.Data)
	}
	if c.id == "" {
		c.id = chunk.ID
		if chunk.Choices[0].Delta.Role != "assistant" {
			c.t.Error("the role does not come first")
		}
	}
	if chunk.ID != c.id || c.id == "" || chunk.Model == "" || chunk.Object != "chat.completion.chunk" {
		c.t.Errorf("not a whole chunk: %s", ev.Data)
	}
	for _, choice := range chunk.Choices {
		if c.finished {
			c.t.Errorf("after the reason to finish: %s", ev.Data)
		}
		c.text.WriteString(choice.Delta.Content)
		c.finished = c.finished || choice.FinishReason != ""
		for _, call := range choice.Delta.ToolCalls {
			if call.ID != "" {
				if call.Index != c.calls {
					c.t.Errorf("call %d comes as %d", c.calls, call.Index)
				}
				c.calls++
			} else if call.Index != c.calls-1 {
				c.t.Errorf("calls are mixed: %s", ev.Data)
			}
		}
	}
}

func (c *streamCheck) messages(ev Event) {
	var e anthropic.MessageStreamEventUnion
	if err := json.Unmarshal(ev.Data, &e); err != nil {
		c.t.Fatalf("%v: %s", err, ev.Data)
	}
	if string(ev.Name) != e.Type {
		c.t.Errorf("event %q says %q", ev.Name, e.Type)
	}
	if !c.begun && e.Type != "message_start" && e.Type != "error" {
		c.t.Errorf("before message_start: %s", ev.Data)
	}
	switch e.Type {
	case "message_start":
		c.begun = true
	case "content_block_start":
		if c.open >= 0 || e.Index != c.index || c.stopped {
			c.t.Errorf("block %d starts while %d is open, after %d", e.Index, c.open, c.index)
		}
		c.open = e.Index
	case "content_block_delta":
		if e.Index != c.open {
			c.t.Errorf("a delta of %d in %d", e.Index, c.open)
		}
		c.text.WriteString(e.Delta.Text)
	case "content_block_stop":
		if e.Index != c.open {
			c.t.Errorf("stop of %d in %d", e.Index, c.open)
		}
		c.open, c.index = -1, c.index+1
	case "message_delta":
		if c.open >= 0 {
			c.t.Error("message_delta in a block")
		}
		c.stopped = true
	case "message_stop":
		if !c.stopped {
			c.t.Error("message_stop without message_delta")
		}
		c.ended, c.good = true, true
	case "error":
		c.ended = true
	case "ping":
	default:
		c.t.Errorf("an event of no kind: %s", ev.Data)
	}
}

func (c *streamCheck) responses(ev Event) {
	var e responses.ResponseStreamEventUnion
	if err := json.Unmarshal(ev.Data, &e); err != nil {
		c.t.Fatalf("%v: %s", err, ev.Data)
	}
	if string(ev.Name) != e.Type {
		c.t.Errorf("event %q says %q", ev.Name, e.Type)
	}
	if c.begun && e.SequenceNumber <= c.sequence {
		c.t.Errorf("sequence number %d after %d", e.SequenceNumber, c.sequence)
	}
	c.begun, c.sequence = true, e.SequenceNumber
	switch e.Type {
	case "response.output_text.delta":
		c.text.WriteString(e.Delta)
	case "response.output_item.added":
		if c.open >= 0 || e.OutputIndex != c.index {
			c.t.Errorf("item %d is added while %d is open", e.OutputIndex, c.open)
		}
		c.open = e.OutputIndex
	case "response.output_item.done":
		if c.open != e.OutputIndex {
			c.t.Errorf("item %d is done while %d is open", e.OutputIndex, c.open)
		}
		c.open, c.index = -1, c.index+1
	case "response.completed", "response.incomplete":
		if int64(len(e.Response.Output)) != c.index {
			c.t.Errorf("%d items at the end, %d before", len(e.Response.Output), c.index)
		}
		c.ended, c.good = true, true
	case "response.failed":
		c.ended = true
	}
}
