package link

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// run runs a link over a server of its own and returns how to ask it about an
// organization.
func run(t *testing.T, o server.Options, prepare func(*Link)) (l *Link, ask func(org uuid.UUID) node.HealthReport) {
	t.Helper()
	o.DontListen, o.NoSigs, o.NoLog, o.StoreDir = true, true, true, t.TempDir()
	ns, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = New(Config{Node: "node-1", InProcess: ns, SigningKey: public}); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if o.JetStream {
		streams(t, nc)
	}
	if prepare != nil {
		prepare(l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l, func(org uuid.UUID) node.HealthReport { return asked(t, nc, org) }
}

// streams makes what the control plane makes.
func streams(t *testing.T, nc *nats.Conn) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for name, subjects := range map[string]string{node.ConfigStream: node.ConfigSubjects, node.HealthStream: node.HealthSubjects} {
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subjects}, Storage: jetstream.MemoryStorage}); err != nil {
			t.Fatal(err)
		}
	}
}

func asked(t *testing.T, nc *nats.Conn, org uuid.UUID) (r node.HealthReport) {
	t.Helper()
	body, err := json.Marshal(node.HealthAsk{OrganizationID: org})
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(10 * time.Second); ; { // until the link listens
		m, err := nc.Request(node.AskHealthSubject, body, time.Second)
		if err == nil {
			err = json.Unmarshal(m.Data, &r)
		}
		if err == nil {
			return r
		}
		if time.Now().After(limit) {
			t.Fatal(err)
		}
	}
}

// A node that has not read the bus yet says that it may not know all.
func TestAnswerOfANodeThatJoinsIsPartial(t *testing.T) {
	t.Parallel()
	_, joining := run(t, server.Options{}, nil) // without JetStream there is nothing that it could read
	if r := joining(uuid.New()); !r.Partial || r.Node != "node-1" || r.Records == nil {
		t.Errorf("got %+v", r)
	}
	l, joined := run(t, server.Options{JetStream: true}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := l.WaitReplayed(ctx); err != nil {
		t.Fatal(err)
	}
	if r := joined(uuid.New()); r.Partial {
		t.Errorf("got %+v", r)
	}
}

// An answer that is too long for the bus goes without its history rather than not at
// all.
func TestLongAnswersGoWithoutHistory(t *testing.T) {
	t.Parallel()
	org := uuid.New()
	prepare := func(l *Link) {
		s := &node.Snapshot{OrganizationID: org, Version: 1, Providers: []node.Provider{
			{ID: uuid.UUID{1}, Name: "P", Family: "openai", BaseURL: "https://llm.example/v1", AuthType: "bearer_api_key", Enabled: true, Serving: true, Credential: &node.Sealed{}},
		}}
		now := l.Now()
		for i := range 20 {
			model := fmt.Sprintf("m-%d", i)
			s.Mappings = append(s.Mappings, node.Mapping{ID: uuid.UUID{2, byte(i)}, ProviderID: uuid.UUID{1}, Alias: model, UpstreamModel: model, Enabled: true})
			cell := l.board.Cell(decide.HealthKey{OrganizationID: org, ProviderID: uuid.UUID{1}, UpstreamModel: model})
			for range 5 {
				for _, kind := range []node.HealthKind{node.HealthRateLimited, node.HealthReset} {
					cell.Fold(decide.Happened{ID: uuid.New(), Kind: kind, Count: 1, At: now, Began: now})
				}
			}
		}
		compiled, err := decide.Compile(s, l.board)
		if err != nil {
			t.Fatal(err)
		}
		l.table.Store(l.table.Load().With(compiled))
	}
	_, whole := run(t, server.Options{}, prepare)
	_, cut := run(t, server.Options{MaxPayload: 16 << 10, MaxPending: 64 << 20}, prepare)
	for name, c := range map[string]struct {
		report  node.HealthReport
		history int
	}{"Whole": {whole(org), 10}, "Cut": {cut(org), 0}} {
		if len(c.report.Records) != 20 {
			t.Fatalf("%s: %d records", name, len(c.report.Records))
		}
		r := c.report.Records[0]
		if len(r.Transitions) != c.history || len(r.Policies) != 1 || len(r.Policies[0].Transitions) != c.history || r.State != node.StateHealthy {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}
