package gateway

import (
	"sync"
	"time"
)

// keepAliveEvery is how long a started stream may be silent before the caller is told
// that it goes on: proxies on the way, and tools, give up on silence.
const keepAliveEvery = 15 * time.Second

// keeper writes keep-alives to the caller of a started stream while the provider is
// silent. It shares the connection with the events.
type keeper struct {
	mu    sync.Mutex // of writes to the caller
	timer *time.Timer
	wrote time.Time // when the caller was last sent something
	over  bool
}

// keepAlive begins with the first event.
func (s *relay) keepAlive() {
	k := &s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.target.StreamIdle > keepAliveEvery {
		k.wrote = time.Now()
		k.timer = time.AfterFunc(time.Hour, s.beat)
		k.timer.Reset(keepAliveEvery) // now that beat finds it
	}
}

func (s *relay) beat() {
	k := &s.keeper
	if !k.mu.TryLock() {
		k.timer.Reset(keepAliveEvery) // an event is just being written
		return
	}
	defer k.mu.Unlock()
	if k.over {
		return
	}
	wait := keepAliveEvery - time.Since(k.wrote)
	if wait <= 0 {
		if !s.write(s.dialect.KeepAlive()) {
			return // the caller is gone, and the request's context tells
		}
		wait = keepAliveEvery
	}
	k.timer.Reset(wait)
}

// quiet ends the keep-alives, before the answer is handed back to net/http. The last
// event was written a moment ago at most, so that none has come after it.
func (s *relay) quiet() {
	k := &s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	if k.timer != nil {
		k.timer.Stop()
	}
}
