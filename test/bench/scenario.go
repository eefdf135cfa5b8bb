package main

import (
	"context"
	"errors"
	"slices"
	"time"
)

// size is how much is asked in one round.
type size struct {
	json, prompt64K, prompt1M, translated int // requests
	fast                                  int // streams
	failing                               int
	slow, quick                           time.Duration // of the open loops at 200/s and 1,000/s
	open                                  []int
}

var (
	fullSize = size{
		json: 8000, prompt64K: 1500, prompt1M: 100, translated: 4000, fast: 60, failing: 1190,
		slow: 3 * time.Second, quick: 2 * time.Second, open: []int{1000, 5000},
	}
	quickSize = size{
		json: 5000, prompt64K: 800, prompt1M: 50, translated: 2000, fast: 40, failing: 530,
		slow: 2 * time.Second, quick: time.Second, open: []int{1000},
	}
)

// failingRoutes is how many routes it takes to fail over in every round, and one more,
// which is not asked: see served.
func (z size) failingRoutes(rounds int) int { return (z.failing*rounds+maxFailures-1)/maxFailures + 1 }

// scenario is one way of asking. Its id is what -only and the results name.
type scenario struct {
	id      string
	systems []string // who is asked; all if nil
	run     func(ctx context.Context, s *system) sample
}

func (c scenario) concerns(name string) bool {
	return c.systems == nil || slices.Contains(c.systems, name)
}

func scenarios(z size, rounds int) []scenario {
	measured := []string{proxy, plain, spillway} // direct has no process whose CPU could be read
	asks := func(id string, callers, total, bytes int) scenario {
		body := prompt(modelGood, bytes, false)
		return scenario{id, measured, func(ctx context.Context, s *system) sample {
			return closedLoop(callers, total, func(int) error { return s.ask(ctx, chatPath, body, 0) })
		}}
	}
	rate := func(id string, perSecond int, lasts time.Duration) scenario {
		body := prompt(modelGood, 1<<10, false)
		return scenario{id, nil, func(ctx context.Context, s *system) sample {
			return openLoop(ctx, perSecond, lasts, func() error { return s.ask(ctx, chatPath, body, 0) })
		}}
	}
	failing := make([][]byte, z.failingRoutes(rounds)-1)
	for n := range failing {
		failing[n] = prompt(failingRoute(n), 1<<10, false)
	}
	translated := messagesPrompt(modelGood, 1<<10)
	return []scenario{
		asks("json-64", 64, z.json, 1<<10),
		asks("json-256", 256, z.json, 1<<10),
		asks("prompt-64k", 16, z.prompt64K, 64<<10),
		asks("prompt-1m", 4, z.prompt1M, 1<<20),
		{"sse-paced", measured, func(ctx context.Context, s *system) sample {
			return s.streams(ctx, 20, 20, pacedGap/20, modelPaced, pacedEvents)
		}},
		{"sse-fast", measured, func(ctx context.Context, s *system) sample {
			return s.streams(ctx, 20, z.fast, 0, modelGood, fastEvents)
		}},
		{"failover", []string{plain, spillway}, func(ctx context.Context, s *system) sample {
			return closedLoop(64, z.failing, func(int) error {
				n := int(s.failovers.Add(1)-1) / maxFailures
				if n >= len(failing) {
					return errors.New("out of failing routes")
				}
				return s.ask(ctx, chatPath, failing[n], 1)
			})
		}},
		{"translated", []string{spillway}, func(ctx context.Context, s *system) sample {
			return closedLoop(64, z.translated, func(int) error { return s.ask(ctx, messagesPath, translated, 0) })
		}},
		rate("rate-200", 200, z.slow),
		rate("rate-1000", 1000, z.quick),
	}
}
