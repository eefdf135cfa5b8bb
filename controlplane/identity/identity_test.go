package identity_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/controlplane/identity"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func setup(t *testing.T, issuer string, key ed25519.PrivateKey) *identity.Tokens {
	t.Helper()
	tokens, err := identity.New(identity.Config{Store: storetest.Shared(t).Store, Key: key, Issuer: issuer})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]identity.Config{"NoStore": {Key: newKey(t)}, "NoKey": {Store: storetest.Shared(t).Store}} {
		if _, err := identity.New(cfg); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

func TestIssueAndVerify(t *testing.T) {
	t.Parallel()
	db, key := storetest.Shared(t), newKey(t)
	tokens := setup(t, "", key)
	org := db.Admin(t).OrganizationID
	id, secret, err := db.Store.CreateServiceAccount(t.Context(), org, "terraform", tenant.RoleOwner)
	if err != nil {
		t.Fatal(err)
	}
	token, err := tokens.Issue(t.Context(), id, secret)
	if err != nil {
		t.Fatal(err)
	}
	if token.ExpiresIn != time.Hour || strings.Contains(fmt.Sprintf("%+v", token), token.Access.Reveal()) {
		t.Errorf("got %+v", token)
	}
	got, err := tokens.Verify(t.Context(), token.Access.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	account, _, err := db.Store.ServiceAccount(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(account.Principal(), got); diff != "" {
		t.Errorf("principal (-want +got):\n%s", diff)
	}
	// Another replica with the same key takes it; another issuer or key does not.
	if _, err := setup(t, "spillway", key).Verify(t.Context(), token.Access.Reveal()); err != nil {
		t.Errorf("another replica: %v", err)
	}
	for name, other := range map[string]*identity.Tokens{"Issuer": setup(t, "other", key), "Key": setup(t, "", newKey(t))} {
		var e *tenant.Error
		if _, err := other.Verify(t.Context(), token.Access.Reveal()); !errors.As(err, &e) || e.Kind != tenant.KindUnauthenticated {
			t.Errorf("another %s: got %v", name, err)
		}
	}
}

func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	tokens := setup(t, "", newKey(t))
	id, secret, err := db.Store.CreateServiceAccount(t.Context(), db.Admin(t).OrganizationID, "terraform", tenant.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"Empty": {"", ""}, "NoSecret": {id, ""}, "WrongSecret": {id, secret + "x"}, "Unknown": {"sa-nobody", secret}, "Case": {strings.ToUpper(id), secret},
		"NotText": {"\xff", secret}, "Zero": {id + "\x00", secret}, "Long": {strings.Repeat("x", 1000), secret},
	} {
		if _, err := tokens.Issue(t.Context(), c[0], c[1]); !errors.Is(err, identity.ErrInvalidClient) {
			t.Errorf("%s: got %v, want ErrInvalidClient", name, err)
		}
	}
}
