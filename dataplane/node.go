// Package dataplane is one node of the data plane: the callers' HTTP door, the
// link to the bus, and the client that reaches providers. A node holds no state
// that it cannot lose.
package dataplane

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hpke"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/gateway"
	"github.com/spillway-gateway/spillway/dataplane/link"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
)

// Config says what a Node needs.
type Config struct {
	// Name of the node, unique in the installation; required.
	Name string
	// NATSURL or InProcess is where the bus is; see link.Config.
	NATSURL   string
	InProcess link.InProcess
	// SigningKey verifies snapshots, SealKey opens provider credentials.
	SigningKey ed25519.PublicKey
	SealKey    hpke.PrivateKey
	// Dir keeps the last good configuration. Empty: a restart waits for the bus.
	Dir string
	// Guard decides which upstream addresses may be dialed.
	Guard upstream.Guard
	// Ambient lets every organization's providers use the identity that this node has in its
	// cloud (an instance's service account or role), where they ask for it. Off by default:
	// whoever may make a provider can then spend and act as that identity.
	Ambient bool
	// TokenServices are where tokens come from; see upstream.Config.
	TokenServices upstream.TokenServices
	// DrainTime is how long open requests may go on when the node stops. Default 30 s.
	DrainTime time.Duration
	// Metrics is who tells of what the node counts, each with its name as the label "node". Nil:
	// nobody.
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Node is one data-plane node.
type Node struct {
	cfg      Config
	link     *link.Link
	upstream *upstream.Client
	handler  http.Handler
	stopping atomic.Bool
}

// New makes a node and reads its last good configuration. It does not connect yet.
func New(cfg Config) (*Node, error) {
	if cfg.Name == "" {
		return nil, errors.New("dataplane: the node needs a name")
	}
	if cfg.SealKey == nil {
		return nil, errors.New("dataplane: the node needs its seal key to open provider credentials")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.DrainTime == 0 {
		cfg.DrainTime = 30 * time.Second
	}
	client := upstream.New(upstream.Config{SealKey: cfg.SealKey, Guard: cfg.Guard, Ambient: cfg.Ambient, Services: cfg.TokenServices})
	l, err := link.New(link.Config{URL: cfg.NATSURL, InProcess: cfg.InProcess, Node: cfg.Name, SigningKey: cfg.SigningKey, Dir: cfg.Dir,
		Ambient: cfg.Ambient, Build: build(), Probe: client.Probe, Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	hashKey, err := hashKeyOf(cfg.SealKey)
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, link: l, upstream: client}
	var registerer prometheus.Registerer
	if cfg.Metrics != nil {
		registerer = prometheus.WrapRegistererWith(prometheus.Labels{"node": cfg.Name}, cfg.Metrics)
		if err := registerer.Register(state{n}); err != nil {
			return nil, fmt.Errorf("dataplane: metrics of a node of this name are told already: %w", err)
		}
	}
	n.handler = gateway.New(gateway.Config{Table: l.Table, Ready: n.Ready, Alone: l.Alone, Upstream: n.upstream, Health: l, Used: l.Used, HashKey: hashKey,
		Metrics: gateway.NewMetrics(registerer), Log: cfg.Log})
	return n, nil
}

// build is the version that this program was built as.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

// hashKeyOf derives what callers' own credentials are hashed with. Every node holds
// the seal key, and nobody else does.
func hashKeyOf(seal hpke.PrivateKey) ([]byte, error) {
	raw, err := seal.Bytes()
	if err != nil {
		return nil, fmt.Errorf("dataplane: seal key: %w", err)
	}
	return hkdf.Key(sha256.New, raw, nil, "spillway caller credential v1", sha256.Size)
}

// Wrap puts a handler before the callers' endpoints, for a process that serves
// more on the same port. Call it before Run.
func (n *Node) Wrap(around func(callers http.Handler) http.Handler) { n.handler = around(n.handler) }

// Ready reports whether the node has its configuration and is not stopping.
func (n *Node) Ready() bool { return n.link.Ready() && !n.stopping.Load() }

// WaitReplayed waits until the node has handled all that stood on the bus when it
// connected: then it is ready.
func (n *Node) WaitReplayed(ctx context.Context) error { return n.link.WaitReplayed(ctx) }

// Standing is what this node lets through now to a target with the default policy.
func (n *Node) Standing(key decide.HealthKey) decide.Standing {
	h := n.link.Health(key, node.DefaultCooldown())
	return h.At(n.link.Now())
}

// Follow keeps the node up to date until ctx ends.
func (n *Node) Follow(ctx context.Context) error {
	defer n.upstream.Close()
	return n.link.Run(ctx)
}

// Serve answers callers on the listener until ctx ends, and then lets open
// requests finish within DrainTime.
func (n *Node) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: n.handler, MaxHeaderBytes: gateway.MaxHeaderBytes, ReadHeaderTimeout: gateway.ReadHeaderTimeout,
		IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(n.cfg.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- gateway.Serve(server, listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving callers: %w", err)
	case <-ctx.Done():
	}
	n.stopping.Store(true)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.cfg.DrainTime)
	defer cancel()
	err := server.Shutdown(drain)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	<-failed
	return err
}

// Run follows the bus and serves callers until ctx ends. The bus is followed
// until the last request is done.
func (n *Node) Run(ctx context.Context, listener net.Listener) error {
	follow, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	followed := make(chan error, 1)
	go func() { followed <- n.Follow(follow) }()
	err := n.Serve(ctx, listener)
	stop()
	return errors.Join(err, <-followed)
}
