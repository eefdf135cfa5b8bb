package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/dev"
)

// TestMain lets the test binary be the program itself, so that processes can be
// started and killed.
func TestMain(m *testing.M) {
	if os.Getenv("SPILLWAY_TEST_MAIN") != "" {
		main()
	}
	storetest.Main(m)
}

// program runs the program with arguments to its end.
func program(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), "SPILLWAY_TEST_MAIN=1"), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%q did not end: %s", args, &errs)
	}
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// A start that cannot be says why in one line, and exits with 2.
func TestWrongStartsAreOneLine(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	damaged := filepath.Join(dir, "damaged")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(damaged, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, "keys.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := func(name string) string { return "--data-dir=" + filepath.Join(dir, name) }
	for name, c := range map[string]struct {
		env  []string
		args []string
		want string // in the line
	}{
		"UnknownCommand":    {nil, []string{"serve"}, `unknown command "serve"`},
		"UnknownFlag":       {nil, []string{"dev", "--port", "1"}, "port"},
		"FlagNotANumber":    {nil, []string{"dev", "--nodes", "many"}, "nodes"},
		"MetricsPortTaken":  {nil, []string{"dev", "--listen", "127.0.0.1:0", "--metrics-listen", taken.Addr().String(), data("told")}, "--metrics-listen"},
		"TooFewNodes":       {nil, []string{"dev", "--nodes", "0"}, "--nodes"},
		"SurplusArgument":   {nil, []string{"dev", "now"}, `"now"`},
		"BadLogLevel":       {nil, []string{"dev", "--log-level", "loud"}, "--log-level"},
		"PortTaken":         {nil, []string{"dev", "--listen", taken.Addr().String(), data("a")}, "address already in use"},
		"ListenNonsense":    {nil, []string{"dev", "--listen", "nonsense", data("b")}, "--listen nonsense"},
		"NoPostgres":        {[]string{"SPILLWAY_PG_BIN=" + filepath.Join(dir, "nowhere")}, []string{"dev", "--listen", "127.0.0.1:0", data("c")}, "SPILLWAY_PG_BIN"},
		"DatabaseAway":      {[]string{"SPILLWAY_DATABASE_URL=postgres://u:canary@127.0.0.1:1/x?connect_timeout=2"}, []string{"dev", "--listen", "127.0.0.1:0", data("d")}, "database"},
		"DataDirIsAFile":    {nil, []string{"dev", "--listen", "127.0.0.1:0", "--data-dir", file}, "--data-dir"},
		"DataDirDamaged":    {nil, []string{"dev", "--listen", "127.0.0.1:0", "--data-dir", damaged}, "keys.json"},
		"ReadyFileNowhere":  {nil, []string{"dev", "--listen", "127.0.0.1:0", "--ready-file", filepath.Join(file, "x"), data("e")}, "--ready-file"},
		"NoDatabase":        {nil, []string{"controlplane"}, "SPILLWAY_DATABASE_URL"},
		"NoNATS":            {nil, []string{"dataplane", "--node", "a"}, "SPILLWAY_NATS_URL"},
		"BadKey":            {[]string{"SPILLWAY_NATS_URL=nats://127.0.0.1:1", "SPILLWAY_SIGNING_PUBLIC_KEY=canary"}, []string{"dataplane", "--node", "a"}, "SPILLWAY_SIGNING_PUBLIC_KEY"},
		"MigrateNoDatabase": {nil, []string{"migrate"}, "SPILLWAY_DATABASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := program(t, c.env, c.args...)
			if code != 2 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, want 2 and one line with %q:\n%s", code, c.want, stderr)
			}
			if strings.Contains(stderr, "canary") {
				t.Errorf("the line holds a secret: %s", stderr)
			}
		})
	}
}

func TestHelpAndKeys(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"help"}, {"dev", "--help"}, {"version"}} {
		if code, stdout, stderr := program(t, nil, args...); code != 0 || !strings.Contains(stdout, "spillway") && !strings.Contains(stdout, "Spillway") {
			t.Errorf("%q: exit code %d: %s%s", args, code, stdout, stderr)
		}
	}
	code, stdout, _ := program(t, nil, "keygen")
	if code != 0 || strings.Count(stdout, "SPILLWAY_") != 5 {
		t.Errorf("keygen: exit code %d: %s", code, stdout)
	}
}

// running is a `spillway dev` process.
type running struct {
	cmd  *exec.Cmd
	info dev.Info
	out  *output
	done chan struct{} // closed at its end
}

type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func startDev(t *testing.T, dir string) *running {
	t.Helper()
	ready := filepath.Join(dir, "ready.json")
	if err := os.RemoveAll(ready); err != nil { // a process that was killed left it
		t.Fatal(err)
	}
	r := &running{out: new(output), done: make(chan struct{})}
	r.cmd = exec.Command(os.Args[0], "dev", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "var"), "--ready-file", ready)
	r.cmd.Env = append(os.Environ(), "SPILLWAY_TEST_MAIN=1")
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.done) }()
	t.Cleanup(func() { _ = r.cmd.Process.Kill(); <-r.done })
	deadline := time.After(time.Minute)
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		if raw, err := os.ReadFile(ready); err == nil {
			if err := json.Unmarshal(raw, &r.info); err != nil {
				t.Fatal(err)
			}
			return r
		}
		select {
		case <-poll.C:
		case <-r.done:
			t.Fatalf("ended: %s", r.out)
		case <-deadline:
			t.Fatalf("not ready: %s", r.out)
		}
	}
}

// ask asks the route "demo".
func (r *running) ask(t *testing.T) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.info.GatewayURLs[0]+"/v1/chat/completions", strings.NewReader(`{"model":"demo","messages":[{"role":"user","content":"Hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Bd-Api-Key", r.info.APIKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// Killed without warning and started again, it has everything; interrupted, it
// takes everything down that it started.
func TestDevSurvivesKillAndStopsOnInterrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startDev(t, dir)
	if status, body := first.ask(t); status != 200 {
		t.Fatalf("status %d: %s", status, body)
	}
	out := first.out.String()
	for _, want := range []string{first.info.APIKey, first.info.ClientID, first.info.DemoProviderURL, "curl -i", "curl -X PUT"} {
		if !strings.Contains(out, want) {
			t.Errorf("the terminal does not show %s:\n%s", want, out)
		}
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.done

	again := startDev(t, dir)
	if again.info.APIKey != first.info.APIKey || again.info.OrganizationID != first.info.OrganizationID || again.info.ClientSecret != first.info.ClientSecret {
		t.Error("the second start has other credentials")
	}
	if status, body := again.ask(t); status != 200 {
		t.Errorf("status %d: %s", status, body)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "var", "postgres", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var postmaster int
	if _, err := fmt.Sscan(string(raw), &postmaster); err != nil {
		t.Fatal(err)
	}
	if err := again.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-again.done
	if code := again.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d after an interrupt: %s", code, again.out)
	}
	if err := syscall.Kill(postmaster, 0); err == nil {
		t.Error("Postgres still runs")
	}
}
