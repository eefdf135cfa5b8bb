package bus_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/bus"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// start runs a bus over a server of its own, with a connection for a test's nodes.
func start(t *testing.T) (*bus.Bus, *nats.Conn) {
	t.Helper()
	return startOver(t, storetest.New(t))
}

// startOver is start over a database that the test knows.
func startOver(t *testing.T, db *storetest.Database) (*bus.Bus, *nats.Conn) {
	t.Helper()
	ns, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.New(bus.Config{InProcess: ns, SigningKey: key, Store: db.Store})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	asked := make(chan struct{}, 16)
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if _, err := nc.Subscribe(node.AskSubject, func(*nats.Msg) { asked <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	flush(t, nc)
	go func() { done <- b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	<-asked // it listens to acknowledgements
	return b, nc
}

func flush(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

// serve has a node acknowledge the organization and answer with reports, one after
// another; none is silence.
func serve(t *testing.T, b *bus.Bus, nc *nats.Conn, org uuid.UUID, name string, reports ...node.HealthReport) {
	t.Helper()
	_, err := nc.Subscribe(node.AskHealthSubject, func(m *nats.Msg) {
		for _, r := range reports {
			r.Node = name
			body, err := json.Marshal(r)
			if err == nil {
				err = m.Respond(body)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ack, err := json.Marshal([]node.Ack{{Node: name, OrganizationID: org, Version: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish(node.AckSubject(name), ack); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := b.WaitLive(ctx, org, 1, []string{name}); err != nil {
		t.Fatal(err)
	}
	flush(t, nc)
}

// A glance takes the first complete answer; one of a node that still reads the bus is
// taken only when there is no other.
func TestGlance(t *testing.T) {
	t.Parallel()
	whole := node.HealthReport{Records: []node.RecordHealth{{UpstreamModel: "m"}}}
	partial := node.HealthReport{Partial: true}
	for name, c := range map[string]struct {
		nodes map[string][]node.HealthReport
		want  string // whose report
	}{
		"OneAnswersOneIsSilent": {map[string][]node.HealthReport{"answers": {whole}, "silent": nil}, "answers"},
		"PartialThenWhole":      {map[string][]node.HealthReport{"answers": {partial, whole}}, "answers"},
		"OnlyPartial":           {map[string][]node.HealthReport{"joins": {partial}}, "joins"},
		"Silent":                {map[string][]node.HealthReport{"silent": nil}, ""},
		"NoNodes":               {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, nc := start(t)
			org := uuid.New()
			for name, reports := range c.nodes {
				serve(t, b, nc, org, name, reports...)
			}
			report, err := b.Glance(t.Context(), org, uuid.Nil)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case report == nil && c.want != "":
				t.Fatalf("got nothing, want the report of %s", c.want)
			case report != nil && (report.Node != c.want || (len(report.Records) == 1) == report.Partial):
				t.Errorf("got %+v, want the report of %q", report, c.want)
			case report != nil && report.Partial && name != "OnlyPartial":
				t.Errorf("got a partial report where there is a whole one")
			}
		})
	}
}

// Nodes that are gone keep nobody waiting, and silent ones not long: the figures are
// what the admin API promises, with room for a busy machine.
func TestGlanceIsShort(t *testing.T) {
	t.Parallel()
	b, nc := start(t)
	silent, gone := uuid.New(), uuid.New()
	ack, err := json.Marshal([]node.Ack{{Node: "gone", OrganizationID: gone, Version: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish(node.AckSubject("gone"), ack); err != nil {
		t.Fatal(err)
	}
	if err := b.WaitLive(t.Context(), gone, 1, []string{"gone"}); err != nil {
		t.Fatal(err)
	}
	// A busy machine can delay any one, so that the quickest of many counts.
	within := func(org uuid.UUID, limit time.Duration) {
		t.Helper()
		best := time.Hour
		for giveUp := time.Now().Add(10 * time.Second); best > limit && time.Now().Before(giveUp); {
			began := time.Now()
			if report, err := b.Glance(t.Context(), org, uuid.Nil); err != nil || report != nil {
				t.Fatalf("got %+v, %v", report, err)
			}
			best = min(best, time.Since(began))
		}
		if best > limit {
			t.Errorf("it never took less than %v", best)
		}
	}
	within(gone, 100*time.Millisecond)
	serve(t, b, nc, silent, "silent")
	within(silent, 300*time.Millisecond)
}

// The listing of all nodes waits for each of them, and names those that are silent.
func TestHealthNamesWhoAnswered(t *testing.T) {
	t.Parallel()
	b, nc := start(t)
	org := uuid.New()
	serve(t, b, nc, org, "one", node.HealthReport{})
	serve(t, b, nc, org, "two", node.HealthReport{})
	serve(t, b, nc, org, "three")
	reports, silent, err := b.Health(t.Context(), org, uuid.Nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"three"}, silent); diff != "" || len(reports) != 2 {
		t.Errorf("silent (-want +got):\n%s%d reports", diff, len(reports))
	}
}

func TestHealthWithoutABus(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.New(bus.Config{URL: "nats://127.0.0.1:1", SigningKey: key})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := b.Glance(t.Context(), uuid.New(), uuid.Nil); err == nil || report != nil {
		t.Errorf("got %+v, %v", report, err)
	}
}

// A node's last word on a configuration is known, refusals too, and of each organization
// apart.
func TestAcks(t *testing.T) {
	t.Parallel()
	b, nc := start(t)
	org, other := uuid.New(), uuid.New()
	say := func(name string, acks ...node.Ack) {
		t.Helper()
		body, err := json.Marshal(acks)
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.Publish(node.AckSubject(name), body); err != nil {
			t.Fatal(err)
		}
	}
	took := func(name string, version int64) node.Ack {
		return node.Ack{Node: name, OrganizationID: org, Epoch: 1, Version: version}
	}
	refused := took("node-2", 4)
	refused.Code = "does_not_compile"
	say("node-2", took("node-2", 3))
	say("node-2", refused)
	say("node-1", took("node-1", 3), node.Ack{Node: "node-1", OrganizationID: other, Version: 9})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.WaitLive(ctx, other, 9, []string{"node-1"}); err != nil { // the last word was heard
		t.Fatal(err)
	}
	if diff := cmp.Diff([]node.Ack{took("node-1", 3), refused}, b.Acks(org)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := b.Acks(uuid.New()); len(got) != 0 {
		t.Errorf("of an unknown organization: %v", got)
	}
}
