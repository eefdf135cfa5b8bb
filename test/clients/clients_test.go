// Package clients runs the command-line tools that people point at the gateway,
// Claude Code, Codex and opencode themselves, against the whole system, set up as
// docs/clients.md says. `make clients` installs and runs them; without it the tests
// here do nothing, since the tools are large.
package clients

import (
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/test/env"
)

// What `make clients` sets, and what a process sets for the one that it cuts off.
const (
	wanted = "SPILLWAY_TEST_CLIENTS"
	cutOff = "SPILLWAY_TEST_CUT_OFF"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(wanted) == "":
		fmt.Println("skipped: make clients runs Claude Code, Codex and opencode")
	case os.Getenv(cutOff) == "":
		os.Exit(runCutOff())
	default:
		if err := raiseLoopback(); err != nil {
			fmt.Fprintln(os.Stderr, "clients: the loopback interface stays down:", err)
			os.Exit(1)
		}
		env.Main(m)
	}
}

// The tools know addresses of their own: without a way out they can reach the
// gateway and nothing else, so that what is seen here is all they did.
func TestNoWayOut(t *testing.T) {
	t.Parallel()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			t.Errorf("interface %s is up", i.Name)
		}
	}
	// TEST-NET-1: never an address of anyone's, so that nothing is sent even where the
	// test fails.
	for _, network := range []string{"tcp", "udp"} {
		conn, err := net.DialTimeout(network, "192.0.2.1:443", 5*time.Second)
		if err == nil {
			_ = conn.Close()
		}
		if !noRoute(err) {
			t.Errorf("%s: got %v, want no route to the outside", network, err)
		}
	}
}
