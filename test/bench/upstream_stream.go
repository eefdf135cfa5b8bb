package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// stream is one streamed answer of the upstream.
type stream struct {
	u     *upstream
	w     io.Writer
	flush *http.ResponseController
	ctx   context.Context
	held  <-chan struct{}
}

// serve sends a stream. A client that leaves ends it; there is nobody to tell.
func (s *stream) serve(name string, usage bool) {
	var ok bool
	switch {
	case strings.Contains(name, "paced"):
		ok = s.paced()
	case strings.Contains(name, "hold"):
		ok = s.hold()
	default:
		ok = s.fast()
	}
	if !ok || !s.write(s.u.last) || (usage && !s.write(s.u.usage)) {
		panic(http.ErrAbortHandler)
	}
	s.write([]byte(done))
}

func (s *stream) write(p []byte) bool {
	_, err := s.w.Write(p)
	return err == nil
}

func (s *stream) writeNow(p []byte) bool { return s.write(p) && s.flush.Flush() == nil }

func (s *stream) fast() bool {
	ok := s.write(s.u.role)
	for n := 0; ok && n < fastEvents; n++ {
		ok = s.writeNow(s.u.chunks[n])
	}
	return ok
}

// messages sends a stream in the other dialect, without pauses.
func (s *stream) messages() {
	for _, event := range s.u.events {
		if !s.writeNow(event) {
			return
		}
	}
}

func (s *stream) paced() bool {
	tick := time.NewTicker(pacedGap)
	defer tick.Stop()
	ok := s.write(s.u.role)
	for n := 0; ok && n < pacedEvents; n++ {
		ok = s.writeNow(s.u.chunks[n])
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return false
		}
	}
	return ok
}

func (s *stream) hold() bool {
	ok := s.write(s.u.role)
	for n := 0; ok && n < holdEvents; n++ {
		if n == holdBefore {
			select {
			case <-s.held:
			case <-s.ctx.Done():
				return false
			}
		}
		ok = s.writeNow(s.u.chunks[n])
	}
	return ok
}
