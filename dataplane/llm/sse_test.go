package llm

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type event struct{ Name, Data string }

// frame reads a whole stream and returns its events and the raw bytes taken.
func frame(t *testing.T, r io.Reader) (events []event, raw string) {
	t.Helper()
	var f Framer
	for {
		_, err := f.Read(r)
		for {
			ev, ok := f.Next()
			if !ok {
				break
			}
			events = append(events, event{string(ev.Name), string(ev.Data)})
		}
		raw += string(f.Taken())
		f.Release()
		if errors.Is(err, io.EOF) {
			return events, raw
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

var framing = map[string]struct {
	stream string
	want   []event
}{
	"LF":              {"data: a\n\nevent: x\ndata: b\n\n", []event{{"", "a"}, {"x", "b"}}},
	"CRLF":            {"event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []event{{"x", "a"}, {"", "b"}}},
	"CR":              {"event: x\rdata: a\r\rdata: b\r\r", []event{{"x", "a"}, {"", "b"}}},
	"Mixed":           {"data: a\r\n\ndata: b\r\r\ndata: c\n\r\n", []event{{"", "a"}, {"", "b"}, {"", "c"}}},
	"SeveralLines":    {"data: a\ndata: b\ndata: c\n\n", []event{{"", "a\nb\nc"}}},
	"NoSpace":         {"data:a\n\ndata:  b\n\n", []event{{"", "a"}, {"", " b"}}},
	"Comment":         {": ping\n\ndata: a\n\n", []event{{"", ""}, {"", "a"}}},
	"OtherFields":     {"id: 1\nretry: 5\ndata: a\nnonsense\n\n", []event{{"", "a"}}},
	"ByteOrderMark":   {"\xef\xbb\xbfdata: a\n\n", []event{{"", "a"}}},
	"NameAfterData":   {"data: a\nevent: late\n\n", []event{{"late", "a"}}},
	"UnfinishedEvent": {"data: a\n\ndata: b\n", []event{{"", "a"}}},
	"Long":            {"data: " + strings.Repeat("x", 20000) + "\n\n", []event{{"", strings.Repeat("x", 20000)}}},
}

func TestFramerWhole(t *testing.T) {
	t.Parallel()
	for name, c := range framing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := frame(t, strings.NewReader(c.stream))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// An event may be split at any byte, and the raw bytes come out as they went in.
func TestFramerSplitAtEveryByte(t *testing.T) {
	t.Parallel()
	for name, c := range framing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range min(len(c.stream), 200) {
				got, raw := frame(t, io.MultiReader(strings.NewReader(c.stream[:i]), strings.NewReader(c.stream[i:])))
				if diff := cmp.Diff(withoutEmpty(c.want), withoutEmpty(got)); diff != "" {
					t.Fatalf("split at %d: -want +got\n%s", i, diff)
				}
				if !strings.HasPrefix(c.stream, raw) {
					t.Fatalf("split at %d: raw bytes differ: %q", i, raw)
				}
			}
			got, _ := frame(t, iotest.OneByteReader(strings.NewReader(c.stream)))
			if diff := cmp.Diff(withoutEmpty(c.want), withoutEmpty(got)); diff != "" {
				t.Errorf("byte by byte: -want +got\n%s", diff)
			}
		})
	}
}

func withoutEmpty(events []event) (out []event) {
	for _, e := range events {
		if e != (event{}) {
			out = append(out, e)
		}
	}
	return out
}

func TestFramerRestIsTheEventWithoutBlankLine(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]string{"data: a\n\ndata: [DONE]": "[DONE]", "data: a\n\ndata: [DONE]\n": "[DONE]"} {
		var f Framer
		if _, err := f.Read(strings.NewReader(stream)); err != nil {
			t.Fatal(err)
		}
		for {
			if _, ok := f.Next(); !ok {
				break
			}
		}
		ev, ok := f.Rest()
		if !ok || string(ev.Data) != want {
			t.Errorf("%q: got %q, %v, want %q", stream, ev.Data, ok, want)
		}
	}
}

func FuzzFramer(f *testing.F) {
	for _, c := range framing {
		if len(c.stream) < 1<<10 { // of long ones a fuzzer tries only a few in a minute
			f.Add([]byte(c.stream), 3)
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, at int) {
		at = max(0, min(at, len(stream)))
		whole, raw := frame(t, bytes.NewReader(stream))
		split, rawSplit := frame(t, io.MultiReader(bytes.NewReader(stream[:at]), bytes.NewReader(stream[at:])))
		if diff := cmp.Diff(withoutEmpty(whole), withoutEmpty(split)); diff != "" {
			t.Fatal(diff)
		}
		if !bytes.HasPrefix(stream, []byte(raw)) || !bytes.HasPrefix(stream, []byte(rawSplit)) {
			t.Fatal("raw bytes differ")
		}
	})
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dialect    Dialect
		name, data string
		want       Meaning
	}{
		"ChatRoleOnly":         {Chat, "", `{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}`, Lifecycle},
		"ChatNoChoices":        {Chat, "", `{"choices":[],"prompt_filter_results":[]}`, Lifecycle},
		"ChatContent":          {Chat, "", `{"choices":[{"delta":{"content":"hi"}}]}`, Content},
		"ChatToolCall":         {Chat, "", `{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, Content},
		"ChatReasoning":        {Chat, "", `{"choices":[{"delta":{"reasoning_content":"hm"}}]}`, Content},
		"ChatFinish":           {Chat, "", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, Content},
		"ChatDone":             {Chat, "", `[DONE]`, Done},
		"ChatError":            {Chat, "", `{"error":{"message":"x"}}`, Failed},
		"ChatErrorNull":        {Chat, "", `{"error":null,"choices":[{"delta":{"content":"hi"}}]}`, Content},
		"ChatErrorInText":      {Chat, "", `{"choices":[{"delta":{"content":"{\"error\":1}"}}]}`, Content},
		"MessagesStart":        {Messages, "message_start", `{"type":"message_start"}`, Lifecycle},
		"MessagesPing":         {Messages, "ping", `{"type":"ping"}`, Lifecycle},
		"MessagesEmptyBlock":   {Messages, "content_block_start", `{"content_block":{"type":"text","text":""}}`, Lifecycle},
		"MessagesToolStart":    {Messages, "content_block_start", `{"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}`, Lifecycle},
		"MessagesFullBlock":    {Messages, "content_block_start", `{"content_block":{"type":"redacted_thinking","data":"x"}}`, Content},
		"MessagesDelta":        {Messages, "content_block_delta", `{"delta":{"text":"x"}}`, Content},
		"MessagesStop":         {Messages, "message_stop", `{"type":"message_stop"}`, Done},
		"MessagesError":        {Messages, "error", `{"type":"error"}`, Failed},
		"MessagesWithoutNames": {Messages, "", `{"type":"error"}`, Failed},
		"MessagesUnknown":      {Messages, "new_thing", `{}`, Content},
		"ConverseStart":        {Converse, "messageStart", `{"role":"assistant","p":"abc"}`, Lifecycle},
		"ConverseToolStart":    {Converse, "contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"name":"f","toolUseId":"t"}}}`, Lifecycle},
		"ConverseText":         {Converse, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"hi"},"p":"abc"}`, Content},
		"ConverseEmptyText":    {Converse, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":""},"p":"abc"}`, Lifecycle},
		"ConverseThought":      {Converse, "contentBlockDelta", `{"delta":{"reasoningContent":{"text":"hm"}}}`, Content},
		"ConverseEmptyInput":   {Converse, "contentBlockDelta", `{"delta":{"toolUse":{"input":""}}}`, Lifecycle},
		"ConverseInput":        {Converse, "contentBlockDelta", `{"delta":{"toolUse":{"input":"{"}}}`, Content},
		"ConverseBlockStop":    {Converse, "contentBlockStop", `{"contentBlockIndex":0}`, Lifecycle},
		"ConverseStop":         {Converse, "messageStop", `{"stopReason":"end_turn"}`, Content},
		"ConverseMalformed":    {Converse, "messageStop", `{"stopReason":"malformed_tool_use"}`, Failed},
		"ConverseMetadata":     {Converse, "metadata", `{"usage":{}}`, Done},
		"ConverseException":    {Converse, "throttlingException", `{"message":"m"}`, Failed},
		"ConverseError":        {Converse, "error", `{"message":"m"}`, Failed},
		"ConverseUnknown":      {Converse, "newThing", `{}`, Content},
		"ConverseGarbled":      {Converse, "contentBlockDelta", `{"delta":`, Garbled},
		"ConverseNested":       {Converse, "contentBlockDelta", `{"delta":` + strings.Repeat(`{"a":`, 200) + `""` + strings.Repeat("}", 200) + `}`, Garbled},
		"ChatGarbled":          {Chat, "", `{"id": "resp_1", "model": "`, Garbled},
		"Comment":              {Chat, "", "", Lifecycle},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev := Event{Name: []byte(c.name)}
			if c.data != "" {
				ev.Data = []byte(c.data)
			}
			if got := c.dialect.Judge(ev); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
