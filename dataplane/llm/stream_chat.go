package llm

import "strconv"

// chatReader decodes the events of OpenAI's chat completions.
type chatReader struct {
	r       reader // reused from event to event
	started bool
	id      string
	next    int
	part    int // the text, refusal or thought that is open
	kind    PartKind
	isOpen  bool
	calls   map[int64]*chatCalling
	unnamed int64 // calls that came without an index
	last    *chatCalling
	stopped bool
}

// chatCalling is a call that is coming in.
type chatCalling struct {
	part   int
	id     string
	name   string
	opened bool
	custom bool
	waits  string // arguments that came before the name
}

const (
	maxCalls    = 1024    // of one answer
	maxNameless = 1 << 20 // bytes of a call's arguments before its name
)

func (d *chatReader) event(ev Event, to *sequence) Meaning {
	if ev.Data == nil {
		return Lifecycle
	}
	if string(ev.Data) == "[DONE]" {
		d.end(to)
		return Done
	}
	if string(ev.Name) == "error" || hasError(ev.Data) {
		to.put(&Delta{Kind: DeltaFail, Said: ReadError(ev.Data)})
		return Failed
	}
	r := &d.r
	r.again()
	m := r.document(ev.Data)
	if r.err != nil {
		return Garbled
	}
	d.chunk(r, m, to)
	if r.err != nil {
		return Garbled
	}
	return Content
}

func (d *chatReader) chunk(r *reader, m members, to *sequence) {
	if !d.started {
		d.started = true
		d.id = r.text(m, "id")
		to.put(&Delta{Kind: DeltaStart, ID: d.id, Model: r.text(m, "model"), Created: r.count(m, "created")})
	}
	r.each(m, "choices", func(v raw) {
		choice := r.object("", v)
		if r.count(choice, "index") != 0 {
			return
		}
		d.delta(r, r.at(choice, "delta"), to)
		if reason := r.text(choice, "finish_reason"); reason != "" {
			d.closeAll(to)
			d.stopped = true
			to.put(&Delta{Kind: DeltaStop, Stop: chatStops[reason]})
		}
	})
	if usage, known := r.openAIUsage(m); known {
		to.put(&Delta{Kind: DeltaUsage, Usage: usage})
	}
}

func (d *chatReader) delta(r *reader, m members, to *sequence) {
	d.grow(Thinking, r.reasoning(m), to)
	r.chatSaid(m, func(kind PartKind, text string) { d.grow(kind, text, to) })
	d.grow(Refusal, r.text(m, "refusal"), to)
	r.each(m, "tool_calls", func(v raw) { d.call(r, r.object("", v), to) })
}

func (d *chatReader) grow(kind PartKind, text string, to *sequence) {
	if text == "" {
		return
	}
	if d.isOpen && d.kind != kind {
		d.closePart(to)
	}
	if !d.isOpen {
		d.part, d.kind, d.isOpen = d.next, kind, true
		d.next++
		to.put(&Delta{Kind: DeltaOpen, Part: d.part, Opens: Part{Kind: kind}})
	}
	to.put(&Delta{Kind: DeltaGrow, Part: d.part, Text: text})
}

func (d *chatReader) closePart(to *sequence) {
	if d.isOpen {
		to.put(&Delta{Kind: DeltaClose, Part: d.part})
		d.isOpen = false
	}
}

func (d *chatReader) call(r *reader, m members, to *sequence) {
	c := d.calling(r, m)
	if c == nil {
		return
	}
	kind, field := "function", "arguments"
	if m.get("custom") != nil {
		kind, field, c.custom = "custom", "input", true
	}
	f := r.at(m, kind)
	if !c.opened {
		c.name += r.text(f, "name")
	}
	text := r.text(f, field)
	if v := f.get(field); v.kind() == '{' { // an object where its text belongs
		r.err, text = nil, string(v)
	}
	if !c.opened && c.name == "" {
		if c.waits += text; len(c.waits) > maxNameless {
			r.fail("tool_calls", "a call without a name")
		}
		return
	}
	d.openCall(c, to)
	to.put(&Delta{Kind: DeltaGrow, Part: c.part, Text: text})
}

func (d *chatReader) openCall(c *chatCalling, to *sequence) {
	if c.opened {
		return
	}
	d.closePart(to)
	if c.id == "" { // derived, since an answer needs something to refer to
		c.id = "call_" + wireID(d.id) + "_" + strconv.Itoa(d.next)
	}
	c.part, c.opened = d.next, true
	d.next++
	to.put(&Delta{Kind: DeltaOpen, Part: c.part, Opens: Part{Kind: ToolCall, Call: &Call{ID: c.id, Name: c.name, Custom: c.custom}}})
	to.put(&Delta{Kind: DeltaGrow, Part: c.part, Text: c.waits})
	c.waits = ""
}

// calling finds the call that a delta belongs to: by its index, or where a provider
// gives none or the same to all, by its id.
func (d *chatReader) calling(r *reader, m members) *chatCalling {
	id := r.text(m, "id")
	index := r.count(m, "index")
	if m.get("index") == nil {
		if id == "" && d.last != nil {
			return d.last
		}
		d.unnamed--
		index = d.unnamed
	}
	if d.calls == nil {
		d.calls = map[int64]*chatCalling{}
	}
	c := d.calls[index]
	if c == nil || id != "" && c.id != "" && c.id != id {
		if d.next > maxCalls || len(d.calls) > maxCalls {
			r.fail("tool_calls", "too many calls")
			return nil
		}
		c = &chatCalling{id: id}
		d.calls[index] = c
	}
	if c.id == "" && !c.opened {
		c.id = id
	}
	d.last = c
	return c
}

// closeAll closes what is open, calls in the order they came.
func (d *chatReader) closeAll(to *sequence) {
	d.closePart(to)
	for number := range d.next {
		to.put(&Delta{Kind: DeltaClose, Part: number})
	}
}

func (d *chatReader) end(to *sequence) {
	d.closeAll(to)
	to.put(&Delta{Kind: DeltaEnd})
}

// finish: some providers leave out "[DONE]". A reason to finish is the answer's end too.
func (d *chatReader) finish(to *sequence) bool {
	if d.stopped {
		d.end(to)
	}
	return d.stopped
}
