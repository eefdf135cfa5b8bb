package llm

import (
	"bytes"
	"encoding/json"
	"slices"
)

// converseOutcome says what an event of ConverseStream is by its name. The metadata come
// after the answer's end and are the stream's. An exception has its name for the event's,
// and what it says comes in Anthropic's words.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
func converseOutcome(ev Event) Meaning {
	switch name := string(ev.Name); {
	case name == "metadata":
		return Done
	case name == "error", bytes.HasSuffix(ev.Name, []byte("Exception")):
		return Failed
	case name == "messageStop" && bytes.Contains(ev.Data, []byte(`"malformed_`)) && malformed(converseStop(ev)):
		return Failed
	}
	return Content
}

func converseStop(ev Event) string {
	var stop struct {
		Reason string `json:"stopReason"`
	}
	_ = json.Unmarshal(ev.Data, &stop) // what cannot be read is no reason
	return stop.Reason
}

// converseLifecycle is the reader for an event that may be without content: the starts of
// messages and blocks, the ends of blocks, and deltas that bring nothing.
func converseLifecycle(ev Event) func(*scanner) (bool, error) {
	switch string(ev.Name) {
	case "messageStart", "contentBlockStart", "contentBlockStop":
		return anyObject
	case "contentBlockDelta":
		return emptyConverseDelta
	}
	return noLifecycle
}

// emptyConverseDelta: a delta all of whose members are empty strings, at any depth.
func emptyConverseDelta(s *scanner) (bool, error) {
	empty := true
	var inside func(depth int) error
	inside = func(depth int) error {
		if s.peek() == '{' && depth < MaxDepth {
			return s.object(depth+1, func(string) error { return inside(depth + 1) })
		}
		value, err := s.raw(depth)
		empty = empty && blank(value)
		return err
	}
	err := s.fields(0, func(key string) error {
		if key != "delta" {
			return s.value(1)
		}
		return inside(1)
	})
	return empty, err
}

// converseReader decodes the events of ConverseStream.
type converseReader struct {
	r       reader           // reused from event to event
	blocks  []*converseBlock // those that are not closed, in the order they began
	next    int
	stopped bool
	byCall  bool // the model was made to answer by a call, see takeCall
	taken   bool // it has begun
}

// converseBlock is a block that is coming in. It opens with its first content, since
// starts come alone.
type converseBlock struct {
	index  int64
	part   int
	opens  Part
	called bool // it is a call, whatever it is to the caller
	isOpen bool
}

func (d *converseReader) event(ev Event, to *sequence) Meaning {
	if ev.Data == nil {
		return Lifecycle
	}
	if converseOutcome(ev) == Failed {
		said := ReadError(ev.Data)
		if string(ev.Name) == "messageStop" {
			said = Said{Message: "the model's output is malformed"}
		}
		to.put(&Delta{Kind: DeltaFail, Said: said})
		return Failed
	}
	r := &d.r
	r.again()
	m := r.document(ev.Data)
	if r.err != nil {
		return Garbled
	}
	meaning := Content
	switch string(ev.Name) {
	case "messageStart":
		to.put(&Delta{Kind: DeltaStart})
	case "contentBlockStart":
		d.start(r, m, to)
	case "contentBlockDelta":
		d.delta(r, m, to)
	case "contentBlockStop":
		d.close(d.at(r.count(m, "contentBlockIndex")), to)
	case "messageStop":
		d.stop(r.text(m, "stopReason"), to)
	case "metadata":
		if usage, known := r.converseUsage(m); known {
			to.put(&Delta{Kind: DeltaUsage, Usage: usage})
		}
		if d.stopped {
			meaning = Done
		}
	}
	if r.err != nil {
		return Garbled
	}
	if meaning == Done {
		to.put(&Delta{Kind: DeltaEnd})
	}
	return meaning
}

// at is the block of an index, or nil.
func (d *converseReader) at(index int64) *converseBlock {
	for _, b := range d.blocks {
		if b.index == index {
			return b
		}
	}
	return nil
}

func (d *converseReader) begin(r *reader, index int64, opens Part) *converseBlock {
	if d.next >= maxCalls {
		r.fail("contentBlockIndex", "too many blocks")
	}
	b := &converseBlock{index: index, part: d.next, opens: opens}
	d.next++
	d.blocks = append(d.blocks, b)
	return b
}

// start begins a call; texts and thoughts begin with their first delta.
func (d *converseReader) start(r *reader, m members, to *sequence) {
	index := r.count(m, "contentBlockIndex")
	d.close(d.at(index), to)
	use := r.at(r.at(m, "start"), "toolUse")
	if use == nil || r.text(use, "type") == "server_tool_use" {
		return
	}
	opens := Part{Kind: ToolCall, Call: &Call{ID: r.text(use, "toolUseId"), Name: r.text(use, "name")}}
	if d.byCall {
		opens = Part{Kind: Text}
		if d.taken {
			opens.Kind = Thinking
		}
		d.taken = true
	}
	d.begin(r, index, opens).called = true
}

func (d *converseReader) delta(r *reader, m members, to *sequence) {
	index := r.count(m, "contentBlockIndex")
	inner := r.at(m, "delta")
	switch {
	case inner.get("text") != nil:
		d.grow(r, index, Text, r.text(inner, "text"), to)
	case inner.get("reasoningContent") != nil:
		d.grow(r, index, Thinking, r.text(r.at(inner, "reasoningContent"), "text"), to)
	case inner.get("toolUse") != nil:
		if b := d.at(index); b != nil && b.called { // else a call of the vendor's own tool
			d.write(b, r.text(r.at(inner, "toolUse"), "input"), to)
		}
	}
}

// grow writes to the text or the thought of an index.
func (d *converseReader) grow(r *reader, index int64, kind PartKind, text string, to *sequence) {
	if text == "" {
		return
	}
	if d.byCall {
		kind = Thinking
	}
	b := d.at(index)
	if b != nil && (b.opens.Kind != kind || b.called) {
		d.close(b, to)
		b = nil
	}
	if b == nil {
		b = d.begin(r, index, Part{Kind: kind})
	}
	d.write(b, text, to)
}

func (d *converseReader) write(b *converseBlock, text string, to *sequence) {
	if text == "" {
		return
	}
	d.open(b, to)
	to.put(&Delta{Kind: DeltaGrow, Part: b.part, Text: text})
}

func (d *converseReader) open(b *converseBlock, to *sequence) {
	if !b.isOpen {
		b.isOpen = true
		to.put(&Delta{Kind: DeltaOpen, Part: b.part, Opens: b.opens})
	}
}

// close ends a block, if there is one. A call without a word of input is one of a tool
// without parameters.
func (d *converseReader) close(b *converseBlock, to *sequence) {
	if b == nil {
		return
	}
	d.open(b, to)
	to.put(&Delta{Kind: DeltaClose, Part: b.part})
	d.blocks = slices.DeleteFunc(d.blocks, func(other *converseBlock) bool { return other == b })
}

func (d *converseReader) stop(reason string, to *sequence) {
	for len(d.blocks) > 0 {
		d.close(d.blocks[0], to)
	}
	d.stopped = true
	stop := converseStops[reason]
	if d.byCall && stop == StopTools {
		stop = StopEnd
	}
	to.put(&Delta{Kind: DeltaStop, Stop: stop})
}

// finish: an answer that has stopped is whole without its metadata.
func (d *converseReader) finish(to *sequence) bool {
	if d.stopped {
		to.put(&Delta{Kind: DeltaEnd})
	}
	return d.stopped
}
