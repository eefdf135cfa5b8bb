package llm

import (
	"net/http"
	"strconv"
)

// Stream carries a streamed answer back in the caller's dialect. Give it every event
// the framer returns, in order:
//
//	out, meaning := s.Event(ev)
//
// and handle meaning as that of Dialect.Judge: while it is Lifecycle nothing of the
// answer has come, out is empty, and another target may be asked. With the first
// Content, out brings all that was held back; write and flush each out at once. Done:
// out ends the caller's stream. Failed: if nothing has been written and another target
// can do better, drop out and judge ev's own data as ever; else write it, it holds the
// caller's error event with the provider's text. Garbled: the event makes no sense;
// nothing of it was used.
//
// When the bytes end without Done, End says whether the answer is whole all the same.
// If not, or after Garbled or a failed read, Fail ends the stream with an error of the
// gateway's. A stream that was never ended has no end marker of the caller's dialect in
// it. out is valid until the next call. A stream holds in memory what waits for its
// turn, and for a caller of responses all of the answer: at most MaxEventBytes of each.
type Stream struct {
	// Metadata is the gateway's own error.metadata, for data in which the provider reports an
	// error; nil: there is none.
	Metadata func(data []byte) any

	t       *Translation
	to      sequence
	from    deltaReader
	w       writer
	answers *responsesWriter // where the caller speaks responses
	started bool             // something was given out
	over    Meaning          // Done or Failed, once it is
	ending  bool
	garbled bool
}

// Stream begins a streamed answer. A Translation has one stream per attempt.
func (t *Translation) Stream() *Stream {
	s := &Stream{t: t}
	s.to.names = t.names
	switch t.hop.To {
	case Chat:
		s.from = &chatReader{}
	case Messages:
		s.from = &messagesReader{}
	case Converse:
		s.from = &converseReader{byCall: t.calls}
	default:
		s.from = &responsesReader{}
	}
	switch t.q.From {
	case Chat:
		s.to.out = &chatWriter{writer: &s.w, t: t}
	case Messages:
		s.to.out = &messagesWriter{writer: &s.w, t: t}
		s.to.messages = true
	default:
		s.answers = &responsesWriter{writer: &s.w, t: t}
		s.to.out = s.answers
	}
	return s
}

// Event takes one event of the provider's.
func (s *Stream) Event(ev Event) (out []byte, m Meaning) {
	switch {
	case s.ending:
		return nil, s.over
	case s.garbled:
		return nil, Garbled
	}
	s.reset()
	m = s.from.event(ev, &s.to)
	if s.to.tooMuch || s.answers != nil && len(s.answers.output)+len(s.answers.text) > MaxEventBytes {
		m = Garbled
	}
	if m == Done && !s.to.begun && !s.t.hop.To.EndAnswers() {
		m = Garbled // an end without an answer before it
	}
	switch m {
	case Garbled:
		s.garbled, s.w.b = true, s.w.b[:0]
		return nil, Garbled
	case Failed:
		s.ending, s.over = true, Failed
		e := s.to.failed.in(s.t.q.From, 0)
		if s.Metadata != nil {
			e.Metadata = s.Metadata(ev.Data)
		}
		return s.fail(&e), Failed
	case Done:
		s.ending, s.over = true, Done
		s.started = true
		return s.w.b, Done
	}
	if !s.to.begun {
		return nil, Lifecycle
	}
	s.started = true
	if len(s.w.b) == 0 && m == Lifecycle {
		return s.keepAlive(), Lifecycle
	}
	return s.w.b, Content
}

// reset forgets what was given out; what was held back stays.
func (s *Stream) reset() {
	if s.started {
		s.w.b = s.w.b[:0]
	}
}

// keepAlive shows a caller that waits that the provider is at work.
func (s *Stream) keepAlive() []byte {
	if s.t.q.From == Messages {
		s.w.event("ping")
		s.w.done()
	} else {
		s.w.b = append(s.w.b, ": keep-alive\n\n"...)
	}
	return s.w.b
}

// Started reports whether some of the answer has been given out.
func (s *Stream) Started() bool { return s.started }

// Usage is what the provider has said so far, and whether it has said anything.
func (s *Stream) Usage() (Usage, bool) { return s.to.answer.Usage, s.to.metered }

// End is for a stream whose bytes ended without Done. ok: the answer is whole, and out
// ends it for the caller.
func (s *Stream) End() (out []byte, ok bool) {
	if s.ending {
		return nil, s.over == Done
	}
	s.reset()
	if s.garbled || !s.to.begun || !s.from.finish(&s.to) {
		return nil, false
	}
	s.ending, s.over, s.started = true, Done, true
	return s.w.b, true
}

// Fail ends the stream with an error of the gateway's, once; after an end it is empty.
func (s *Stream) Fail(e *Error) []byte {
	if s.ending {
		return nil
	}
	s.ending, s.over = true, Failed
	s.reset()
	return s.fail(e)
}

func (s *Stream) fail(e *Error) []byte {
	if e.Message == "" {
		e.Message = "the provider failed without saying why"
	}
	if e.Status == 0 {
		e.Status = http.StatusBadGateway
	}
	var trail *Trail
	if s.answers != nil {
		if trail = s.answers.trail(); e.Code == "" {
			e.Code = "server_error"
		}
	}
	s.started = true
	s.w.b = append(s.w.b, s.t.q.From.ErrorEvent(e, s.t.hop.ID, trail)...)
	return s.w.b
}

func intRaw(n int64) raw { return strconv.AppendInt(nil, n, 10) }
