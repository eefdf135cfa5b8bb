package decide

import (
	"sync/atomic"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
)

// keptMinutes is an hour and the minute that has begun.
const keptMinutes = 61

// Activity counts what became of an organization's requests on this node, minute by
// minute of the last hour. Nothing in it has a lock; it outlives a configuration.
type Activity struct {
	minutes [keptMinutes]atomic.Pointer[minute]
}

// minute is replaced, never cleared, so that a count is in the minute it was made in.
type minute struct {
	number                               int64 // since 1970
	requests, failovers, rescued, failed atomic.Int64
}

// Result is what became of a request whose route was walked.
type Result uint8

// Results.
const (
	ResultLeft   Result = iota // nobody waited for the answer any more
	ResultServed               // the caller has an answer
	// ResultRefused is a provider's own refusal that the caller was given as it is.
	ResultRefused
	ResultFailed // no target served, or the answer broke off
)

// Count notes a request that is over, after failovers targets that were tried in vain.
func (a *Activity) Count(now time.Time, result Result, failovers int) {
	m := a.at(now.Unix() / 60)
	m.requests.Add(1)
	m.failovers.Add(int64(failovers))
	switch {
	case result == ResultFailed:
		m.failed.Add(1)
	case result == ResultServed && failovers > 0:
		m.rescued.Add(1)
	}
}

// at is the count of a minute. Of a minute that was kept before its time comes again, one
// request makes the new one and the others find it.
func (a *Activity) at(number int64) *minute {
	slot := &a.minutes[number%keptMinutes]
	for {
		m := slot.Load()
		if m != nil && m.number >= number { // later: a request that took over an hour is in a younger minute
			return m
		}
		if fresh := (&minute{number: number}); slot.CompareAndSwap(m, fresh) {
			return fresh
		}
	}
}

// LastHour returns the minutes of the last hour in which there was anything, oldest first.
func (a *Activity) LastHour(now time.Time) (out []node.ActivityMinute) {
	last := now.Unix() / 60
	for number := last - keptMinutes + 1; number <= last; number++ {
		m := a.minutes[number%keptMinutes].Load()
		if m == nil || m.number != number {
			continue
		}
		out = append(out, node.ActivityMinute{Minute: number, Requests: m.requests.Load(), Failovers: m.failovers.Load(),
			Rescued: m.rescued.Load(), Failed: m.failed.Load()})
	}
	return out
}
