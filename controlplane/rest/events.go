package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

const (
	// streamLife is how long a stream of events lasts. Whoever listens then connects again,
	// which is when it shows that it still may.
	streamLife = 5 * time.Minute
	// streamsEach is how many a caller may have, of each control plane.
	streamsEach = 16
	// eventGather is how long changes are gathered into one event.
	eventGather = 100 * time.Millisecond
	// keepAlive is shorter than what proxies take for silence.
	keepAlive = 15 * time.Second
	// eventWrite is how long a listener may leave what is written unread.
	eventWrite = 10 * time.Second
)

// everything is what a listener knows nothing of when it begins.
var everything = []string{"config", "health", "nodes"}

// streams counts the streams of events that callers have open.
type streams struct {
	mu   sync.Mutex
	open map[uuid.UUID]int
}

func (s *streams) enter(who uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who] >= streamsEach {
		return tenant.TooManyStreams(streamsEach)
	}
	s.open[who]++
	return nil
}

func (s *streams) leave(who uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who]--; s.open[who] == 0 {
		delete(s.open, who)
	}
}

func (s *server) WatchChanges(ctx context.Context, _ admin.WatchChangesRequestObject) (admin.WatchChangesResponseObject, error) {
	return s.watch(ctx)
}

func (s *server) WatchOwnChanges(ctx context.Context, _ admin.WatchOwnChangesRequestObject) (admin.WatchOwnChangesResponseObject, error) {
	return s.watch(ctx)
}

func (s *server) watch(ctx context.Context) (*eventStream, error) {
	p := principal(ctx)
	who := p.UserID
	if who == uuid.Nil {
		who = p.ServiceAccountID
	}
	if err := s.streams.enter(who); err != nil {
		return nil, err
	}
	e := &eventStream{ctx: ctx}
	changed, take, stop := s.fleet.Watch(p.OrganizationID)
	e.changed, e.take = changed, take
	e.end = func() { s.streams.leave(who); stop() }
	return e, nil
}

// eventStream is an answer that goes on.
type eventStream struct {
	ctx     context.Context
	changed <-chan struct{}
	take    func() []string
	end     func()
}

// VisitWatchChangesResponse writes the stream.
func (e *eventStream) VisitWatchChangesResponse(w http.ResponseWriter) error { return e.write(w) }

// VisitWatchOwnChangesResponse writes the stream.
func (e *eventStream) VisitWatchOwnChangesResponse(w http.ResponseWriter) error { return e.write(w) }

func (e *eventStream) write(w http.ResponseWriter) error {
	defer e.end()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	// The end has to be written too, long after the last deadline.
	defer func() { _ = out.SetWriteDeadline(time.Now().Add(eventWrite)) }()
	// A listener that is gone shows in a write that fails, which is nobody's error.
	if send(w, out, "retry: 2000\n\n"+event(everything)) != nil {
		return nil
	}
	over, alive := time.NewTimer(streamLife), time.NewTicker(keepAlive)
	defer over.Stop()
	defer alive.Stop()
	for {
		text := ": still here\n\n"
		select {
		case <-e.ctx.Done():
			return nil
		case <-over.C:
			return nil
		case <-alive.C:
		case _, more := <-e.changed:
			if !more || !e.gather() {
				return nil
			}
			text = event(e.take())
		}
		if send(w, out, text) != nil {
			return nil
		}
	}
}

// gather waits for what changes with what has changed.
func (e *eventStream) gather() (goesOn bool) {
	select {
	case <-e.ctx.Done():
		return false
	case <-time.After(eventGather):
		return true
	}
}

func event(topics []string) string {
	data, err := json.Marshal(map[string][]string{"topics": topics})
	if err != nil { // of plain words it cannot be
		panic(err)
	}
	return fmt.Sprintf("event: change\ndata: %s\n\n", data)
}

func send(w http.ResponseWriter, out *http.ResponseController, text string) error {
	_ = out.SetWriteDeadline(time.Now().Add(eventWrite)) // not supported by test recorders only
	if _, err := w.Write([]byte(text)); err != nil {
		return err
	}
	return out.Flush()
}
