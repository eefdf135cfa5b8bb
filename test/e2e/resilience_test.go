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

	"github.com/spillway-gateway/spillway/dataplane"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
	"github.com/spillway-gateway/spillway/dev"
	"github.com/spillway-gateway/spillway/test/env"
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
	keys, err := dev.LoadKeys(e.Options.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	n, err := dataplane.New(dataplane.Config{
		Name: "node-1", NATSURL: "nats://127.0.0.1:1", SigningKey: keys.Signing.Public().(ed25519.PublicKey), SealKey: keys.Seal,
		Dir:   filepath.Join(e.Options.DataDir, "nodes", "node-1"),
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
	within(t, 2*time.Second, "the node to be ready", n.Ready)
	t.Logf("ready after %v", time.Since(began))
	e.Info.GatewayURLs = []string{"http://" + listener.Addr().String()}
}
