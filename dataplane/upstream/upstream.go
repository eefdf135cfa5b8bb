// Package upstream makes one attempt against one provider: it opens the sealed
// credential, sends the request to the one host the seal names, and says how far
// it got. It is the only place of the data plane that dials out.
package upstream

import (
	"bytes"
	"context"
	"crypto/hpke"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Errors of a refused attempt. No connection was made.
var (
	ErrForbidden  = errors.New("address refused")
	ErrCredential = errors.New("the credential cannot be used")
)

// Config says what a Client needs.
type Config struct {
	// SealKey opens provider credentials.
	SealKey hpke.PrivateKey
	// Guard decides which addresses may be dialed. Its zero value allows public ones.
	Guard Guard
	// Ambient lets every organization's providers use the identity that the node has in its
	// cloud, where they ask for it.
	Ambient bool
	// Services are where tokens come from. Zero in the product, which test/house checks.
	Services TokenServices
	// DialUnguarded replaces the guarded dialer, and the Guard with it: it is for tests
	// whose providers are in memory, so that their time can be virtual. Nil in the product,
	// which test/house checks.
	DialUnguarded func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client sends requests to providers. It is safe for concurrent use.
type Client struct {
	sealKey    hpke.PrivateKey
	keyID      string
	allow      []netip.Prefix // see Guard.Allow
	dial       func(ctx context.Context, network, address string) (net.Conn, error)
	transports sync.Map // "scheme://host" -> *http.Transport
	files      *fetcher
	ambient    bool
	services   TokenServices
	identity   awsIdentity
	roles      roles

	mu     sync.Mutex
	tokens map[tokenKey]*tokens
}

// New returns a client.
func New(cfg Config) *Client {
	c := &Client{sealKey: cfg.SealKey, allow: cfg.Guard.Allow, dial: cfg.DialUnguarded, ambient: cfg.Ambient, services: cfg.Services.withDefaults(),
		tokens: map[tokenKey]*tokens{}}
	dialFile := cfg.DialUnguarded
	if c.dial == nil {
		c.dial = guardedDial(cfg.Guard)
		dialFile = guardedDial(Guard{Allow: cfg.Guard.AllowFiles})
	}
	c.files = newFetcher(dialFile)
	if cfg.SealKey != nil {
		c.keyID = node.SealKeyID(cfg.SealKey.PublicKey())
	}
	return c
}

func guardedDial(g Guard) func(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: g.control}).DialContext
}

// transport returns the connections to a host. Each host has a transport of its
// own, so that requests to different ones share no lock; providers on one host
// share it, for a connection carries no credential of its own.
func (c *Client) transport(u *url.URL) *http.Transport {
	key := u.Scheme + "://" + u.Host
	if t, ok := c.transports.Load(key); ok {
		return t.(*http.Transport)
	}
	t, _ := c.transports.LoadOrStore(key, &http.Transport{
		// No proxy from the environment, no redirects (RoundTrip follows none), and
		// HTTP/1.1, so that one broken connection breaks one request.
		DialContext:           c.dial,
		TLSHandshakeTimeout:   10 * time.Second,
		MaxIdleConnsPerHost:   1024,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	})
	return t.(*http.Transport)
}

// Close ends idle connections.
func (c *Client) Close() {
	c.transports.Range(func(_, t any) bool {
		t.(*http.Transport).CloseIdleConnections()
		return true
	})
}

// Body is a request body in parts that are sent one after another. The parts are
// not changed and may be sent again.
type Body [3][]byte

// Len is the number of bytes.
func (b Body) Len() int64 { return int64(len(b[0]) + len(b[1]) + len(b[2])) }

// joinBelow is up to where copying a body is cheaper than what it saves.
const joinBelow = 32 << 10

// reader returns the body to send. The transport puts a body it knows to be in
// memory into one packet with the headers, and any other into one of its own; so
// small bodies are joined, and large ones sent part by part.
func (b Body) reader() io.ReadCloser {
	switch {
	case b[1] == nil:
		return io.NopCloser(bytes.NewReader(b[0]))
	case b.Len() < joinBelow:
		return io.NopCloser(bytes.NewReader(bytes.Join(b[:], nil)))
	}
	return &bodyReader{parts: b}
}

