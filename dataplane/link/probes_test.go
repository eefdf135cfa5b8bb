package link

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// bus is a NATS server with the stream of probe slots.
func bus(t *testing.T) *server.Server {
	t.Helper()
	ns, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS did not start")
	}
	return ns
}

// connected is a link that has connected to the bus and follows nothing of it yet.
func connected(t *testing.T, ns *server.Server, name string) *Link {
	t.Helper()
	key, _, _ := ed25519.GenerateKey(nil)
	l, err := New(Config{InProcess: ns, Node: name, SigningKey: key, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := l.connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: node.ProbeStream, Subjects: []string{node.ProbeSubjects},
		Storage: jetstream.MemoryStorage, MaxMsgsPerSubject: 1, AllowMsgTTL: true})
	if err != nil {
		t.Fatal(err)
	}
	l.conn.Store(&connection{nc, js})
	return l
}

var record = decide.HealthKey{OrganizationID: uuid.UUID{1}, ProviderID: uuid.UUID{2}, UpstreamModel: "m"}

// takeAll takes slots from the links in turn until there is none, at most one too many.
func takeAll(t *testing.T, key decide.HealthKey, ttl time.Duration, links ...*Link) (held []*lease) {
	t.Helper()
	for i := range decide.MaxProbes + 1 {
		l, free := links[i%len(links)].probes.take(t.Context(), key, ttl)
		if !free {
			return held
		}
		if l == nil {
			t.Fatal("the bus was not asked")
		}
		held = append(held, l)
	}
	return held
}

func TestSlotsAreTheFleets(t *testing.T) {
	t.Parallel()
	ns := bus(t)
	a, b := connected(t, ns, "a"), connected(t, ns, "b")
	if n := len(takeAll(t, record, time.Minute, a, b)); n != decide.MaxProbes {
		t.Fatalf("%d slots were taken, want %d", n, decide.MaxProbes)
	}
	for name, change := range map[string]func(*decide.HealthKey){
		"Organization": func(k *decide.HealthKey) { k.OrganizationID[15]++ },
		"Provider":     func(k *decide.HealthKey) { k.ProviderID[15]++ },
		"Model":        func(k *decide.HealthKey) { k.UpstreamModel += "2" },
		"Credential":   func(k *decide.HealthKey) { k.Credential = "hash" },
	} {
		key := record
		change(&key)
		if n := len(takeAll(t, key, time.Minute, b, a)); n != decide.MaxProbes {
			t.Errorf("%s: %d slots, want a record's own %d", name, n, decide.MaxProbes)
		}
	}
}

func TestSlotsComeBack(t *testing.T) {
	t.Parallel()
	ns := bus(t)
	a, b := connected(t, ns, "a"), connected(t, ns, "b")
	held := takeAll(t, record, time.Minute, a)
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { a.probes.run(ctx, a.conn.Load().js); close(stopped) }()
	a.probes.giveBack(held[0])
	again := free(t, b, time.Minute)
	if _, free := b.probes.take(t.Context(), record, time.Minute); free {
		t.Error("one slot came back and two were taken")
	}
	// A slot that somebody else holds by now is not given back by who had it before.
	a.probes.giveBack(held[0])
	a.probes.giveBack(held[1]) // after the first: they are given back in order
	free(t, b, time.Minute)
	if _, free := a.probes.take(t.Context(), record, time.Minute); free {
		t.Errorf("a slot on %s was given back in another's name", again.subject)
	}
	// A node that stops gives back what its last requests left.
	stop()
	<-stopped
	a.probes.giveBack(held[2])
	ended, end := context.WithCancel(t.Context())
	end()
	a.probes.done = make(chan struct{})
	a.probes.run(ended, a.conn.Load().js)
	if _, free := b.probes.take(t.Context(), record, time.Minute); !free {
		t.Error("a node that stopped keeps its slot")
	}
}

// free asks until there is a slot.
func free(t *testing.T, l *Link, ttl time.Duration) *lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if got, free := l.probes.take(ctx, record, ttl); free && got != nil {
			return got
		}
	}
	t.Fatal("no slot came back")
	return nil
}

// The slots of a node that died come back by their time to live; those of one that
// goes on with its probes do not.
func TestSlotsLive(t *testing.T) {
	t.Parallel()
	ns := bus(t)
	dead, alive, b := connected(t, ns, "dead"), connected(t, ns, "alive"), connected(t, ns, "b")
	js := alive.conn.Load().js
	stream, err := js.Stream(t.Context(), node.ProbeStream)
	if err != nil {
		t.Fatal(err)
	}
	if _, free := dead.probes.take(t.Context(), record, time.Second); !free {
		t.Fatal("no slot")
	}
	if n := len(takeAll(t, record, time.Minute, alive)); n != decide.MaxProbes-1 {
		t.Fatal(n)
	}
	now := time.Now()
	for l := range alive.probes.held {
		before := l.sequence
		alive.probes.renew(t.Context(), js)
		if l.sequence != before {
			t.Fatal("renewed too soon")
		}
		l.renewed = now.Add(-l.ttl / 2)
		alive.probes.renew(t.Context(), js)
		if m, err := stream.GetLastMsgForSubject(t.Context(), l.subject); err != nil || m.Sequence == before || m.Header.Get("Nats-TTL") != "1m0s" || l.renewed.Before(now) {
			t.Fatalf("not renewed: %+v, %v", m, err)
		}
	}
	free(t, b, time.Hour)
	if _, free := b.probes.take(t.Context(), record, time.Hour); free {
		t.Error("a slot that was held for longer came back")
	}
	// One that was lost is not renewed: it is somebody else's.
	for l := range alive.probes.held {
		l.sequence, l.renewed = l.sequence-1, now.Add(-time.Hour)
		alive.probes.renew(t.Context(), js)
		if _, still := alive.probes.held[l]; still {
			t.Error("goes on with a slot it has lost")
		}
	}
}

// A bus that is away, or has no stream of slots, keeps no probe from going.
func TestSlotsWithTheBusAway(t *testing.T) {
	t.Parallel()
	ns := bus(t)
	l := connected(t, ns, "a")
	if err := l.conn.Load().js.DeleteStream(t.Context(), node.ProbeStream); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		away func()
	}{{"NoStream", func() {}}, {"Closed", func() { l.conn.Load().nc.Close() }}, {"NeverConnected", func() { l.conn.Store(nil) }}} {
		c.away()
		if got, free := l.probes.take(t.Context(), record, time.Minute); !free || got != nil {
			t.Errorf("%s: got %v, %v", c.name, got, free)
		}
	}
	if !l.Alone() {
		t.Error("says that it has a bus")
	}
}
