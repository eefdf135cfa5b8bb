package link

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// slotStream makes the stream of probe slots, again and again, on a bus of its own.
func slotStream(t *testing.T) (*connection, func(ctx context.Context) jetstream.Stream) {
	t.Helper()
	ns := bus(t)
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	make := func(ctx context.Context) jetstream.Stream {
		s, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: node.ProbeStream, Subjects: []string{node.ProbeSubjects},
			Storage: jetstream.MemoryStorage, MaxMsgsPerSubject: 1, AllowMsgTTL: true, AllowDirect: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return &connection{nc, js}, make
}

// probing returns the slots of a node on that bus.
func probing(conn *connection) *probes {
	l := &Link{cfg: Config{Node: "n", Log: slog.New(slog.DiscardHandler)}}
	l.conn.Store(conn)
	return newProbes(l)
}

func stands(ctx context.Context, t *testing.T, s jetstream.Stream) uint64 {
	t.Helper()
	info, err := s.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

// A lease of a stream that was lost gives back no slot of the one in its place, although
// that counts its messages from 1 again.
func TestNobodyGivesBackAnothersSlot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	conn, create := slotStream(t)
	one, other := probing(conn), probing(conn)
	key := decide.HealthKey{OrganizationID: uuid.New(), ProviderID: uuid.New(), UpstreamModel: "m"}
	take := func(p *probes) *lease {
		t.Helper()
		l, free := p.take(ctx, key, time.Minute)
		if l == nil || !free {
			t.Fatal("no slot")
		}
		return l
	}
	create(ctx)
	lost := []*lease{take(one), take(one), take(one)}
	if _, free := other.take(ctx, key, time.Minute); free {
		t.Fatal("a fourth slot")
	}
	if err := conn.js.DeleteStream(ctx, node.ProbeStream); err != nil {
		t.Fatal(err)
	}
	stream := create(ctx)
	held := []*lease{take(other), take(other), take(other)}
	for _, l := range lost {
		one.remove(conn.js, l)
	}
	if n := stands(ctx, t, stream); n != 3 {
		t.Errorf("%d of the other node's slots are left, want 3", n)
	}
	for _, l := range held {
		other.remove(conn.js, l)
		other.remove(conn.js, l) // it is gone
	}
	if n := stands(ctx, t, stream); n != 0 {
		t.Errorf("%d slots were not given back", n)
	}
}

// A slot whose taking was not confirmed in time may be held all the same: the node goes
// by its own slots, and gives that one back.
func TestAnUnconfirmedSlotIsGivenBack(t *testing.T) {
	t.Parallel()
	conn, create := slotStream(t)
	stream := create(t.Context())
	p := probing(conn)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	key := decide.HealthKey{OrganizationID: uuid.New(), ProviderID: uuid.New(), UpstreamModel: "m"}
	if l, free := p.take(gone, key, time.Minute); l != nil || !free {
		t.Fatalf("got %v, %v: the node goes by its own", l, free)
	}
	select {
	case l := <-p.over:
		if err := l.publish(t.Context(), conn.js); err != nil { // as if it had arrived, and its answer not
			t.Fatal(err)
		}
		l.sequence = 0
		p.remove(conn.js, l)
	default:
		t.Fatal("it was not to be given back")
	}
	if n := stands(t.Context(), t, stream); n != 0 {
		t.Error("a slot that nobody knows of is held")
	}
}

// The clock says by how much a reading sets it forward, so that what was seen before can
// move along.
func TestTheClockSaysHowFarItMoves(t *testing.T) {
	t.Parallel()
	var c clock
	begin := time.Now()
	c.set(begin)
	by := c.set(begin.Add(-10 * time.Minute))
	if by > -10*time.Minute || by < -10*time.Minute-time.Since(begin) {
		t.Errorf("set forward by %v", by)
	}
	if c.now().After(begin.Add(-9 * time.Minute)) {
		t.Error("not set")
	}
}
