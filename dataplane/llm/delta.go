package llm

// DeltaKind is what a Delta says.
type DeltaKind uint8

// Kinds of delta. A stream is Start, then parts in any order and at the same time (each
// opens, grows, closes), Metered at any point, Stopped once, Ended or Broke last.
const (
	DeltaStart DeltaKind = iota // ID, Model, Created, and Usage where it is known already
	DeltaOpen                   // Part, Opens: a call without arguments, or a part without text
	DeltaGrow                   // Part, Text: more text, or more of a call's arguments
	DeltaClose                  // Part
	DeltaUsage                  // Usage, all that is known so far
	DeltaStop                   // Stop, StopText
	DeltaEnd                    // the provider's own end came
	DeltaFail                   // Said: the provider's error
)

// Delta is one step of a streamed answer in no dialect.
type Delta struct {
	Kind      DeltaKind
	Part      int // numbers the parts of a stream
	Opens     Part
	Text      string
	ID, Model string
	Created   int64
	Usage     Usage
	Stop      StopReason
	StopText  string
	Said      Said
}

// deltaReader decodes the events of one dialect. event gives what an event says to the
// sink; Garbled means that nothing of it was used.
type deltaReader interface {
	event(ev Event, to *sequence) Meaning
	// finish is called when the bytes end without an end marker and reports whether the
	// answer is complete all the same.
	finish(to *sequence) bool
}

// deltaWriter encodes the events of one dialect, given parts one after another.
type deltaWriter interface {
	begin(d *Delta)
	part(p *Part)
	grow(text string)
	shut()
	end(a *Answer)
}

// sequence puts the parts of a stream one after another, since two dialects know no
// other order: the first that opened goes out as it grows, and what comes for others
// waits until it closes.
type sequence struct {
	out   deltaWriter
	names map[string]original
	// messages: the caller's dialect has no tools that take text, and tells a refusal by
	// the reason to stop only.
	messages bool
	parts    []*openPart // in the order they opened; the first is live
	held     int         // bytes that wait
	answer   Answer      // all but the parts
	metered  bool
	started  bool
	begun    bool // something of the answer has come
	calls    bool
	refused  bool
	ended    bool
	failed   *Said
	tooMuch  bool
	written  int // bytes of text, for an estimate
}

type openPart struct {
	number int
	opens  Part
	waits  []byte
	// convert, where not nil, makes the caller's form of a call from the whole of the
	// provider's: a tool that takes text is a function where a dialect has no such tools.
	convert func(string) string
	grew    bool
	closed  bool
}

// put takes one delta.
func (s *sequence) put(d *Delta) {
	switch d.Kind {
	case DeltaStart:
		s.answer.ID, s.answer.Model, s.answer.Created = d.ID, d.Model, d.Created
		s.start(d)
	case DeltaOpen:
		s.open(d)
	case DeltaGrow:
		s.grow(d)
	case DeltaClose:
		if p := s.find(d.Part); p != nil {
			p.closed = true
			s.advance()
		}
	case DeltaUsage:
		s.answer.Usage, s.metered = d.Usage, true
	case DeltaStop:
		s.answer.Stop, s.answer.StopText = d.Stop, d.StopText
		s.begun = true // an answer without a word is one too
	case DeltaEnd:
		s.end()
	case DeltaFail:
		s.failed = &d.Said
	}
}

// start begins the answer once, whether or not the provider did.
func (s *sequence) start(d *Delta) {
	if !s.started {
		s.started = true
		s.out.begin(d)
	}
}

func (s *sequence) find(number int) *openPart {
	for _, p := range s.parts {
		if p.number == number {
			return p
		}
	}
	return nil
}

func (s *sequence) open(d *Delta) {
	s.start(&Delta{})
	p := &openPart{number: d.Part, opens: d.Opens}
	if call := d.Opens.Call; call != nil {
		if call.restore(s.names) {
			p.convert = unwrapped
		} else if call.Custom && s.messages {
			p.convert = wrapped
		}
		s.calls = true
	}
	s.begun = true
	s.refused = s.refused || d.Opens.Kind == Refusal
	if s.parts = append(s.parts, p); len(s.parts) == 1 {
		s.out.part(&p.opens)
	}
}

func (s *sequence) grow(d *Delta) {
	p := s.find(d.Part)
	if p == nil || d.Text == "" {
		return
	}
	s.written += len(d.Text)
	if p == s.parts[0] && p.convert == nil {
		p.grew = true
		s.out.grow(d.Text)
		return
	}
	p.waits = append(p.waits, d.Text...)
	if s.held += len(d.Text); s.held > MaxEventBytes {
		s.tooMuch = true
	}
}

// advance lets out what closed, and what waited behind it.
func (s *sequence) advance() {
	for len(s.parts) > 0 && s.parts[0].closed {
		s.flush(s.parts[0])
		s.out.shut()
		if s.parts = s.parts[1:]; len(s.parts) == 0 {
			return
		}
		next := s.parts[0]
		s.out.part(&next.opens)
		if next.convert == nil {
			s.flush(next)
		}
	}
}

// flush writes what of the live part has waited.
func (s *sequence) flush(p *openPart) {
	s.held -= len(p.waits)
	text := string(p.waits)
	p.waits = nil
	switch {
	case p.convert != nil:
		text = p.convert(text)
	case p.closed && p.opens.Kind == ToolCall && !p.opens.Call.Custom && !p.grew && text == "":
		text = "{}" // a tool without parameters
	}
	if text != "" {
		p.grew = true
		s.out.grow(text)
	}
}

func (s *sequence) end() {
	if s.ended {
		return
	}
	s.start(&Delta{})
	for _, p := range s.parts {
		p.closed = true
	}
	s.advance()
	if s.answer.Stop <= StopSequence && s.calls {
		s.answer.Stop = StopTools
	} else if s.answer.Stop <= StopSequence && s.refused && s.messages {
		s.answer.Stop = StopRefusal
	}
	s.ended = true
	s.out.end(&s.answer)
}
