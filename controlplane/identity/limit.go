package identity

import (
	"sync"
	"time"
)

// limiter counts failures by name. Each name has a number of them at once, and gets one
// back in every interval; without any left it has to wait. It is a process's own: an
// installation of several control planes allows as many times more.
type limiter struct {
	burst    int
	interval time.Duration

	mu sync.Mutex
	// fullAt is when a name has all its failures back; one that is not here has them.
	fullAt map[string]time.Time
}

// maxNames bounds the memory. When it is full of names that wait, all are let go: to
// refuse everybody would be the worse end of an attack.
const maxNames = 100_000

func newLimiter(burst int, interval time.Duration) *limiter {
	return &limiter{burst: burst, interval: interval, fullAt: map[string]time.Time{}}
}

// take takes a failure of the name before it is known to be one, and giveBack returns it.
// Where none is left it takes nothing, and says how long the name has to wait for its next.
// Both are one step: attempts at the same time could otherwise be more than their number.
func (l *limiter) take(name string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.fullAt) >= maxNames {
		l.forget(now)
	}
	from := l.fullAt[name]
	if from.Before(now) {
		from = now
	}
	if wait = from.Sub(now) - time.Duration(l.burst-1)*l.interval; wait > 0 {
		return wait
	}
	l.fullAt[name] = from.Add(l.interval)
	return 0
}

func (l *limiter) giveBack(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.fullAt[name]; ok {
		l.fullAt[name] = at.Add(-l.interval)
	}
}

// forget drops the names that have all back, or all of them. It needs l.mu.
func (l *limiter) forget(now time.Time) {
	for name, at := range l.fullAt {
		if !at.After(now) {
			delete(l.fullAt, name)
		}
	}
	if len(l.fullAt) >= maxNames {
		clear(l.fullAt)
	}
}
