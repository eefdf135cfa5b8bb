package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
)

// still is a Health that never changes.
type still struct{}

func (still) Now() time.Time { return time.Now() }

func (still) Reserve(context.Context, *decide.Target, *decide.Admission) bool { return true }

func (still) Observe(*decide.Target, *decide.Admission, decide.Verdict, decide.Own) {}

// setup is a handler over one organization with the route "r": its targets are the
// given models on the given upstream.
func setup(t testing.TB, upstreamHandler http.Handler, models ...string) (h *Handler, key string) {
	t.Helper()
	server := httptest.NewServer(upstreamHandler)
	t.Cleanup(server.Close)
	kem, _, _ := node.SealSuite()
	private, err := kem.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	org, providerID := uuid.New(), uuid.New()
	sealed, err := node.Seal(private.PublicKey(), org, node.Sealed{CredentialID: uuid.New(), Version: 1, Host: strings.TrimPrefix(server.URL, "http://")}, []byte(`{"api_key":"k"}`))
	if err != nil {
		t.Fatal(err)
	}
	key = node.NewKey()
	s := &node.Snapshot{
		Format: node.Format, OrganizationID: org, Version: 1,
		Providers: []node.Provider{{ID: providerID, Name: "p", Family: "openai", BaseURL: server.URL + "/v1", AuthType: "bearer_api_key", Enabled: true, Serving: true, Credential: &sealed}},
		Keys:      []node.Key{{ID: uuid.New(), Hash: node.HashKey(key)}},
	}
	for i, model := range models {
		s.Mappings = append(s.Mappings,
			node.Mapping{ID: uuid.New(), ProviderID: providerID, Alias: model, UpstreamModel: model, Enabled: true},
			node.Mapping{ID: uuid.New(), ProviderID: providerID, Alias: "r", UpstreamModel: model, Enabled: true, BareAlias: true, Priority: i})
	}
	compiled, err := decide.Compile(s, decide.NewBoard())
	if err != nil {
		t.Fatal(err)
	}
	table := new(decide.Table).With(compiled)
	client := upstream.New(upstream.Config{SealKey: private, Guard: upstream.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(client.Close)
	return New(Config{Table: func() *decide.Table { return table }, Ready: func() bool { return true }, Upstream: client, Health: still{}}), key
}

// BenchmarkJSON is one request's own cost, allocations above all; `make bench`
// measures the process.
func BenchmarkJSON(b *testing.B) {
	benchmark(b, "good")
}

func BenchmarkFailingOver(b *testing.B) {
	benchmark(b, "bad", "good")
}

func benchmark(b *testing.B, models ...string) {
	answer := []byte(`{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("word ", 200) + `"}}]}`)
	h, key := setup(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if bytes.Contains(body, []byte(`"model":"bad"`)) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error":{"message":"overloaded","type":"server_error"}}`))
			return
		}
		_, _ = w.Write(answer)
	}), models...)
	body := `{"model":"r","messages":[{"role":"user","content":"` + strings.Repeat("word ", 200) + `"}]}`
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}
