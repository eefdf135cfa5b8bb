package llm

// Whole reports whether the target is to be asked for its answer in one piece although the
// caller wants a stream, since its model calls no tools in streams: ConverseEvents makes
// a stream of it. The caller waits longer for the first word, and has it at all.
// https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html
func (t *Translation) Whole() bool {
	if !t.q.Stream || t.hop.To != Converse || !t.hop.Model.has(NoStreamedTools) {
		return false
	}
	return t.calls || len(t.q.Tools) > 0 && t.q.Choice.Mode != ChoiceNone
}

// ConverseEvents is a whole answer of Converse's as the events in which ConverseStream would
// have told it. What is no answer becomes events that are judged as that.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
func ConverseEvents(body []byte) []byte {
	switch readConverse(body) {
	case NoAnswer:
		return AppendEvent(nil, "messageStart", []byte("no answer"))
	case ErrorAnswer:
		return AppendEvent(nil, "error", body)
	}
	r := reader{answer: true}
	m := r.document(body)
	out := AppendEvent(nil, "messageStart", []byte(`{"role":"assistant"}`))
	index := int64(0)
	r.each(r.at(r.at(m, "output"), "message"), "content", func(v raw) {
		if p, ok := r.converseBlock(r.object("", v)); ok && r.err == nil {
			out = appendConverseBlock(out, index, &p)
			index++
		}
	})
	if r.err != nil {
		return AppendEvent(nil, "messageStart", []byte("no answer"))
	}
	out = AppendEvent(out, "messageStop", converseEvent(func(w *writer) { w.raw("stopReason", m.get("stopReason")) }))
	return AppendEvent(out, "metadata", converseEvent(func(w *writer) { w.raw("usage", m.get("usage")) }))
}

// appendConverseBlock writes a block as its start, where it has one, its content in one
// delta, and its end.
func appendConverseBlock(out []byte, index int64, p *Part) []byte {
	about := func(name string, write func(w *writer)) {
		out = AppendEvent(out, name, converseEvent(func(w *writer) {
			w.int("contentBlockIndex", index)
			write(w)
		}))
	}
	delta := func(write func(w *writer)) {
		about("contentBlockDelta", func(w *writer) {
			w.in("delta", '{')
			write(w)
			w.close('}')
		})
	}
	switch p.Kind {
	case ToolCall:
		about("contentBlockStart", func(w *writer) {
			w.in("start", '{')
			w.in("toolUse", '{')
			w.str("toolUseId", p.Call.ID)
			w.str("name", p.Call.Name)
			w.close('}')
			w.close('}')
		})
		delta(func(w *writer) {
			w.in("toolUse", '{')
			w.str("input", p.Call.Arguments)
			w.close('}')
		})
	case Thinking:
		delta(func(w *writer) {
			w.in("reasoningContent", '{')
			w.str("text", p.Text)
			w.close('}')
		})
	default:
		delta(func(w *writer) { w.str("text", p.Text) })
	}
	about("contentBlockStop", func(*writer) {})
	return out
}

func converseEvent(write func(w *writer)) []byte {
	var w writer
	w.open('{')
	write(&w)
	w.close('}')
	return w.b
}
