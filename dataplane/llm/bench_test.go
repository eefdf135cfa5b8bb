package llm

import (
	"strings"
	"testing"
)

// largeRequest is what Claude Code sends for "hi": about 50 KB, most of it tools.
func largeRequest() []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","max_tokens":128000,"stream":true,"system":[{"type":"text","text":"`)
	b.WriteString(strings.Repeat("You are an agent that helps with code.\\n", 300))
	b.WriteString(`","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"tools":[`)
	for i := range 20 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"name":"tool` + string(rune('a'+i)) + `","description":"` + strings.Repeat("Reads and writes \\\"files\\\". ", 60))
		b.WriteString(`","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}`)
	}
	b.WriteString(`],"thinking":{"type":"adaptive"}}`)
	return []byte(b.String())
}

// What a forwarded request costs, to compare.
func BenchmarkRequestForwarded(b *testing.B) {
	body := largeRequest()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := Scan(body)
		if err != nil {
			b.Fatal(err)
		}
		c.Splice(body, "upstream")
	}
}

func BenchmarkRequestTranslated(b *testing.B) {
	body := largeRequest()
	for _, to := range targets(Messages) {
		b.Run(to.String(), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				q, err := Parse(Messages, body)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := q.Translate(hopTo(to, "")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEstimate(b *testing.B) {
	body := largeRequest()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		Estimate(body)
	}
}

// deltas are events in the middle of a stream, by what the provider speaks.
var deltas = map[Dialect]string{
	Chat:      `{"id":"chatcmpl-A1","object":"chat.completion.chunk","created":1700000001,"model":"gpt-x","choices":[{"index":0,"delta":{"content":" some words"},"logprobs":null,"finish_reason":null}],"usage":null}`,
	Messages:  `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" some words"}}`,
	Responses: `{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" some words","logprobs":[]}`,
}

func BenchmarkEventForwarded(b *testing.B) {
	for _, d := range []Dialect{Chat, Messages, Responses} {
		b.Run(d.String(), func(b *testing.B) {
			ev := Event{Data: []byte(deltas[d])}
			b.ReportAllocs()
			for b.Loop() {
				d.Outcome(ev)
			}
		})
	}
}

func BenchmarkEventTranslated(b *testing.B) {
	for _, target := range []Dialect{Chat, Messages, Responses} {
		for _, caller := range others(target) {
			b.Run(target.String()+" to "+caller.String(), func(b *testing.B) {
				tr := translation(b, nil, caller, target)
				s := tr.Stream()
				ev := Event{Data: []byte(deltas[target])}
				if target == Messages {
					s.Event(Event{Data: []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)})
				}
				b.ReportAllocs()
				events := 0
				for b.Loop() {
					if events++; events == 100000 { // a caller of responses gets the whole text at the end
						events = 0
						s = tr.Stream()
						if target == Messages {
							s.Event(Event{Data: []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)})
						}
					}
					if out, m := s.Event(ev); m != Content || len(out) == 0 {
						b.Fatal(m)
					}
				}
			})
		}
	}
}
