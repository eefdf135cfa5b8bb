package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The systems, in the order of the table.
const (
	direct   = "direct"
	proxy    = "proxy"
	plain    = "baseline"
	spillway = "spillway"
)

// fleet is every system, freshly started, before one upstream.
type fleet struct {
	upstream string
	systems  []*system
	stops    []func()
}

func (f *fleet) close() {
	for _, stop := range f.stops {
		stop()
	}
}

func (f *fleet) add(name, url, key string, p *process) {
	f.systems = append(f.systems, newSystem(name, url, key, p.pid()))
	f.stops = append(f.stops, p.stop)
}

// startFleet starts the systems with a number of failing routes. gateway is the
// spillway binary, "" to leave it out; dir is a folder for the files they need.
func startFleet(ctx context.Context, gateway, dir string, failing int) (f *fleet, err error) {
	f = &fleet{}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	p, url, err := startSelf("upstream")
	if err != nil {
		return f, err
	}
	f.upstream = url
	f.stops = append(f.stops, p.stop)
	f.systems = append(f.systems, newSystem(direct, url, "bench", 0))

	p, url, err = startSelf("proxy", f.upstream)
	if err != nil {
		return f, err
	}
	f.add(proxy, url, "bench", p)

	config, err := writeBaseline(dir, f.upstream, failing)
	if err != nil {
		return f, err
	}
	p, url, err = startSelf("baseline", config)
	if err != nil {
		return f, err
	}
	f.add(plain, url, "bench", p)

	if gateway != "" {
		g, err := startGateway(ctx, gateway, dir)
		if err != nil {
			return f, err
		}
		f.add(spillway, g.URLs[0], g.APIKey, g.process)
		if err := g.configure(ctx, f.upstream, failing); err != nil {
			return f, err
		}
	}
	return f, f.settle(ctx)
}

func writeBaseline(dir, upstream string, failing int) (string, error) {
	cfg := baselineConfig{Upstream: upstream, Keys: []string{"bench"}, Routes: map[string][]string{}}
	for _, model := range []string{modelGood, modelPaced, modelHold} {
		cfg.Routes[model] = []string{target(model)}
	}
	for n := range failing {
		cfg.Routes[failingRoute(n)] = []string{failingModel(n), target(modelGood)}
	}
	raw, err := json.Marshal(cfg)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "baseline.json")
	return file, os.WriteFile(file, raw, 0o600)
}

// settle asks each system for a few answers and notes what it weighs at rest.
func (f *fleet) settle(ctx context.Context) error {
	body := prompt(modelGood, 1<<10, false)
	for _, s := range f.systems {
		warm := closedLoop(8, 200, func(int) error { return s.ask(ctx, chatPath, body, 0) })
		if warm.Failed > 0 {
			return fmt.Errorf("%s: %d of %d first requests failed: %s", s.name, warm.Failed, warm.Requests, warm.First)
		}
	}
	for _, s := range f.systems {
		s.transport.CloseIdleConnections()
		if s.pid == 0 {
			continue
		}
		var err error
		if s.idle, err = memory(s.pid); err != nil {
			return err
		}
	}
	return nil
}

// buildGateway builds the gateway as it is in this module.
func buildGateway(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "spillway")
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/spillway-gateway/spillway/cmd/spillway").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the gateway (or measure without it: -skip-gateway): %w\n%s", err, out)
	}
	return binary, nil
}
