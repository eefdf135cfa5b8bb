// Package link is a node's side of the bus: it takes in snapshots and health
// events, sends out acknowledgements and what the node sees of its targets, and
// keeps the last good configuration on disk. It owns the running configuration;
// the bus may lose everything at any time and the node serves on.
package link

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// InProcess is a NATS server in the same process; nats-server's Server is one.
type InProcess interface {
	InProcessConn() (net.Conn, error)
}

// Config says what a Link needs.
type Config struct {
	// URL of the NATS server or servers, comma-separated; or InProcess, which wins.
	URL       string
	InProcess InProcess
	// Node is this node's name, unique in the installation; letters, digits, '-', '_'.
	Node string
	// SigningKey verifies snapshots.
	SigningKey ed25519.PublicKey
	// Dir keeps the last good configuration; made if missing. Empty: nothing is kept.
	Dir string
	// Ambient is whether the operator lets organizations use the node's own cloud identity.
	Ambient bool
	// Build is the version of this program, as administrators are shown it.
	Build string
	// Probe checks a provider's connection; nil: this node checks none.
	Probe func(context.Context, *decide.Provider) (node.ProbeOutcome, string)
	Log   *slog.Logger
}

// Link is a node's connection to the rest of the installation.
type Link struct {
	cfg    Config
	disk   *disk
	table  atomic.Pointer[decide.Table]
	board  *decide.Board
	health *health
	probes *probes
	uses   *keyUses
	began  time.Time
	conn   atomic.Pointer[connection]
	clock  clock

	fromDisk atomic.Bool   // a configuration was read at start
	offline  atomic.Bool   // the bus was given its time to answer
	applied  atomic.Int64  // when the last configuration was swapped in, Unix milliseconds; 0: never
	refused  atomic.Int64  // configurations that were not
	config   chan struct{} // closed when the configuration that stood on the bus was handled
	replayed chan struct{} // closed when all that stood on the bus at the start was handled

	reconnects signal
	swapped    signal // another table runs
}

// connection is a bus that Run has connected to; it may be away.
type connection struct {
	nc *nats.Conn
	js jetstream.JetStream
}

// busPatience is how long a node that has a configuration on disk waits for the
// bus before it serves from it.
const busPatience = time.Second

// New reads the last good configuration from disk. It does not connect yet.
func New(cfg Config) (*Link, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if len(cfg.SigningKey) != ed25519.PublicKeySize {
		return nil, errors.New("link: a signing public key is needed to verify snapshots")
	}
	if cfg.URL == "" && cfg.InProcess == nil {
		return nil, errors.New("link: no NATS server given")
	}
	l := &Link{cfg: cfg, board: decide.NewBoard(), config: make(chan struct{}), replayed: make(chan struct{})}
	l.board.Ambient = cfg.Ambient
	l.clock.set(time.Now())
	l.health, l.probes, l.uses, l.began = newHealth(l), newProbes(l), newKeyUses(l), time.Now()
	l.table.Store(new(decide.Table))
	if cfg.Dir == "" {
		return l, nil
	}
	var err error
	if l.disk, err = openDisk(cfg.Dir); err != nil {
		return nil, err
	}
	for _, doc := range l.disk.load(cfg.SigningKey, cfg.Log) {
		org, err := compile(doc, l.board)
		if err != nil {
			cfg.Log.Error("configuration on disk does not compile", "organization_id", doc.OrganizationID, "error", err)
			continue
		}
		l.swap(l.table.Load().With(org))
		l.fromDisk.Store(true)
	}
	return l, nil
}

// Table is the running configuration. A request loads it once.
func (l *Link) Table() *decide.Table { return l.table.Load() }

// Ready reports whether the node may serve: it has replayed the bus, or it has a
// configuration from disk and the bus does not answer.
func (l *Link) Ready() bool {
	select {
	case <-l.replayed:
		return true
	default:
		return l.fromDisk.Load() && l.offline.Load()
	}
}

// WaitReplayed waits until the node has handled all that stood on the bus when it
// connected.
func (l *Link) WaitReplayed(ctx context.Context) error {
	select {
	case <-l.replayed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("node %s has not read the bus yet: %w", l.cfg.Node, ctx.Err())
	}
}

// Now is the installation's time: the bus's clock, advanced by this node's
// monotonic one. A wrong wall clock changes nothing.
func (l *Link) Now() time.Time { return l.clock.now() }

// Health is a record as this node sees it and a policy judges it.
func (l *Link) Health(key decide.HealthKey, policy node.Cooldown) decide.Health {
	return l.board.Cell(key).View(policy).Health()
}

