package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
)

// stream relays a streaming answer. Events that carry no content are held back,
// so that a stream that fails before its first content fails over or becomes a
// plain error; from then on whole events go to the caller as they came, and a
// stream that breaks ends in the dialect's error event.
func (a *attempt) stream() decide.Verdict {
	s := &relay{attempt: a, framer: framers.Get().(*llm.Framer)}
	defer s.recycle()
	for {
		a.timer.Reset(a.target.StreamIdle)
		_, err := s.framer.Read(a.resp.Body)
		a.timer.Stop() // what follows is the caller's time, not the provider's
		if over, verdict := s.take(); over {
			return verdict
		}
		if err != nil {
			return s.end(err)
		}
	}
}

var framers = sync.Pool{New: func() any { return new(llm.Framer) }}

type relay struct {
	*attempt
	framer   *llm.Framer
	finished bool      // the answer is complete, though its end marker has not come
	trail    llm.Trail // what an error event of ours has to go on from
	deadline time.Time // of writes, as last set
}

func (s *relay) recycle() {
	if s.framer.Recycle() {
		framers.Put(s.framer)
	}
}

// take handles the whole events that have come.
func (s *relay) take() (over bool, v decide.Verdict) {
	for {
		ev, ok := s.framer.Next()
		if !ok {
			break
		}
		if over, v = s.event(ev); over {
			return over, v
		}
	}
	if s.started || len(s.framer.Taken()) > maxHeld {
		if !s.forward() {
			return true, s.callerGone()
		}
	}
	return false, v
}

// event judges one event and reports whether it ends the stream.
func (s *relay) event(ev llm.Event) (over bool, v decide.Verdict) {
	var meaning llm.Meaning
	if s.started {
		meaning = s.dialect.Outcome(ev)
	} else {
		meaning = s.dialect.Judge(ev)
	}
	s.trail.Follow(s.dialect, ev)
	switch meaning {
	case llm.Content:
		if !s.started {
			s.commit()
		}
		s.finished = s.finished || s.dialect.Finished(ev)
	case llm.Failed:
		return true, s.failed(ev)
	case llm.Garbled:
		return true, s.verdict(decide.NotAnAnswer, nil)
	case llm.Done:
		if !s.started && !s.dialect.EndAnswers() {
			return true, s.verdict(decide.NotAnAnswer, nil)
		}
		return true, s.done()
	}
	return false, v
}

// failed ends a stream in which the provider reports an error. Where the caller has
// seen content, or no other target could do better, that is told in the provider's own
// words, with nothing after them but what the dialect's clients wait for.
func (s *relay) failed(ev llm.Event) decide.Verdict {
	v := s.verdict(decide.ErrorInside, ev.Data)
	if !s.started && v.Failover {
		return v
	}
	closing := s.trail.Closing(s.dialect, ev, s.id) // before forward, which ev does not outlive
	if s.forward() && closing != nil {
		s.write(closing)
	}
	return v
}

// commit starts the answer: from here on no other target can.
func (s *relay) commit() {
	upstream.AnswerHeader(s.w.Header(), s.resp.Header, s.target.Passthrough())
	s.set("Cache-Control", "no-cache")
	s.set("X-Accel-Buffering", "no")
	s.serve(s.target, s.resp.StatusCode)
}

// forward sends the taken events to the caller at once.
func (s *relay) forward() bool {
	if len(s.framer.Taken()) == 0 {
		return true
	}
	if !s.started {
		s.commit()
	}
	ok := s.write(s.framer.Taken())
	s.framer.Release()
	return ok
}

// write sends and flushes. A caller that does not read for writeTimeout is gone.
func (s *relay) write(b []byte) bool {
	if now := time.Now(); s.deadline.Sub(now) < writeTimeout-writeTimeout/8 {
		s.deadline = now.Add(writeTimeout)
		_ = http.NewResponseController(s.w).SetWriteDeadline(s.deadline) // not supported by test recorders only
	}
	if _, err := s.w.Write(b); err != nil {
		return false
	}
	return http.NewResponseController(s.w).Flush() == nil
}

func (s *relay) callerGone() decide.Verdict {
	return decide.Classify(decide.Evidence{Phase: decide.Committed, Cause: decide.CallerGone})
}

// done ends a good stream, and reads what little follows so that the connection
// to the provider can be used again.
func (s *relay) done() decide.Verdict {
	if !s.forward() {
		return s.callerGone()
	}
	v := s.verdict(decide.NoCause, nil)
	s.timer.Reset(drainTime)
	var rest [512]byte
	for {
		if _, err := s.resp.Body.Read(rest[:]); err != nil {
			return v
		}
	}
}

// end handles the end of the bytes: whole, cut, timed out, or the caller gone.
func (s *relay) end(err error) decide.Verdict {
	if !errors.Is(err, io.EOF) {
		return s.cut(s.broken())
	}
	// An end marker that only lacks its blank line is an end marker. Anything else
	// that is not whole is dropped: it may be half an event.
	if ev, ok := s.framer.Rest(); ok && s.started && s.dialect.EndMarker(ev) {
		s.forward()
		s.write([]byte("\n\n"))
		return s.verdict(decide.NoCause, nil)
	}
	if s.finished {
		s.write([]byte("data: [DONE]\n\n"))
		return s.verdict(decide.NoCause, nil)
	}
	return s.cut(s.verdict(decide.Broken, nil))
}

// cut tells the caller of a stream that broke after it had started.
func (s *relay) cut(v decide.Verdict) decide.Verdict {
	if !s.started || v.Class == decide.Canceled {
		return v
	}
	e := llm.Error{Status: http.StatusBadGateway, Code: "upstream_stream_broken", Message: "the provider's stream broke off: " + v.Message}
	if v.Class == decide.Timeout {
		e.Status, e.Code = http.StatusGatewayTimeout, "upstream_stream_timeout"
	}
	s.write(s.dialect.ErrorEvent(&e, s.id, &s.trail))
	return v
}
