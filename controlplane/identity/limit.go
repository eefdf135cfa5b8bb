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

// wait is how long the name has to wait for its next attempt; 0: it need not.
func (l *limiter) wait(name string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.fullAt[name]; at.After(now) {
		return max(0, at.Sub(now)-time.Duration(l.burst-1)*l.interval)
	}
	return 0
}

// take takes a failure of the name before it is known to be one, so that attempts at the
// same time cannot be more than their number; giveBack returns it.
func (l *limiter) take(name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.fullAt) >= maxNames {
		l.forget(now)
	}
	from := l.fullAt[name]
	if from.Before(now) {
		from = now
	}
	l.fullAt[name] = from.Add(l.interval)
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
