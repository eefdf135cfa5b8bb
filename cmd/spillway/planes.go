package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane"
	"github.com/spillway-gateway/spillway/dev"
	"github.com/spillway-gateway/spillway/metrics"
	"github.com/spillway-gateway/spillway/migrations"
	"github.com/spillway-gateway/spillway/test/provider"
)

const (
	whatDatabase = "the postgres:// address of the control plane's database"
	whatNATS     = "the nats:// address of the bus"
)

func runControlPlane(ctx context.Context, c *invocation) error {
	listen := c.setting("listen", "SPILLWAY_LISTEN", "127.0.0.1:8080", "host:port of the admin API and the token endpoint")
	told := c.metricsListen("")
	issuer := c.setting("issuer", "SPILLWAY_ISSUER", "spillway", "issuer of the access tokens, the same on every control plane")
	gateway := c.setting("gateway-url", "SPILLWAY_GATEWAY_URL", "", "where callers reach the gateway, which the portal shows people; default the portal's own address")
	principals := c.setting("aws-principals", "SPILLWAY_AWS_PRINCIPALS", "", "identities of AWS that the nodes act as (ARNs, comma-separated), told to administrators for their roles' trust policies")
	level := c.flags.String("log-level", "info", "debug, info, warn or error")
	if err := c.parse(0); err != nil {
		return err
	}
	log, err := c.logger(*level, true)
	if err != nil {
		return err
	}
	registry := metrics.New()
	cfg := controlplane.Config{Issuer: *issuer, GatewayURL: *gateway, Metrics: registry, Log: log,
		AWSPrincipals: strings.FieldsFunc(*principals, func(r rune) bool { return r == ',' || r == ' ' })}
	if err := c.controlSecrets(&cfg); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return usage(fmt.Errorf("--listen %s: %w", *listen, err))
	}
	server, err := controlplane.New(ctx, cfg)
	if err != nil {
		return usage(errors.Join(err, listener.Close()))
	}
	defer server.Close()
	log.Info("serving", "address", listener.Addr().String())
	return withMetrics(ctx, log, *told, registry, func(ctx context.Context) error { return serve(ctx, listener, server.Handler(), server.Run) })
}

// key reads an installation's key from the environment, which alone may hold it.
func key[T any](c *invocation, variable string, parse func(string) (T, error), into *T) error {
	text, err := c.needed(variable, "make keys with spillway keygen")
	if err != nil {
		return err
	}
	if *into, err = parse(text); err != nil {
		return usage(fmt.Errorf("%s: %w", variable, err))
	}
	return nil
}

// firstOf runs checks in order and returns the first error, so that a person is told
// one thing at a time.
func firstOf(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// controlSecrets reads what only the environment may hold.
func (c *invocation) controlSecrets(cfg *controlplane.Config) (err error) {
	return firstOf(
		func() error { cfg.DatabaseURL, err = c.needed("SPILLWAY_DATABASE_URL", whatDatabase); return err },
		func() error { cfg.NATSURL, err = c.needed("SPILLWAY_NATS_URL", whatNATS); return err },
		func() error { return key(c, "SPILLWAY_SIGNING_KEY", node.ParseSigningKey, &cfg.SigningKey) },
		func() error { return key(c, "SPILLWAY_TOKEN_KEY", node.ParseSigningKey, &cfg.TokenKey) },
		func() error { return key(c, "SPILLWAY_SEAL_PUBLIC_KEY", node.ParseSealPublicKey, &cfg.SealKey) },
	)
}

// serve answers on the listener and runs part until ctx ends or either fails.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, part func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10}
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	go func() { failed <- part(ctx) }()
	var err error
	select {
	case err = <-failed:
		stop()
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(drain))
}

// metricsListen is where Prometheus is told; empty: nowhere.
func (c *invocation) metricsListen(otherwise string) *string {
	return c.setting("metrics-listen", "SPILLWAY_METRICS_LISTEN", otherwise, "host:port at which Prometheus reads /metrics, for operators only; empty: nowhere")
}

// withMetrics runs part and beside it, where an address is given, the listener of its
// metrics. Either one's end is the other's.
func withMetrics(ctx context.Context, log *slog.Logger, address string, registry *prometheus.Registry, part func(context.Context) error) error {
	if address == "" {
		return part(ctx)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return usage(fmt.Errorf("--metrics-listen %s: %w", address, err))
	}
	log.Info("serving metrics", "address", listener.Addr().String())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	told, stopTelling := context.WithCancel(context.WithoutCancel(ctx)) // as long as requests drain
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- metrics.Serve(told, listener, registry)
	}()
	err = part(ctx)
	stopTelling()
	return errors.Join(err, <-ended)
}

