// Package bus is the control plane's side of NATS: it publishes the snapshot of
// every organization that changed, and hears what the nodes made of it. Any number
// of publishers may run; none is elected. Postgres is the truth: what the bus
// loses is published again.
package bus

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
)

// InProcess is a NATS server in the same process; nats-server's Server is one.
type InProcess interface {
	InProcessConn() (net.Conn, error)
}

// Config says what a Bus needs.
type Config struct {
	// URL of the NATS server or servers, comma-separated; or InProcess, which wins.
	URL       string
	InProcess InProcess
	// SigningKey signs snapshots.
	SigningKey ed25519.PrivateKey
	Store      *store.DB
	Log        *slog.Logger
}

// Bus publishes configuration and hears acknowledgements.
type Bus struct {
	cfg  Config
	poke chan struct{} // something may have changed
	redo chan struct{} // the bus may have lost something
	// probes: a connection may have become due for a check
	probes chan struct{}
	conn   atomic.Pointer[nats.Conn]

	watchers watchers

	mu   sync.Mutex
	acks map[ackKey]node.Ack
	more chan struct{} // closed and renewed at each acknowledgement
}

type ackKey struct {
	organization uuid.UUID
	node         string
}

const (
	pollEvery      = 250 * time.Millisecond // in case a notification is lost
	publishEvery   = 200 * time.Millisecond // at most, so that a burst is one snapshot
	reconcileEvery = 30 * time.Second       // in case the bus lost a snapshot
)

// New checks the configuration. It does not connect yet.
func New(cfg Config) (*Bus, error) {
	if cfg.URL == "" && cfg.InProcess == nil {
		return nil, errors.New("bus: no NATS server given")
	}
	if len(cfg.SigningKey) != ed25519.PrivateKeySize {
		return nil, errors.New("bus: a signing key is needed to sign snapshots")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Bus{cfg: cfg, poke: make(chan struct{}, 1), redo: make(chan struct{}, 1), probes: make(chan struct{}, 1), watchers: watchers{of: map[uuid.UUID][]*watch{}}, acks: map[ackKey]node.Ack{}, more: make(chan struct{})}, nil
}

// Run publishes until ctx ends. Lost connections are waited out.
func (b *Bus) Run(ctx context.Context) error {
	nc, err := b.connect()
	if err != nil {
		return fmt.Errorf("connecting to NATS: %w", err)
	}
	defer nc.Close()
	b.conn.Store(nc)
	defer b.conn.Store(nil)
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("JetStream: %w", err)
	}
	acks, err := nc.Subscribe(node.AckSubjects, b.heard)
	if err != nil {
		return fmt.Errorf("subscribing to acknowledgements: %w", err)
	}
	defer func() { _ = acks.Unsubscribe() }()
	if err := errors.Join(b.watchHealth(ctx, nc), b.hearKeyUses(ctx, nc)); err != nil {
		return fmt.Errorf("subscribing to the nodes: %w", err)
	}
	defer b.watchers.close()
	if err := nc.Publish(node.AskSubject, nil); err != nil {
		return fmt.Errorf("asking for acknowledgements: %w", err)
	}

	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { b.listen(ctx) })
	wg.Go(func() { b.probeAll(ctx) })
	b.publishAll(ctx, js)
	return nil
}

func (b *Bus) connect() (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("spillway control plane"),
		nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			_ = nc.Publish(node.AskSubject, nil) // what was said meanwhile was missed
			b.watchers.changed(uuid.Nil, TopicHealth, TopicNodes)
			signal(b.redo)
		}),
		nats.ConnectHandler(func(*nats.Conn) { signal(b.redo) }),
	}
	if b.cfg.InProcess != nil {
		options = append(options, nats.InProcessServer(b.cfg.InProcess))
	}
	return nats.Connect(b.cfg.URL, options...)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// listen pokes the publisher when Postgres says that something changed.
func (b *Bus) listen(ctx context.Context) {
	for ctx.Err() == nil {
		organization, err := b.cfg.Store.WaitForChange(ctx)
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second): // the poll goes on without it
			}
			continue
		}
		signal(b.poke)
		signal(b.probes)
		b.watchers.changed(organization, TopicConfig)
	}
}

// heard takes acknowledgements.
func (b *Bus) heard(m *nats.Msg) {
	var acks []node.Ack
	if err := json.Unmarshal(m.Data, &acks); err != nil {
		b.cfg.Log.Warn("unreadable acknowledgement", "subject", m.Subject, "error", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ack := range acks {
		if m.Subject != node.AckSubject(ack.Node) {
			b.cfg.Log.Warn("acknowledgement in another node's name", "subject", m.Subject)
			continue
		}
		if ack.Code != "" {
			b.cfg.Log.Error("a node refused a configuration", "node", ack.Node, "organization_id", ack.OrganizationID, "version", ack.Version, "code", ack.Code, "error", ack.Message)
		}
		b.acks[ackKey{ack.OrganizationID, ack.Node}] = ack
		b.watchers.changed(ack.OrganizationID, TopicNodes)
	}
	close(b.more)
	b.more = make(chan struct{})
}

// WaitLive waits until each of the named nodes serves the organization at the
// version or a later one. It fails when a node refuses it, or ctx ends.
func (b *Bus) WaitLive(ctx context.Context, organization uuid.UUID, version int64, nodes []string) error {
	for {
		b.mu.Lock()
		more, missing := b.more, ""
		for _, name := range nodes {
			ack := b.acks[ackKey{organization, name}]
			if ack.Code != "" && ack.Version == version {
				b.mu.Unlock()
				return fmt.Errorf("node %s refused version %d: %s: %s", name, version, ack.Code, ack.Message)
			}
			if ack.Code != "" || ack.Version < version {
				missing = name
			}
		}
		b.mu.Unlock()
		if missing == "" {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("node %s does not serve version %d yet: %w", missing, version, ctx.Err())
		}
	}
}
