package main

import (
	"context"
	"errors"
	"slices"
	"time"
)

// size is how much is asked in one round.
type size struct {
	json, prompt64K, prompt1M, translated, agent int // requests
	fast                                         int // streams
	failing                                      int
	slow, quick                                  time.Duration // of the open loops at 200/s and 1,000/s
	open                                         []int
	created, listed                              int // routes, and times that all of them are listed
}

var (
	fullSize = size{
		json: 10_000, prompt64K: 2000, prompt1M: 150, translated: 4000, agent: 2000, fast: 120, failing: 6000,
		slow: 3 * time.Second, quick: 2 * time.Second, open: []int{1000, 5000}, created: 500, listed: 100,
	}
	quickSize = size{
		json: 3000, prompt64K: 600, prompt1M: 50, translated: 1000, agent: 500, fast: 40, failing: 1500,
		slow: 1500 * time.Millisecond, quick: time.Second, open: []int{1000}, created: 100, listed: 20,
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
	// probe, where set, says why a system cannot be asked this at all: then it is left
	// out, and the table says so.
	probe func(ctx context.Context, s *system) error
}

func (c scenario) concerns(name string) bool {
	return c.systems == nil || slices.Contains(c.systems, name)
}

func scenarios(z size, rounds int) []scenario {
	measured := []string{proxy, plain, spillway} // direct has no process whose CPU could be read
	asks := func(id string, callers, total, bytes int) scenario {
		body := prompt(modelGood, bytes, false)
		return scenario{id: id, systems: measured, run: func(ctx context.Context, s *system) sample {
			return closedLoop(callers, total, func(int) error { return s.ask(ctx, chatPath, body, 0) })
		}}
	}
	rate := func(id string, perSecond int, lasts time.Duration) scenario {
		body := prompt(modelGood, 1<<10, false)
		return scenario{id: id, run: func(ctx context.Context, s *system) sample {
			return openLoop(ctx, perSecond, lasts, func() error { return s.ask(ctx, chatPath, body, 0) })
		}}
	}
	failing := make([][]byte, z.failingRoutes(rounds)-1)
	for n := range failing {
		failing[n] = prompt(failingRoute(n), 1<<10, false)
	}
	translated := messagesPrompt(modelGood, 1<<10, false)
	translate := func(ctx context.Context, s *system) error { return s.ask(ctx, messagesPath, translated, 0) }
	return append([]scenario{
		asks("json-64", 64, z.json, 1<<10),
		asks("json-256", 256, z.json, 1<<10),
		asks("prompt-64k", 16, z.prompt64K, 64<<10),
		asks("prompt-1m", 4, z.prompt1M, 1<<20),
		{id: "sse-paced", systems: measured, run: func(ctx context.Context, s *system) sample {
			return s.streams(ctx, 20, 20, pacedGap/20, chatPath, prompt(modelPaced, 1<<10, true), pacedEvents)
		}},
		{id: "sse-fast", systems: measured, run: func(ctx context.Context, s *system) sample {
			return s.streams(ctx, 20, z.fast, 0, chatPath, prompt(modelGood, 1<<10, true), fastEvents)
		}},
		{id: "failover", systems: []string{plain, spillway}, run: func(ctx context.Context, s *system) sample {
			return closedLoop(64, z.failing, func(int) error {
				n := int(s.failovers.Add(1)-1) / maxFailures
				if n >= len(failing) {
					return errors.New("out of failing routes")
				}
				return s.ask(ctx, chatPath, failing[n], 1)
			})
		}},
		{id: "translated", systems: []string{spillway}, probe: translate, run: func(ctx context.Context, s *system) sample {
			return closedLoop(64, z.translated, func(int) error { return translate(ctx, s) })
		}},
		rate("rate-200", 200, z.slow),
		rate("rate-1000", 1000, z.quick),
	}, translations(z)...)
}

// translations ask the gateway in one dialect over a provider of another, each beside the
// same request forwarded: -only translate runs all of them.
func translations(z size) []scenario {
	asks := func(id string, total int, path string, body []byte) scenario {
		return scenario{id: id, systems: []string{spillway}, run: func(ctx context.Context, s *system) sample {
			return closedLoop(16, total, func(int) error { return s.ask(ctx, path, body, 0) })
		}}
	}
	streams := func(id, path string, body []byte) scenario {
		return scenario{id: id, systems: []string{spillway}, run: func(ctx context.Context, s *system) sample {
			return s.streams(ctx, 20, z.fast, 0, path, body, fastEvents)
		}}
	}
	agentMessages, agentChat := agentPrompt(modelGood)
	return []scenario{
		asks("translate-agent", z.agent, messagesPath, agentMessages),
		asks("translate-agent-forwarded", z.agent, chatPath, agentChat),
		asks("translate-chat", z.translated, chatPath, prompt(modelMessages, 1<<10, false)),
		asks("translate-chat-forwarded", z.translated, chatPath, prompt(modelGood, 1<<10, false)),
		streams("translate-stream", messagesPath, messagesPrompt(modelGood, 1<<10, true)),
		streams("translate-stream-to-chat", chatPath, prompt(modelMessages, 1<<10, true)),
		streams("translate-stream-forwarded", chatPath, prompt(modelGood, 1<<10, true)),
	}
}