// bodyReader implements io.WriterTo, so that the transport writes the parts
// without copying them through a buffer.
type bodyReader struct {
	parts Body
	part  int
}

func (r *bodyReader) Read(p []byte) (int, error) {
	for r.part < len(r.parts) {
		if n := copy(p, r.parts[r.part]); n > 0 {
			r.parts[r.part] = r.parts[r.part][n:]
			return n, nil
		}
		r.part++
	}
	return 0, io.EOF
}

func (r *bodyReader) WriteTo(w io.Writer) (total int64, err error) {
	for ; r.part < len(r.parts); r.part++ {
		n, err := w.Write(r.parts[r.part])
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (r *bodyReader) Close() error { return nil }

// Error is an attempt that brought no answer. Phase says how far it got, so that
// nobody has to guess what the provider saw.
type Error struct {
	Phase decide.Phase
	Cause decide.Cause
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Call is one request to one target.
type Call struct {
	Target  *decide.Target
	Dialect llm.Dialect // one that the target takes
	Stream  bool        // whether the answer is to be streamed
	Whole   bool        // it is asked for in one piece all the same, and comes as a stream; see llm.Translation.Whole
	Header  http.Header // what is sent beside the credential; Open takes it over
	// Own is the caller's own Authorization header, which only a passthrough provider on
	// its vendor's host is sent.
	Own   string
	Query string // of the caller, raw: goes along
	Body  Body
}

// Open sends a request and waits for the answer's headers. The error, if any, is an
// *Error. Canceling ctx ends the attempt and the answer's body.
func (c *Client) Open(ctx context.Context, call Call) (*http.Response, error) {
	e := call.Target.Endpoint(call.Dialect)
	if call.Stream && !call.Whole && e.Stream != nil {
		return c.send(ctx, call, e.Stream)
	}
	return c.send(ctx, call, e.URL)
}

// send is Open at an address of the target's.
func (c *Client) send(ctx context.Context, call Call, address *url.URL) (*http.Response, error) {
	to, err := c.attach(call.Target.Provider)
	if err != nil {
		return nil, &Error{Phase: decide.Dialing, Cause: decide.GatewayFault, Err: err}
	}
	if call.Query != "" {
		withQuery := *address
		withQuery.RawQuery = joined(address.RawQuery, call.Query)
		address = &withQuery
	}
	req := (&http.Request{
		Method: http.MethodPost, URL: address, Host: address.Host, Header: call.Header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: call.Body.Len(), Body: call.Body.reader(),
		GetBody: func() (io.ReadCloser, error) { return call.Body.reader(), nil },
	}).WithContext(ctx)
	if to.framing != nil {
		to.framing.ask(req, &call)
	}
	if err := to.signer.sign(req, &call); err != nil {
		return nil, err
	}
	resp, err := to.transport.RoundTrip(req)
	if err != nil {
		return nil, failure(ctx, err)
	}
	if to.framing != nil {
		to.framing.answer(resp, &call)
	}
	return resp, nil
}

func joined(own, callers string) string {
	if own == "" {
		return callers
	}
	return own + "&" + callers
}

// failure says how far an attempt without an answer got.
func failure(ctx context.Context, err error) *Error {
	e := &Error{Phase: decide.Sent, Cause: decide.Broken, Err: err}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		e.Phase, e.Cause = decide.Dialing, decide.Refused
	}
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
		e.Cause = CauseOf(ctx)
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Cause = decide.TimedOut
	}
	return e
}

// ErrTimedOut is the cancellation cause of an attempt whose time is up.
var ErrTimedOut = errors.New("the attempt's time is up")

// CauseOf says why an attempt's context ended: its time was up, or else the
// caller left.
func CauseOf(ctx context.Context) decide.Cause {
	if errors.Is(context.Cause(ctx), ErrTimedOut) {
		return decide.TimedOut
	}
	return decide.CallerGone
}

// attached is what a provider is reached with: its opened credential, and the
// connections to its host. It prints nothing.
type attached struct {
	signer    signer
	transport *http.Transport
	framing   framing // nil: the dialect's own
}

// Format keeps the credential out of every formatter, %+v and %#v included.
func (*attached) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// attach opens a provider's seal, once for each configuration it comes with.
func (c *Client) attach(p *decide.Provider) (*attached, error) {
	if a, ok := p.Attached.Load().(*attached); ok {
		return a, nil
	}
	signer, err := c.signer(p)
	if err != nil {
		return nil, err
	}
	a := &attached{signer: signer, transport: c.transport(p.Base)}
	if p.Family == "bedrock" {
		a.framing = bedrock{}
	}
	if !p.Attached.CompareAndSwap(nil, a) { // another request was first
		a = p.Attached.Load().(*attached)
	}
	return a, nil
}

// signer opens what a provider's credential is.
func (c *Client) signer(p *decide.Provider) (signer, error) {
	if p.Auth.Vendor() != decide.NoVendor {
		if !c.vendorHost(p) {
			return nil, fmt.Errorf("%w: provider %s is on another host than its vendor's, and callers' own tokens go nowhere else", ErrCredential, p.ID)
		}
		return ownToken{}, nil
	}
	switch p.Auth {
	case decide.GoogleKeyAuth, decide.GoogleADCAuth, decide.GoogleImpersonationAuth:
		return c.googleTokens(p)
	case decide.AWSKeys, decide.AWSRole:
		return c.awsSigner(p)
	}
	credential, err := c.open(p)
	if err != nil {
		return nil, err
	}
	if credential.APIKey == "" {
		return nil, fmt.Errorf("%w: provider %s's is not an API key", ErrCredential, p.ID)
	}
	return keyOf(p.Auth, credential.APIKey), nil
}

// vendorAuths are the ways to send a credential that only a vendor's own hosts may get.
var vendorAuths = map[decide.Auth]string{
	decide.ClaudeOAuth: node.AuthClaudeOAuth, decide.CodexOAuth: node.AuthCodexOAuth,
	decide.GoogleADCAuth: node.AuthGoogleADC, decide.GoogleImpersonationAuth: node.AuthGoogleImpersonation,
}

// vendorHost reports whether what is not the organization's own may go to the provider: its
// vendor's host over TLS, or an address that the operator allowed by its network.
func (c *Client) vendorHost(p *decide.Provider) bool {
	if authType, vendors := vendorAuths[p.Auth]; vendors && node.VendorHost(authType, p.Base) {
		return true
	}
	return c.allowed(p.Base)
}

// allowed reports whether the address is one that the operator allowed by its network.
func (c *Client) allowed(u *url.URL) bool {
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && slices.ContainsFunc(c.allow, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
}

func (c *Client) open(p *decide.Provider) (credential node.Credential, err error) {
	if p.Sealed == nil {
		return credential, fmt.Errorf("%w: provider %s has none", ErrCredential, p.ID)
	}
	// The seal names its host: a base_url that was moved elsewhere gets nothing.
	if !strings.EqualFold(p.Sealed.Host, p.Base.Host) {
		return credential, fmt.Errorf("%w: it is sealed to another host than provider %s has", ErrCredential, p.ID)
	}
	if c.sealKey == nil || p.Sealed.KeyID != c.keyID {
		return credential, fmt.Errorf("%w: provider %s's is sealed to key %s, which this node does not hold", ErrCredential, p.ID, p.Sealed.KeyID)
	}
	_, kdf, aead := node.SealSuite()
	plain, err := hpke.Open(c.sealKey, kdf, aead, p.Sealed.Info(p.OrgID), p.Sealed.Ciphertext)
	if err != nil {
		return credential, fmt.Errorf("%w: provider %s's seal does not open", ErrCredential, p.ID)
	}
	if err := json.Unmarshal(plain, &credential); err != nil {
		return credential, fmt.Errorf("%w: provider %s's cannot be read", ErrCredential, p.ID)
	}
	return credential, nil
}
