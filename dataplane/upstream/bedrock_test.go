package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"crypto/hpke"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
	"github.com/spillway-gateway/spillway/test/provider"
)

// The node's own identity comes from where AWS's tools look first.
const ownKeyID, ownSecret = "AKIANODE", "node/secret+"

func TestMain(m *testing.M) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": ownKeyID, "AWS_SECRET_ACCESS_KEY": ownSecret, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// awsBed is a client, and a double of AWS that it reaches.
type awsBed struct {
	client *Client
	aws    *provider.Server
	url    string
	key    hpke.PrivateKey
	org    uuid.UUID
}

func awsSetup(t *testing.T, ambient bool) *awsBed {
	t.Helper()
	kem, _, _ := node.SealSuite()
	key, err := kem.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	b := &awsBed{aws: provider.New(provider.Config{APIKeys: []string{"bearer-key"}}), key: key, org: uuid.New()}
	if b.url, err = b.aws.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.aws.Close() })
	b.aws.AddAWSKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "")
	b.aws.AddAWSKeys(ownKeyID, ownSecret, "")
	b.client = New(Config{SealKey: key, Guard: Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, Ambient: ambient, Services: TokenServices{AWS: b.url}})
	t.Cleanup(b.client.Close)
	return b
}

// target is one of the double's models, asked with a credential. Empty: none is stored.
func (b *awsBed) target(t *testing.T, auth, credentials, model string) *decide.Target {
	t.Helper()
	p := node.Provider{ID: uuid.New(), Name: "p", Family: "bedrock", BaseURL: b.url, AuthType: auth, Settings: json.RawMessage(`{"region":"eu-west-1"}`), Enabled: true, Serving: true}
	if credentials != "" {
		p.Credential = &node.Sealed{CredentialID: uuid.New(), Version: 1, Host: strings.TrimPrefix(b.url, "http://"), KeyID: node.SealKeyID(b.key.PublicKey())}
		_, kdf, aead := node.SealSuite()
		var err error
		if p.Credential.Ciphertext, err = hpke.Seal(b.key.PublicKey(), kdf, aead, p.Credential.Info(b.org), []byte(credentials)); err != nil {
			t.Fatal(err)
		}
	}
	board := decide.NewBoard()
	board.Ambient = true
	org, err := decide.Compile(&node.Snapshot{Format: node.Format, OrganizationID: b.org, Providers: []node.Provider{p},
		Mappings: []node.Mapping{{ID: uuid.New(), ProviderID: p.ID, Alias: model, UpstreamModel: model, Enabled: true}}}, board)
	if err != nil {
		t.Fatal(err)
	}
	target := org.Resolve("p/" + model).Targets[0]
	if target.Unservable != "" {
		t.Fatal(target.Unservable)
	}
	return target
}

const (
	claudeID  = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
	storedKey = `{"credentials":{"access_key_id":"AKIDEXAMPLE","secret_access_key":"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}}`
)

var claudeBody = Body{[]byte(`{"anthropic_version":"bedrock-2023-05-31","max_tokens":50,"messages":[{"role":"user",`), []byte(`"content":"Hello"`), []byte(`}]}`)}

func (b *awsBed) ask(ctx context.Context, target *decide.Target, stream bool) (*http.Response, string, error) {
	call := Call{Target: target, Dialect: llm.Messages, Stream: stream, Body: claudeBody,
		Header: http.Header{"User-Agent": {"u"}, "Content-Type": {"application/json"}, "Accept": {"text/event-stream"}, "Anthropic-Version": {"2023-06-01"}, "Idempotency-Key": {"i"}}}
	if target.Endpoint(llm.Messages) == nil {
		call.Dialect, call.Body = llm.Converse, Body{[]byte(`{"messages":[{"role":"user","content":[{"text":"Hello"}]}]}`)}
	}
	resp, err := b.client.Open(ctx, call)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), errors.Join(err, resp.Body.Close())
}

