package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/jwt"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// TokenServices are where tokens come from. The zero value is the vendors' own addresses,
// the only ones in the product: a test has a service of its own.
type TokenServices struct {
	GoogleToken string // https://oauth2.googleapis.com/token
	GoogleIAM   string // https://iamcredentials.googleapis.com
	AWS         string // https://sts.{region}.amazonaws.com, and those of other partitions
}

func (s TokenServices) withDefaults() TokenServices {
	if s.GoogleToken == "" {
		s.GoogleToken = "https://oauth2.googleapis.com/token"
	}
	if s.GoogleIAM == "" {
		s.GoogleIAM = "https://iamcredentials.googleapis.com"
	}
	return s
}

// googleScope is what Vertex AI asks of a token.
// https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.publishers.models/rawPredict
const googleScope = "https://www.googleapis.com/auth/cloud-platform"

// tokenKey is whose tokens they are: those of one version of one credential, or, without
// any, the node's own.
type tokenKey struct {
	auth       decide.Auth
	org        uuid.UUID
	credential uuid.UUID
	version    int64
}

// googleTokens are the tokens of a provider's credential. They outlive the configuration,
// and are shared by all that use the credential.
func (c *Client) googleTokens(p *decide.Provider) (*tokens, error) {
	if p.Auth.Ambient() && !c.ambient {
		return nil, fmt.Errorf("%w: provider %s would use the node's own identity, which the operator does not allow", ErrCredential, p.ID)
	}
	if p.Auth.Ambient() && !c.vendorHost(p) {
		return nil, fmt.Errorf("%w: provider %s is on another host than Google's, and the node's own token goes nowhere else", ErrCredential, p.ID)
	}
	fetch, err := c.googleFetch(p)
	if err != nil {
		return nil, err
	}
	key := tokenKey{auth: p.Auth}
	if p.Auth != decide.GoogleADCAuth {
		key.org, key.credential, key.version = p.OrgID, p.Sealed.CredentialID, p.Sealed.Version
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tokens[key]; t != nil {
		return t, nil
	}
	now := time.Now()
	maps.DeleteFunc(c.tokens, func(_ tokenKey, t *tokens) bool { return t.idle(now) })
	t := &tokens{fetch: fetch}
	c.tokens[key] = t
	return t, nil
}

// googleFetch is how to get a token for a provider's credential.
func (c *Client) googleFetch(p *decide.Provider) (func(ctx context.Context) (token, error), error) {
	if p.Auth == decide.GoogleADCAuth {
		return ambientGoogle, nil
	}
	credential, err := c.open(p)
	if err != nil {
		return nil, err
	}
	if p.Auth == decide.GoogleImpersonationAuth {
		email, err := node.ReadImpersonation(credential.Structured)
		if err != nil {
			return nil, fmt.Errorf("%w: provider %s: %w", ErrCredential, p.ID, err)
		}
		return func(ctx context.Context) (token, error) { return c.impersonate(ctx, email) }, nil
	}
	account, err := node.ReadServiceAccount(credential.Structured)
	if err != nil {
		return nil, fmt.Errorf("%w: provider %s: %w", ErrCredential, p.ID, err)
	}
	return func(ctx context.Context) (token, error) { return c.serviceAccount(ctx, account) }, nil
}

// serviceAccount trades a signed claim for a token (RFC 7523).
// https://developers.google.com/identity/protocols/oauth2/service-account#httprest
func (c *Client) serviceAccount(ctx context.Context, account node.ServiceAccount) (token, error) {
	line, client, err := c.tokenClient(ctx, c.services.GoogleToken)
	if err != nil {
		return token{}, err
	}
	source := (&jwt.Config{Email: account.Email, PrivateKey: []byte(account.Key), PrivateKeyID: account.KeyID, Scopes: []string{googleScope}, TokenURL: c.services.GoogleToken}).
		TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client))
	got, err := source.Token()
	if err != nil {
		return token{}, line.failure(err)
	}
	return usable(got.AccessToken, got.Expiry)
}

// ambientGoogle is a token of the identity that the node has: a file that the operator named,
// or its machine's. Only the operator says where it comes from, so no guard stands before it.
// https://cloud.google.com/docs/authentication/application-default-credentials
func ambientGoogle(ctx context.Context) (token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Timeout: tokenTime})
	credentials, err := google.FindDefaultCredentials(ctx, googleScope)
	if err != nil {
		return token{}, fmt.Errorf("%w: the node has no Google identity of its own", ErrCredential)
	}
	got, err := credentials.TokenSource.Token()
	if err != nil {
		return token{}, (&line{ctx: ctx}).failure(err)
	}
	return usable(got.AccessToken, got.Expiry)
}

// impersonate is a token of a service account that the node's own identity may act as.
// https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken
func (c *Client) impersonate(ctx context.Context, email string) (token, error) {
	own, err := ambientGoogle(ctx)
	if err != nil {
		return token{}, err
	}
	address := c.services.GoogleIAM + "/v1/projects/-/serviceAccounts/" + url.PathEscape(email) + ":generateAccessToken"
	line, client, err := c.tokenClient(ctx, address)
	if err != nil {
		return token{}, err
	}
	asked, err := json.Marshal(map[string]any{"scope": []string{googleScope}, "lifetime": "3600s"})
	if err != nil {
		return token{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(asked))
	if err != nil {
		return token{}, err
	}
	req.Header.Set("Authorization", "Bearer "+own.value)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return token{}, line.failure(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return token{}, refusedBy(resp.StatusCode)
	}
	var got struct {
		AccessToken string    `json:"accessToken"`
		ExpireTime  time.Time `json:"expireTime"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxErrorAnswer)).Decode(&got); err != nil {
		return token{}, line.failure(err)
	}
	return usable(got.AccessToken, got.ExpireTime)
}

// maxErrorAnswer bounds what is read of a token service's answer, in bytes.
const maxErrorAnswer = 1 << 20

// usable is a token that can be sent. One without an end is asked for anew each time.
func usable(value string, ends time.Time) (token, error) {
	if value == "" || !printable(value) {
		return token{}, &Error{Cause: decide.Broken, Err: errors.New("the token service's answer has no token")}
	}
	return token{value, ends}, nil
}

func printable(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// line is the connection to a token service: it keeps what went wrong with it, which the
// vendors' libraries tell in words only.
type line struct {
	ctx     context.Context
	through http.RoundTripper
	err     error
}

// tokenClient is a client for an address of a token service, over the guarded dialer.
func (c *Client) tokenClient(ctx context.Context, address string) (*line, *http.Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, fmt.Errorf("token service: %w", err)
	}
	l := &line{ctx: ctx, through: c.transport(u)}
	return l, &http.Client{Transport: l, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

func (l *line) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.through.RoundTrip(req.WithContext(l.ctx))
	if err != nil {
		l.err = err
	}
	return resp, err
}

// failure is what a token could not be had for. What the service or a library said stays
// here: it may show the credential.
func (l *line) failure(err error) error {
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response != nil:
		return refusedBy(refused.Response.StatusCode)
	case l.err != nil:
		return failure(l.ctx, l.err)
	case l.ctx.Err() != nil:
		return failure(l.ctx, l.ctx.Err())
	}
	return &Error{Cause: decide.Broken, Err: errors.New("the token service's answer cannot be read")}
}

// refusedBy is a token service's refusal: of the credential, or for a reason of its own.
func refusedBy(status int) error {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return &Error{Cause: decide.CredentialRefused, Err: fmt.Errorf("the token service refused the credential with status %d", status)}
	}
	return &Error{Cause: decide.Broken, Err: fmt.Errorf("the token service answered with status %d", status)}
}
