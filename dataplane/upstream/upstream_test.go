package upstream

import (
	"crypto/hpke"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

func TestGuardRefusesWhatIsNotPublic(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::10.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::10.0.0.1",
		"2002:7f00:1::", "2002:a00:1::1", "2002:c0a8:101::", "2002:a9fe:a9fe::",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2001::1", "2001:db8::1", "100::1", "3fff::1", "5f00::1",
	} {
		g := Guard{}
		if err := g.Check(netip.MustParseAddr(text)); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: got %v, want it refused", text, err)
		}
	}
	for _, text := range []string{"8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "198.20.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"} {
		g := Guard{}
		if err := g.Check(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	g := Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	if err := g.Check(netip.MustParseAddr("127.0.0.1")); err != nil {
		t.Errorf("what the operator allows: %v", err)
	}
	if err := g.Check(netip.MustParseAddr("10.0.0.1")); err == nil {
		t.Error("allowing loopback allows no more than loopback")
	}
}

// bundle is a provider on an HTTP server, with a sealed credential.
type bundle struct {
	client   *Client
	provider *decide.Provider
	seen     *http.Header
}

func setup(t *testing.T, allow bool) bundle {
	t.Helper()
	seen := new(http.Header)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { *seen = r.Header.Clone() }))
	t.Cleanup(server.Close)
	kem, _, _ := node.SealSuite()
	key, err := kem.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(server.URL + "/v1/chat/completions")
	if err != nil {
		t.Fatal(err)
	}
	p := &decide.Provider{ID: uuid.New(), OrgID: uuid.New(), Base: base, Endpoints: decide.Endpoints{llm.Chat: {URL: base}}, Auth: decide.BearerAuth}
	p.Sealed = seal(t, key.PublicKey(), p.OrgID, base.Host)
	cfg := Config{SealKey: key}
	if allow {
		cfg.Guard.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	client := New(cfg)
	t.Cleanup(client.Close)
	return bundle{client, p, seen}
}

func seal(t *testing.T, key hpke.PublicKey, org uuid.UUID, host string) *node.Sealed {
	t.Helper()
	s, err := node.Seal(key, org, node.Sealed{CredentialID: uuid.New(), Version: 1, Host: host}, []byte(`{"api_key":"canary-secret"}`))
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

func (b bundle) open(t *testing.T) error {
	t.Helper()
	resp, err := b.client.Open(t.Context(), Call{Target: &decide.Target{Provider: b.provider}, Dialect: llm.Chat, Header: http.Header{},
		Body: Body{[]byte("{"), []byte(`"a":1`), []byte("}")}})
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}

func TestOpenSendsTheCredential(t *testing.T) {
	t.Parallel()
	b := setup(t, true)
	for range 2 { // opened, and from the cache
		if err := b.open(t); err != nil {
			t.Fatal(err)
		}
		if got := b.seen.Get("Authorization"); got != "Bearer canary-secret" {
			t.Errorf("got Authorization %q", got)
		}
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, b.provider.Attached.Load()); strings.Contains(text, "canary") {
			t.Errorf("%s prints the credential: %s", format, text)
		}
	}
}