// clean checks that the double found nothing wrong with what it was sent.
func (b *awsBed) clean(t *testing.T) {
	t.Helper()
	for _, r := range b.aws.Requests() {
		if len(r.Problems) > 0 {
			t.Errorf("%s: %q", r.Path, r.Problems)
		}
	}
}

// Whatever a model is called, the path that is signed is the one that is sent.
func TestBedrockIsSigned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ auth, credentials, model string }{
		"Keys":     {"aws_keys", storedKey, claudeID},
		"Bearer":   {"bedrock_api_key", `{"api_key":"bearer-key"}`, claudeID},
		"Own":      {"aws_role", "", claudeID},
		"ARN":      {"aws_keys", storedKey, "arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0"},
		"Converse": {"aws_keys", storedKey, "arn:aws:bedrock:eu-west-1:1:application-inference-profile/x-1_~.y z+é%2F"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := awsSetup(t, true)
			target := b.target(t, c.auth, c.credentials, c.model)
			for _, stream := range []bool{false, true} {
				resp, body, err := b.ask(t.Context(), target, stream)
				if err != nil || resp.StatusCode != 200 || !strings.Contains(body, "Hello") {
					t.Fatalf("stream %t: %v %+v: %s", stream, err, resp, body)
				}
				if kind := resp.Header.Get("Content-Type"); stream != (kind == "text/event-stream") || resp.Header.Get("Request-Id") == "" {
					t.Errorf("stream %t: headers %v", stream, resp.Header)
				}
			}
			b.clean(t)
			for _, r := range b.aws.Requests() {
				if r.Model != c.model || r.Header.Get("User-Agent") != "u" {
					t.Errorf("asked for %s with %v", r.Model, r.Header)
				}
			}
		})
	}
}

func TestBedrockSessionToken(t *testing.T) {
	t.Parallel()
	b := awsSetup(t, false)
	b.aws.AddAWSKeys("ASIA1", "s", "session/token==")
	target := b.target(t, "aws_keys", `{"credentials":{"access_key_id":"ASIA1","secret_access_key":"s","session_token":"session/token=="}}`, claudeID)
	if resp, body, err := b.ask(t.Context(), target, false); err != nil || resp.StatusCode != 200 {
		t.Errorf("%v %+v: %s", err, resp, body)
	}
	b.clean(t)
}

// A wrong secret is seen, so the checks above prove something; the answer says who refused
// in Anthropic's words.
func TestBedrockWrongSecret(t *testing.T) {
	t.Parallel()
	b := awsSetup(t, false)
	resp, body, err := b.ask(t.Context(), b.target(t, "aws_keys", `{"credentials":{"access_key_id":"AKIDEXAMPLE","secret_access_key":"wrong"}}`, claudeID), false)
	if err != nil || resp.StatusCode != 403 || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v %+v: %s", err, resp, body)
	}
	want := llm.Said{Type: "authentication_error", ErrorCode: "InvalidSignatureException", Message: "The request signature we calculated does not match the signature you provided."}
	if diff := cmp.Diff(want, llm.ReadError([]byte(body))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if problems := b.aws.Requests()[0].Problems; len(problems) != 1 {
		t.Errorf("the double saw %q", problems)
	}
}

const roleARN = "arn:aws:iam::123456789012:role/spillway"

func storedRole(externalID string) string {
	return fmt.Sprintf(`{"credentials":{"role_arn":%q,"external_id":%q}}`, roleARN, externalID)
}

// The organization's id is the external id, and what it sets itself comes behind that: no
// other organization can name it.
func TestBedrockRole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    string
		wanted func(own, other uuid.UUID) string
		ok     bool
	}{
		"Own":              {"", func(own, _ uuid.UUID) string { return own.String() }, true},
		"OwnAndMore":       {"prod", func(own, _ uuid.UUID) string { return own.String() + ":prod" }, true},
		"AnotherCustomers": {"", func(_, other uuid.UUID) string { return other.String() }, false},
		"OnlyWhatWasSet":   {"prod", func(_, _ uuid.UUID) string { return "prod" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := awsSetup(t, false)
			b.aws.AddAWSRole(roleARN, c.wanted(b.org, uuid.New()), time.Hour)
			_, _, err := b.ask(t.Context(), b.target(t, "aws_role", storedRole(c.set), claudeID), true)
			if c.ok && err != nil {
				t.Fatal(err)
			}
			var failed *Error
			if !c.ok && (!errors.As(err, &failed) || failed.Cause != decide.CredentialRefused || failed.Phase != decide.Dialing) {
				t.Errorf("got %v", err)
			}
			b.clean(t)
		})
	}
}

