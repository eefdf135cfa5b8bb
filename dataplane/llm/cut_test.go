package llm

import (
	"bytes"
	"strings"
	"testing"
)

// endOf is what stands in a caller's stream that has a good end, and in no other.
var endOf = map[Dialect]string{Chat: "data: [DONE]\n\n", Messages: "event: message_stop\n", Responses: "event: response.completed\n"}

func hasEnd(d Dialect, out []byte) bool {
	return bytes.Contains(out, []byte(endOf[d])) || d == Responses && bytes.Contains(out, []byte("event: response.incomplete\n"))
}

// Every recorded stream, cut at every byte: what the caller gets is the beginning of
// what it would have got, without an end unless the answer was whole, and the gateway's
// error ends it properly.
func TestStreamsCutAtEveryByte(t *testing.T) {
	t.Parallel()
	files(t, "streams", func(t *testing.T, path string, target Dialect) {
		g := readGolden(t, path)
		stream := []byte(g.text["stream"])
		for _, caller := range others(target) {
			tr := translation(t, g, caller, target)
			whole, _ := pump(tr.Stream(), stream, len(stream)+1)
			whole = bytes.Clone(whole)
			wholeText, _ := checkStream(t, caller, whole)
			seen := -1
			for n := range stream {
				s := tr.Stream()
				out, end := pump(s, stream[:n], n+1)
				// A reason to finish is enough of an end for chat; it only lacks the usage.
				if end != Done && !bytes.HasPrefix(whole, out) {
					t.Fatalf("%s, cut at %d: not the beginning of the whole:\n%s", caller, n, out)
				}
				if hasEnd(caller, out) != (end == Done) {
					t.Fatalf("%s, cut at %d: ends %v, but says %q", caller, n, end, out[max(0, len(out)-200):])
				}
				if len(out) == seen {
					continue
				}
				seen = len(out)
				if end != Done && end != Failed {
					out = append(bytes.Clone(out), s.Fail(&Error{Status: 502, Message: "cut"})...)
				}
				text, ended := checkStream(t, caller, out)
				if !ended || !strings.HasPrefix(wholeText, text) {
					t.Fatalf("%s, cut at %d: ended %v with %q of %q", caller, n, ended, text, wholeText)
				}
			}
		}
	})
}

// An event that makes no sense in the middle of a stream is reported, and nothing of it
// is used.
func TestGarbledEvents(t *testing.T) {
	t.Parallel()
	for _, target := range []Dialect{Chat, Messages, Responses, Converse} {
		for _, data := range []string{`{`, `[]`, `<html>`, `{"type":7}x`, `{"type":"message_start","message":7}`, `{"choices":7}`, `{"type":"response.created","response":[]}`} {
			s := translation(t, nil, others(target)[0], target).Stream()
			if _, ok := s.End(); ok {
				t.Error("ended before it began")
			}
			if out, m := s.Event(Event{Data: []byte(data)}); len(out) > 0 || m == Content || m == Done {
				t.Errorf("%s, %s: %v %q", target, data, m, out)
			}
		}
	}
}

// The end of a stream that brought nothing is no answer.
func TestEndWithoutAnswer(t *testing.T) {
	t.Parallel()
	for target, stream := range map[Dialect]string{
		Chat:     "data: [DONE]\n\n",
		Messages: "data: {\"type\":\"message_start\",\"message\":{}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
	} {
		s := translation(t, nil, Responses, target).Stream()
		out, m := pump(s, []byte(stream), 1000)
		if len(out) > 0 || m != Garbled {
			t.Errorf("%s: %v %q", target, m, out)
		}
		if out, ok := s.End(); ok || len(out) > 0 {
			t.Errorf("%s: an end: %q", target, out)
		}
		if out := s.Fail(&Error{Status: 502, Message: "m"}); hasEnd(Responses, out) || !bytes.Contains(out, []byte("response.failed")) {
			t.Errorf("%s: %q", target, out)
		}
	}
}