// Each family has its own header for a key.
func TestOpenSendsTheCredentialAsTheFamilyWantsIt(t *testing.T) {
	t.Parallel()
	for auth, want := range map[decide.Auth]http.Header{
		decide.BearerAuth:   {"Authorization": {"Bearer canary-secret"}},
		decide.XAPIKeyAuth:  {"X-Api-Key": {"canary-secret"}},
		decide.AzureKeyAuth: {"Api-Key": {"canary-secret"}},
	} {
		b := setup(t, true)
		b.provider.Auth = auth
		if err := b.open(t); err != nil {
			t.Fatal(err)
		}
		got := http.Header{}
		for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key"} {
			if v := b.seen.Values(name); v != nil {
				got[name] = v
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d: -want +got\n%s", auth, diff)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*testing.T, *bundle){
		"MovedElsewhere": func(_ *testing.T, b *bundle) {
			// The same server by another name: only the seal's host forbids it.
			moved := *b.provider.Base
			moved.Host = strings.Replace(moved.Host, "127.0.0.1", "localhost", 1)
			b.provider.Base, b.provider.Endpoints = &moved, decide.Endpoints{llm.Chat: {URL: &moved}}
		},
		"AnotherHost":         func(_ *testing.T, b *bundle) { b.provider.Sealed.Host = "api.example.com" },
		"AnotherOrganization": func(_ *testing.T, b *bundle) { b.provider.OrgID = uuid.New() },
		"AnotherKey":          func(_ *testing.T, b *bundle) { b.provider.Sealed.KeyID = "0000000000000000" },
		"NoCredential":        func(_ *testing.T, b *bundle) { b.provider.Sealed = nil },
		"Damaged":             func(_ *testing.T, b *bundle) { b.provider.Sealed.Ciphertext[40] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, true)
			damage(t, &b)
			var failure *Error
			if err := b.open(t); !errors.As(err, &failure) || failure.Cause != decide.GatewayFault || !errors.Is(err, ErrCredential) {
				t.Errorf("got %v", err)
			}
			if *b.seen != nil {
				t.Error("the provider was asked all the same")
			}
		})
	}
}

func TestOpenIsGuarded(t *testing.T) {
	t.Parallel()
	b := setup(t, false)
	var failure *Error
	if err := b.open(t); !errors.As(err, &failure) || failure.Phase != decide.Dialing || !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v, want loopback refused", err)
	}
	if *b.seen != nil {
		t.Error("the provider was asked all the same")
	}
}

func TestRequestHeaderIsAnAllowList(t *testing.T) {
	t.Parallel()
	in := http.Header{}
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Bd-Api-Key", "Cookie", "Connection", "Upgrade", "Te", "X-Forwarded-For", "Anthropic-Version", "Content-Length"} {
		in.Set(name, "x")
	}
	out := RequestHeader(in)
	if len(out) != 3 || out.Get("Anthropic-Version") != "x" || out.Get("Content-Type") != "application/json" {
		t.Errorf("got %v", out)
	}
}

