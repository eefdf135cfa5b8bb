package llm

// chatWriter encodes the events of OpenAI's chat completions.
type chatWriter struct {
	*writer
	t       *Translation
	id      string
	created int64
	kind    PartKind
	custom  bool
	calls   int64
	seen    map[PartKind]int // how many texts of a kind began
}

// chunk writes an event; inside writes what stands in its one choice.
func (w *chatWriter) chunk(inside func(), finish string) {
	w.head()
	w.in("choices", '[')
	w.open('{')
	w.int("index", 0)
	w.in("delta", '{')
	inside()
	w.close('}')
	w.null("logprobs")
	if finish == "" {
		w.null("finish_reason")
	} else {
		w.str("finish_reason", finish)
	}
	w.close('}')
	w.close(']')
	w.tail()
}

func (w *chatWriter) head() {
	w.b = append(w.b, "data: "...)
	w.open('{')
	w.str("id", w.id)
	w.str("object", "chat.completion.chunk")
	w.int("created", w.created)
	w.str("model", w.t.q.Model)
}

// tail ends an event. Where usage was asked for, all chunks but the last say null.
func (w *chatWriter) tail() {
	if w.t.q.StreamUsage {
		w.null("usage")
	}
	w.done()
}

func (w *chatWriter) begin(d *Delta) {
	w.id, w.created = answerID("chatcmpl-", d.ID, w.t.hop.ID), w.t.created(d.Created)
	w.seen = map[PartKind]int{}
	w.chunk(func() {
		w.str("role", "assistant")
		w.str("content", "")
		w.null("refusal")
	}, "")
}

func (w *chatWriter) part(p *Part) {
	w.kind = p.Kind
	if p.Kind != ToolCall {
		if w.seen[p.Kind]++; w.seen[p.Kind] > 1 {
			w.grow(partBreak)
		}
		return
	}
	w.custom = p.Call.Custom
	w.chunk(func() {
		w.in("tool_calls", '[')
		w.open('{')
		w.int("index", w.calls)
		w.str("id", p.Call.ID)
		kind, field := w.callFields()
		w.str("type", kind)
		w.in(kind, '{')
		w.str("name", p.Call.Name)
		w.str(field, "")
		w.close('}')
		w.close('}')
		w.close(']')
	}, "")
}

func (w *chatWriter) callFields() (kind, field string) {
	if w.custom {
		return "custom", "input"
	}
	return "function", "arguments"
}

func (w *chatWriter) grow(text string) {
	w.chunk(func() {
		switch w.kind {
		case Thinking:
			w.str("reasoning_content", text)
		case Refusal:
			w.str("refusal", text)
		case ToolCall:
			kind, field := w.callFields()
			w.in("tool_calls", '[')
			w.open('{')
			w.int("index", w.calls)
			w.in(kind, '{')
			w.str(field, text)
			w.close('}')
			w.close('}')
			w.close(']')
		default:
			w.str("content", text)
		}
	}, "")
}

func (w *chatWriter) shut() {
	if w.kind == ToolCall {
		w.calls++
	}
}

func (w *chatWriter) end(a *Answer) {
	w.chunk(func() {}, a.Stop.chat())
	if w.t.q.StreamUsage {
		w.head()
		w.in("choices", '[')
		w.close(']')
		w.chatUsage(a.Usage)
		w.done()
	}
	w.b = append(w.b, "data: [DONE]\n\n"...)
}
