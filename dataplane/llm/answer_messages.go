package llm

import "strings"

// messagesStops: https://docs.anthropic.com/en/api/handling-stop-reasons
var messagesStops = map[string]StopReason{
	"end_turn": StopEnd, "pause_turn": StopEnd, "stop_sequence": StopSequence, "max_tokens": StopLength,
	"model_context_window_exceeded": StopLength, "tool_use": StopTools, "refusal": StopRefusal,
}

func (s StopReason) messages() string {
	switch s {
	case StopSequence:
		return "stop_sequence"
	case StopLength:
		return "max_tokens"
	case StopTools:
		return "tool_use"
	case StopRefusal:
		return "refusal"
	}
	return "end_turn"
}

// decodeMessagesAnswer reads a whole answer of Anthropic's messages.
func decodeMessagesAnswer(r *reader, m members) *Answer {
	a := &Answer{ID: r.text(m, "id"), Model: r.text(m, "model"), StopText: r.text(m, "stop_sequence")}
	contiguous := false // the part before is a text and nothing stood in between
	r.each(m, "content", func(v raw) {
		p, ok := r.answerBlock(r.object("", v))
		if n := len(a.Parts); ok && p.Kind == Text && contiguous {
			a.Parts[n-1].Text += p.Text // citations cut one text into several blocks
		} else if ok && (p.Kind == ToolCall || p.Text != "") {
			a.Parts = append(a.Parts, p)
		}
		contiguous = ok && p.Kind == Text && len(a.Parts) > 0 && a.Parts[len(a.Parts)-1].Kind == Text
	})
	a.Stop = messagesStops[r.text(m, "stop_reason")]
	a.Usage, _ = r.messagesUsage(m, Usage{})
	return a
}

// answerBlock reads a block of an answer. What a vendor's own tools did is left out;
// what the model made of it is in its text.
func (r *reader) answerBlock(m members) (Part, bool) {
	switch r.text(m, "type") {
	case "text":
		return Part{Kind: Text, Text: r.text(m, "text")}, true
	case "thinking":
		return Part{Kind: Thinking, Text: r.text(m, "thinking"), Seal: r.text(m, "signature")}, true
	case "redacted_thinking":
		return Part{Kind: Thinking, Seal: r.text(m, "data")}, true
	case "tool_use":
		return Part{Kind: ToolCall, Call: &Call{ID: r.text(m, "id"), Name: r.text(m, "name"), Arguments: r.jsonObject(m, "input")}}, true
	}
	return Part{}, false
}

// messagesUsage reads usage on top of what is known: counts are cumulative, and a
// later event leaves out those that did not change.
func (r *reader) messagesUsage(m members, u Usage) (Usage, bool) {
	m = r.at(m, "usage")
	for key, count := range map[string]*int64{
		"input_tokens": &u.Input, "cache_read_input_tokens": &u.CacheRead, "cache_creation_input_tokens": &u.CacheWrite, "output_tokens": &u.Output,
	} {
		if m.get(key) != nil {
			*count = r.count(m, key)
		}
	}
	if details := r.at(m, "output_tokens_details"); details != nil {
		u.Reasoning = min(r.count(details, "thinking_tokens"), u.Output)
	}
	return u, m != nil
}

// maxCount is the most tokens that a provider is believed.
const maxCount = 1 << 40

// count reads a number of tokens. A provider that says nonsense is not worth an answer.
func (r *reader) count(m members, key string) int64 {
	v := m.get(key)
	if v == nil || v.kind()-'0' > 9 {
		return 0
	}
	var quiet reader
	return min(quiet.integer(m, key), maxCount)
}

// encodeMessagesAnswer writes a whole answer of Anthropic's messages.
func encodeMessagesAnswer(a *Answer, t *Translation) []byte {
	w := writer{b: make([]byte, 0, 1024)}
	w.open('{')
	w.str("id", answerID("msg_", a.ID, t.hop.ID))
	w.str("type", "message")
	w.str("role", "assistant")
	w.str("model", t.q.Model)
	w.in("content", '[')
	for i := range a.Parts {
		w.answerBlock(&a.Parts[i], t)
	}
	w.close(']')
	stop := a.Stop
	if stop <= StopSequence && joined(a.Parts, Refusal) != "" {
		stop = StopRefusal
	}
	w.messagesStop(stop, a.StopText)
	usage := a.Usage
	if usage == (Usage{}) { // the provider never said
		usage = Usage{Input: t.q.tokens, Output: int64(len(w.b))/3 + 1}
	}
	w.messagesUsage(usage)
	w.close('}')
	return w.b
}

func (w *writer) answerBlock(p *Part, t *Translation) {
	switch {
	case p.Kind == Thinking && (p.Text == "" || !t.wantsThinking()):
	case p.Kind == Thinking:
		w.open('{')
		w.str("type", "thinking")
		w.str("thinking", p.Text)
		w.str("signature", foreignSeal)
		w.close('}')
	case p.Kind == ToolCall:
		w.open('{')
		w.str("type", "tool_use")
		w.str("id", p.Call.ID)
		w.str("name", p.Call.Name)
		w.raw("input", []byte(p.Call.wireArguments()))
		w.close('}')
	default:
		w.open('{')
		w.str("type", "text")
		w.str("text", p.Text)
		w.close('}')
	}
}

func (w *writer) messagesStop(stop StopReason, text string) {
	w.str("stop_reason", stop.messages())
	if stop == StopSequence && text != "" {
		w.str("stop_sequence", text)
	} else {
		w.null("stop_sequence")
	}
}

func (w *writer) messagesUsage(u Usage) {
	w.in("usage", '{')
	w.int("input_tokens", u.Input)
	w.int("cache_creation_input_tokens", u.CacheWrite)
	w.int("cache_read_input_tokens", u.CacheRead)
	w.int("output_tokens", u.Output)
	w.close('}')
}

// foreignSeal stands where a vendor's signature of its thinking would: it says that
// the thinking is another vendor's, so that it is known when it comes back.
const foreignSeal = "spillway-foreign"

// answerID is an answer's id in the form of a dialect, derived from the provider's, or
// where it gave none from the request's.
func answerID(prefix, id, requestID string) string {
	if id == "" {
		return prefix + requestID
	}
	for _, known := range []string{"msg_", "chatcmpl-", "resp_"} {
		if rest, ok := strings.CutPrefix(id, known); ok {
			return prefix + rest
		}
	}
	return prefix + id
}
