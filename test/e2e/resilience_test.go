package e2e

import (
	"context"
	"crypto/ed25519"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/spillway-gateway/spillway/dataplane"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
	"github.com/spillway-gateway/spillway/dev"
	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// A node that starts while the control plane, Postgres and NATS are all gone
// serves from disk within two seconds.
func TestNodeServesFromDisk(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	id := e.AddProvider("p", "openai", "m")
	e.AddTarget("kept", id, "m", 1, nil)
	e.Live()
	e.Stop()
	alone(t, e)
	if a := e.Chat(0, "kept", false); a.Status != 200 {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
}

// A damaged file on disk is passed over for the one before it.
func TestDamagedFileOnDiskIsPassedOver(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	id := e.AddProvider("p", "openai", "m")
	e.AddTarget("kept", id, "m", 1, nil)
	e.Live()
	e.AddTarget("newest", id, "m", 1, nil)
	e.Live()
	e.Stop()
	file := filepath.Join(e.Options.DataDir, "nodes", "node-1", e.ID.String()+".snapshot")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw[:len(raw)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	alone(t, e)
	if a := e.Chat(0, "demo", false); a.Status == 404 || a.Status == 401 {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
}

// alone starts the first node of a stopped system by itself, with a bus that does
// not answer, and points e at it.
func alone(t *testing.T, e *env.Env) {
	t.Helper()
	began := time.Now()
	n := node(t, e, "node-1", "nats://127.0.0.1:1")
	within(t, 2*time.Second, "the node to be ready", n.Ready)
	t.Logf("ready after %v", time.Since(began))
}

// node starts a node of its own with the system's keys and folder, and points e at it.
func node(t *testing.T, e *env.Env, name, busURL string) *dataplane.Node {
	t.Helper()
	keys, err := dev.LoadKeys(e.Options.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	n, err := dataplane.New(dataplane.Config{
		Name: name, NATSURL: busURL, SigningKey: keys.Signing.Public().(ed25519.PublicKey), SealKey: keys.Seal,
		Dir:   filepath.Join(e.Options.DataDir, "nodes", name),
		Guard: upstream.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	e.Info.GatewayURLs = []string{"http://" + listener.Addr().String()}
	return n
}

// natsServer is a NATS server that can be stopped and started again on its port.
type natsServer struct {
	t       *testing.T
	options server.Options
	running *server.Server
}

func newNATS(t *testing.T) *natsServer {
	t.Helper()
	n := &natsServer{t: t, options: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}}
	n.start()
	n.options.Port = n.running.Addr().(*net.TCPAddr).Port
	t.Cleanup(n.stop)
	return n
}

func (n *natsServer) start() {
	n.t.Helper()
	options := n.options
	ns, err := server.NewServer(&options)
	if err != nil {
		n.t.Fatal(err)
	}
	ns.Start()
	if !ns.ReadyForConnections(10 * time.Second) {
		n.t.Fatal("NATS did not start")
	}
	n.running = ns
}

func (n *natsServer) stop() {
	n.running.Shutdown()
	n.running.WaitForShutdown()
}

// With the bus down nodes serve, fail over and cool down by what they see
// themselves; when it is back, what changed meanwhile goes live.
func TestBusDownAndBack(t *testing.T) {
	t.Parallel()
	bus := newNATS(t)
	e := env.Start(t, env.Options{Nodes: 2, NATSURL: bus.running.ClientURL()})
	first, second := pair(e, "route", "openai", nil)
	e.Live()
	e.Provider.Script(first, provider.Behavior{Status: 429, RetryAfter: "300"})
	bus.stop()

	for node := range 2 {
		wantServed(t, e.Chat(node, "route", false), second)
		if a := e.Chat(node, "route", false); a.Status != 200 || a.Header.Get("X-Bd-Provider-Failover-Count") != "0" {
			t.Errorf("node %d does not cool down what it saw fail: status %d, headers %v", node, a.Status, a.Header)
		}
	}
	id := e.AddProvider("meanwhile", "openai", "new-model")
	e.AddTarget("meanwhile", id, "new-model", 1, nil)

	bus.start()
	for node := range 2 {
		took := within(t, 30*time.Second, "the change made meanwhile", func() bool { return e.Chat(node, "meanwhile", false).Status == 200 })
		t.Logf("node %d had it %v after the bus was back", node, took)
	}
}

// The bus comes back without anything it had: everything is published again.
func TestBusLosesEverything(t *testing.T) {
	t.Parallel()
	bus := newNATS(t)
	e := env.Start(t, env.Options{NATSURL: bus.running.ClientURL()})
	e.Live()
	bus.stop()
	bus.options.StoreDir = t.TempDir()
	bus.start()
	id := e.AddProvider("after", "openai", "new-model")
	e.AddTarget("after", id, "new-model", 1, nil)
	took := within(t, 30*time.Second, "the change made after", func() bool { return e.Chat(0, "after", false).Status == 200 })
	t.Logf("live after %v", took)
}
