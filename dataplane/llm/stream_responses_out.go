package llm

// responsesWriter encodes the events of OpenAI's responses.
type responsesWriter struct {
	*writer
	t        *Translation
	id       string
	created  int64
	sequence int64
	index    int64 // of the item
	item     string
	opens    Part
	text     []byte
	output   []byte // the items that are done, for the response at the end
}

func (w *responsesWriter) event(kind string) {
	w.writer.event(kind)
	w.int("sequence_number", w.sequence)
	w.sequence++
}

func (w *responsesWriter) begin(d *Delta) {
	w.id, w.created = answerID("resp_", d.ID, w.t.hop.ID), w.t.created(d.Created)
	for _, kind := range [...]string{"response.created", "response.in_progress"} {
		w.event(kind)
		w.key("response")
		w.response(response{id: w.id, created: w.created, status: "in_progress", t: w.t}, func() {})
		w.done()
	}
}

func (w *responsesWriter) part(p *Part) {
	w.opens = *p
	w.text = w.text[:0]
	w.item = itemID(p, w.id, int(w.index))
	w.event("response.output_item.added")
	w.int("output_index", w.index)
	w.key("item")
	w.outputItem(w.item, "in_progress", p)
	w.done()
	switch p.Kind {
	case ToolCall:
	case Thinking:
		w.pieceEvent("response.reasoning_summary_part.added", "")
	default:
		w.pieceEvent("response.content_part.added", "")
	}
}

// where writes the fields that say what an event is about.
func (w *responsesWriter) where() {
	w.str("item_id", w.item)
	w.int("output_index", w.index)
	switch w.opens.Kind {
	case ToolCall:
	case Thinking:
		w.int("summary_index", 0)
	default:
		w.int("content_index", 0)
	}
}

func (w *responsesWriter) pieceEvent(kind, text string) {
	w.event(kind)
	w.where()
	w.key("part")
	if w.opens.Kind == Thinking {
		w.summaryPart(text)
	} else {
		w.contentPart(w.opens.Kind, text)
	}
	w.done()
}

// streamed is what the events of a part's text are called, and the field of its end.
func (w *responsesWriter) streamed() (name, field string) {
	switch {
	case w.opens.Kind == Thinking:
		return "response.reasoning_summary_text", "text"
	case w.opens.Kind == Refusal:
		return "response.refusal", "refusal"
	case w.opens.Kind == ToolCall && w.opens.Call.Custom:
		return "response.custom_tool_call_input", "input"
	case w.opens.Kind == ToolCall:
		return "response.function_call_arguments", "arguments"
	}
	return "response.output_text", "text"
}

// whole reports whether the part is told by its item only: of a search for tools there
// are no events between its start and its end.
func (w *responsesWriter) whole() bool { return w.opens.Kind == ToolCall && w.opens.Call.Search }

func (w *responsesWriter) grow(text string) {
	w.text = append(w.text, text...)
	if w.whole() {
		return
	}
	name, _ := w.streamed()
	w.event(name + ".delta")
	w.where()
	w.str("delta", text)
	w.noLogprobs()
	w.done()
}

func (w *responsesWriter) noLogprobs() {
	if w.opens.Kind == Text {
		w.in("logprobs", '[')
		w.close(']')
	}
}

func (w *responsesWriter) shut() {
	text := string(w.text)
	if !w.whole() {
		w.textDone(text)
	}
	switch w.opens.Kind {
	case ToolCall:
		call := *w.opens.Call
		call.Arguments = text
		w.opens.Call = &call
	case Thinking:
		w.pieceEvent("response.reasoning_summary_part.done", text)
	default:
		w.pieceEvent("response.content_part.done", text)
	}
	w.opens.Text = text
	w.itemDone()
}

func (w *responsesWriter) textDone(text string) {
	name, field := w.streamed()
	w.event(name + ".done")
	w.where()
	if w.opens.Kind == ToolCall && !w.opens.Call.Custom {
		w.str("name", w.opens.Call.Name)
	}
	w.str(field, text)
	w.noLogprobs()
	w.done()
}

func (w *responsesWriter) itemDone() {
	w.event("response.output_item.done")
	w.int("output_index", w.index)
	w.key("item")
	from := len(w.b)
	w.outputItem(w.item, "completed", &w.opens)
	if len(w.output) > 0 {
		w.output = append(w.output, ',')
	}
	w.output = append(w.output, w.b[from:]...)
	w.done()
	w.index++
}

func (w *responsesWriter) end(a *Answer) {
	w.event("response." + a.Stop.status())
	w.key("response")
	w.response(response{id: w.id, created: w.created, status: a.Stop.status(), stop: a.Stop, usage: &a.Usage, t: w.t}, func() {
		w.b = append(w.b, w.output...)
	})
	w.done()
}

// trail is what an error event goes on from.
func (w *responsesWriter) trail() *Trail {
	if w.sequence == 0 {
		return &Trail{model: w.t.q.Model, created: w.t.hop.Now}
	}
	return &Trail{sequence: w.sequence - 1, counted: true, id: w.id, model: w.t.q.Model, created: w.created}
}
