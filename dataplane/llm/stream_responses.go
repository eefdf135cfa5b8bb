package llm

import "strings"

// responsesReader decodes the events of OpenAI's responses.
type responsesReader struct {
	r       reader // reused from event to event
	started bool
	next    int
	items   map[int64]*streamedItem
}

// streamedItem is an item of the output that is coming in.
type streamedItem struct {
	kind     PartKind
	part     int
	isOpen   bool
	piece    int64 // the content part or summary part that grows
	produced bool  // something of it was given on
}

const maxItems = 4096

func (d *responsesReader) event(ev Event, to *sequence) Meaning {
	kind := string(ev.kind())
	if ev.Data == nil || kind == "keepalive" || kind == "ping" || strings.HasPrefix(kind, "codex.") {
		return Lifecycle
	}
	r := &d.r
	r.again()
	m := r.document(ev.Data)
	if r.err != nil || kind == "" {
		return Garbled
	}
	meaning := d.known(kind, r, m, ev, to)
	if r.err != nil {
		return Garbled
	}
	return meaning
}

func (d *responsesReader) known(kind string, r *reader, m members, ev Event, to *sequence) Meaning {
	switch kind {
	case "response.created", "response.in_progress", "response.queued":
		d.start(r, r.at(m, "response"), to)
	case "response.output_item.added":
		d.added(r, m, to)
	case "response.output_item.done":
		d.itemDone(r, m, to)
	case "response.output_text.delta":
		d.text(r, m, "content_index", Text, to)
	case "response.refusal.delta":
		d.text(r, m, "content_index", Refusal, to)
	case "response.reasoning_summary_text.delta":
		d.text(r, m, "summary_index", Thinking, to)
	case "response.reasoning_text.delta":
		d.text(r, m, "content_index", Thinking, to)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		if item := d.items[r.count(m, "output_index")]; item != nil && item.isOpen {
			d.grow(item, r.text(m, "delta"), to)
		}
	case "response.completed", "response.incomplete":
		d.end(r, r.at(m, "response"), to)
		return Done
	case "response.failed", "error":
		to.put(&Delta{Kind: DeltaFail, Said: ReadError(ev.Data)})
		return Failed
	}
	return Content
}

func (d *responsesReader) start(r *reader, m members, to *sequence) {
	if !d.started && m != nil {
		d.started = true
		to.put(&Delta{Kind: DeltaStart, ID: r.text(m, "id"), Model: r.text(m, "model"), Created: r.count(m, "created_at")})
	}
}

func (d *responsesReader) item(r *reader, m members) *streamedItem {
	index := r.count(m, "output_index")
	if d.items == nil {
		d.items = map[int64]*streamedItem{}
	}
	item := d.items[index]
	if item == nil {
		if len(d.items) > maxItems || d.next > maxItems {
			r.fail("output_index", "too many items")
			return nil
		}
		item = &streamedItem{}
		d.items[index] = item
	}
	return item
}

// added opens calls, which say all but their arguments at once. Texts and thoughts open
// with their first words.
func (d *responsesReader) added(r *reader, m members, to *sequence) {
	item := d.item(r, m)
	if item == nil {
		return
	}
	inner := r.at(m, "item")
	kind := r.text(inner, "type")
	if kind != "function_call" && kind != "custom_tool_call" || item.isOpen {
		return
	}
	call := &Call{ID: r.text(inner, "call_id"), Name: r.text(inner, "name"), Custom: kind == "custom_tool_call"}
	d.open(item, Part{Kind: ToolCall, Call: call}, to)
}

func (d *responsesReader) open(item *streamedItem, p Part, to *sequence) {
	item.kind, item.part, item.isOpen = p.Kind, d.next, true
	d.next++
	to.put(&Delta{Kind: DeltaOpen, Part: item.part, Opens: p})
}

func (d *responsesReader) grow(item *streamedItem, text string, to *sequence) {
	if text != "" {
		item.produced = true
		to.put(&Delta{Kind: DeltaGrow, Part: item.part, Text: text})
	}
}

func (d *responsesReader) text(r *reader, m members, index string, kind PartKind, to *sequence) {
	item := d.item(r, m)
	text := r.text(m, "delta")
	if item == nil || text == "" {
		return
	}
	piece := r.count(m, index)
	if item.isOpen && item.kind != kind {
		d.close(item, to)
	}
	if !item.isOpen {
		d.open(item, Part{Kind: kind}, to)
	} else if piece != item.piece && kind == Thinking {
		text = partBreak + text
	}
	item.piece = piece
	d.grow(item, text, to)
}

func (d *responsesReader) close(item *streamedItem, to *sequence) {
	if item.isOpen {
		item.isOpen = false
		to.put(&Delta{Kind: DeltaClose, Part: item.part})
	}
}

// itemDone closes an item. What a provider did not stream stands here whole.
func (d *responsesReader) itemDone(r *reader, m members, to *sequence) {
	item := d.item(r, m)
	if item == nil {
		return
	}
	if !item.produced {
		d.whole(item, r, r.at(m, "item"), to)
	}
	d.close(item, to)
	item.produced = true
}

// whole gives on all of an item of which nothing was streamed.
func (d *responsesReader) whole(item *streamedItem, r *reader, m members, to *sequence) {
	r.answer = true
	for _, p := range r.outputItem(nil, m) {
		text := p.Text
		if p.Call != nil {
			text, p.Call.Arguments = p.Call.Arguments, ""
		}
		if p.Text = ""; item.isOpen && p.Kind != item.kind {
			d.close(item, to)
		}
		if !item.isOpen {
			d.open(item, p, to)
		}
		d.grow(item, text, to)
	}
}

// end reads the whole response that ends the stream. Where nothing of it was streamed,
// it is the answer.
func (d *responsesReader) end(r *reader, m members, to *sequence) {
	d.start(r, m, to)
	index := int64(0)
	r.each(m, "output", func(v raw) {
		if d.items[index] == nil || !d.items[index].produced {
			if item := d.item(r, members{{[]byte("output_index"), intRaw(index)}}); item != nil {
				d.whole(item, r, r.object("", v), to)
				d.close(item, to)
				item.produced = true
			}
		}
		index++
	})
	for _, item := range d.items { // none is left open but of a provider that forgot to close
		d.close(item, to)
	}
	if usage, known := r.openAIUsage(m); known {
		to.put(&Delta{Kind: DeltaUsage, Usage: usage})
	}
	to.put(&Delta{Kind: DeltaStop, Stop: r.responsesStop(m)})
	if r.err == nil {
		to.put(&Delta{Kind: DeltaEnd})
	}
}

// finish: a response has an end event, and every provider sends it.
func (d *responsesReader) finish(*sequence) bool { return false }
