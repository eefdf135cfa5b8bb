package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// gateway is a running `spillway dev`. Its exported fields are the ready file.
type gateway struct {
	BaseURL      string   `json:"base_url"`
	TokenURL     string   `json:"token_url"`
	ClientID     string   `json:"client_id"`
	ClientSecret string   `json:"client_secret"`
	APIKey       string   `json:"api_key"`
	URLs         []string `json:"gateway_urls"`

	process *process
	token   string
	models  []string // of the provider that fill makes
}

const patience = time.Minute

// startGateway starts the whole gateway on one node and waits until it is ready.
func startGateway(ctx context.Context, binary, dir string) (*gateway, error) {
	data, err := os.MkdirTemp(dir, "data-")
	if err != nil {
		return nil, err
	}
	ready := filepath.Join(data, "ready.json")
	logs, err := os.Create(filepath.Join(data, "spillway.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = logs.Close() }() // the child has its own
	cmd := exec.Command(binary, "dev", "--nodes", "1", "--data-dir", filepath.Join(data, "state"), "--listen", "127.0.0.1:0", "--ready-file", ready)
	cmd.Stdout, cmd.Stderr = logs, logs
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	g := &gateway{process: p}
	err = poll(ctx, func() error {
		select {
		case <-p.ended:
			return fmt.Errorf("%w: the gateway ended: %v", errFinal, p.err)
		default:
		}
		raw, err := os.ReadFile(ready)
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, g)
	})
	if err == nil && len(g.URLs) == 0 {
		err = errors.New("the ready file names no gateway URL")
	}
	if err != nil {
		p.stop()
		text, _ := os.ReadFile(logs.Name()) // only to explain err
		return nil, fmt.Errorf("%w; its last words:\n%s", err, text[max(0, len(text)-2000):])
	}
	return g, nil
}

var errFinal = errors.New("cannot succeed")

// poll tries until it works, it cannot, or patience ends.
func poll(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil || errors.Is(err, errFinal) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

const admin = "/api/llm-gateway/admin"

// configure makes the routes of the bench through the admin API and waits until the
// gateway serves them.
func (g *gateway) configure(ctx context.Context, upstream string, failing int) error {
	if err := g.login(ctx); err != nil {
		return err
	}
	models := []string{target(modelGood), target(modelPaced), target(modelHold)}
	for n := range failing {
		models = append(models, failingModel(n))
	}
	var provider struct {
		ID string `json:"id"`
	}
	err := g.post(ctx, "/providers", map[string]any{
		"name": "bench upstream", "model_provider": "openai", "base_url": upstream + "/v1", "api_key": "x", "models": models,
	}, &provider)
	if err != nil {
		return err
	}
	var messages struct {
		ID string `json:"id"`
	}
	err = g.post(ctx, "/providers", map[string]any{
		"name": "bench messages", "model_provider": "anthropic", "base_url": upstream, "api_key": "x", "models": []string{target(modelMessages)},
	}, &messages)
	if err != nil {
		return err
	}
	rows := []map[string]any{{"provider_id": messages.ID, "model_alias": modelMessages, "upstream_model": target(modelMessages), "priority": 0}}
	route := func(alias string, targets ...string) {
		for priority, model := range targets {
			rows = append(rows, map[string]any{"provider_id": provider.ID, "model_alias": alias, "upstream_model": model, "priority": priority})
		}
	}
	for _, model := range []string{modelGood, modelPaced, modelHold} {
		route(model, target(model))
	}
	for n := range failing {
		route(failingRoute(n), failingModel(n), target(modelGood))
	}
	if err := g.mappings(ctx, rows); err != nil {
		return err
	}
	return g.served(ctx, failing)
}

// mappings creates rows, a few at a time.
func (g *gateway) mappings(ctx context.Context, rows []map[string]any) error {
	var wg sync.WaitGroup
	var failed failures
	work := make(chan map[string]any)
	for range 4 {
		wg.Go(func() {
			for row := range work {
				failed.note(g.post(ctx, "/model-mappings", row, nil))
			}
		})
	}
	for _, row := range rows {
		work <- row
	}
	close(work)
	wg.Wait()
	if failed.n > 0 {
		return fmt.Errorf("%d of %d mappings failed: %w", failed.n, len(rows), failed.first)
	}
	return nil
}

// served waits until a node serves what was configured last. The last failing route is
// kept for that, because every answer of it counts as a failure.
func (g *gateway) served(ctx context.Context, failing int) error {
	s := newSystem(spillway, g.URLs[0], g.APIKey, 0)
	defer s.transport.CloseIdleConnections()
	models := []string{modelGood}
	if failing > 0 {
		models = append(models, failingRoute(failing-1))
	}
	for _, model := range models {
		body := prompt(model, 1<<10, false)
		if err := poll(ctx, func() error { return s.ask(ctx, chatPath, body, 0) }); err != nil {
			return fmt.Errorf("the gateway does not serve %s: %w", model, err)
		}
	}
	return nil
}

func (g *gateway) login(ctx context.Context) error {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {g.ClientID}, "client_secret": {g.ClientSecret}}
	var out struct {
		AccessToken string `json:"access_token"`
	}
	err := g.send(ctx, g.TokenURL, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), &out)
	g.token = out.AccessToken
	return err
}

func (g *gateway) post(ctx context.Context, path string, in, out any) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return g.send(ctx, g.BaseURL+admin+path, "application/json", bytes.NewReader(raw), out)
}

func (g *gateway) send(ctx context.Context, to, contentType string, body io.Reader, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	if g.token != "" {
		req.Header.Set("Authorization", "Bearer "+g.token)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("POST %s: %s: %s", req.URL.Path, res.Status, raw)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(raw, out)
}
