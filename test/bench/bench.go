package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"time"
)

// bench is one run.
type bench struct {
	size    size
	only    *regexp.Regexp
	dir     string
	gateway string // binary, "" to leave it out
	results *results
}

func newBench(ctx context.Context, o options, z size) (*bench, error) {
	debug.SetGCPercent(400) // the driver shares the cores with what it measures
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "spillway-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{size: z, only: only, dir: dir, gateway: o.spillway}
	if b.gateway == "" && !o.skipGateway {
		progress("building the gateway")
		b.gateway, err = buildGateway(ctx, dir)
	}
	if o.skipGateway {
		b.gateway = ""
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) } // a temporary folder: what is left, the system removes

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }

// measure runs everything. Memory comes first and on processes of its own: what load
// leaves behind would be counted as streams.
func (b *bench) measure(ctx context.Context, rounds int) (*results, error) {
	b.results = newResults(rounds)
	begun := time.Now()
	if err := b.measureMemory(ctx); err != nil {
		return nil, err
	}
	if err := b.measureAdmin(ctx); err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(scenarios(b.size, rounds), func(c scenario) bool { return !b.only.MatchString(c.id) })
	if len(chosen) == 0 {
		b.results.Took = time.Since(begun)
		return b.results, nil
	}
	err := b.onFleet(ctx, "load", b.size.failingRoutes(rounds), func(f *fleet) error { return b.measureLoad(ctx, f, chosen, rounds) })
	b.results.Took = time.Since(begun)
	return b.results, err
}

// onFleet runs fn on freshly started systems.
func (b *bench) onFleet(ctx context.Context, name string, failing int, fn func(*fleet) error) error {
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	f, err := startFleet(ctx, b.gateway, dir, failing)
	if err != nil {
		return err
	}
	defer f.close()
	return fn(f)
}

func openID(n int) string { return fmt.Sprintf("open-%d", n) }

func (b *bench) measureMemory(ctx context.Context) error {
	open := slices.DeleteFunc(slices.Clone(b.size.open), func(n int) bool { return !b.only.MatchString(openID(n)) })
	if len(open) == 0 {
		return nil
	}
	return b.onFleet(ctx, "memory", 0, func(f *fleet) error {
		for _, s := range f.systems {
			if s.pid != 0 {
				b.results.Idle[s.name] = s.idle
			}
		}
		for _, n := range open {
			for _, s := range f.systems {
				if s.pid == 0 {
					continue
				}
				progress("%s %s", openID(n), s.name)
				var resident int64
				out, err := s.openStreams(ctx, n, f.upstream, func() (err error) {
					resident, err = memory(s.pid)
					return err
				})
				if err != nil {
					return err
				}
				s.transport.CloseIdleConnections()
				out.Memory = resident - s.idle
				b.results.add(openID(n), s.name, out)
			}
		}
		return nil
	})
}

// measureLoad runs every scenario in rounds, each system in each round, so that
// whatever else the machine does meanwhile falls on all of them.
func (b *bench) measureLoad(ctx context.Context, f *fleet, chosen []scenario, rounds int) error {
	b.warmUp(ctx, f)
	for _, c := range chosen {
		asked := b.able(ctx, c, f.systems)
		for round := range rounds {
			for i := range asked {
				s := asked[(i+round)%len(asked)]
				progress("%s %d/%d %s", c.id, round+1, rounds, s.name)
				out, err := timed(ctx, c, s)
				if err != nil {
					return err
				}
				b.results.add(c.id, s.name, out)
			}
		}
	}
	return nil
}

// warmUp makes every system dial its connections and grow its heap before anything
// is measured: what the first thousand requests cost is no figure of a gateway's.
func (b *bench) warmUp(ctx context.Context, f *fleet) {
	for _, bytes := range []int{1 << 10, 64 << 10} {
		body := prompt(modelGood, bytes, false)
		for _, s := range f.systems {
			progress("warm up %s", s.name)
			closedLoop(64, b.size.json/4, func(int) error { return s.ask(ctx, chatPath, body, 0) })
		}
	}
}

// able returns the systems that a scenario asks.
func (b *bench) able(ctx context.Context, c scenario, systems []*system) (able []*system) {
	for _, s := range systems {
		if !c.concerns(s.name) {
			continue
		}
		if c.probe != nil {
			if err := c.probe(ctx, s); err != nil {
				b.results.Notes = append(b.results.Notes, fmt.Sprintf("%s %s: not measured: %v", c.id, s.name, err))
				continue
			}
		}
		able = append(able, s)
	}
	return able
}

// timed runs one round and reads what it cost.
func timed(ctx context.Context, c scenario, s *system) (sample, error) {
	if s.pid == 0 {
		return c.run(ctx, s), ctx.Err()
	}
	before, err := cpuTime(s.pid)
	if err != nil {
		return sample{}, err
	}
	out := c.run(ctx, s)
	after, err := cpuTime(s.pid)
	if err != nil {
		return sample{}, err
	}
	out.CPU = after - before
	return out, ctx.Err()
}
