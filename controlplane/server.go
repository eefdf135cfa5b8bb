// Package controlplane is where organizations are configured: the admin API over
// Postgres, from which the data plane's snapshots are made.
package controlplane

import (
	"context"
	"crypto/ed25519"
	"crypto/hpke"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-gateway/spillway/controlplane/bus"
	"github.com/spillway-gateway/spillway/controlplane/identity"
	"github.com/spillway-gateway/spillway/controlplane/rest"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/web"
)

// Config of a control plane. Any number of them may run over one database.
type Config struct {
	DatabaseURL string             // required; see store.Config
	NATSURL     string             // NATS servers, comma-separated; or InProcess, which wins
	InProcess   bus.InProcess      // a NATS server in this process
	SigningKey  ed25519.PrivateKey // signs snapshots, the same on every control plane; required
	SealKey     hpke.PublicKey     // the data plane's; required
	TokenKey    ed25519.PrivateKey // signs access tokens, the same on every control plane; required
	Issuer      string             // of access tokens; default "spillway"
	GatewayURL  string             // where callers reach the gateway, for people to read; may be empty
	// Metrics is who tells of what the control plane counts. Nil: nobody.
	Metrics prometheus.Registerer
	// AWSPrincipals are the identities of AWS that the nodes act as; see rest.Config.
	AWSPrincipals []string
	Log           *slog.Logger // nil: no log
}

func (c *Config) validate() error {
	switch {
	case c.DatabaseURL == "":
		return errors.New("controlplane: Config.DatabaseURL is required")
	case c.SealKey == nil:
		return errors.New("controlplane: Config.SealKey is required")
	case len(c.TokenKey) != ed25519.PrivateKeySize:
		return errors.New("controlplane: Config.TokenKey must be an Ed25519 private key")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Server is a control plane.
type Server struct {
	store   *store.DB
	handler http.Handler
	bus     *bus.Bus
}

// New connects to the database and builds the admin API.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Config{DatabaseURL: cfg.DatabaseURL, SealKey: cfg.SealKey})
	if err != nil {
		return nil, fmt.Errorf("controlplane: %w", err)
	}
	s := &Server{store: db}
	s.bus, err = bus.New(bus.Config{URL: cfg.NATSURL, InProcess: cfg.InProcess, SigningKey: cfg.SigningKey, Store: db, Log: cfg.Log})
	if err == nil {
		s.handler, err = newHandler(db, s.bus, cfg)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("controlplane: %w", err)
	}
	return s, nil
}

func newHandler(db *store.DB, fleet rest.Fleet, cfg Config) (http.Handler, error) {
	tokens, err := identity.New(identity.Config{Store: db, Key: cfg.TokenKey, Issuer: cfg.Issuer})
	if err != nil {
		return nil, err
	}
	built, _ := web.Files()
	api, err := rest.New(rest.Config{Store: db, Identity: tokens, People: identity.NewPeople(identity.PeopleConfig{Store: db}), Fleet: fleet, Portal: built, GatewayURL: cfg.GatewayURL, AWSPrincipals: cfg.AWSPrincipals, Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	return counted(api, cfg.Metrics), nil
}

// Handler is the admin API and the portal.
func (s *Server) Handler() http.Handler { return s.handler }

// Store is the database.
func (s *Server) Store() *store.DB { return s.store }

// Run publishes configuration until ctx is done.
func (s *Server) Run(ctx context.Context) error { return s.bus.Run(ctx) }

// WaitLive waits until the named nodes serve the organization at the version.
func (s *Server) WaitLive(ctx context.Context, organization uuid.UUID, version int64, nodes []string) error {
	return s.bus.WaitLive(ctx, organization, version, nodes)
}

// Close closes the database. Handler and Run must have ended.
func (s *Server) Close() { s.store.Close() }
