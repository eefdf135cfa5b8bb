package upstream

import (
	"context"
	"crypto/hpke"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/test/provider"
)

// service is a token service in a bubble's time: each token holds an hour.
type service struct {
	asked int
	takes time.Duration
	fails error
}

func (s *service) fetch(ctx context.Context) (token, error) {
	s.asked++
	n := s.asked
	timer := time.NewTimer(s.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return token{}, failure(ctx, ctx.Err())
	}
	return token{strconv.Itoa(n), time.Now().Add(time.Hour)}, s.fails
}

func wantToken(t *testing.T, tokens *tokens, want string) {
	t.Helper()
	if got, err := tokens.get(t.Context()); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// However many requests come at once, one asks; the token is kept, and replaced before it
// ends without anyone waiting.
func TestTokenIsGotOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{takes: time.Second}
		tokens := &tokens{fetch: s.fetch}
		var herd sync.WaitGroup
		for range 50 {
			herd.Go(func() { wantToken(t, tokens, "1") })
		}
		herd.Wait()
		time.Sleep(time.Hour - refreshEarly - time.Second)
		wantToken(t, tokens, "1")
		synctest.Wait()
		if s.asked != 1 {
			t.Errorf("asked %d times before it was time", s.asked)
		}
		time.Sleep(2 * time.Second)
		began := time.Now()
		wantToken(t, tokens, "1") // the old one still holds
		if took := time.Since(began); took != 0 {
			t.Errorf("waited %s for a token that was there", took)
		}
		time.Sleep(2 * time.Second)
		wantToken(t, tokens, "2")
		if s.asked != 2 {
			t.Errorf("asked %d times, want 2", s.asked)
		}
		time.Sleep(2 * time.Hour)
		wantToken(t, tokens, "3") // an ended one is never sent
	})
}

// A service that fails is asked again by the next request, and where the old token still
// holds now and then.
func TestTokenServiceFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{fails: refusedBy(400)}
		tokens := &tokens{fetch: s.fetch}
		for range 2 {
			var failed *Error
			if _, err := tokens.get(t.Context()); !errors.As(err, &failed) || failed.Cause != decide.CredentialRefused || failed.Phase != decide.Dialing {
				t.Errorf("got %v", err)
			}
		}
		s.fails = nil
		wantToken(t, tokens, "3")
		s.fails = refusedBy(503)
		time.Sleep(time.Hour - refreshEarly + time.Second)
		for range 5 {
			wantToken(t, tokens, "3")
			synctest.Wait()
		}
		if s.asked != 4 {
			t.Errorf("asked %d times at once although the last time was in vain", s.asked-3)
		}
		time.Sleep(refreshPause)
		wantToken(t, tokens, "3")
		synctest.Wait()
		if s.asked != 5 {
			t.Errorf("not asked again: %d", s.asked)
		}
	})
}

// Whoever leaves waits no longer, and a service that never answers is given up.
func TestTokenServiceHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := &tokens{fetch: (&service{takes: time.Hour}).fetch}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, ErrTimedOut)
		defer cancel()
		var failed *Error
		if _, err := tokens.get(ctx); !errors.As(err, &failed) || failed.Cause != decide.TimedOut {
			t.Errorf("the request's time was up: got %v", err)
		}
		if _, err := tokens.get(t.Context()); !errors.As(err, &failed) || failed.Cause != decide.TimedOut {
			t.Errorf("the service's time was up: got %v", err)
		}
	})
}

// vertexBundle is a provider on the scripted Google with a credential of a kind.
func vertexBundle(t *testing.T, auth decide.Auth, ambient bool, credential func(*provider.Server) json.RawMessage) (*Client, *decide.Provider, *provider.Server) {
	t.Helper()
	server := provider.New(provider.Config{})
	address, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	kem, _, _ := node.SealSuite()
	key, err := kem.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &decide.Provider{ID: uuid.New(), OrgID: uuid.New(), Base: base, Auth: auth}
	if credential != nil {
		p.Sealed = sealJSON(t, key, p, credential(server))
	}
	client := New(Config{SealKey: key, Ambient: ambient, Guard: Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		Services: TokenServices{GoogleToken: address + provider.GoogleTokenPath, GoogleIAM: address}})
	t.Cleanup(client.Close)
	return client, p, server
}

