package llm

// messagesWriter encodes the events of Anthropic's messages.
type messagesWriter struct {
	*writer
	t     *Translation
	index int64
	kind  PartKind
	skip  bool  // a thought that the caller did not ask for
	wrote int64 // bytes of text
}

// event starts an event; done ends it.
func (w *writer) event(kind string) {
	w.b = append(w.b, "event: "...)
	w.b = append(w.b, kind...)
	w.b = append(w.b, "\ndata: "...)
	w.open('{')
	w.str("type", kind)
}

func (w *writer) done() { w.b = append(w.b, "}\n\n"...) }

// begin tells what the request costs, as far as that is known: OpenAI says it last, so
// an estimate stands here and the real count in message_delta.
func (w *messagesWriter) begin(d *Delta) {
	usage := d.Usage
	if usage == (Usage{}) {
		usage.Input = w.t.q.tokens
	}
	w.event("message_start")
	w.in("message", '{')
	w.str("id", answerID("msg_", d.ID, w.t.hop.ID))
	w.str("type", "message")
	w.str("role", "assistant")
	w.str("model", w.t.q.Model)
	w.in("content", '[')
	w.close(']')
	w.null("stop_reason")
	w.null("stop_sequence")
	w.messagesUsage(usage)
	w.close('}')
	w.done()
}

func (w *messagesWriter) part(p *Part) {
	w.kind = p.Kind
	w.skip = p.Kind == Thinking && !w.t.wantsThinking()
	if w.skip {
		return
	}
	w.event("content_block_start")
	w.int("index", w.index)
	w.in("content_block", '{')
	switch p.Kind {
	case Thinking:
		w.str("type", "thinking")
		w.str("thinking", "")
		w.str("signature", "")
	case ToolCall:
		w.str("type", "tool_use")
		w.str("id", p.Call.ID)
		w.str("name", p.Call.Name)
		w.in("input", '{')
		w.close('}')
	default:
		w.str("type", "text")
		w.str("text", "")
	}
	w.close('}')
	w.done()
}

func (w *messagesWriter) grow(text string) {
	w.wrote += int64(len(text))
	if w.skip {
		return
	}
	switch w.kind {
	case Thinking:
		w.delta("thinking_delta", "thinking", text)
	case ToolCall:
		w.delta("input_json_delta", "partial_json", text)
	default:
		w.delta("text_delta", "text", text)
	}
}

func (w *messagesWriter) delta(kind, field, text string) {
	w.event("content_block_delta")
	w.int("index", w.index)
	w.in("delta", '{')
	w.str("type", kind)
	w.str(field, text)
	w.close('}')
	w.done()
}

func (w *messagesWriter) shut() {
	if w.skip {
		return
	}
	if w.kind == Thinking {
		w.delta("signature_delta", "signature", foreignSeal)
	}
	w.event("content_block_stop")
	w.int("index", w.index)
	w.done()
	w.index++
}

func (w *messagesWriter) end(a *Answer) {
	usage := a.Usage
	if usage == (Usage{}) { // the provider never said
		usage = Usage{Input: w.t.q.tokens, Output: w.wrote/3 + 1}
	}
	w.event("message_delta")
	w.in("delta", '{')
	w.messagesStop(a.Stop, a.StopText)
	w.close('}')
	w.messagesUsage(usage)
	w.done()
	w.event("message_stop")
	w.done()
}