// Observe takes the verdict on an attempt; own is the caller's own credential.
func (l *Link) Observe(t *decide.Target, a *decide.Admission, v decide.Verdict, own decide.Own) {
	l.health.observe(t, a, v, own)
}

// Used takes that a gateway key is in use.
func (l *Link) Used(use *decide.KeyUse) { l.uses.used(use) }

// Reserve takes the fleet's slots for an attempt that is a probe, and reports whether
// it may go on; the admission gives them back. Where the bus is away it may: the node
// goes by its own slots.
func (l *Link) Reserve(ctx context.Context, t *decide.Target, a *decide.Admission) bool {
	return l.probes.reserve(ctx, t, a)
}

// Alone reports whether the bus is away: the node then knows only what it sees itself
// and what it was told before.
func (l *Link) Alone() bool {
	c := l.conn.Load()
	return c == nil || !c.nc.IsConnected()
}

// State is what an operator watches of a node.
type State struct {
	Organizations       int   // whose configuration it has
	Applied             int64 // when the last one was swapped in, Unix milliseconds; 0: none was
	Refused             int64 // configurations that it refused since it started
	Cooling, Recovering int   // provider models; see decide.Board.Standings
	Untold              int   // events of health that the bus has not brought back
}

// State is the node's at this moment.
func (l *Link) State() State {
	s := State{Applied: l.applied.Load(), Refused: l.refused.Load(), Untold: l.health.outbox.Waiting()}
	for range l.Table().All() {
		s.Organizations++
	}
	s.Cooling, s.Recovering = l.board.Standings(l.Now())
	return s
}

// swap makes a configuration the one that requests load.
func (l *Link) swap(t *decide.Table) {
	l.table.Store(t)
	l.applied.Store(time.Now().UnixMilli())
}

// Run connects and follows the bus until ctx ends. It does not return earlier: a
// bus that is away is waited for.
func (l *Link) Run(ctx context.Context) error {
	nc, err := l.connect()
	if err != nil {
		return fmt.Errorf("connecting to NATS: %w", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("JetStream: %w", err)
	}
	// Before the first snapshot is read, so that whoever asks hears of every one.
	if _, err := nc.Subscribe(node.AskSubject, func(*nats.Msg) { l.ackAll(nc) }); err != nil {
		return fmt.Errorf("subscribing to %s: %w", node.AskSubject, err)
	}
	if _, err := nc.Subscribe(node.AskHealthSubject, l.answerHealth); err != nil {
		return fmt.Errorf("subscribing to %s: %w", node.AskHealthSubject, err)
	}
	patience := time.AfterFunc(busPatience, func() { l.offline.Store(true) })
	defer patience.Stop()

	// A request that waits for an answer must not keep the node from stopping.
	defer context.AfterFunc(ctx, func() { <-l.probes.done; nc.Close() })()
	l.conn.Store(&connection{nc, js})
	config := &follower{link: l, js: js, name: node.ConfigStream, from: jetstream.DeliverLastPerSubjectPolicy, caughtUp: l.config,
		handle: func(m jetstream.Msg, _ time.Time) { l.take(nc, m.Data()) }}
	log := &follower{link: l, js: js, name: node.HealthStream, from: jetstream.DeliverAllPolicy, caughtUp: l.replayed,
		handle: func(m jetstream.Msg, at time.Time) { l.health.fold(m, at) }, anew: l.health.logLost}
	var wg sync.WaitGroup
	wg.Go(func() { config.run(ctx) })
	wg.Go(func() {
		// Policies first: each folds the whole log, as it does on the nodes that heard it.
		<-l.config
		log.run(ctx)
	})
	wg.Go(func() { l.clock.follow(ctx, js, l.health.outbox.ClockSet) })
	wg.Go(func() { l.health.publish(ctx, nc, js) })
	wg.Go(func() { l.probes.run(ctx, js) })
	wg.Go(func() { l.uses.run(ctx, nc) })
	if l.cfg.Probe != nil {
		wg.Go(func() {
			if err := l.answerChecks(ctx, nc); err != nil {
				l.cfg.Log.Error("this node checks no connections", "node", l.cfg.Node, "error", err)
			}
		})
	}
	wg.Wait()
	return nil
}

func (l *Link) connect() (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("spillway node " + l.cfg.Node),
		nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				l.cfg.Log.Warn("bus lost: this node goes on with its configuration and with what it sees of targets itself", "node", l.cfg.Node, "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			l.cfg.Log.Info("bus back", "node", l.cfg.Node, "untold_events", l.health.outbox.Waiting())
			l.reconnects.broadcast()
		}),
	}
	if l.cfg.InProcess != nil {
		options = append(options, nats.InProcessServer(l.cfg.InProcess))
	}
	return nats.Connect(l.cfg.URL, options...)
}
