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
	"strings"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
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
}

// Client sends requests to providers. It is safe for concurrent use.
type Client struct {
	sealKey   hpke.PrivateKey
	keyID     string
	transport *http.Transport
}

// New returns a client. Connections are kept and shared between providers on the
// same host; they carry no credential of their own.
func New(cfg Config) *Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: cfg.Guard.control}
	c := &Client{sealKey: cfg.SealKey}
	if cfg.SealKey != nil {
		c.keyID = node.SealKeyID(cfg.SealKey.PublicKey())
	}
	c.transport = &http.Transport{
		// No proxy from the environment, no redirects (RoundTrip follows none), and
		// HTTP/1.1, so that one broken connection breaks one request.
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		MaxIdleConnsPerHost:   1024,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
	return c
}

// Close ends idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

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

// Open sends a request to the provider and waits for the answer's headers. The
// header is sent as it is plus the credential; Open takes it over. The error, if
// any, is an *Error. Canceling ctx ends the attempt and the answer's body.
func (c *Client) Open(ctx context.Context, p *decide.Provider, header http.Header, rawQuery string, body Body) (*http.Response, error) {
	credential, err := c.credential(p)
	if err != nil {
		return nil, &Error{Phase: decide.Dialing, Cause: decide.GatewayFault, Err: err}
	}
	switch p.Auth {
	case decide.BearerAuth:
		header["Authorization"] = credential
	case decide.XAPIKeyAuth:
		header["X-Api-Key"] = credential
	}
	url := p.Endpoint
	if rawQuery != "" {
		withQuery := *url
		withQuery.RawQuery = rawQuery
		url = &withQuery
	}
	req := (&http.Request{
		Method: http.MethodPost, URL: url, Host: url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: body.Len(), Body: body.reader(),
		GetBody: func() (io.ReadCloser, error) { return body.reader(), nil },
	}).WithContext(ctx)
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return resp, nil
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

// secret is an opened credential as a header value. It prints nothing.
type secret struct{ header []string }

// Format keeps the credential out of every formatter, %+v and %#v included.
func (secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// credential opens a provider's seal, once for each configuration it comes with.
// The header value is shared by requests and must not be changed.
func (c *Client) credential(p *decide.Provider) ([]string, error) {
	if opened, ok := p.Attached.Load().(secret); ok {
		return opened.header, nil
	}
	if p.Sealed == nil {
		return nil, fmt.Errorf("%w: provider %s has none", ErrCredential, p.ID)
	}
	// The seal names its host: a base_url that was moved elsewhere gets nothing.
	if !strings.EqualFold(p.Sealed.Host, p.Endpoint.Host) {
		return nil, fmt.Errorf("%w: it is sealed to another host than provider %s has", ErrCredential, p.ID)
	}
	if c.sealKey == nil || p.Sealed.KeyID != c.keyID {
		return nil, fmt.Errorf("%w: provider %s's is sealed to key %s, which this node does not hold", ErrCredential, p.ID, p.Sealed.KeyID)
	}
	_, kdf, aead := node.SealSuite()
	plain, err := hpke.Open(c.sealKey, kdf, aead, p.Sealed.Info(p.OrgID), p.Sealed.Ciphertext)
	if err != nil {
		return nil, fmt.Errorf("%w: provider %s's seal does not open", ErrCredential, p.ID)
	}
	var credential node.Credential
	if err := json.Unmarshal(plain, &credential); err != nil || credential.APIKey == "" {
		return nil, fmt.Errorf("%w: provider %s's is not an API key", ErrCredential, p.ID)
	}
	value := credential.APIKey
	if p.Auth == decide.BearerAuth {
		value = "Bearer " + value
	}
	opened := secret{[]string{value}}
	p.Attached.Store(opened)
	return opened.header, nil
}
