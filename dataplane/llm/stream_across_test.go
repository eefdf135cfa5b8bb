package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestStreamUsage(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/streams/*_text.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[Dialect]Usage{Chat: {210, 3000, 0, 40, 30}, Messages: {10, 3000, 200, 40, 0}, Responses: {210, 3000, 0, 40, 30}, Converse: {10, 3000, 200, 40, 0}}
	for _, path := range paths {
		g, target := readGolden(t, path), dialectOf(t, path)
		s := translation(t, g, others(target)[0], target).Stream()
		pump(s, []byte(g.text["stream"]), 100)
		if got, ok := s.Usage(); got != want[target] || !ok {
			t.Errorf("%s: got %+v, want %+v", target, got, want[target])
		}
	}
}

// The keep-alive of a provider shows the caller that it is at work, in its own form,
// and never before the answer began.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for caller, want := range map[Dialect]string{Messages: "event: ping\ndata: {\"type\":\"ping\"}\n\n", Responses: ": keep-alive\n\n"} {
		s := translation(t, nil, caller, Chat).Stream()
		if out, m := s.Event(Event{}); len(out) > 0 || m != Lifecycle {
			t.Errorf("before: %q, %v", out, m)
		}
		if _, m := s.Event(Event{Data: []byte(`{"id":"x","choices":[{"index":0,"delta":{"content":"a"}}]}`)}); m != Content || !s.Started() {
			t.Errorf("content: %v", m)
		}
		if out, m := s.Event(Event{}); string(out) != want || m != Lifecycle {
			t.Errorf("after: %q, %v", out, m)
		}
	}
}

// What is held back comes at once with the first content, and a failure before that
// leaves the caller's stream untouched.
func TestHeldBackUntilContent(t *testing.T) {
	t.Parallel()
	s := translation(t, nil, Chat, Messages).Stream()
	start := Event{Data: []byte(`{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":1}}}`)}
	for _, ev := range []Event{start, {Data: []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)}} {
		if out, m := s.Event(ev); len(out) > 0 || m != Lifecycle || s.Started() {
			t.Fatalf("%s: %q, %v", ev.Data, out, m)
		}
	}
	out, m := s.Event(Event{Data: []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`)})
	if m != Content || bytes.Count(out, []byte("data: ")) != 2 {
		t.Errorf("%q, %v", out, m)
	}
	if out := s.Fail(&Error{Status: 502, Message: "m"}); !bytes.Contains(out, []byte(`"error"`)) {
		t.Errorf("%q", out)
	}
	if out := s.Fail(&Error{Status: 502, Message: "m"}); out != nil {
		t.Errorf("failed twice: %q", out)
	}
	if out, ok := s.End(); out != nil || ok {
		t.Errorf("ended after it failed: %q", out)
	}
}

func TestTooMuchThatWaits(t *testing.T) {
	t.Parallel()
	s := translation(t, nil, Messages, Chat).Stream()
	call := func(index int, name, arguments string) Event {
		data, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"tool_calls": []any{
			map[string]any{"index": index, "id": name, "function": map[string]any{"name": name, "arguments": arguments}},
		}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return Event{Data: data}
	}
	s.Event(call(0, "a", ""))
	piece := strings.Repeat("x", 4<<20)
	for i := range 20 {
		if _, m := s.Event(call(1, "b", piece)); m == Garbled {
			if i < 8 {
				t.Errorf("gave up after %d pieces", i)
			}
			return
		}
	}
	t.Error("held 80 MiB")
}

func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	s := translation(t, nil, Messages, Chat).Stream()
	for i := range 2 * maxCalls {
		_, m := s.Event(Event{Data: fmt.Appendf(nil, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f"}}]}}]}`, i, i)})
		if m == Garbled {
			return
		}
	}
	t.Error("took any number of calls")
}
