package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// awsKeys signs requests with AWS's Signature Version 4.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
type awsKeys struct {
	keys   aws.CredentialsProvider
	region string
	signer *v4.Signer
}

func (s *awsKeys) sign(req *http.Request, call *Call) error {
	keys, err := s.keys.Retrieve(req.Context())
	if err != nil {
		return noKeys(req.Context(), err)
	}
	sum := sha256.New()
	for _, part := range call.Body {
		sum.Write(part)
	}
	own := *req.URL // the signer writes to it, and the target's serves all requests
	req.URL = &own
	err = s.signer.SignHTTP(req.Context(), keys, req, hex.EncodeToString(sum.Sum(nil)), "bedrock", s.region, time.Now())
	if err != nil {
		return &Error{Phase: decide.Dialing, Cause: decide.GatewayFault, Err: err}
	}
	return nil
}

// noKeys is why there is nothing to sign with: AWS's token service said no, or there was
// none to ask.
func noKeys(ctx context.Context, err error) *Error {
	var said smithy.APIError
	switch {
	case ctx.Err() != nil:
		return &Error{Phase: decide.Dialing, Cause: CauseOf(ctx), Err: err}
	case errors.As(err, &said) && said.ErrorFault() != smithy.FaultServer:
		return &Error{Phase: decide.Dialing, Cause: decide.CredentialRefused, Err: fmt.Errorf("%w: %w", ErrCredential, err)}
	}
	return &Error{Phase: decide.Dialing, Cause: decide.Refused, Err: fmt.Errorf("%w: %w", ErrCredential, err)}
}

// awsStored is what an organization stores: keys, or a role. The admin API's names.
type awsStored struct {
	AccessKeyID     string `json:"access_key_id"`
	SecretAccessKey string `json:"secret_access_key"`
	SessionToken    string `json:"session_token"`
	RoleARN         string `json:"role_arn"`
	ExternalID      string `json:"external_id"`
}

// awsSigner is the signer of a provider, with keys of its own, of a role, or the node's.
func (c *Client) awsSigner(p *decide.Provider) (signer, error) {
	keys, err := c.awsKeysOf(p)
	if err != nil {
		return nil, err
	}
	return &awsKeys{keys: keys, region: p.Region, signer: v4.NewSigner()}, nil
}

func (c *Client) awsKeysOf(p *decide.Provider) (aws.CredentialsProvider, error) {
	var stored awsStored
	if p.Sealed != nil {
		credential, err := c.open(p)
		if err != nil {
			return nil, err
		}
		if json.Unmarshal(credential.Structured, &stored) != nil { // the error could quote it
			return nil, fmt.Errorf("%w: provider %s's is not one of AWS's", ErrCredential, p.ID)
		}
	}
	switch {
	case p.Auth == decide.AWSKeys:
		if stored.AccessKeyID == "" || stored.SecretAccessKey == "" {
			return nil, fmt.Errorf("%w: provider %s's has no keys", ErrCredential, p.ID)
		}
		return credentials.NewStaticCredentialsProvider(stored.AccessKeyID, stored.SecretAccessKey, stored.SessionToken), nil
	case stored.RoleARN != "":
		return c.roleKeys(p, stored)
	case !c.ambient:
		return nil, fmt.Errorf("%w: provider %s has none, and the node's own is lent to no one", ErrCredential, p.ID)
	case !c.awsHost(p):
		return nil, fmt.Errorf("%w: provider %s is on a host that is not AWS's, and the node's own goes nowhere else", ErrCredential, p.ID)
	}
	own, err := c.identity.get()
	return own.Credentials, err
}

// awsHost reports whether the node's own identity may be used there: with AWS over TLS, or
// at an address that the operator allowed by its network.
func (c *Client) awsHost(p *decide.Provider) bool {
	_, _, isAWS := node.AWSHost(p.Base.Hostname())
	return isAWS && p.Base.Scheme == "https" || c.allowed(p.Base)
}

const (
	// roleTime is how long a role's keys hold: the most that a role assumed with another's
	// keys, or with no longer time set, gives.
	// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
	roleTime = time.Hour
	// roleMargin is how long before their end new ones are asked for. Until then a token
	// service that does not answer harms nobody.
	roleMargin = 5 * time.Minute
	// roleAgain is how long after it did not answer it is asked again.
	roleAgain = 30 * time.Second
)

