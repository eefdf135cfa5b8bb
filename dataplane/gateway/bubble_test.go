package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/gateway"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
)

// bed is a caller, the gateway and a provider in one bubble of virtual time. All of
// it is what the product runs (net/http on both sides, the upstream client, a compiled
// snapshot, a health board), but for sockets and bus. One organization has the route
// "r" over models of one provider.
type bed struct {
	*dialect           // the caller's
	speaks    *dialect // the provider's
	t         *testing.T
	key       string
	watch     *watch
	activity  *decide.Activity
	metrics   *prometheus.Registry
	callers   *listener
	providers *listener
	dial      func(ctx context.Context, network, addr string) (net.Conn, error) // to the provider
	dials     atomic.Int32
	client    *http.Client

	mu      sync.Mutex
	scripts map[string]script
	calls   []*call
}

// script is how a model answers.
type script func(c *call)

// bubble runs a test in a bubble; a target needs no more than its UpstreamModel.
func bubble(t *testing.T, d *dialect, targets []node.Mapping, test func(t *testing.T, b *bed)) {
	t.Helper()
	bubbleAcross(t, d, d, targets, test)
}

// bubbleAcross is bubble with a provider of another dialect than the caller's.
func bubbleAcross(t *testing.T, d, speaks *dialect, targets []node.Mapping, test func(t *testing.T, b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bed{dialect: d, speaks: speaks, t: t, metrics: prometheus.NewPedanticRegistry(), callers: newListener(), providers: newListener(), scripts: map[string]script{}}
		b.dial = b.providers.dial
		b.start(targets)
		test(t, b)
	})
}

// pair are two targets: "first" as it is given, and "second".
func pair(first node.Mapping) []node.Mapping {
	first.UpstreamModel = "first"
	return []node.Mapping{first, {UpstreamModel: "second"}}
}

func (b *bed) start(targets []node.Mapping) {
	b.t.Helper()
	kem, _, _ := node.SealSuite()
	private, err := kem.GenerateKey()
	if err != nil {
		b.t.Fatal(err)
	}
	s := &node.Snapshot{Format: node.Format, OrganizationID: uuid.New(), Version: 1}
	sealed, err := node.Seal(private.PublicKey(), s.OrganizationID, node.Sealed{CredentialID: uuid.New(), Version: 1, Host: "provider.test"}, []byte(`{"api_key":"k"}`))
	if err != nil {
		b.t.Fatal(err)
	}
	b.key = node.NewKey()
	p := node.Provider{ID: uuid.New(), Name: "p", Family: b.speaks.family, BaseURL: b.speaks.baseURL, AuthType: b.speaks.auth, Enabled: true, Serving: true, Credential: &sealed}
	s.Providers = []node.Provider{p}
	s.Keys = []node.Key{{ID: uuid.New(), Hash: node.HashKey(b.key)}}
	for i, m := range targets {
		m.ID, m.ProviderID, m.Alias, m.Enabled, m.BareAlias, m.Priority = uuid.New(), p.ID, "r", true, true, i
		s.Mappings = append(s.Mappings, m, node.Mapping{ID: uuid.New(), ProviderID: p.ID, Alias: m.UpstreamModel, UpstreamModel: m.UpstreamModel, Enabled: true})
	}
	org, err := decide.Compile(s, decide.NewBoard())
	if err != nil {
		b.t.Fatal(err)
	}
	table := new(decide.Table).With(org)
	b.activity = org.Activity
	b.watch = &watch{route: org.Resolve("r"), outbox: decide.NewOutbox("n", uuid.New)}
	client := upstream.New(upstream.Config{SealKey: private, DialUnguarded: func(ctx context.Context, network, addr string) (net.Conn, error) {
		b.dials.Add(1)
		return b.dial(ctx, network, addr)
	}})
	door := gateway.New(gateway.Config{Table: func() *decide.Table { return table }, Ready: func() bool { return true }, Upstream: client, Health: b.watch, Metrics: gateway.NewMetrics(b.metrics)})
	b.client = &http.Client{Transport: &http.Transport{DialContext: b.callers.dial, DisableCompression: true}}
	// In this order: whoever asks goes before who answers.
	b.serve((*http.Server).Serve, b.providers, http.HandlerFunc(b.provide))
	b.t.Cleanup(client.Close)
	b.serve(gateway.Serve, b.callers, door)
	b.t.Cleanup(b.client.CloseIdleConnections)
}

// serve runs a server to the test's end. Then nothing may be left on it: a handler that
// still runs is one that nobody would ever have stopped.
func (b *bed) serve(serve func(*http.Server, net.Listener) error, l *listener, h http.Handler) {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: gateway.ReadHeaderTimeout, MaxHeaderBytes: gateway.MaxHeaderBytes,
		ErrorLog: log.New(complaints{b.t}, "", 0),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = serve(server, l)
	}()
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			b.t.Error("a request is still being served")
			_ = server.Close()
		}
		<-served
	})
}

// complaints are what net/http has to say of a handler: a panic, a second header.
type complaints struct{ t *testing.T }

func (c complaints) Write(p []byte) (int, error) {
	c.t.Errorf("%s", p)
	return len(p), nil
}

// on sets how a model answers; without it, it answers well.
func (b *bed) on(model string, s script) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.scripts[model] = s
}

// asked are the calls that a model got.
func (b *bed) asked(model string) (calls []*call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.calls {
		if c.model == model {
			calls = append(calls, c)
		}
	}
	return calls
}

