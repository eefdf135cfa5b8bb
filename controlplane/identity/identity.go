// Package identity says who calls the admin API: it gives service accounts their
// access tokens and reads those tokens again.
package identity

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

const (
	audience = "spillway-admin"
	// lifetime of a token. A token is not looked up again, so this is also how long
	// one outlives its account.
	lifetime = time.Hour

	maxClientIDLen = 128
)

// ErrInvalidClient is for an unknown client and for a wrong secret alike.
var ErrInvalidClient = errors.New("invalid client")

// Config says where accounts are and how tokens are signed.
type Config struct {
	Store  *store.DB          // required
	Key    ed25519.PrivateKey // required
	Issuer string             // default "spillway"
}

// Tokens issues and verifies access tokens.
type Tokens struct {
	store  *store.DB
	key    ed25519.PrivateKey
	digest []byte // keys Fingerprint
	issuer string
	parser *jwt.Parser
}

// New validates the configuration.
func New(cfg Config) (*Tokens, error) {
	if cfg.Store == nil {
		return nil, errors.New("identity: Config.Store is required")
	}
	if len(cfg.Key) != ed25519.PrivateKeySize {
		return nil, errors.New("identity: Config.Key must be an Ed25519 private key")
	}
	if cfg.Issuer == "" {
		cfg.Issuer = "spillway"
	}
	digest, err := hkdf.Key(sha256.New, cfg.Key.Seed(), nil, "spillway request fingerprint v1", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return &Tokens{store: cfg.Store, key: cfg.Key, digest: digest, issuer: cfg.Issuer, parser: jwt.NewParser(
		// The algorithm is ours to choose, never the token's (RFC 8725, section 3.1).
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithIssuer(cfg.Issuer),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
	)}, nil
}

// Fingerprint tells one request from another, on every control plane alike. It is keyed: a
// body may hold a password, which a plain digest would let a reader of the database guess.
func (t *Tokens) Fingerprint(parts ...[]byte) []byte {
	h := hmac.New(sha256.New, t.digest)
	for _, part := range parts {
		_, _ = h.Write(part)
	}
	return h.Sum(nil)
}

// Token is an access token as it is handed out.
type Token struct {
	Access    tenant.Secret
	ExpiresIn time.Duration
}

type claims struct {
	jwt.RegisteredClaims
	Organization uuid.UUID   `json:"org"`
	Role         tenant.Role `json:"role"`
	Name         string      `json:"name"`
}

// Issue gives a service account a token. The error is ErrInvalidClient, or internal.
func (t *Tokens) Issue(ctx context.Context, clientID, clientSecret string) (Token, error) {
	if !plausible(clientID) {
		return Token{}, ErrInvalidClient
	}
	// An unknown client is compared like a known one, against a hash that no secret has.
	account, known, err := t.store.ServiceAccount(ctx, clientID)
	if err != nil {
		return Token{}, fmt.Errorf("looking up a service account: %w", err)
	}
	hash := sha256.Sum256([]byte(clientSecret))
	if subtle.ConstantTimeCompare(hash[:], account.SecretHash[:]) != 1 || !known {
		return Token{}, ErrInvalidClient
	}
	now := time.Now()
	text, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: t.issuer, Subject: account.ID.String(), Audience: jwt.ClaimStrings{audience}, ID: uuid.NewString(),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(lifetime)),
		},
		Organization: account.OrganizationID, Role: account.Role, Name: account.Name,
	}).SignedString(t.key)
	if err != nil {
		return Token{}, fmt.Errorf("signing a token: %w", err)
	}
	return Token{Access: tenant.NewSecret(text), ExpiresIn: lifetime}, nil
}

// plausible keeps text from the database that it cannot hold.
func plausible(clientID string) bool {
	return len(clientID) <= maxClientIDLen && strings.IndexFunc(clientID, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// Verify returns who a bearer token speaks for. The error says no more than what
// the caller needs: why a signature is wrong helps only an attacker.
func (t *Tokens) Verify(_ context.Context, bearer string) (tenant.Principal, error) {
	switch {
	case bearer == "":
		return tenant.Principal{}, tenant.Unauthenticated("an access token is required")
	case strings.HasPrefix(bearer, node.KeyPrefix):
		return tenant.Principal{}, tenant.Unauthenticated("gateway keys are not accepted by the admin API: use an access token")
	}
	var c claims
	_, err := t.parser.ParseWithClaims(bearer, &c, func(*jwt.Token) (any, error) { return t.key.Public(), nil })
	if errors.Is(err, jwt.ErrTokenExpired) {
		return tenant.Principal{}, tenant.Unauthenticated("the access token has expired")
	}
	subject, idErr := uuid.Parse(c.Subject)
	if err != nil || idErr != nil || c.Organization == uuid.Nil {
		return tenant.Principal{}, tenant.Unauthenticated("the access token is not valid")
	}
	return tenant.Principal{OrganizationID: c.Organization, ServiceAccountID: subject, Name: c.Name, Role: c.Role}, nil
}
