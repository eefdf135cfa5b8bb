package provider

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxBody bounds a request; the real providers refuse more than 32 MB too.
const maxBody = 64 << 20

// exchange is one request while it is being answered.
type exchange struct {
	dialect  dialect
	w        http.ResponseWriter
	r        *http.Request
	done     <-chan struct{} // the server is closing
	begun    time.Time
	received []byte
	call     call
	behavior Behavior // expanded
	status   int      // what was answered, 0 for nothing
	gone     bool     // the client went away
	written  int      // body bytes
	problems []string // what its plan found wrong beside what refuses it
}

// errStop ends an exchange early: the connection was cut, or nobody is left.
var errStop = errors.New("exchange is over")

// plan reads a request: the name it is scripted under, why a good provider would
// refuse it, and the answer if not.
type plan func(x *exchange) (name string, refusal *fault, good func() error)

// handle answers one endpoint: it records the request, takes what is scripted for it
// and plays that.
func (s *Server) handle(pick func(http.Header) dialect, plan plan) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		done, ok := s.enter()
		if !ok {
			panic(http.ErrAbortHandler)
		}
		defer s.inFlight.Done()
		x := &exchange{dialect: pick(r.Header), w: w, r: r, done: done, begun: time.Now()}
		body, readErr := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		x.received, x.gone = body, readErr != nil
		name, refusal, good := plan(x)
		record := s.ring.add(Request{
			Time: x.begun, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body,
			Model: x.call.model, Stream: x.call.stream, Problems: append(problems(r.URL.Path, r.Header), x.problems...),
		})
		defer func() {
			s.ring.finish(record, x.status, x.gone)
			s.log.Info("request", "path", r.URL.Path, "model", x.call.model, "stream", x.call.stream, "status", x.status,
				"gone", x.gone, "took", time.Since(x.begun))
		}()
		if readErr != nil {
			return
		}
		x.behavior = s.script.next(name, x.dialect.credential(r.Header))
		if f := x.dialect.authorize(r.Header, s.known); f != nil {
			refusal = f
		}
		// An error that ended the exchange is in the record; nobody is left to tell.
		_ = x.answer(refusal, good)
	}
}

// model is the plan of a dialect's main call.
func model(x *exchange) (name string, refusal *fault, good func() error) {
	x.call, refusal = x.dialect.parse(x.received)
	return x.call.model, refusal, x.generate
}

// generate answers with what the model says.
func (x *exchange) generate() error {
	switch {
	case strings.HasPrefix(x.call.model, "missing-"):
		return x.fault(x.dialect.fault(http.StatusNotFound, "", x.call.model))
	case x.call.stream:
		return x.play(x.events(compose(x.call, x.behavior, x.begun)))
	default:
		return x.whole(compose(x.call, x.behavior, x.begun))
	}
}

func (s *Server) known(key string) bool { return len(s.keys) == 0 || slices.Contains(s.keys, key) }

// answer plays the behavior. How the provider fails goes before what it would have
// said of the request: a provider that is down does not read it.
func (x *exchange) answer(refusal *fault, good func() error) error {
	asked := x.behavior.Status
	x.behavior = x.behavior.expanded()
	b := x.behavior
	if err := x.wait(b.Delay); err != nil {
		return err
	}
	switch {
	case b.Hang:
		return x.hang()
	case b.Reset:
		return x.cut(true)
	case b.Body != "":
		return x.body(b.Status, x.contentType(b.Status), []byte(b.Body))
	case b.HTML:
		return x.body(b.Status, "text/html; charset=utf-8", page(b.Status))
	case b.Empty:
		return x.body(b.Status, x.contentType(b.Status), nil)
	case b.Malformed:
		return x.malformed()
	case b.Status != http.StatusOK:
		f := x.dialect.fault(b.Status, b.Kind, x.call.model)
		if asked != 0 {
			f.status = asked
		}
		return x.fault(f)
	case refusal != nil:
		return x.fault(*refusal)
	default:
		return good()
	}
}

func (x *exchange) contentType(status int) string {
	if x.call.stream && status == http.StatusOK {
		if framed, own := x.dialect.(interface{ streamType() string }); own {
			return framed.streamType()
		}
		return "text/event-stream; charset=utf-8"
	}
	return "application/json"
}

func page(status int) []byte {
	title := "Welcome"
	if status != http.StatusOK {
		title = strconv.Itoa(status) + " " + http.StatusText(status)
	}
	return []byte("<!DOCTYPE html>\n<html><head><title>" + title + "</title></head>\n<body><h1>" + title + "</h1></body></html>\n")
}

func (x *exchange) malformed() error {
	raw := []byte(`{"id": "resp_1", "model": "` + "\n")
	if x.call.stream {
		raw = append(append([]byte("data: "), raw...), '\n')
	}
	return x.body(x.behavior.Status, x.contentType(x.behavior.Status), raw)
}

func (x *exchange) fault(f fault) error {
	return x.body(f.status, "application/json", encode(x.dialect.errorBody(f, x.requestID())))
}

