package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// stream relays a streaming answer. Events that carry no content are held back,
// so that a stream that fails before its first content fails over or becomes a
// plain error; from then on whole events go to the caller as they came, and a
// stream that breaks ends in the dialect's error event. The wait for the first bytes
// began with the attempt, so that a header alone does not win time.
func (a *attempt) stream() decide.Verdict {
	s := &relay{attempt: a, framer: framers.Get().(*llm.Framer)}
	if a.across.now != nil {
		s.foreign = a.across.now.Stream()
		s.foreign.Metadata = func(data []byte) any { return s.told(s.verdict(decide.ErrorInside, data)) }
	}
	defer s.recycle()
	for {
		_, err := s.framer.Read(a.resp.Body)
		a.timer.Stop() // what follows is the caller's time, not the provider's
		if over, verdict := s.take(); over {
			return verdict
		}
		if err != nil {
			return s.end(err)
		}
		a.timer.Reset(a.target.StreamIdle)
	}
}

var framers = sync.Pool{New: func() any { return new(llm.Framer) }}

type relay struct {
	*attempt
	framer   *llm.Framer
	held     bool        // events were held back
	finished bool        // the answer is complete, though its end marker has not come
	foreign  *llm.Stream // where the target speaks another dialect
	out      []byte      // what foreign gave since the last write
	trail    llm.Trail   // what an error event of ours has to go on from
}

func (s *relay) recycle() {
	if s.held && !s.started {
		s.letGo()
	}
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
		if !s.started && !s.held {
			s.hold()
		}
	}
	if s.foreign != nil {
		s.framer.Release() // what has to be kept of them foreign keeps
	}
	if s.started || len(s.pending()) > maxHeld {
		if !s.forward() {
			return true, s.callerGone()
		}
	}
	return false, v
}

// event judges one event and reports whether it ends the stream.
func (s *relay) event(ev llm.Event) (over bool, v decide.Verdict) {
	if s.foreign != nil {
		return s.cross(ev)
	}
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
// words, with nothing after them but what the dialect's clients wait for; in an event of
// the dialect's, where the provider's is one that its clients do not read.
func (s *relay) failed(ev llm.Event) decide.Verdict {
	v := s.verdict(decide.ErrorInside, ev.Data)
	if !s.started && (v.Failover || s.mayGoBare(v)) {
		return v
	}
	if !s.target.Passthrough() && !s.dialect.OwnFailure(ev) {
		own := s.dialect.Failure(ev.Data, s.id, &s.trail, s.told(v))
		if !s.started {
			s.commit()
		}
		s.tell(append(bytes.Clone(s.framer.Before()), own...))
		v.Committed = true
		return v
	}
	closing := s.trail.Closing(s.dialect, ev, s.id, s.told(v)) // before forward, which ev does not outlive
	if s.forward() && closing != nil {
		s.tell(closing)
	}
	v.Committed = true
	return v
}

// commit starts the answer: from here on no other target can.
func (s *relay) commit() {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	if !s.keeper.open {
		s.begin()
	}
	s.started = true
	s.keepAlive()
}

// begin sends the header of a stream, under the keeper's lock.
func (s *relay) begin() {
	s.answerHeader(s.resp.Header, s.target.Passthrough(), "text/event-stream; charset=utf-8")
	s.set("Cache-Control", "no-cache")
	s.set("X-Accel-Buffering", "no")
	s.served(s.target)
	s.head(s.resp.StatusCode)
	s.keeper.open = true
	s.metrics.streams.Inc()
}

// forward sends the taken events to the caller at once.
func (s *relay) forward() bool {
	if len(s.pending()) == 0 {
		return true
	}
	if !s.started {
		s.commit()
	}
	ok := s.tell(s.pending())
	if s.out = s.out[:0]; s.foreign == nil {
		s.framer.Release()
	}
	return ok
}

// pending is what has come for the caller and is not written yet.
func (s *relay) pending() []byte {
	if s.foreign != nil {
		return s.out
	}
	return s.framer.Taken()
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
	if ev, ok := s.framer.Rest(); ok && s.started && s.to.EndMarker(ev) {
		if s.foreign != nil {
			_, v := s.cross(ev)
			return v
		}
		s.forward()
		s.tell([]byte("\n\n"))
		return s.verdict(decide.NoCause, nil)
	}
	if s.foreign != nil {
		return s.endForeign()
	}
	if s.finished {
		s.tell([]byte("data: [DONE]\n\n"))
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
	e.Metadata = s.told(v)
	if v.Class == decide.Timeout {
		e.Status, e.Code = http.StatusGatewayTimeout, "upstream_stream_timeout"
	}
	if s.foreign != nil {
		s.out = append(s.out, s.foreign.Fail(&e)...)
		s.forward()
		return v
	}
	s.tell(s.dialect.ErrorEvent(&e, s.id, &s.trail))
	return v
}
