// Package resttest is a control plane without a data plane, over a real database, for the
// tests of its callers.
package resttest

import (
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/identity"
	"github.com/spillway-gateway/spillway/controlplane/rest"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Plane is a running control plane.
type Plane struct {
	URL string

	db      *store.DB
	handler atomic.Pointer[http.Handler]
}

// Start runs a control plane until the test ends. around, where it is not nil, comes
// between it and its callers. TestMain of the package must be storetest.Main.
func Start(t *testing.T, around func(next http.Handler) http.Handler) *Plane {
	t.Helper()
	p := &Plane{db: storetest.Shared(t).Store}
	p.NewKeys(t)
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*p.handler.Load()).ServeHTTP(w, r) })
	if around != nil {
		handler = around(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// NewKeys lets it sign access tokens with another key: those from before are refused.
func (p *Plane) NewKeys(t *testing.T) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := identity.New(identity.Config{Store: p.db, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := rest.New(rest.Config{Store: p.db, Identity: tokens, People: identity.NewPeople(identity.PeopleConfig{Store: p.db})})
	if err != nil {
		t.Fatal(err)
	}
	p.handler.Store(&handler)
}

// Account makes an organization, and an administrator's service account in it.
func (p *Plane) Account(t testing.TB) (clientID, clientSecret string) {
	t.Helper()
	org, err := p.db.CreateOrganization(t.Context(), uuid.NewString())
	if err != nil {
		t.Fatal(err)
	}
	clientID, clientSecret, err = p.db.CreateServiceAccount(t.Context(), org, "test", tenant.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	return clientID, clientSecret
}