// whole answers without a stream.
func (x *exchange) whole(a answer) error {
	b := x.behavior
	if b.ErrorType != "" {
		return x.fault(x.dialect.fault(http.StatusOK, b.ErrorType, x.call.model))
	}
	if b.HangAfter != 0 {
		return x.hang()
	}
	raw := encode(x.dialect.document(x.call, a))
	if waits, own := x.dialect.(interface{ keepAlive() string }); own {
		raw = append([]byte(waits.keepAlive()), raw...)
	}
	if b.CutAfter != 0 && b.CutAtByte == 0 {
		x.behavior.CutAtByte = len(raw) / 2
	}
	return x.body(http.StatusOK, "application/json", raw)
}

// requestID is one id for the header and the error body.
func (x *exchange) requestID() string {
	h := x.w.Header()
	for _, name := range []string{"Request-Id", "X-Request-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	x.dialect.headers(h, http.StatusOK, newID("req_"), time.Since(x.begun))
	return x.requestID()
}

// header writes the response header.
func (x *exchange) header(status int, contentType string) {
	h := x.w.Header()
	x.dialect.headers(h, status, x.requestID(), time.Since(x.begun))
	h.Set("Content-Type", contentType)
	if x.behavior.RetryAfter != "" {
		h.Set("Retry-After", x.behavior.RetryAfter)
	}
	for name, value := range x.behavior.Headers {
		h.Set(name, value)
	}
	x.status = status
	x.w.WriteHeader(status)
}

// body sends a body with its length, or less of it: a cut leaves the length as it
// was, so that the reader can tell, a clean end does not.
func (x *exchange) body(status int, contentType string, raw []byte) error {
	b := x.behavior
	cutting := b.CutAtByte > 0 && b.CutAtByte < len(raw)
	if !cutting || !b.CleanEnd {
		x.w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	}
	x.header(status, contentType)
	return x.write(raw)
}

// write sends bytes of the body and flushes them, up to where it is to be cut.
func (x *exchange) write(raw []byte) error {
	limit := x.behavior.CutAtByte
	cutting := limit > 0 && x.written+len(raw) > limit
	if cutting {
		raw = raw[:limit-x.written]
	}
	n, err := x.w.Write(raw)
	x.written += n
	if err == nil {
		err = http.NewResponseController(x.w).Flush()
	}
	if err != nil {
		x.gone = !x.closing()
		return err
	}
	if cutting {
		return x.cut(!x.behavior.CleanEnd)
	}
	return nil
}

// events returns a stream's events with its error in its place. An error is the last
// event, and comes without what closes a good stream.
func (x *exchange) events(a answer) []event {
	events := x.dialect.stream(x.call, a)
	b := x.behavior
	if b.CleanEnd && b.CutAfter == 0 && b.CutAtByte == 0 {
		return slices.DeleteFunc(events, func(e event) bool { return e.place == closing })
	}
	if b.ErrorType == "" {
		return events
	}
	failure := x.dialect.fault(http.StatusOK, b.ErrorType, x.call.model)
	if b.ErrorEventAfter == 0 {
		return []event{x.dialect.errorEvent(failure, 0)}
	}
	left, at := max(b.ErrorEventAfter, 0), len(events)
	for i, e := range events {
		if e.place == closing || (e.place == content && left == 0) {
			at = i
			break
		}
		if e.place == content {
			left--
		}
	}
	return append(events[:at:at], x.dialect.errorEvent(failure, at))
}

// play sends events, each flushed.
func (x *exchange) play(events []event) error {
	b := x.behavior
	x.w.Header().Set("Cache-Control", "no-cache")
	x.header(http.StatusOK, x.contentType(http.StatusOK))
	if err := http.NewResponseController(x.w).Flush(); err != nil {
		return err
	}
	for i := 0; ; i++ {
		switch {
		case i > 0 && b.HangAfter == i, b.HangAfter < 0:
			return x.hang()
		case i > 0 && b.CutAfter == i, b.CutAfter < 0:
			return x.cut(!b.CleanEnd)
		case i == len(events):
			return nil
		}
		if i > 0 {
			if err := x.wait(b.EventDelay); err != nil {
				return err
			}
		}
		if err := x.write(events[i].wire); err != nil {
			return err
		}
	}
}

func (x *exchange) closing() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// wait is a delay that ends when the client or the server goes away.
func (x *exchange) wait(d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-x.done:
		case <-x.r.Context().Done():
		}
		return x.abandon()
	}
	if x.r.Context().Err() != nil {
		return x.abandon()
	}
	return nil
}

// hang keeps the connection open and silent until the client or the server goes.
func (x *exchange) hang() error {
	select {
	case <-x.done:
	case <-x.r.Context().Done():
	}
	return x.abandon()
}

// abandon ends an exchange that one of the two sides has left. It must not look like
// the end of an answer.
func (x *exchange) abandon() error {
	x.gone = !x.closing()
	return x.cut(true)
}

// cut ends the exchange where it is: with a RST, or (hard false) so that it looks
// complete if a header was sent, and like a closed connection otherwise.
func (x *exchange) cut(hard bool) error {
	if !hard && x.status != 0 {
		return errStop
	}
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil { // HTTP/2 or a recorder: as hard as it gets there
		panic(http.ErrAbortHandler)
	}
	if hard {
		linger(conn)
	}
	_ = conn.Close() // closing is the point; how it fails says nothing
	return errStop
}

// linger makes Close send a RST.
func linger(conn net.Conn) {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = t.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the close is a FIN, which readers also see as cut
	}
}
