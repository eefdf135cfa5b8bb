package gateway

import (
	"net/http"
	"sync"
	"time"
)

// keepAliveEvery is how long a stream may be silent before the caller is told that it goes
// on: proxies on the way, and tools, give up on silence.
const keepAliveEvery = 15 * time.Second

// keeper writes keep-alives to the caller of a stream while there is nothing else to write:
// the provider is silent, or all that it says is held back. It shares the connection with
// the events, and lasts as long as the request: once the caller has a header it is kept
// waiting for whichever target answers.
type keeper struct {
	mu    sync.Mutex // of writes to the caller
	timer *time.Timer
	wrote time.Time // when the caller was last sent something, or events began to be held back
	holds *relay    // whose events are held back, and whose header the first keep-alive needs
	open  bool      // the caller has been sent the header of a stream
	over  bool
}

// arm lets the first keep-alive come after a while; the lock is held.
func (x *exchange) arm(after time.Duration) {
	k := &x.keeper
	k.wrote = time.Now()
	if k.timer == nil {
		k.timer = time.AfterFunc(time.Hour, x.beat)
	}
	k.timer.Reset(after) // now that beat finds it
}

// hold begins with the first event that is held back. A model may think for minutes before
// its first word: the caller then gets a header and keep-alives, while another target may
// still answer. Where silence ends the try sooner than that, only a provider that goes on
// saying something gets so far.
func (s *relay) hold() {
	k := &s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.held = true; k.open {
		return
	}
	k.holds = s
	after := keepAliveEvery
	if s.target.StreamIdle <= keepAliveEvery {
		after += s.target.StreamIdle
	}
	s.arm(after)
}

// keepAlive begins with the first content.
func (s *relay) keepAlive() {
	k := &s.keeper
	switch {
	case s.target.StreamIdle > keepAliveEvery:
		s.arm(keepAliveEvery)
	case k.timer != nil:
		k.timer.Stop()
	}
}

// letGo ends what hold began, with an attempt of which the caller has seen nothing. One that
// has a header goes on hearing that it is served.
func (s *relay) letGo() {
	k := &s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holds = nil; k.timer != nil && !k.open {
		k.timer.Stop()
	}
}

func (x *exchange) beat() {
	k := &x.keeper
	if !k.mu.TryLock() {
		k.timer.Reset(keepAliveEvery) // an event is just being written
		return
	}
	defer k.mu.Unlock()
	if k.over || !k.open && k.holds == nil {
		return
	}
	wait := time.Until(k.wrote.Add(keepAliveEvery))
	if wait <= 0 {
		if !k.open {
			k.holds.begin()
		}
		if !x.write(x.dialect.KeepAlive()) {
			return // the caller is gone, and the request's context tells
		}
		wait = keepAliveEvery
	}
	k.timer.Reset(wait)
}

// quiet ends the keep-alives, before the answer is handed back to net/http. The last
// event was written a moment ago at most, so that none has come after it.
func (x *exchange) quiet() {
	k := &x.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	if k.timer != nil {
		k.timer.Stop()
	}
}

// tell writes events.
func (x *exchange) tell(b []byte) bool {
	x.keeper.mu.Lock()
	defer x.keeper.mu.Unlock()
	return x.write(b)
}

// write sends and flushes, under the keeper's lock.
func (x *exchange) write(b []byte) bool {
	if !x.send(b) || http.NewResponseController(x.w).Flush() != nil {
		return false
	}
	x.keeper.wrote = time.Now()
	return true
}
