package link

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
)

// clock is the bus server's time, carried forward by this machine's monotonic
// clock between readings.
type clock struct{ base atomic.Pointer[reading] }

type reading struct {
	local  time.Time // with its monotonic part
	server time.Time
}

func (c *clock) now() time.Time {
	r := c.base.Load()
	return r.server.Add(time.Since(r.local))
}

// set takes a reading, and returns by how much that sets the clock forward.
func (c *clock) set(server time.Time) (by time.Duration) {
	next := &reading{local: time.Now(), server: server.Round(0)}
	if last := c.base.Swap(next); last != nil {
		by = next.server.Sub(last.server.Add(next.local.Sub(last.local)))
	}
	return by
}

// follow asks the server for its time, at once and then every half minute, and says
// each time by how much the clock was set forward.
func (c *clock) follow(ctx context.Context, js jetstream.JetStream, moved func(by time.Duration)) {
	wait := 100 * time.Millisecond // until the first reading
	for ctx.Err() == nil {
		if at, ok := serverTime(ctx, js); ok {
			moved(c.set(at))
			wait = 30 * time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// serverTime is the server's time now, to within half a round trip.
func serverTime(ctx context.Context, js jetstream.JetStream) (time.Time, bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	asked := time.Now()
	stream, err := js.Stream(ctx, node.HealthStream)
	if err != nil {
		return time.Time{}, false
	}
	took := time.Since(asked)
	at := stream.CachedInfo().TimeStamp
	return at.Add(took / 2), !at.IsZero()
}