func runDataPlane(ctx context.Context, c *invocation) error {
	listen := c.setting("listen", "SPILLWAY_LISTEN", "127.0.0.1:8080", "host:port of the callers' endpoints")
	told := c.metricsListen("")
	name := c.setting("node", "SPILLWAY_NODE", "", "this node's name, unique in the installation; letters, digits, '-', '_'")
	dataDir := c.setting("data-dir", "SPILLWAY_DATA_DIR", "./var", "folder for the last good configuration")
	private := c.setting("allow-private-upstreams", "SPILLWAY_ALLOW_PRIVATE_UPSTREAMS", "", "networks (CIDR, comma-separated) that are not public and may be reached all the same")
	privateFiles := c.setting("allow-private-files", "SPILLWAY_ALLOW_PRIVATE_FILES", "", "networks (CIDR, comma-separated) that are not public and from which callers may have images and documents fetched")
	ambient := c.toggle("ambient-credentials", "SPILLWAY_AMBIENT_CREDENTIALS", false, "let every organization's providers use the identity that this node has in its cloud")
	level := c.flags.String("log-level", "info", "debug, info, warn or error")
	if err := c.parse(0); err != nil {
		return err
	}
	log, err := c.logger(*level, true)
	if err != nil {
		return err
	}
	registry := metrics.New()
	cfg := dataplane.Config{Name: *name, Dir: *dataDir, Ambient: *ambient, Metrics: registry, Log: log}
	if err := c.nodeSecrets(&cfg); err != nil {
		return err
	}
	if strings.Trim(cfg.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" || cfg.Name == "" {
		return usage(errors.New("--node: give this node a name of letters, digits, '-' and '_'"))
	}
	if cfg.Guard.Allow, err = networks("--allow-private-upstreams", *private); err != nil {
		return usage(err)
	}
	if cfg.Guard.AllowFiles, err = networks("--allow-private-files", *privateFiles); err != nil {
		return usage(err)
	}
	n, err := dataplane.New(cfg)
	if err != nil {
		return usage(err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return usage(fmt.Errorf("--listen %s: %w", *listen, err))
	}
	log.Info("serving", "node", cfg.Name, "address", listener.Addr().String())
	return withMetrics(ctx, log, *told, registry, func(ctx context.Context) error { return n.Run(ctx, listener) })
}

func networks(flag, list string) (out []netip.Prefix, err error) {
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// nodeSecrets reads what a node needs to verify snapshots and open credentials.
func (c *invocation) nodeSecrets(cfg *dataplane.Config) (err error) {
	return firstOf(
		func() error { cfg.NATSURL, err = c.needed("SPILLWAY_NATS_URL", whatNATS); return err },
		func() error {
			return key(c, "SPILLWAY_SIGNING_PUBLIC_KEY", node.ParseSigningPublicKey, &cfg.SigningKey)
		},
		func() error { return key(c, "SPILLWAY_SEAL_KEY", node.ParseSealPrivateKey, &cfg.SealKey) },
	)
}

func runMigrate(ctx context.Context, c *invocation) error {
	if err := c.parse(0); err != nil {
		return err
	}
	database, err := c.needed("SPILLWAY_DATABASE_URL", whatDatabase+", as the role that owns the schema")
	if err != nil {
		return err
	}
	return usage(migrations.Up(ctx, database))
}

// openStore opens the database for a command that acts on it.
func (c *invocation) openStore(ctx context.Context) (*store.DB, error) {
	database, err := c.needed("SPILLWAY_DATABASE_URL", whatDatabase)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Config{DatabaseURL: database})
	return db, usage(err)
}

func runOrganization(ctx context.Context, c *invocation) error {
	name := c.flags.String("name", "", "the organization's name")
	if err := c.parse(0); err != nil {
		return err
	}
	if *name == "" {
		return usage(errors.New("--name is needed"))
	}
	db, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	org, err := db.CreateOrganization(ctx, *name)
	if err != nil {
		return usage(err)
	}
	id, secret, err := db.CreateServiceAccount(ctx, org, "first service account", tenant.RoleAdmin)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "organization_id=%s\nclient_id=%s\nclient_secret=%s\n", org, id, secret)
	return err
}

func runKeygen(_ context.Context, c *invocation) error {
	if err := c.parse(0); err != nil {
		return err
	}
	keys, err := dev.NewKeys()
	if err != nil {
		return err
	}
	seal, err := keys.Seal.Bytes()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, `# Control plane.
SPILLWAY_SIGNING_KEY=%s
SPILLWAY_TOKEN_KEY=%s
SPILLWAY_SEAL_PUBLIC_KEY=%s
# Data plane.
SPILLWAY_SIGNING_PUBLIC_KEY=%s
SPILLWAY_SEAL_KEY=%s
`, hex.EncodeToString(keys.Signing.Seed()), hex.EncodeToString(keys.Token.Seed()), hex.EncodeToString(keys.Seal.PublicKey().Bytes()),
		hex.EncodeToString(keys.Signing[32:]), hex.EncodeToString(seal))
	return err
}

func runDemoProvider(ctx context.Context, c *invocation) error {
	listen := c.setting("listen", "SPILLWAY_LISTEN", "127.0.0.1:8090", "host:port")
	if err := c.parse(0); err != nil {
		return err
	}
	log, err := c.logger("info", false)
	if err != nil {
		return err
	}
	p := provider.New(provider.Config{Log: log})
	url, err := p.Start(*listen)
	if err != nil {
		return usage(fmt.Errorf("--listen %s: %w", *listen, err))
	}
	fmt.Fprintf(c.stdout, "OpenAI dialect at %s/v1, Anthropic dialect at %s; fail a model with: curl -X PUT %s/control/MODEL -d '{\"status\":503}'\n", url, url, url)
	<-ctx.Done()
	return p.Close()
}
