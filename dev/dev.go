// Package dev is the whole product in one process: an embedded NATS server, its
// own Postgres cluster in a data folder, a control plane, any number of data-plane
// nodes, and a demo provider. `spillway dev` runs it, and so do the end-to-end
// tests; everything in it is what the separate processes run. It stands beside the
// planes because it is the one place, with cmd and test, where they meet.
package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-gateway/spillway/controlplane"
	"github.com/spillway-gateway/spillway/dataplane"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
	"github.com/spillway-gateway/spillway/dev/postgres"
	"github.com/spillway-gateway/spillway/metrics"
	"github.com/spillway-gateway/spillway/migrations"
	"github.com/spillway-gateway/spillway/test/provider"
)

// DefaultMetricsListen is where `spillway dev` tells Prometheus, where nothing else is said.
const DefaultMetricsListen = "127.0.0.1:9464"

// Config says how to run. Its zero value runs one node on a free port.
type Config struct {
	// DataDir keeps everything that outlives the process. Default "./var".
	DataDir string
	// Listen is host:port of the admin API, the token endpoint and the first node.
	// Default "127.0.0.1:0".
	Listen string
	// Nodes is how many data-plane nodes run, at least 1. Default 1.
	Nodes int
	// Ambient and TokenServices are as in dataplane.Config.
	Ambient       bool
	TokenServices upstream.TokenServices
	// AllowFiles is as in upstream.Guard.
	AllowFiles []netip.Prefix
	// DatabaseURL and NATSURL name servers to use in place of the embedded ones.
	DatabaseURL string
	NATSURL     string
	// MetricsListen is host:port at which Prometheus is told of the whole system. Empty:
	// nowhere.
	MetricsListen string
	// Log takes what the system has to say. Default: nothing.
	Log *slog.Logger
	// DrainTime is how long open requests may go on at the end. Default 5 s.
	DrainTime time.Duration
}

// Info is what a person or a script needs to use the running system.
type Info struct {
	BaseURL         string   `json:"base_url"`
	TokenURL        string   `json:"token_url"`
	OrganizationID  string   `json:"organization_id"`
	ClientID        string   `json:"client_id"`
	ClientSecret    string   `json:"client_secret"`
	APIKey          string   `json:"api_key"`
	GatewayURLs     []string `json:"gateway_urls"` // one per node
	DemoProviderURL string   `json:"demo_provider_url"`
	MetricsURL      string   `json:"metrics_url,omitempty"`
	AdminEmail      string   `json:"admin_email"` // of who can sign in, at BaseURL
	AdminPassword   string   `json:"admin_password"`
}

// System is a running installation.
type System struct {
	cfg  Config
	info Info

	metrics *prometheus.Registry
	closers []func() error // in the order things were started
	Demo    *provider.Server
	nats    *server.Server
	control *controlplane.Server
	nodes   []*dataplane.Node

	running sync.WaitGroup
	stop    context.CancelFunc
	failed  chan error // what ended by itself
}

