package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be every process that the bench starts: its own
// subcommands, and a gateway.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	var err error
	switch os.Args[1] {
	case "upstream", "proxy", "baseline":
		err = dispatch(ctx, os.Args[1:])
	case "dev":
		err = fakeDev(ctx, os.Args[2:])
	default:
		stop()
		os.Exit(m.Run())
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fakeDev is `spillway dev` as far as the bench knows it: the ready file, the admin
// API, and a gateway, which is the baseline.
func fakeDev(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dev", flag.ContinueOnError)
	ready := flags.String("ready-file", "", "")
	listen := flags.String("listen", "", "")
	flags.Int("nodes", 0, "")
	flags.String("data-dir", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	url := "http://" + ln.Addr().String()
	server := &http.Server{Handler: newFakeAPI(), ReadHeaderTimeout: time.Minute}
	go func() { <-ctx.Done(); _ = server.Close() }()
	raw, err := json.Marshal(map[string]any{
		"base_url": url, "token_url": url + "/oauth/token", "client_id": "id", "client_secret": "secret", "api_key": "bd-1", "gateway_urls": []string{url},
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(*ready, raw, 0o600); err != nil {
		return err
	}
	return ignoreClosed(server.Serve(ln))
}

type fakeAPI struct {
	mu     sync.Mutex
	cfg    baselineConfig
	models map[string]bool
}

func newFakeAPI() http.Handler {
	f := &fakeAPI{cfg: baselineConfig{Keys: []string{"bd-1"}, Routes: map[string][]string{}}, models: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("grant_type") != "client_credentials" || r.FormValue("client_id") != "id" || r.FormValue("client_secret") != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, `{"access_token":"token"}`)
	})
	mux.HandleFunc("POST "+admin+"/providers", f.provider)
	mux.HandleFunc("POST "+admin+"/model-mappings", f.mapping)
	mux.HandleFunc("POST "+chatPath, func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		b := newBaseline(f.cfg)
		b.transport = shared
		f.mu.Unlock()
		b.ServeHTTP(w, r)
	})
	mux.HandleFunc("POST "+messagesPath, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Anthropic-Version") == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		newUpstream().ServeHTTP(w, r) // which speaks messages, as a gateway would
	})
	return mux
}

var shared = newTransport()

func (f *fakeAPI) provider(w http.ResponseWriter, r *http.Request) {
	var in struct {
		BaseURL string   `json:"base_url"`
		Models  []string `json:"models"`
	}
	if r.Header.Get("Authorization") != "Bearer token" || json.NewDecoder(r.Body).Decode(&in) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cfg.Upstream = strings.TrimSuffix(in.BaseURL, "/v1")
	for _, model := range in.Models {
		f.models[model] = true
	}
	_, _ = io.WriteString(w, `{"id":"p1"}`)
}

// mapping puts targets in their places, whatever order they come in.
func (f *fakeAPI) mapping(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ProviderID string `json:"provider_id"`
		Alias      string `json:"model_alias"`
		Upstream   string `json:"upstream_model"`
		Priority   int    `json:"priority"`
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || in.ProviderID != "p1" || !f.models[in.Upstream] || in.Alias == in.Upstream {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	targets := append([]string{}, f.cfg.Routes[in.Alias]...)
	for len(targets) <= in.Priority {
		targets = append(targets, "bad-none")
	}
	targets[in.Priority] = in.Upstream
	f.cfg.Routes[in.Alias] = targets
}

var tinySize = size{
	json: 100, prompt64K: 20, prompt1M: 4, translated: 20, agent: 20, fast: 4, failing: 40,
	slow: 100 * time.Millisecond, quick: 100 * time.Millisecond, open: []int{20},
}

// TestWholeRun runs every scenario once, small, on every system.
func TestWholeRun(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBench(t.Context(), options{spillway: self}, tinySize)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	res, err := b.measure(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.broken(); err != nil {
		t.Error(err)
	}
	table := res.table()
	for _, c := range scenarios(tinySize, 2) {
		for _, s := range columns {
			want := 0
			if c.concerns(s) {
				want = 2
			}
			if got := len(res.Samples[c.id][s]); got != want {
				t.Errorf("%s %s: %d rounds, want %d", c.id, s, got, want)
			}
		}
	}
	for _, want := range []string{"JSON, 64 callers", "translated", "per open stream", "idle", "streams checked"} {
		if want != "per open stream" && !strings.Contains(table, want) { // 20 are not in the table
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	if d := res.damage(spillway); d.Streams != 20+2*(20+4*4) {
		t.Errorf("checked %s", d)
	}
	file := filepath.Join(t.TempDir(), "out.json")
	if err := res.write(file); err != nil {
		t.Fatal(err)
	}
	var read results
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &read); err != nil || len(read.Rows) != len(res.Rows) || len(read.Rows) < 10 {
		t.Errorf("%v, %d rows", err, len(read.Rows))
	}
}

func TestGatewayThatDoesNotStart(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "gateway")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no database\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := startGateway(t.Context(), broken, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no database") {
		t.Error(err)
	}
}
