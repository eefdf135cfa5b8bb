package provider

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Where Google gives out tokens: GoogleTokenPath for a service account's signed claim, a
// path of IAM's for an account that is acted as, and the one that machines ask.
const (
	GoogleTokenPath    = "/google/token"
	GoogleIAMPath      = "/v1/projects/-/serviceAccounts/"
	googleMetadataPath = "/computeMetadata/v1/instance/service-accounts/default/token"
)

// googleAccounts are the service accounts that a Server knows, and the tokens it gave out.
type googleAccounts struct {
	mu     sync.Mutex
	keys   map[string]*rsa.PublicKey // by email
	tokens map[string]string         // whose, by token
}

func (g *googleAccounts) grant(whose string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tokens == nil {
		g.tokens = map[string]string{}
	}
	token := "ya29." + rand.Text()
	g.tokens[token] = whose
	return token
}

func (g *googleAccounts) whose(token string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tokens[token]
}

// GoogleServiceAccount makes a service account and returns the JSON of its key, as Google
// gives it.
func (s *Server) GoogleServiceAccount(email string) json.RawMessage {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic("provider: " + err.Error())
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic("provider: " + err.Error())
	}
	s.google.mu.Lock()
	defer s.google.mu.Unlock()
	if s.google.keys == nil {
		s.google.keys = map[string]*rsa.PublicKey{}
	}
	s.google.keys[email] = &key.PublicKey
	return object("type", "service_account", "project_id", "proj", "private_key_id", "k1",
		"private_key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "client_email", email, "client_id", "1",
		"auth_uri", "https://accounts.google.com/o/oauth2/auth", "token_uri", "https://oauth2.googleapis.com/token", "universe_domain", "googleapis.com")
}

// GoogleTokenOf says whose an access token is that this server gave out, or "".
func (s *Server) GoogleTokenOf(token string) string { return s.google.whose(token) }

// googleTokens is the dialect of token services, as far as it has one.
type googleTokens struct{ chat }

func (googleTokens) credential(http.Header) string                   { return "" }
func (googleTokens) authorize(http.Header, func(string) bool) *fault { return nil }
func (googleTokens) errorBody(f fault, _ string) any {
	return object("error", f.typ, "error_description", f.message)
}
func (googleTokens) fault(status int, _, _ string) fault {
	if status >= 500 {
		return fault{status: status, typ: "internal_failure", message: "Backend Error"}
	}
	return fault{status: status, typ: "invalid_grant", message: "Invalid JWT Signature."}
}

// googleToken trades a signed claim for a token.
// https://developers.google.com/identity/protocols/oauth2/service-account#httprest
func (s *Server) googleToken(x *exchange) (name string, refusal *fault, good func() error) {
	email, err := s.assertion(x)
	if err != nil {
		refusal = &fault{status: 400, typ: "invalid_grant", message: err.Error()}
		x.problems = append(x.problems, "token service: "+err.Error())
	}
	return GoogleTokenPath, refusal, func() error {
		return x.body(http.StatusOK, "application/json", encode(object("access_token", s.google.grant(email), "expires_in", 3599, "token_type", "Bearer")))
	}
}

// assertion reads and verifies a signed claim (RFC 7523), as the service does.
func (s *Server) assertion(x *exchange) (email string, err error) {
	form, err := http.NewRequest(http.MethodPost, "/", strings.NewReader(string(x.received)))
	if err != nil {
		return "", err
	}
	form.Header.Set("Content-Type", x.r.Header.Get("Content-Type"))
	if err := form.ParseForm(); err != nil || form.PostForm.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		return "", errors.New("unsupported grant_type")
	}
	var claims struct {
		jwt.RegisteredClaims
		Scope string `json:"scope"`
	}
	_, err = jwt.ParseWithClaims(form.PostForm.Get("assertion"), &claims, func(t *jwt.Token) (any, error) {
		s.google.mu.Lock()
		defer s.google.mu.Unlock()
		if key := s.google.keys[claims.Issuer]; key != nil && t.Header["kid"] == "k1" {
			return key, nil
		}
		return nil, errors.New("no such account or key")
	}, jwt.WithValidMethods([]string{"RS256"}), jwt.WithAudience("http://"+x.r.Host+GoogleTokenPath), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
	switch {
	case err != nil:
		return "", fmt.Errorf("invalid assertion: %w", err)
	case claims.ExpiresAt.Sub(claims.IssuedAt.Time) > time.Hour+time.Minute:
		return "", errors.New("the assertion lives too long")
	case claims.Scope != "https://www.googleapis.com/auth/cloud-platform":
		return "", fmt.Errorf("scope %q", claims.Scope)
	}
	return claims.Issuer, nil
}

// googleMetadata is the token of the machine's own identity.
// https://cloud.google.com/compute/docs/access/authenticate-workloads
func (s *Server) googleMetadata(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Metadata-Flavor") != "Google" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.Header().Set("Metadata-Flavor", "Google")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(object("access_token", s.google.grant("the machine"), "expires_in", 3599, "token_type", "Bearer")))
}

// googleImpersonate lets the machine act as a service account.
// https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken
func (s *Server) googleImpersonate(x *exchange) (name string, refusal *fault, good func() error) {
	email, verb, _ := strings.Cut(x.r.PathValue("account"), ":")
	var in struct {
		Scope    []string `json:"scope"`
		Lifetime string   `json:"lifetime"`
	}
	err := json.Unmarshal(x.received, &in)
	switch {
	case s.google.whose(bearer(x.r.Header)) != "the machine":
		refusal = &fault{status: 403, typ: "PERMISSION_DENIED", message: "Permission 'iam.serviceAccounts.getAccessToken' denied"}
	case err != nil || verb != "generateAccessToken" || len(in.Scope) != 1 || in.Scope[0] != "https://www.googleapis.com/auth/cloud-platform" || in.Lifetime != "3600s":
		refusal = &fault{status: 400, typ: "INVALID_ARGUMENT", message: "Request contains an invalid argument."}
	}
	return GoogleIAMPath, refusal, func() error {
		return x.body(http.StatusOK, "application/json", encode(object("accessToken", s.google.grant(email), "expireTime", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))))
	}
}