// Start brings everything up and returns when the nodes serve the configuration.
// On error what was started has been stopped again.
func Start(ctx context.Context, cfg Config) (*System, error) {
	if cfg.DataDir == "" {
		cfg.DataDir = "./var"
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Nodes == 0 {
		cfg.Nodes = 1
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.DrainTime == 0 {
		cfg.DrainTime = 5 * time.Second
	}
	s := &System{cfg: cfg, metrics: metrics.New(), failed: make(chan error, 16)}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// start does the steps in order. A port or a folder that cannot be had is found
// out before anything slow begins.
func (s *System) start(ctx context.Context) error {
	front, err := net.Listen("tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", s.cfg.Listen, err)
	}
	s.onStop(ignoreClosed(front))
	told, err := s.listenForMetrics()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.cfg.DataDir, 0o755); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	keys, err := LoadKeys(s.cfg.DataDir)
	if err != nil {
		return fmt.Errorf("--data-dir %s: %w", s.cfg.DataDir, err)
	}
	database, err := s.startPostgres(ctx)
	if err != nil {
		return err
	}
	if err := migrations.Up(ctx, database); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	if err := s.startNATS(); err != nil {
		return err
	}
	base := "http://" + front.Addr().String()
	if err := s.startControl(ctx, keys, database, base); err != nil {
		return err
	}
	if err := s.bootstrap(ctx, base); err != nil {
		return fmt.Errorf("first set-up: %w", err)
	}
	return s.serve(ctx, keys, front, told)
}

// listenForMetrics takes the port of the metrics, or any other where the usual one is in
// use: a second system on one machine should start all the same.
func (s *System) listenForMetrics() (net.Listener, error) {
	if s.cfg.MetricsListen == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", s.cfg.MetricsListen)
	if err != nil && s.cfg.MetricsListen == DefaultMetricsListen {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen %s: %w", s.cfg.MetricsListen, err)
	}
	s.onStop(ignoreClosed(l))
	return l, nil
}

func (s *System) onStop(f func() error) { s.closers = append(s.closers, f) }

func ignoreClosed(c io.Closer) func() error {
	return func() error {
		if err := c.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

func (s *System) startPostgres(ctx context.Context) (url string, err error) {
	if s.cfg.DatabaseURL != "" {
		return s.cfg.DatabaseURL, nil
	}
	cluster, err := postgres.Start(ctx, postgres.Config{Dir: filepath.Join(s.cfg.DataDir, "postgres"), Log: s.cfg.Log, Durable: true})
	if err != nil {
		return "", err
	}
	s.onStop(cluster.Stop)
	go func() {
		<-cluster.Done()
		if err := cluster.Err(); err != nil { // nil after Stop
			s.report(fmt.Errorf("postgres ended: %w", err))
		}
	}()
	return cluster.URL("spillway"), nil
}

// report tells Wait that something ended by itself; after Stop nobody listens.
func (s *System) report(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

func (s *System) startNATS() error {
	if s.cfg.NATSURL != "" {
		return nil
	}
	ns, err := server.NewServer(&server.Options{
		ServerName: "spillway-dev", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(s.cfg.DataDir, "nats"),
	})
	if err != nil {
		return fmt.Errorf("embedded NATS: %w", err)
	}
	ns.Start()
	s.onStop(func() error { ns.Shutdown(); ns.WaitForShutdown(); return nil })
	if !ns.ReadyForConnections(10 * time.Second) {
		return errors.New("embedded NATS did not start within 10 s")
	}
	s.nats = ns
	return nil
}

func (s *System) startControl(ctx context.Context, keys Keys, database, base string) error {
	cfg := controlplane.Config{
		DatabaseURL: database, NATSURL: s.cfg.NATSURL, SealKey: keys.Seal.PublicKey(),
		SigningKey: keys.Signing, TokenKey: keys.Token, GatewayURL: base, Metrics: s.metrics, Log: s.cfg.Log,
	}
	if s.nats != nil {
		cfg.InProcess = s.nats
	}
	var err error
	if s.control, err = controlplane.New(ctx, cfg); err != nil {
		return err
	}
	s.onStop(func() error { s.control.Close(); return nil })
	return nil
}

// serve starts what runs until Stop, and waits until every node serves the
// organization's configuration.
func (s *System) serve(ctx context.Context, keys Keys, front, told net.Listener) error {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.onStop(func() error { stop(); s.running.Wait(); return nil })
	s.run(func() error { return s.control.Run(run) })
	if told != nil {
		s.info.MetricsURL = "http://" + told.Addr().String() + "/metrics"
		s.run(func() error { return metrics.Serve(run, told, s.metrics) })
	}
	for i := range s.cfg.Nodes {
		if err := s.startNode(run, keys, nodeName(i), front); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := s.WaitLive(ctx, uuid.MustParse(s.info.OrganizationID)); err != nil {
		if s.cfg.NATSURL != "" {
			return fmt.Errorf("no configuration came over NATS; does the server at SPILLWAY_NATS_URL answer, with JetStream? %w", err)
		}
		return fmt.Errorf("the nodes did not start: %w", err)
	}
	return nil
}

// run keeps track of a part that must not end before Stop.
func (s *System) run(part func() error) {
	s.running.Go(func() {
		if err := part(); err != nil {
			s.report(err)
		}
	})
}

// startNode starts one node: the first on the front listener, with the admin API
// before it, the others each on a port of its own.
func (s *System) startNode(run context.Context, keys Keys, name string, front net.Listener) error {
	cfg := dataplane.Config{
		Name: name, NATSURL: s.cfg.NATSURL, SigningKey: publicOf(keys.Signing), SealKey: keys.Seal,
		Dir: filepath.Join(s.cfg.DataDir, "nodes", name), DrainTime: s.cfg.DrainTime, Log: s.cfg.Log,
		Ambient: s.cfg.Ambient, TokenServices: s.cfg.TokenServices, Metrics: s.metrics,
		// The demo provider, and what a developer runs beside it, is on this machine.
		Guard: upstream.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, AllowFiles: s.cfg.AllowFiles},
	}
	if s.nats != nil {
		cfg.InProcess = s.nats
	}
	n, err := dataplane.New(cfg)
	if err != nil {
		return fmt.Errorf("--data-dir: %s: %w", name, err)
	}
	s.nodes = append(s.nodes, n)
	listener := front
	if len(s.nodes) > 1 {
		if listener, err = s.listenBeside(front); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	} else {
		n.Wrap(s.withAdmin)
	}
	s.info.GatewayURLs = append(s.info.GatewayURLs, "http://"+listener.Addr().String())
	s.run(func() error { return n.Run(run, listener) })
	return nil
}

// withAdmin puts the control plane's paths and the portal's pages before a node's.
func (s *System) withAdmin(callers http.Handler) http.Handler {
	admin := s.control.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if forNode(r) {
			callers.ServeHTTP(w, r)
			return
		}
		admin.ServeHTTP(w, r)
	})
}

// forNode reports whether a request is a caller's. A tool may look whether its base URL is there; a
// browser that goes there wants the portal.
func forNode(r *http.Request) bool {
	path := r.URL.Path
	for _, prefix := range []string{"/api/llm-gateway/admin/", "/api/llm-gateway/user/"} {
		if strings.HasPrefix(path, prefix) {
			return false
		}
	}
	for _, prefix := range []string{"/v1/", "/api/"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	switch path {
	case "/healthz", "/readyz", "/metrics", "/v1", "/api": // metrics are told elsewhere, and here is nothing
		return true
	case "/":
		return r.Method == http.MethodHead || !strings.Contains(r.Header.Get("Accept"), "text/html")
	}
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.HasPrefix(path, "/oauth/") && !strings.HasPrefix(path, "/auth/")
}

// listenBeside takes the port after those in use where it is free, so that node 2
// of ":8080" is at ":8081", and else any.
func (s *System) listenBeside(front net.Listener) (net.Listener, error) {
	at := front.Addr().(*net.TCPAddr)
	host := at.IP.String()
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(at.Port+len(s.nodes)-1)))
	if err != nil {
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	return l, err
}

// Info tells how to reach the system.
func (s *System) Info() Info { return s.info }

// Control is the control plane; tests reach behind the API through it.
func (s *System) Control() *controlplane.Server { return s.control }

// Nodes are the data-plane nodes, in the order of Info.GatewayURLs.
func (s *System) Nodes() []*dataplane.Node { return s.nodes }

// Wait blocks until ctx ends, or a part ended by itself, which is the error.
func (s *System) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.failed:
		return err
	}
}

// Stop ends everything that Start started, last first. It may be called once.
func (s *System) Stop() error {
	var err error
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i]())
	}
	return err
}
