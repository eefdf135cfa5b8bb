package rest_test

import (
	"crypto/ed25519"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func TestToken(t *testing.T) {
	t.Parallel()
	a := setup(t)
	grant := func(id, secret string) url.Values {
		return url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
	}
	ok := a.form(t, grant(a.clientID, a.clientSecret), nil).want(t, 200)
	if ok.field(t, "token_type") != "Bearer" || ok.field(t, "expires_in") != 3600.0 || len(ok.object(t)) != 3 {
		t.Errorf("token: %s", ok.body)
	}
	onlyGrant := url.Values{"grant_type": {"client_credentials"}}
	basic := func(id, secret string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret)) }
	}
	a.form(t, onlyGrant, basic(a.clientID, a.clientSecret)).want(t, 200)

	cases := []struct {
		name   string
		form   url.Values
		change func(*http.Request)
		status int
		word   string
	}{
		{"WrongSecret", grant(a.clientID, "x"), nil, 401, "invalid_client"},
		{"UnknownClient", grant("sa-nobody", a.clientSecret), nil, 401, "invalid_client"},
		{"NoCredentials", onlyGrant, nil, 401, "invalid_client"},
		{"EmptySecret", grant(a.clientID, ""), nil, 401, "invalid_client"},
		{"ZeroByte", grant(a.clientID+"\x00", "x"), nil, 401, "invalid_client"},
		{"BasicWrongSecret", onlyGrant, basic(a.clientID, "x"), 401, "invalid_client"},
		{"OtherGrant", url.Values{"grant_type": {"password"}}, nil, 400, "unsupported_grant_type"},
		{"NoGrant", url.Values{"client_id": {a.clientID}, "client_secret": {a.clientSecret}}, nil, 400, "invalid_request"},
		{"Twice", url.Values{"grant_type": {"client_credentials", "client_credentials"}}, nil, 400, "invalid_request"},
		{"BothPlaces", grant(a.clientID, a.clientSecret), basic(a.clientID, a.clientSecret), 400, "invalid_request"},
		{"InAddress", onlyGrant, func(r *http.Request) { r.URL.RawQuery = grant(a.clientID, a.clientSecret).Encode() }, 400, "invalid_request"},
		{"NotAForm", grant(a.clientID, a.clientSecret), func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }, 400, "invalid_request"},
		{"Multipart", grant(a.clientID, a.clientSecret), func(r *http.Request) { r.Header.Set("Content-Type", "multipart/form-data") }, 400, "invalid_request"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := a.form(t, c.form, c.change).want(t, c.status)
			if got := r.field(t, "error"); got != c.word {
				t.Errorf("got %v, want %s", got, c.word)
			}
			if got := r.header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("got Cache-Control %q, want no-store", got)
			}
		})
	}
	broken := a.send(t, "POST", "/oauth/token", "grant_type=%zz", func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") })
	if got := broken.want(t, 400).field(t, "error"); got != "invalid_request" {
		t.Errorf("broken form: got %v", got)
	}
}

func TestTokenRefusalsAreAlike(t *testing.T) {
	t.Parallel()
	a := setup(t)
	refusal := func(id, secret string) answer {
		return a.form(t, url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}, nil).want(t, 401)
	}
	unknown, wrong := refusal("sa-nobody", "x"), refusal(a.clientID, "x")
	for _, h := range []http.Header{unknown.header, wrong.header} {
		h.Del("Date")
		h.Del("X-Request-Id")
	}
	if diff := cmp.Diff(string(unknown.body), string(wrong.body)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(unknown.header, wrong.header); diff != "" {
		t.Error(diff)
	}
	if got := strings.TrimSpace(string(wrong.body)); got != `{"error":"invalid_client"}` {
		t.Errorf("got %s", got)
	}
}

