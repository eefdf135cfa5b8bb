package llm

// messagesReader decodes the events of Anthropic's messages.
type messagesReader struct {
	r     reader // reused from event to event
	usage Usage
	next  int
	// Of the block that is open.
	part   int
	kind   PartKind
	isOpen bool // a part stands for the block
	block  bool
	// text is a text that stays open until something else begins: citations cut one
	// text into several blocks.
	text  int
	lasts bool
}

func (d *messagesReader) event(ev Event, to *sequence) Meaning {
	kind := string(ev.kind())
	if ev.Data == nil || kind == "ping" {
		return Lifecycle
	}
	r := &d.r
	r.again()
	m := r.document(ev.Data)
	if r.err != nil {
		return Garbled
	}
	switch kind {
	case "message_start":
		d.start(r, r.at(m, "message"), to)
	case "content_block_start":
		d.blockStart(r, m, to)
	case "content_block_delta":
		d.delta(r, r.at(m, "delta"), to)
	case "content_block_stop":
		d.blockStop(to)
	case "message_delta":
		d.messageDelta(r, m, to)
	case "message_stop":
		d.endText(to)
		to.put(&Delta{Kind: DeltaEnd})
		return Done
	case "error":
		to.put(&Delta{Kind: DeltaFail, Said: ReadError(ev.Data)})
		return Failed
	}
	if r.err != nil {
		return Garbled
	}
	return Content
}

func (d *messagesReader) start(r *reader, m members, to *sequence) {
	start := Delta{Kind: DeltaStart, ID: r.text(m, "id"), Model: r.text(m, "model")}
	usage, known := r.messagesUsage(m, d.usage)
	if d.usage = usage; known {
		to.put(&Delta{Kind: DeltaUsage, Usage: usage})
	}
	start.Usage = usage
	to.put(&start)
}

// blockStart opens calls at once. A text or a thought opens with its first words, since
// blocks come that stay empty.
func (d *messagesReader) blockStart(r *reader, m members, to *sequence) {
	d.blockStop(to)
	b := r.at(m, "content_block")
	d.block = true
	switch r.text(b, "type") {
	case "text":
		d.kind = Text
		d.grow(r.text(b, "text"), to)
		return
	case "thinking":
		d.kind = Thinking
		d.endText(to)
		d.grow(r.text(b, "thinking"), to)
		return
	case "tool_use":
		d.endText(to)
		d.kind = ToolCall
		d.open(Part{Kind: ToolCall, Call: &Call{ID: r.text(b, "id"), Name: r.text(b, "name")}}, to)
		if input := b.get("input"); input != nil && !blank(string(input)) {
			d.grow(string(input), to) // whole at the start, as some compatible providers have it
		}
	default:
		d.endText(to)
		d.block = false // a vendor's own
	}
}

func (d *messagesReader) open(p Part, to *sequence) {
	d.part, d.isOpen = d.next, true
	d.next++
	to.put(&Delta{Kind: DeltaOpen, Part: d.part, Opens: p})
}

func (d *messagesReader) grow(text string, to *sequence) {
	if text == "" {
		return
	}
	if !d.isOpen && d.kind == Text && d.lasts {
		d.part, d.isOpen, d.lasts = d.text, true, false
	}
	if !d.isOpen {
		d.open(Part{Kind: d.kind}, to)
	}
	to.put(&Delta{Kind: DeltaGrow, Part: d.part, Text: text})
}

func (d *messagesReader) delta(r *reader, m members, to *sequence) {
	if !d.block {
		return
	}
	switch kind := r.text(m, "type"); {
	case kind == "text_delta" && d.kind == Text:
		d.grow(r.text(m, "text"), to)
	case kind == "thinking_delta" && d.kind == Thinking:
		d.grow(r.text(m, "thinking"), to)
	case kind == "input_json_delta" && d.kind == ToolCall:
		d.grow(r.text(m, "partial_json"), to)
	}
}

func (d *messagesReader) blockStop(to *sequence) {
	if d.isOpen {
		if d.kind == Text {
			d.text, d.lasts = d.part, true
		} else {
			to.put(&Delta{Kind: DeltaClose, Part: d.part})
		}
	}
	d.isOpen, d.block = false, false
}

func (d *messagesReader) endText(to *sequence) {
	if d.lasts {
		to.put(&Delta{Kind: DeltaClose, Part: d.text})
		d.lasts = false
	}
}

func (d *messagesReader) messageDelta(r *reader, m members, to *sequence) {
	d.blockStop(to)
	inner := r.at(m, "delta")
	if stop := r.text(inner, "stop_reason"); stop != "" {
		d.endText(to)
		to.put(&Delta{Kind: DeltaStop, Stop: messagesStops[stop], StopText: r.text(inner, "stop_sequence")})
	}
	usage, known := r.messagesUsage(m, d.usage)
	if d.usage = usage; known {
		to.put(&Delta{Kind: DeltaUsage, Usage: usage})
	}
}

// finish: messages has an end marker, and every provider sends it.
func (d *messagesReader) finish(*sequence) bool { return false }
