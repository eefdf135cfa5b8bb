package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spillway-gateway/spillway/test/provider"
	"pgregory.net/rapid"
)

// A model of each kind, and one that nothing is known of.
var hostedModels = []string{
	"us.amazon.nova-2-lite-v1:0", "amazon.nova-pro-v1:0", "amazon.nova-micro-v1:0", "amazon.titan-text-express-v1", "us.deepseek.r1-v1:0",
	"us.meta.llama4-scout-17b-instruct-v1:0", "mistral.mixtral-8x7b-instruct-v0:1", "mistral.mistral-large-2407-v1:0", "openai.gpt-oss-20b-1:0",
	"qwen.qwen3-32b-v1:0", "acme.new-model",
}

// Whatever a request says, the service takes what it becomes, and all of its words are
// in it. What a model lacks is a refusal of the gateway's own.
func TestConverseTakesRequests(t *testing.T) {
	t.Parallel()
	for _, name := range hostedModels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := KnownModel(name)
			rapid.Check(t, func(t *rapid.T) {
				q := someRequest(t)
				q.From = Chat
				if rapid.Bool().Draw(t, "without tools") {
					q.Tools, q.Choice = nil, Choice{}
				}
				tr, err := fetching(q, Hop{To: Converse, Model: model, ID: "r", Now: 1})
				var cannot *CannotError
				if errors.As(err, &cannot) && lacks(&model, q, cannot.Field) {
					return
				} else if err != nil {
					t.Fatal(err)
				}
				if why := provider.ConverseRefuses(name, q.Stream && !tr.Whole(), tr.Body()); why != "" {
					t.Fatalf("%s: %s", why, tr.Body())
				}
				for _, turn := range append([]Turn{{System, q.System}}, q.Turns...) {
					for _, p := range turn.Parts {
						text := p.Text
						if p.Output != nil {
							text = p.Output.Parts[0].Text
						}
						if words := escape(nil, text); !bytes.Contains(tr.Body(), words) {
							t.Fatalf("%s is not in %s", words, tr.Body())
						}
					}
				}
			})
		})
	}
}

// lacks reports whether a refusal is for something that the model is known to lack.
func lacks(m *Model, q *Request, field string) bool {
	switch field {
	case "tools":
		return m.has(NoTools)
	case "tool_choice":
		return m.has(NoForcedCalls)
	case "image":
		return m.has(NoImages)
	case "file_data":
		return m.has(NoDocuments)
	case "response_format":
		return m.NoSchemas
	}
	return false
}