// TestEveryOperationNeedsAToken walks the document, so that an operation that is
// added later is covered.
func TestEveryOperationNeedsAToken(t *testing.T) {
	t.Parallel()
	a := setup(t)
	now := time.Now()
	valid := jwt.MapClaims{"iss": "spillway", "aud": "spillway-admin", "sub": uuid.NewString(), "org": a.org.String(), "role": "admin", "exp": now.Add(time.Hour).Unix()}
	claims := func(change fields) jwt.MapClaims { return with(valid, change) }
	sign := func(method jwt.SigningMethod, c jwt.MapClaims, key any) string {
		text, err := jwt.NewWithClaims(method, c).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	a.token = sign(jwt.SigningMethodEdDSA, valid, a.key)
	a.call(t, "GET", providersPath, nil).want(t, 200) // so the refusals below are for what they say

	public := []byte(a.key.Public().(ed25519.PublicKey))
	const invalid = "the access token is not valid"
	refused := map[string]struct{ header, message string }{
		"Missing":       {"", "an access token is required"},
		"OtherScheme":   {"Basic " + a.token, "an access token is required"},
		"GatewayKey":    {"Bearer " + node.NewKey(), "gateway keys are not accepted by the admin API: use an access token"},
		"Garbage":       {"Bearer x.y.z", invalid},
		"NoneAlgorithm": {"Bearer " + sign(jwt.SigningMethodNone, valid, jwt.UnsafeAllowNoneSignatureType), invalid},
		"HMACOfPublic":  {"Bearer " + sign(jwt.SigningMethodHS256, valid, public), invalid},
		"Expired":       {"Bearer " + sign(jwt.SigningMethodEdDSA, claims(fields{"exp": now.Add(-time.Second).Unix()}), a.key), "the access token has expired"},
		"NoExpiry":      {"Bearer " + sign(jwt.SigningMethodEdDSA, claims(fields{"exp": nil}), a.key), invalid},
		"OtherIssuer":   {"Bearer " + sign(jwt.SigningMethodEdDSA, claims(fields{"iss": "x"}), a.key), invalid},
		"OtherAudience": {"Bearer " + sign(jwt.SigningMethodEdDSA, claims(fields{"aud": "x"}), a.key), invalid},
		"NoSubject":     {"Bearer " + sign(jwt.SigningMethodEdDSA, claims(fields{"sub": nil}), a.key), invalid},
		"NoOrg":         {"Bearer " + sign(jwt.SigningMethodEdDSA, claims(fields{"org": nil}), a.key), invalid},
		"Tampered":      {"Bearer " + a.token[:len(a.token)-4] + "AAAA", invalid},
	}
	for _, op := range operations(t) {
		for name, c := range refused {
			r := a.send(t, op.method, op.fill(uuid.NewString()), "", func(r *http.Request) { r.Header.Set("Authorization", c.header) })
			r.wantError(t, 401, "authentication_error", c.message)
			if got := r.header.Get("WWW-Authenticate"); got != "Bearer" {
				t.Errorf("%s %s: got WWW-Authenticate %q", op.method, name, got)
			}
		}
	}
}

func TestEveryOperationNeedsARole(t *testing.T) {
	t.Parallel()
	a := setup(t)
	member := a.as(t, "Members", tenant.RoleMember)
	for _, op := range operations(t) {
		if least, _ := tenant.LeastRole(tenant.Operation(op.id)); least == tenant.RoleMember {
			continue
		}
		member.send(t, op.method, op.fill(uuid.NewString()), "not even JSON", nil).
			wantError(t, 403, "permission_error", "principal is not permitted to perform this action")
	}
	owner := a.as(t, "Owners", tenant.RoleOwner)
	owner.call(t, "GET", providersPath, nil).want(t, 200)
}

func TestTokenOfAMissingOrganization(t *testing.T) {
	t.Parallel()
	a := setup(t)
	text, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"iss": "spillway", "aud": "spillway-admin", "sub": uuid.NewString(),
		"org": uuid.NewString(), "role": "admin", "exp": time.Now().Add(time.Hour).Unix()}).SignedString(a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.token = text
	a.call(t, "POST", keysPath, fields{"name": "k"}).wantError(t, 401, "authentication_error", "the organization of the access token does not exist")
}

// TestRoleIsThePaths: what is at an administrator's address is for administrators, and what
// is the caller's own for everybody, whatever the permission table says of one operation.
func TestRoleIsThePaths(t *testing.T) {
	t.Parallel()
	for _, op := range operations(t) {
		want := tenant.RoleMember
		if strings.HasPrefix(op.path, adminPath) {
			want = tenant.RoleAdmin
		}
		if got, _ := tenant.LeastRole(tenant.Operation(op.id)); got != want {
			t.Errorf("%s is for a %s and not a %s", op.id, got, want)
		}
	}
}
