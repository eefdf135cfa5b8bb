package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// adminRoutes are how many routes one organization has when the admin API is measured.
const adminRoutes = 10_000

// Scenarios of the admin API, which only the gateway has.
const (
	adminList   = "admin-list"   // every route in one answer
	adminPage   = "admin-page"   // a hundred of them
	adminCreate = "admin-create" // one more route of two targets
	adminLive   = "admin-live"   // from its answer to the node that serves it
)

// measureAdmin fills an organization and measures the admin API beside it.
func (b *bench) measureAdmin(ctx context.Context) error {
	wanted := func(id string) bool { return b.only.MatchString(id) }
	if b.gateway == "" || b.size.created == 0 || !slices.ContainsFunc([]string{adminList, adminPage, adminCreate, adminLive}, wanted) {
		return nil
	}
	dir := filepath.Join(b.dir, "admin")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	g, err := startGateway(ctx, b.gateway, dir)
	if err != nil {
		return err
	}
	defer g.process.stop()
	provider, err := g.fill(ctx, adminRoutes-b.size.created)
	if err != nil {
		return err
	}
	created, live, err := g.create(ctx, provider, b.size.created)
	if err != nil {
		return err
	}
	b.results.add(adminCreate, spillway, created)
	b.results.add(adminLive, spillway, live)
	for id, path := range map[string]string{adminList: "/routes", adminPage: "/routes?limit=100"} {
		progress("%s", id)
		s, err := g.read(ctx, path, b.size.listed)
		if err != nil {
			return err
		}
		b.results.add(id, spillway, s)
	}
	return nil
}

// fill makes a provider with models, and routes over it. Nobody is there to be asked, and
// so its health is of no account.
func (g *gateway) fill(ctx context.Context, routes int) (provider string, err error) {
	if err := g.login(ctx); err != nil {
		return "", err
	}
	for n := range 100 {
		g.models = append(g.models, fmt.Sprintf("model-%05d", n))
	}
	var p struct {
		ID string `json:"id"`
	}
	body := map[string]any{"name": "many", "model_provider": "openai", "base_url": "http://127.0.0.1:1/v1", "api_key": "x", "models": g.models, "enforce_health_check": false}
	if err := g.post(ctx, "/providers", body, &p); err != nil {
		return "", err
	}
	progress("%d routes", routes)
	rows := make([]map[string]any, routes)
	for n := range rows {
		rows[n] = map[string]any{"provider_id": p.ID, "model_alias": fmt.Sprintf("filled-%05d", n), "upstream_model": g.models[n%len(g.models)]}
	}
	return p.ID, g.mappings(ctx, rows)
}

// create makes routes one after another, and measures the answer and how long after it a
// node serves the route.
func (g *gateway) create(ctx context.Context, provider string, routes int) (created, live sample, err error) {
	node := newSystem(spillway, g.URLs[0], g.APIKey, 0)
	defer node.transport.CloseIdleConnections()
	var answers, served []time.Duration
	for n := range routes {
		if n%100 == 0 {
			progress("%s %d/%d", adminCreate, n, routes)
		}
		name := fmt.Sprintf("route-%05d", n)
		targets := []map[string]any{
			{"provider_id": provider, "upstream_model": g.models[n%len(g.models)]},
			{"provider_id": provider, "upstream_model": g.models[(n+1)%len(g.models)]},
		}
		began := time.Now()
		if err := g.post(ctx, "/routes", map[string]any{"model_alias": name, "targets": targets}, nil); err != nil {
			return created, live, err
		}
		answered := time.Now()
		answers = append(answers, answered.Sub(began))
		if n%5 != 0 { // the others are a burst that the publisher gathers
			continue
		}
		if err := poll(ctx, func() error { return g.knows(ctx, node, name) }); err != nil {
			return created, live, err
		}
		served = append(served, time.Since(answered))
	}
	return timings(answers), timings(served), nil
}

// knows is nil when the node lists the model.
func (g *gateway) knows(ctx context.Context, node *system, model string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, node.url+"/v1/models/"+model, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+node.key)
	res, err := node.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

// read reads a listing again and again.
func (g *gateway) read(ctx context.Context, path string, times int) (sample, error) {
	var took []time.Duration
	for range times {
		began := time.Now()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.BaseURL+admin+path, nil)
		if err != nil {
			return sample{}, err
		}
		r.Header.Set("Authorization", "Bearer "+g.token)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return sample{}, err
		}
		n, err := io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d after %d bytes", res.StatusCode, n)
		}
		if err != nil {
			return sample{}, fmt.Errorf("GET %s: %w", path, err)
		}
		took = append(took, time.Since(began))
	}
	return timings(took), nil
}

func timings(took []time.Duration) sample {
	slices.Sort(took)
	at := func(share int) time.Duration { return took[(len(took)*share+99)/100-1] } // the nearest rank
	return sample{Requests: len(took), P50: at(50), P99: at(99)}
}