// However many requests come at once, and whether or not the caller of the first leaves, a
// role is assumed once for as long as its keys hold.
func TestBedrockRoleIsAssumedOnce(t *testing.T) {
	t.Parallel()
	b := awsSetup(t, false)
	b.aws.AddAWSRole(roleARN, b.org.String(), time.Hour)
	target := b.target(t, "aws_role", storedRole(""), claudeID)
	var asked sync.WaitGroup
	for range 20 {
		asked.Go(func() {
			if resp, body, err := b.ask(t.Context(), target, false); err != nil || resp.StatusCode != 200 {
				t.Errorf("%v %+v: %s", err, resp, body)
			}
		})
	}
	asked.Wait()
	// A newer configuration with the same credential has the same keys, one with another has not.
	again := *target
	provider := &decide.Provider{ID: target.Provider.ID, OrgID: b.org, Family: "bedrock", Base: target.Provider.Base, Auth: decide.AWSRole, Region: "eu-west-1", Sealed: target.Provider.Sealed}
	again.Provider = provider
	if _, _, err := b.ask(t.Context(), &again, false); err != nil {
		t.Error(err)
	}
	if n := b.aws.AWSRolesAssumed(); n != 1 {
		t.Errorf("assumed %d times", n)
	}
	moved := again
	moved.Provider = &decide.Provider{ID: provider.ID, OrgID: b.org, Family: "bedrock", Base: provider.Base, Auth: decide.AWSRole, Region: "eu-central-1", Sealed: provider.Sealed}
	if _, _, err := b.ask(t.Context(), &moved, false); err != nil {
		t.Error(err)
	}
	if n := b.aws.AWSRolesAssumed(); n != 2 {
		t.Errorf("assumed %d times, want once more for another region", n)
	}
	b.clean(t)
}

// Keys of roles that nobody asks for any more are not kept for ever.
func TestRolesAreForgotten(t *testing.T) {
	t.Parallel()
	var r roles
	for range 2 * maxRoles {
		r.keep(roleID{provider: uuid.New()}, new(roleSource))
	}
	if n := len(r.kept); n == 0 || n > maxRoles {
		t.Errorf("%d are kept", n)
	}
}

// Keys are renewed before they end; while the token service is away, what there is is used
// to its end and no longer.
func TestBedrockRoleIsRenewed(t *testing.T) {
	t.Parallel()
	b := awsSetup(t, false)
	b.aws.AddAWSRole(roleARN, b.org.String(), roleMargin-time.Minute) // within the margin from the start
	target := b.target(t, "aws_role", storedRole(""), claudeID)
	ask := func() error { _, _, err := b.ask(t.Context(), target, false); return err }
	for range 2 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.aws.AWSRolesAssumed(); n != 2 {
		t.Errorf("assumed %d times, want once for each request", n)
	}
	b.aws.Script(roleARN, provider.Behavior{Status: 503})
	for range 2 {
		if err := ask(); err != nil {
			t.Errorf("with keys that hold: %v", err)
		}
	}
	b.clean(t)
	failed := errors.New("away")
	var source roleSource
	if _, err := source.HandleFailToRefresh(t.Context(), awsTestKeys(), failed); !errors.Is(err, failed) {
		t.Errorf("keys that have ended were used: %v", err)
	}
	until := time.Now().Add(roleAgain / 2)
	source.until.Store(until.UnixNano())
	if keys, err := source.HandleFailToRefresh(t.Context(), awsTestKeys(), failed); err != nil || !keys.Expires.Equal(until) {
		t.Errorf("got %v until %v, want until %v", err, keys.Expires, until)
	}
}