func TestConverseFetchesImages(t *testing.T) {
	t.Parallel()
	q, err := Parse(Chat, []byte(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://e.com/a"}},{"type":"text","text":"What?"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := fetching(q, Hop{To: Converse, Model: KnownModel("amazon.nova-lite-v1:0")})
	if err != nil || !bytes.Contains(tr.Body(), []byte(`{"image":{"format":"png","source":{"bytes":"iVBORw=="}}}`)) {
		t.Errorf("%v: %s", err, tr.Body())
	}
	// What else cannot be said is said first: a fetch would be for nothing.
	q.Settings.Stop = []string{"x"}
	q.Turns[0].Parts[0].Media = &Media{FileID: "f", At: "file_id"}
	_, err = q.Translate(Hop{To: Converse})
	var cannot *CannotError
	if !errors.As(err, &cannot) || len(cannot.Fetch) > 0 || cannot.Field != "file_id" {
		t.Errorf("got %+v", cannot)
	}
}

// asConverse is an answer as the service gives it.
func asConverse(t *rapid.T, a *Answer) []byte {
	var content []any
	for _, p := range a.Parts {
		switch p.Kind {
		case Thinking:
			content = append(content, map[string]any{"reasoningContent": map[string]any{"reasoningText": map[string]any{"text": p.Text, "signature": "c2ln"}}})
		case ToolCall:
			content = append(content, map[string]any{"toolUse": map[string]any{"toolUseId": p.Call.ID, "name": p.Call.Name, "input": json.RawMessage(p.Call.Arguments)}})
		default:
			content = append(content, map[string]any{"text": p.Text})
		}
	}
	return asJSON(t, map[string]any{
		"output": map[string]any{"message": map[string]any{"role": "assistant", "content": content}}, "stopReason": converseStopOf(a.Stop), "usage": usageAsConverse(a),
	})
}

func asJSON(t *rapid.T, v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func usageAsConverse(a *Answer) map[string]any {
	return map[string]any{"inputTokens": a.Usage.Input, "cacheReadInputTokens": a.Usage.CacheRead, "cacheWriteInputTokens": a.Usage.CacheWrite, "outputTokens": a.Usage.Output}
}

func converseStopOf(s StopReason) string {
	return map[StopReason]string{StopEnd: "end_turn", StopLength: "max_tokens", StopTools: "tool_use", StopRefusal: "content_filtered"}[s]
}

// streamedAsConverse is an answer as the service streams it, each block atOnce or in two pieces.
func streamedAsConverse(t *rapid.T, a *Answer, atOnce bool) []byte {
	var out bytes.Buffer
	event := func(name string, v any) { fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", name, asJSON(t, v)) }
	event("messageStart", map[string]any{"role": "assistant"})
	for i, p := range a.Parts {
		text, delta := p.Text, func(s string) any { return map[string]any{"text": s} }
		switch p.Kind {
		case Thinking:
			delta = func(s string) any { return map[string]any{"reasoningContent": map[string]any{"text": s}} }
		case ToolCall:
			text, delta = p.Call.Arguments, func(s string) any { return map[string]any{"toolUse": map[string]any{"input": s}} }
			event("contentBlockStart", map[string]any{"contentBlockIndex": i, "start": map[string]any{"toolUse": map[string]any{"toolUseId": p.Call.ID, "name": p.Call.Name}}})
		}
		half := strings.IndexByte(text, 'x') + 1
		if p.Call != nil || atOnce {
			half = len(text) // as in streamed, whose pieces these are compared with
		}
		event("contentBlockDelta", map[string]any{"contentBlockIndex": i, "delta": delta(text[:half])})
		event("contentBlockDelta", map[string]any{"contentBlockIndex": i, "delta": delta(text[half:])})
		event("contentBlockStop", map[string]any{"contentBlockIndex": i})
	}
	event("messageStop", map[string]any{"stopReason": converseStopOf(a.Stop)})
	event("metadata", map[string]any{"usage": usageAsConverse(a), "metrics": map[string]any{"latencyMs": 1}})
	return out.Bytes()
}

// A whole answer says what the model said, and a stream says what the whole answer says.
func TestConverseAnswersSayWhatTheModelSaid(t *testing.T) {
	t.Parallel()
	for _, caller := range others(Converse) {
		t.Run(caller.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				a := someAnswer(t)
				body, usage, err := answerTo(t, caller, Converse).Answer(asConverse(t, a))
				if err != nil {
					t.Fatal(err)
				}
				want := *a
				want.ID, want.Created = "", 0
				got := decoded(t, caller, body)
				if diff := cmp.Diff(got, &want); diff != "" || usage != a.Usage {
					t.Fatalf("%+v (-got +said):\n%s", usage, diff)
				}
				s := answerTo(t, caller, Converse).Stream()
				out, end := pump(s, streamedAsConverse(t, a, false), rapid.IntRange(1, 200).Draw(t, "chunk"))
				if used, known := s.Usage(); end != Done || used != a.Usage || !known {
					t.Fatalf("ended %v, used %+v: %s", end, used, out)
				}
				// A whole answer told in events is the stream that brings each block at once.
				told, end := pump(answerTo(t, caller, Converse).Stream(), ConverseEvents(asConverse(t, a)), 1000)
				atOnce, _ := pump(answerTo(t, caller, Converse).Stream(), streamedAsConverse(t, a, true), 1000)
				if diff := cmp.Diff(string(atOnce), string(told)); diff != "" || end != Done {
					t.Fatalf("ended %v (-want +got):\n%s", end, diff)
				}
				// Read back as another's answer, the stream is the stream of the same parts.
				back, _ := pump(answerTo(t, others(caller)[0], caller).Stream(), out, 1000)
				again, _ := pump(answerTo(t, others(caller)[0], caller).Stream(), streamed(t, a, caller), 1000)
				if got, want := withoutID(back), withoutID(again); got != want {
					t.Fatalf("got\n%s\nwant\n%s", got, want)
				}
			})
		})
	}
}

// withoutID is a stream without what names the answer: Converse gives it no id.
func withoutID(stream []byte) string {
	return strings.NewReplacer("_x1", "_r", "-x1", "-r").Replace(string(stream))
}

// Starts that come alone are no content: a failure after them can still fail over.
func TestConverseHeldBackUntilContent(t *testing.T) {
	t.Parallel()
	s := translation(t, nil, Messages, Converse).Stream()
	for _, ev := range []Event{
		{Name: []byte("messageStart"), Data: []byte(`{"role":"assistant"}`)},
		{Name: []byte("contentBlockStart"), Data: []byte(`{"contentBlockIndex":0,"start":{"toolUse":{"name":"f","toolUseId":"t"}}}`)},
		{Name: []byte("contentBlockDelta"), Data: []byte(`{"contentBlockIndex":0,"delta":{"toolUse":{"input":""}}}`)},
		{Name: []byte("somethingNew"), Data: []byte(`{}`)},
	} {
		if out, m := s.Event(ev); len(out) > 0 || m != Lifecycle || s.Started() {
			t.Fatalf("%s: %q, %v", ev.Name, out, m)
		}
	}
	failure := Event{Name: []byte("ThrottlingException"), Data: []byte(`{"type":"error","error":{"type":"rate_limit_error","message":"m"}}`)}
	if out, m := s.Event(failure); m != Failed || !bytes.Contains(out, []byte(`"rate_limit_error"`)) {
		t.Errorf("got %v: %s", m, out)
	}
}

// The metadata of an answer that has not stopped are not its end.
func TestConverseEndWithoutAnswer(t *testing.T) {
	t.Parallel()
	s := translation(t, nil, Chat, Converse).Stream()
	out, m := pump(s, []byte("event: messageStart\ndata: {}\n\nevent: metadata\ndata: {\"usage\":{\"inputTokens\":1}}\n\n"), 1000)
	if len(out) > 0 || m != Lifecycle {
		t.Errorf("%v %q", m, out)
	}
	if out, ok := s.End(); ok {
		t.Errorf("an end: %q", out)
	}
}

// Only a stream of a model that calls no tools in streams, and may call one, is asked for in
// one piece: everything else comes as it is said.
func TestConverseAskedWhole(t *testing.T) {
	t.Parallel()
	const (
		tools  = `,"tools":[{"type":"function","function":{"name":"f"}}]`
		none   = tools + `,"tool_choice":"none"`
		format = `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}`
	)
	for name, c := range map[string]struct {
		model, more string
		stream      bool
		want        bool
	}{
		"Tools":         {"mistral.mistral-large-2402-v1:0", tools, true, true},
		"ToolsForbid":   {"mistral.mistral-large-2402-v1:0", none, true, false},
		"AnswersByCall": {"mistral.mistral-large-2402-v1:0", format, true, true},
		"NoTools":       {"mistral.mistral-large-2402-v1:0", "", true, false},
		"NoStream":      {"mistral.mistral-large-2402-v1:0", tools, false, false},
		"StreamsCalls":  {"amazon.nova-pro-v1:0", tools, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := Parse(Chat, fmt.Appendf(nil, `{"model":"m","stream":%t,"messages":[{"role":"user","content":"x"}]%s}`, c.stream, c.more))
			if err != nil {
				t.Fatal(err)
			}
			tr, err := q.Translate(Hop{To: Converse, Model: KnownModel(c.model)})
			if err != nil {
				t.Fatal(err)
			}
			if got := tr.Whole(); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

// A whole answer told in events has every block at a place of its own.
func TestConverseEventsOfBlocks(t *testing.T) {
	t.Parallel()
	got := ConverseEvents([]byte(`{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm."}}},{"text":"a"},{"toolUse":{"toolUseId":"t","name":"f","input":{"n":1}}}]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":2}}`))
	want := `event: messageStart
data: {"role":"assistant"}

event: contentBlockDelta
data: {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm."}}}

event: contentBlockStop
data: {"contentBlockIndex":0}

event: contentBlockDelta
data: {"contentBlockIndex":1,"delta":{"text":"a"}}

event: contentBlockStop
data: {"contentBlockIndex":1}

event: contentBlockStart
data: {"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"t","name":"f"}}}

event: contentBlockDelta
data: {"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"n\":1}"}}}

event: contentBlockStop
data: {"contentBlockIndex":2}

event: messageStop
data: {"stopReason":"tool_use"}

event: metadata
data: {"usage":{"inputTokens":1,"outputTokens":2}}

`
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

// What is no answer is none as a stream either, and an error is told as one.
func TestConverseEventsOfNoAnswer(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]Meaning{
		``: Garbled, `<html>`: Garbled, `{}`: Garbled, `{"output":{"message":{"content":[`: Garbled, `{"output":{"message":{"content":[{"text":7}]}}}`: Garbled,
		`{"output":{"message":{"content":[{"text":"x"}]}},"stopReason":"malformed_tool_use"}`: Garbled, "{\n\"message\":\"slow\"}": Failed,
		"{\"output\":{\"message\":{\"content\":[{\"text\":\"x\"},{\"sdk_unknown\":1}]}},\n\"usage\":{\n\"inputTokens\":1},\"stopReason\":\"end_turn\"}": Done,
	} {
		if out, end := pump(translation(t, nil, Messages, Converse).Stream(), ConverseEvents([]byte(body)), 1000); end != want {
			t.Errorf("%s: ended %v: %s", body, end, out)
		}
	}
}

func TestConverseGarbled(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"contentBlockDelta": `{"delta":[]}`, "contentBlockStart": `{"start":{"toolUse":7}}`, "messageStop": `{"stopReason":7}`, "metadata": `{"usage":[]}`,
	} {
		s := translation(t, nil, Chat, Converse).Stream()
		if out, m := s.Event(Event{Name: []byte(name), Data: []byte(data)}); len(out) > 0 || m != Garbled {
			t.Errorf("%s: %v %q", name, m, out)
		}
	}
}

func TestConverseTooManyBlocks(t *testing.T) {
	t.Parallel()
	s := translation(t, nil, Messages, Converse).Stream()
	for i := range 2 * maxCalls {
		if _, m := s.Event(Event{Name: []byte("contentBlockDelta"), Data: fmt.Appendf(nil, `{"contentBlockIndex":%d,"delta":{"text":"x"}}`, i)}); m == Garbled {
			return
		}
	}
	t.Error("took any number of blocks")
}

// A schema that refers to itself ends, and one that would grow beyond measure is refused.
func TestPlainSchemasEnd(t *testing.T) {
	t.Parallel()
	schema, ok := plainSchema([]byte(`{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}}}`))
	if !ok || !json.Valid(schema) || bytes.Contains(schema, []byte("$ref")) || len(schema) > 1000 {
		t.Errorf("%v: %s", ok, schema)
	}
	if schema, ok := plainSchema([]byte(`{"type":"object","properties":{"a":{"$ref":7}}}`)); !ok || !bytes.Contains(schema, []byte(`{"$ref":7}`)) {
		t.Errorf("%v: %s", ok, schema)
	}
	var defs []string
	for i := range 11 {
		defs = append(defs, fmt.Sprintf(`"D%d":{"a":{"$ref":"#/$defs/D%d"},"b":{"$ref":"#/$defs/D%d"},"c":{"$ref":"#/$defs/D%d"},"d":{"$ref":"#/$defs/D%d"}}`, i, i+1, i+1, i+1, i+1))
	}
	huge := `{"type":"object","properties":{"x":{"$ref":"#/$defs/D0"}},"$defs":{` + strings.Join(defs, ",") + `,"D11":{"type":"string"}}}`
	if schema, ok := plainSchema([]byte(huge)); ok || len(schema) > 2*maxPlainBytes {
		t.Errorf("%v: %d bytes", ok, len(schema))
	}
	q, err := Parse(Chat, []byte(`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":`+huge+`}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Translate(Hop{To: Converse, Model: KnownModel("amazon.nova-pro-v1:0")}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
}