func sealJSON(t *testing.T, key hpke.PrivateKey, p *decide.Provider, structured json.RawMessage) *node.Sealed {
	t.Helper()
	plain, err := json.Marshal(node.Credential{Structured: structured})
	if err != nil {
		t.Fatal(err)
	}
	s, err := node.Seal(key.PublicKey(), p.OrgID, node.Sealed{CredentialID: uuid.New(), Version: 1, Host: p.Base.Host}, plain)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// signed is whose token goes on a request to the provider.
func signed(t *testing.T, c *Client, p *decide.Provider, server *provider.Server) (whose string, err error) {
	t.Helper()
	to, err := c.attach(p)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Base.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.signer.sign(req, &Call{}); err != nil {
		return "", err
	}
	return server.GoogleTokenOf(strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")), nil
}

const account = "a@p.iam.gserviceaccount.com"

func ofAccount(s *provider.Server) json.RawMessage { return s.GoogleServiceAccount(account) }

// The token outlives the configuration, and is no other credential's.
func TestTokensAreOfOneCredential(t *testing.T) {
	t.Parallel()
	c, p, server := vertexBundle(t, decide.GoogleKeyAuth, false, ofAccount)
	again := &decide.Provider{ID: p.ID, OrgID: p.OrgID, Base: p.Base, Auth: p.Auth, Sealed: p.Sealed}
	for _, p := range []*decide.Provider{p, again} {
		if whose, err := signed(t, c, p, server); err != nil || whose != account {
			t.Errorf("got %q, %v", whose, err)
		}
	}
	if n := len(server.Requests()); n != 1 {
		t.Errorf("the service was asked %d times for one credential", n)
	}
	newer := *p.Sealed
	newer.Version++
	first, err := c.googleTokens(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.googleTokens(&decide.Provider{ID: p.ID, OrgID: p.OrgID, Base: p.Base, Auth: p.Auth, Sealed: &newer}); err == nil {
		t.Error("a seal whose version was changed opens")
	}
	if other, err := c.googleTokens(again); err != nil || other != first {
		t.Errorf("the same credential has two: %v", err)
	}
}

// What the service says of a credential is told apart from what ails the service, and
// nothing of the credential or the answer shows.
func TestGoogleTokenFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script provider.Behavior
		want   decide.Cause
	}{
		"InvalidGrant": {provider.Behavior{Status: 400}, decide.CredentialRefused},
		"Unauthorized": {provider.Behavior{Status: 401}, decide.CredentialRefused},
		"TooMany":      {provider.Behavior{Status: 429}, decide.Broken},
		"Unavailable":  {provider.Behavior{Status: 503}, decide.Broken},
		"Reset":        {provider.Behavior{Reset: true}, decide.Broken},
		"Page":         {provider.Behavior{HTML: true}, decide.Broken},
		"NoToken":      {provider.Behavior{Body: `{"token_type":"Bearer"}`}, decide.Broken},
		"BadToken":     {provider.Behavior{Body: "{\"access_token\":\"a\\r\\nX: y\",\"expires_in\":3599}"}, decide.Broken},
		"Redirect":     {provider.Behavior{Status: 307, Headers: map[string]string{"Location": "http://127.0.0.1:1/"}}, decide.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, p, server := vertexBundle(t, decide.GoogleKeyAuth, false, ofAccount)
			server.Script(provider.GoogleTokenPath, c.script)
			_, err := signed(t, client, p, server)
			var failed *Error
			if !errors.As(err, &failed) || failed.Cause != c.want || failed.Phase != decide.Dialing {
				t.Fatalf("got %+v", err)
			}
			for _, secret := range []string{"PRIVATE KEY", "Invalid JWT", account, "assertion"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows %q: %v", secret, err)
				}
			}
		})
	}
}

// Token services are dialed through the guard like providers.
func TestTokenServicesAreGuarded(t *testing.T) {
	t.Parallel()
	client, p, server := vertexBundle(t, decide.GoogleKeyAuth, false, ofAccount)
	strict := New(Config{SealKey: client.sealKey, Services: client.services})
	if _, err := signed(t, strict, p, server); !errors.Is(err, ErrForbidden) || len(server.Requests()) > 0 {
		t.Errorf("got %v", err)
	}
}

// A stored credential that is not what its provider's type says is not used, and not shown.
func TestGoogleCredentialsThatAreNone(t *testing.T) {
	t.Parallel()
	for auth, text := range map[decide.Auth]string{decide.GoogleKeyAuth: `{"type":"service_account","private_key":"canary"}`, decide.GoogleImpersonationAuth: `{"target_principal":"canary/"}`} {
		client, p, server := vertexBundle(t, auth, true, func(*provider.Server) json.RawMessage { return json.RawMessage(text) })
		if _, err := signed(t, client, p, server); !errors.Is(err, ErrCredential) || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v", err)
		}
	}
}

// The node's own identity is used where the operator allows it, at Google's hosts or in a
// network that the operator allowed, and by no other provider.
func TestAmbientGoogle(t *testing.T) { // not parallel: the environment says where the identity comes from
	target := func(*provider.Server) json.RawMessage {
		return json.RawMessage(`{"target_principal":"` + account + `"}`)
	}
	for auth, c := range map[decide.Auth]struct {
		credential func(*provider.Server) json.RawMessage
		whose      string
	}{decide.GoogleADCAuth: {nil, "the machine"}, decide.GoogleImpersonationAuth: {target, account}} {
		for _, allowed := range []bool{true, false} {
			client, p, server := vertexBundle(t, auth, allowed, c.credential)
			t.Setenv("GCE_METADATA_HOST", p.Base.Host)
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
			t.Setenv("HOME", t.TempDir())
			whose, err := signed(t, client, p, server)
			if allowed && (err != nil || whose != c.whose) || !allowed && !errors.Is(err, ErrCredential) {
				t.Errorf("%d, allowed %t: got %q, %v", auth, allowed, whose, err)
			}
			elsewhere := *p.Base
			elsewhere.Host = strings.Replace(p.Base.Host, "127.0.0.1", "localhost", 1)
			moved := &decide.Provider{ID: p.ID, OrgID: p.OrgID, Base: &elsewhere, Auth: p.Auth, Sealed: p.Sealed}
			if _, err := signed(t, client, moved, server); !errors.Is(err, ErrCredential) {
				t.Errorf("%d: the node's own token goes to a host of a tenant's: %v", auth, err)
			}
		}
	}
}