// The node's own identity is lent only where its operator says so, and only to AWS.
func TestBedrockOwnIdentity(t *testing.T) {
	t.Parallel()
	b := awsSetup(t, false)
	if _, _, err := b.ask(t.Context(), b.target(t, "aws_role", "", claudeID), false); !errors.Is(err, ErrCredential) {
		t.Errorf("lent without leave: %v", err)
	}
	if n := len(b.aws.Requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	lends := awsSetup(t, true)
	for base, want := range map[string]bool{
		"https://bedrock-runtime.eu-west-1.amazonaws.com": true, "https://evil.example": false, "http://bedrock-runtime.eu-west-1.amazonaws.com": false,
		"https://bedrock-runtime.eu-west-1.amazonaws.com.evil.example": false, "http://127.0.0.1:9": true, "http://10.0.0.1": false,
	} {
		target := lends.target(t, "aws_role", "", claudeID)
		target.Provider.Base = mustParse(t, base)
		if _, err := lends.client.attach(target.Provider); (err == nil) != want {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// A credential that is not one is refused without being quoted.
func TestBedrockBrokenCredential(t *testing.T) {
	t.Parallel()
	b := awsSetup(t, true)
	for auth, stored := range map[string]string{"aws_keys": `{"credentials":{"access_key_id":"canary"}}`, "aws_role": `{"credentials":["canary"]}`, "bedrock_api_key": `{"credentials":{"api_key":"canary"}}`} {
		_, _, err := b.ask(t.Context(), b.target(t, auth, stored, claudeID), false)
		var failed *Error
		if !errors.As(err, &failed) || failed.Cause != decide.GatewayFault || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", auth, err)
		}
	}
	target := b.target(t, "aws_keys", storedKey, claudeID)
	if _, err := b.client.attach(target.Provider); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v", target.Provider.Attached.Load(), target.Provider, target.Provider.Attached.Load()); strings.Contains(text, "wJalr") {
		t.Errorf("printed: %s", text)
	}
}

// A caller who leaves while a role is assumed ends the attempt, and nothing else.
func TestBedrockCallerLeaves(t *testing.T) {
	t.Parallel()
	b := awsSetup(t, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := b.ask(ctx, b.target(t, "aws_role", storedRole(""), claudeID), false)
	var failed *Error
	if !errors.As(err, &failed) || failed.Cause != decide.CallerGone {
		t.Errorf("got %v", err)
	}
}

// The token service is reached over the guarded dialer only.
func TestTokenServiceIsGuarded(t *testing.T) {
	t.Parallel()
	b := awsSetup(t, false)
	b.aws.AddAWSRole(roleARN, b.org.String(), time.Hour)
	b.client = New(Config{SealKey: b.key, Services: TokenServices{AWS: b.url}})
	_, _, err := b.ask(t.Context(), b.target(t, "aws_role", storedRole(""), claudeID), false)
	var failed *Error
	if !errors.Is(err, ErrForbidden) || !errors.As(err, &failed) || failed.Cause != decide.Refused {
		t.Errorf("got %v", err)
	}
	if n := len(b.aws.Requests()); n > 0 {
		t.Errorf("%d requests came through", n)
	}
}

// A refusal that breaks off is still the refusal that its status says.
func TestBedrockRefusalBreaksOff(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Header().Set("X-Amzn-Errortype", "ThrottlingException")
		w.WriteHeader(429)
		_, _ = w.Write([]byte(`{"message":`))
	}))
	defer server.Close()
	b := awsSetup(t, false)
	b.url = server.URL
	resp, body, err := b.ask(t.Context(), b.target(t, "aws_keys", storedKey, claudeID), false)
	if !errors.Is(err, io.ErrUnexpectedEOF) || resp.StatusCode != 429 || llm.ReadError([]byte(body)).ErrorCode != "ThrottlingException" {
		t.Errorf("%v %+v: %s", err, resp, body)
	}
}