// call is one call that the provider got.
type call struct {
	*bed
	w      http.ResponseWriter
	r      *http.Request
	model  string
	stream bool
	at     time.Time
	left   time.Time // when the gateway went away during a pause; else zero
}

func (b *bed) provide(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model  string
		Stream bool
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if want := b.body(in.Model, in.Stream); err != nil || string(body) != want && b.speaks == b.dialect {
		b.t.Errorf("the provider got %s (%v), want %s", body, err, want)
	}
	c := &call{bed: b, w: w, r: r, model: in.Model, stream: in.Stream, at: time.Now()}
	b.mu.Lock()
	b.calls = append(b.calls, c)
	s := b.scripts[in.Model]
	b.mu.Unlock()
	if s == nil {
		s = func(c *call) { c.say(c.speaks.good(c.model, c.stream)) }
	}
	s(c)
}

// say sends some of the answer at once.
func (c *call) say(text string) {
	c.w.Header().Set("Content-Type", "application/json")
	if c.stream {
		c.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	_, _ = io.WriteString(c.w, text) // who has left is told by pause
	_ = http.NewResponseController(c.w).Flush()
}

// refuse answers with an error.
func (c *call) refuse(status int, header ...string) {
	c.w.Header().Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		c.w.Header().Set(header[i], header[i+1])
	}
	c.w.WriteHeader(status)
	_, _ = io.WriteString(c.w, `{"error":{"message":"no","type":"x"}}`)
}

// pause waits, and reports whether anyone is still there.
func (c *call) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.r.Context().Done():
		c.left = time.Now()
		return false
	}
}

// hang says nothing more for as long as anyone waits.
func (c *call) hang() { c.pause(1000 * time.Hour) }

// cut closes the connection, or resets it, after raw bytes of HTTP.
func (c *call) cut(raw string, reset bool) {
	in, _, err := http.NewResponseController(c.w).Hijack()
	if err != nil {
		c.t.Error(err)
		return
	}
	_, _ = io.WriteString(in, raw)
	if reset {
		in.(*conn).reset()
	}
	_ = in.Close()
}

// reply is what the caller got.
type reply struct {
	status int
	header http.Header
	body   string
	broken error         // what ended the body early
	took   time.Duration // from asking to the last byte
}

// ask sends a request and reads the answer to its end.
func (b *bed) ask(stream bool) reply {
	b.t.Helper()
	began := time.Now()
	resp, err := b.open(b.t.Context(), stream)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode >= 300 {
		for _, name := range []string{"Request-Id", "X-Request-Id", "X-Bd-Request-Id", "X-Bd-Error-Origin"} {
			if resp.Header.Get(name) == "" {
				b.t.Errorf("an error of status %d without %s: %v", resp.StatusCode, name, resp.Header)
			}
		}
	}
	return reply{resp.StatusCode, resp.Header, string(body), err, time.Since(began)}
}

// status is what another request than the usual one is answered with.
func (b *bed) status(method, path, body string) int {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, "http://gateway.test"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("X-Bd-Api-Key", b.key)
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// open sends a request and waits for the answer's header.
func (b *bed) open(ctx context.Context, stream bool) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway.test"+b.path, strings.NewReader(b.body("r", stream)))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("X-Bd-Api-Key", b.key)
	return b.client.Do(r)
}

// served checks that a model gave the whole answer, after so many others in vain.
func (b *bed) served(a reply, stream bool, model, failovers string) {
	b.t.Helper()
	if want := b.good(model, stream); a.status != http.StatusOK || a.body != want || a.broken != nil {
		b.t.Errorf("status %d, broken %v, body %q, want all of %s's answer", a.status, a.broken, a.body, model)
	}
	if got := a.header.Get("X-Bd-Provider-Failover-Count"); got != failovers {
		b.t.Errorf("failover count %q, want %s", got, failovers)
	}
}

// watch keeps health as a node does that is alone on the bus: what it sees is the log.
type watch struct {
	route  *decide.Route
	outbox *decide.Outbox
	mu     sync.Mutex
	seen   []seen
}

// seen is one verdict that attempts reported, and on which model.
type seen struct {
	model string
	class decide.Class
}

func (w *watch) Now() time.Time { return time.Now() }

func (w *watch) Reserve(context.Context, *decide.Target, *decide.Admission) bool { return true }

func (w *watch) Observe(t *decide.Target, a *decide.Admission, v decide.Verdict, _ decide.Own) {
	w.mu.Lock()
	w.seen = append(w.seen, seen{t.UpstreamModel, v.Class})
	w.mu.Unlock()
	w.outbox.Observe(t, a, v, decide.Own{}, time.Now())
	for _, e := range w.outbox.Due(time.Now()) {
		w.outbox.Echoed(e.ID)
		t.Health.Cell.Fold(decide.HappenedAt(&e.HealthEvent, time.Now()))
	}
}

// told are the verdicts on a model so far.
func (w *watch) told(model string) (classes []decide.Class) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		if s.model == model {
			classes = append(classes, s.class)
		}
	}
	return classes
}

// last is the last verdict on a model.
func (w *watch) last(model string) decide.Class {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.seen) - 1; i >= 0; i-- {
		if w.seen[i].model == model {
			return w.seen[i].class
		}
	}
	return ""
}

// standing is what the first target lets through now.
func (w *watch) standing() decide.Standing {
	h := w.route.Targets[0].Health.Health()
	return h.At(time.Now())
}