// roleKeys are the keys of a role of the organization's, assumed with the node's own
// identity. Requests that need new ones at once ask for them once.
//
// The external id is the organization's id, which nobody else's provider can be given: who
// trusts this gateway's identity and asks for it, in the role's trust policy, lends the role to
// the one organization. What the organization sets itself comes behind it, and never alone.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html
func (c *Client) roleKeys(p *decide.Provider, stored awsStored) (aws.CredentialsProvider, error) {
	own, err := c.identity.get()
	if err != nil {
		return nil, err
	}
	external := p.OrgID.String()
	if stored.ExternalID != "" {
		external += ":" + stored.ExternalID
	}
	client := sts.NewFromConfig(own, func(o *sts.Options) {
		o.Region = p.Region
		o.RetryMaxAttempts = 2 // a request waits
		o.HTTPClient = &http.Client{Transport: (*throughGuard)(c), Timeout: 10 * time.Second, CheckRedirect: noRedirect}
		if c.services.AWS != "" {
			o.BaseEndpoint = aws.String(c.services.AWS)
		}
	})
	role := &roleSource{role: stscreds.NewAssumeRoleProvider(client, stored.RoleARN, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = "spillway-" + p.ID.String()
		o.ExternalID = aws.String(external)
		o.Duration = roleTime
	})}
	return c.roles.keep(roleID{p.ID, p.Sealed.CredentialID, p.Sealed.Version, p.Region}, role), nil
}

// maxRoles is how many roles' keys are kept. Those above it are assumed again with each
// configuration.
const maxRoles = 10_000

// roles are the keys of roles, which outlive configurations: each change of any row of an
// organization's would else assume all of its roles anew.
type roles struct {
	mu   sync.Mutex
	kept map[roleID]keptRole
}

type roleID struct {
	provider, credential uuid.UUID
	version              int64
	region               string
}

type keptRole struct {
	source *roleSource
	keys   *aws.CredentialsCache
}

// keep returns the keys of a role, new ones of its source where there are none. Keys that
// have ended, since nobody asked for them, make room.
func (r *roles) keep(id roleID, source *roleSource) *aws.CredentialsCache {
	r.mu.Lock()
	defer r.mu.Unlock()
	if had, found := r.kept[id]; found {
		return had.keys
	}
	keys := aws.NewCredentialsCache(source)
	now := time.Now().UnixNano()
	if len(r.kept) >= maxRoles {
		maps.DeleteFunc(r.kept, func(_ roleID, k keptRole) bool { return k.source.until.Load() < now })
	}
	if r.kept == nil {
		r.kept = map[roleID]keptRole{}
	}
	if len(r.kept) < maxRoles {
		r.kept[id] = keptRole{source, keys}
	}
	return keys
}

// roleSource gives a role's keys to the cache that calls it, one call at a time.
type roleSource struct {
	role  aws.CredentialsProvider
	until atomic.Int64 // the end of the last keys, Unix nanoseconds
}

func (s *roleSource) Retrieve(ctx context.Context) (aws.Credentials, error) {
	keys, err := s.role.Retrieve(ctx)
	if err == nil {
		s.until.Store(keys.Expires.UnixNano())
		keys.Expires = keys.Expires.Add(-roleMargin)
	}
	return keys, err
}

// HandleFailToRefresh goes on with the keys there are, for as long as they hold.
func (s *roleSource) HandleFailToRefresh(_ context.Context, last aws.Credentials, err error) (aws.Credentials, error) {
	now, until := time.Now(), time.Unix(0, s.until.Load())
	if !last.HasKeys() || !now.Before(until) {
		return aws.Credentials{}, err
	}
	last.Expires = now.Add(roleAgain)
	if last.Expires.After(until) {
		last.Expires = until
	}
	return last, nil
}

// throughGuard sends over the connections of the client, and so to no address that its guard
// refuses.
type throughGuard Client

func (g *throughGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	return (*Client)(g).transport(req.URL).RoundTrip(req)
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// awsIdentity is the node's own, from where AWS's tools look for it: environment, files, a
// token of the cluster's, or the machine's metadata. Nothing is asked before it is needed.
// https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
type awsIdentity struct {
	mu     sync.Mutex
	loaded *aws.Config
}

func (i *awsIdentity) get() (aws.Config, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.loaded == nil {
		cfg, err := config.LoadDefaultConfig(context.Background())
		if err != nil {
			return cfg, fmt.Errorf("%w: the node's own: %w", ErrCredential, err)
		}
		i.loaded = &cfg
	}
	return *i.loaded, nil
}
