// Package env is the whole system in one process for tests: real Postgres, real
// NATS, any number of nodes, real HTTP between all of them. It runs what
// `spillway dev` runs.
package env

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
	"github.com/spillway-gateway/spillway/dev"
	"github.com/spillway-gateway/spillway/test/provider"
)

// Main runs the tests of a package and stops what they shared.
func Main(m *testing.M) { storetest.Main(m) }

// Options of a system. The zero value is one node.
type Options struct {
	Nodes int
	// DataDir and DatabaseURL let a test start the same system again.
	DataDir     string
	DatabaseURL string
	// Ambient lets organizations use the nodes' own cloud identity.
	Ambient bool
	// NATSURL is a server of the test's own in place of the embedded one.
	NATSURL string
}

// Env is a running system and an organization in it.
type Env struct {
	*Org
	System *dev.System
	Info   dev.Info
	// Provider is a scripted provider beside the demo's, which tests fail at will.
	Provider    *provider.Server
	ProviderURL string
	Options     Options // with what was filled in

	t    testing.TB
	logs *Log
}

// Start runs a system until the test ends.
func Start(t testing.TB, o Options) *Env {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	if o.DatabaseURL == "" {
		o.DatabaseURL, _ = storetest.Empty(t, storetest.Template)
	}
	e := &Env{t: t, Options: o, logs: new(Log)}
	var err error
	e.Provider = provider.New(provider.Config{})
	if e.ProviderURL, err = e.Provider.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Provider.Close() })
	system, err := dev.Start(t.Context(), dev.Config{
		Ambient: o.Ambient, TokenServices: upstream.TokenServices{GoogleToken: e.ProviderURL + provider.GoogleTokenPath, GoogleIAM: e.ProviderURL, AWS: e.ProviderURL},
		AllowFiles: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		DataDir:    o.DataDir, Nodes: o.Nodes, DatabaseURL: o.DatabaseURL, NATSURL: o.NATSURL, MetricsListen: "127.0.0.1:0",
		Log: slog.New(slog.NewTextHandler(e.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatalf("starting the system: %v\n%s", err, e.logs)
	}
	t.Cleanup(func() {
		e.Stop()
		if t.Failed() && os.Getenv("SPILLWAY_TEST_LOGS") != "" {
			t.Log(e.logs.String())
		}
	})
	e.System, e.Info = system, system.Info()
	e.Org = &Org{env: e, ID: uuid.MustParse(e.Info.OrganizationID), APIKey: e.Info.APIKey}
	e.Token = e.token(e.Info.ClientID, e.Info.ClientSecret)
	return e
}

// Stop ends the system before the test does. Stopping twice is stopping once.
func (e *Env) Stop() {
	e.t.Helper()
	if e.System == nil {
		return
	}
	if err := e.System.Stop(); err != nil {
		e.t.Errorf("stopping the system: %v", err)
	}
	e.System = nil
}

// Logs is everything the system logged.
func (e *Env) Logs() string { return e.logs.String() }

// Log is a buffer for a log, safe for concurrent use.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Org is an organization as its administrator sees it.
type Org struct {
	env    *Env
	ID     uuid.UUID
	Token  string // of the admin API
	APIKey string
}

// NewOrg makes another organization, with a service account and an API key.
func (e *Env) NewOrg(name string) *Org {
	e.t.Helper()
	db := e.System.Control().Store()
	id, err := db.CreateOrganization(e.t.Context(), name)
	if err != nil {
		e.t.Fatal(err)
	}
	client, secret, err := db.CreateServiceAccount(e.t.Context(), id, "test", tenant.RoleAdmin)
	if err != nil {
		e.t.Fatal(err)
	}
	o := &Org{env: e, ID: id, Token: e.token(client, secret)}
	var key struct{ Key string }
	o.Must(o.Admin(http.MethodPost, "/api-keys", map[string]any{"name": "test"}), &key)
	o.APIKey = key.Key
	return o
}

func (e *Env) token(client, secret string) string {
	e.t.Helper()
	resp, err := http.PostForm(e.Info.TokenURL, url.Values{"grant_type": {"client_credentials"}, "client_id": {client}, "client_secret": {secret}})
	if err != nil {
		e.t.Fatal(err)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	decode(e.t, read(e.t, resp), &answer)
	return answer.AccessToken
}

// Answer is an HTTP answer, read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Broken is what ended the body early, if something did.
	Broken error
}

func read(t testing.TB, resp *http.Response) Answer {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return Answer{resp.StatusCode, resp.Header, body, err}
}

// Admin calls the admin API; path is what follows "/admin".
func (o *Org) Admin(method, path string, body any) Answer {
	o.env.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		o.env.t.Fatal(err)
	}
	if body == nil {
		raw = nil
	}
	req, err := http.NewRequestWithContext(o.env.t.Context(), method, o.env.Info.BaseURL+"/api/llm-gateway/admin"+path, bytes.NewReader(raw))
	if err != nil {
		o.env.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+o.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.env.t.Fatal(err)
	}
	return read(o.env.t, resp)
}

// Must fails the test unless the answer is a success, and decodes it into out.
func (o *Org) Must(a Answer, out any) {
	o.env.t.Helper()
	decode(o.env.t, a, out)
}

func decode(t testing.TB, a Answer, out any) {
	t.Helper()
	if a.Status < 200 || a.Status > 299 {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	if out != nil {
		if err := json.Unmarshal(a.Body, out); err != nil {
			t.Fatalf("%v in %s", err, a.Body)
		}
	}
}

// AddProvider makes a provider on the scripted provider; family is "openai" or
// "anthropic". It returns the provider's id.
func (o *Org) AddProvider(name, family string, models ...string) string {
	o.env.t.Helper()
	base := o.env.ProviderURL
	if family != "anthropic" {
		base += "/v1"
	}
	return o.AddProviderAt(name, family, base, models...)
}

// AddProviderAt is AddProvider with an address of the test's.
func (o *Org) AddProviderAt(name, family, base string, models ...string) string {
	o.env.t.Helper()
	var p struct{ ID string }
	o.Must(o.Admin(http.MethodPost, "/providers", map[string]any{
		"name": name, "model_provider": family, "base_url": base, "api_key": "upstream-secret-of-" + name, "models": models,
	}), &p)
	return p.ID
}

// AddTarget appends a target to a route and returns the mapping's id. More holds
// further fields of the mapping.
func (o *Org) AddTarget(route, providerID, model string, priority int, more map[string]any) string {
	o.env.t.Helper()
	body := map[string]any{"provider_id": providerID, "model_alias": route, "upstream_model": model, "priority": priority}
	for k, v := range more {
		body[k] = v
	}
	var m struct{ ID string }
	o.Must(o.Admin(http.MethodPost, "/model-mappings", body), &m)
	return m.ID
}

// Live waits until every node serves the organization as it is in the database.
func (o *Org) Live() {
	o.env.t.Helper()
	ctx, cancel := context.WithTimeout(o.env.t.Context(), 10*time.Second)
	defer cancel()
	if err := o.env.System.WaitLive(ctx, o.ID); err != nil {
		o.env.t.Fatal(err)
	}
}

// Call asks node i of the gateway (from 0). The key goes into x-bd-api-key unless
// header sets it.
func (o *Org) Call(node int, path, body string, header map[string]string) Answer {
	o.env.t.Helper()
	resp, err := o.Open(o.env.t.Context(), node, path, body, header)
	if err != nil {
		o.env.t.Fatal(err)
	}
	return read(o.env.t, resp)
}

// Open is Call without reading the answer.
func (o *Org) Open(ctx context.Context, node int, path, body string, header map[string]string) (*http.Response, error) {
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, o.env.Info.GatewayURLs[node]+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Bd-Api-Key", o.APIKey)
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		if v == "" {
			req.Header.Del(k)
			continue
		}
		req.Header.Set(k, v)
	}
	return http.DefaultClient.Do(req)
}

// Chat asks for a chat completion and Messages for a message, of one short prompt.
func (o *Org) Chat(node int, model string, stream bool) Answer {
	o.env.t.Helper()
	return o.Call(node, "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":"Hello"}]}`, model, stream), nil)
}

// Responses is Chat as OpenAI's responses.
func (o *Org) Responses(node int, model string, stream bool) Answer {
	o.env.t.Helper()
	return o.Call(node, "/v1/responses", fmt.Sprintf(`{"model":%q,"stream":%v,"input":[{"role":"user","content":"Hello"}]}`, model, stream), nil)
}

// Messages is Chat in Anthropic's dialect.
func (o *Org) Messages(node int, model string, stream bool) Answer {
	o.env.t.Helper()
	return o.Call(node, "/v1/messages", fmt.Sprintf(`{"model":%q,"stream":%v,"max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}`, model, stream),
		map[string]string{"Anthropic-Version": "2023-06-01"})
}