// A tool on a subscription says who it is in headers that nobody can list; what is
// between it and the gateway is not among them.
func TestPassthroughHeaderIsAnOpenList(t *testing.T) {
	t.Parallel()
	in := http.Header{"Connection": {"Keep-Alive, X-Hop"}}
	kept := []string{"Chatgpt-Account-Id", "Originator", "Session_id", "Openai-Beta", "X-Codex-Turn-State", "Version", "User-Agent", "Content-Type", "Accept", "X-New-Thing"}
	dropped := []string{"Authorization", "X-Api-Key", "X-Bd-Api-Key", "X-Bd-Request-Id", "Cookie", "Upgrade", "Te", "X-Hop", "Keep-Alive", "X-Forwarded-For", "Forwarded",
		"Accept-Encoding", "Content-Encoding", "Content-Length", "Proxy-Authorization", "X_bd_api_key", "X_real-Ip", "X_forwarded_for", "Proxy_authorization"}
	for _, name := range append(kept, dropped...) {
		in[name] = []string{"x"}
	}
	out := PassthroughHeader(in)
	for _, name := range kept {
		if out[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	if len(out) != len(kept) {
		t.Errorf("got %v", out)
	}
}

// A caller's own token goes to its vendor over TLS, or where the operator allowed.
func TestOwnTokenOnlyToTheVendor(t *testing.T) {
	t.Parallel()
	c := New(Config{Guard: Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	for address, want := range map[string]struct{ claude, codex bool }{
		"https://api.anthropic.com/v1/messages": {claude: true}, "https://api.anthropic.com:443/": {claude: true},
		"https://chatgpt.com/backend-api/codex/responses": {codex: true}, "https://chatgpt.com:443/": {codex: true},
		"http://127.0.0.1:9/v1/messages": {true, true},
		"http://api.anthropic.com/":      {}, "https://api.anthropic.com.evil.example/": {}, "https://anthropic.com/": {},
		"http://chatgpt.com/": {}, "https://evil.chatgpt.com/": {}, "https://chatgpt.com.evil.example/": {}, "https://api.openai.com/v1": {},
		"http://10.0.0.1/": {}, "http://localhost/": {},
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		for auth, want := range map[decide.Auth]bool{decide.ClaudeOAuth: want.claude, decide.CodexOAuth: want.codex} {
			p := &decide.Provider{Auth: auth, Base: u}
			if _, err := c.attach(p); (err == nil) != want {
				t.Errorf("%s: %s: got %v", auth.Vendor(), address, err)
			}
		}
	}
}

// What tells of a subscription's windows goes only to whose subscription it is;
// what tells of the operator's account goes to nobody.
func TestAnswerHeaderIsAnAllowList(t *testing.T) {
	t.Parallel()
	src := http.Header{}
	for _, name := range []string{"Content-Type", "Request-Id", "Anthropic-Ratelimit-Unified-Status", "Anthropic-Ratelimit-Requests-Limit", "Set-Cookie", "Openai-Organization", "Anthropic-Organization-Id", "Server",
		"X-Codex-Primary-Used-Percent", "X-Codex-Turn-State", "X-Models-Etag", "X-Reasoning-Included", "Cf-Ray"} {
		src.Set(name, "x")
	}
	for passthrough, want := range map[bool]int{false: 3, true: 8} {
		dst := http.Header{}
		AnswerHeader(dst, src, passthrough)
		if len(dst) != want {
			t.Errorf("passthrough %v: got %v", passthrough, dst)
		}
	}
}

// What a tool says to its own vendor, and a vendor to its own tools, stays between them
// where the other side speaks another dialect.
func TestHeadersOfVendorsDoNotCross(t *testing.T) {
	t.Parallel()
	in := http.Header{}
	for _, name := range []string{"Anthropic-Version", "Anthropic-Beta", "Openai-Beta", "User-Agent", "Authorization", "Content-Type", "X-Stainless-Lang"} {
		in.Set(name, "x")
	}
	for to, want := range map[llm.Dialect]http.Header{
		llm.Chat:     {"User-Agent": {"x"}, "Content-Type": {"application/json"}},
		llm.Messages: {"User-Agent": {"x"}, "Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}},
	} {
		if diff := cmp.Diff(want, CrossingHeader(in, to)); diff != "" {
			t.Errorf("to %s (-want +got):\n%s", to, diff)
		}
	}
	if in.Get("Anthropic-Version") != "x" || in.Get("Content-Type") != "x" {
		t.Error("the caller's own header was changed")
	}
	src := http.Header{}
	kept := []string{"Request-Id", "X-Request-Id", "Retry-After", "Retry-After-Ms", "X-Should-Retry", "X-Ratelimit-Limit-Tokens", "Anthropic-Ratelimit-Requests-Limit"}
	for _, name := range append(kept, "Content-Type", "Openai-Version", "Openai-Model", "Openai-Processing-Ms", "Anthropic-Ratelimit-Unified-Status", "X-Codex-Turn-State", "Set-Cookie") {
		src.Set(name, "x")
	}
	want := http.Header{"Content-Type": {"text/event-stream"}, "X-Bd-Request-Id": {"r"}}
	for _, name := range kept {
		want.Set(name, "x")
	}
	dst := http.Header{"X-Bd-Request-Id": {"r"}}
	CrossedHeader(dst, src, "text/event-stream")
	if diff := cmp.Diff(want, dst); diff != "" {
		t.Errorf("back (-want +got):\n%s", diff)
	}
}
