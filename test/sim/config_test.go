package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// config is what the installation's two organizations have. Both have the same
// providers and models; only the first one's ever fail.
type config struct {
	orgs     [2]uuid.UUID
	current  int                 // version that nodes are given
	versions [2][]*node.Snapshot // by version and organization
	routes   []route
	names    map[uuid.UUID]string
	callers  []string
}

// route is a name that callers use.
type route struct {
	name    string
	dialect llm.Dialect
	solo    bool // one target only, so that it gets traffic whatever the others do
}

// spot is a provider model of the simulated configuration.
type spot struct {
	provider int
	model    string
}

// layout is the multi-target routes; passthrough is provider 2.
var layout = []struct {
	name    string
	dialect llm.Dialect
	targets []spot
}{
	{"chat-a", llm.Chat, []spot{{0, "m1"}, {1, "m1"}, {1, "m2"}}},
	{"chat-b", llm.Chat, []spot{{1, "m1"}, {0, "m1"}}},
	{"message-a", llm.Messages, []spot{{2, "m1"}, {3, "m1"}}},
	{"message-b", llm.Messages, []spot{{3, "m1"}, {2, "m1"}}},
}

var spots = []spot{{0, "m1"}, {1, "m1"}, {1, "m2"}, {2, "m1"}, {3, "m1"}}

const passthroughProvider = 2

func providerID(i int) uuid.UUID { return uuid.UUID{0: 0xa, 15: byte(i + 1)} }

func newConfig(w *world) config {
	c := config{orgs: [2]uuid.UUID{{0: 1}, {0: 2}}, names: map[uuid.UUID]string{}, callers: []string{"ann", "bob", "eve"}}
	for i, name := range []string{"alpha", "beta", "claude", "gamma"} {
		c.names[providerID(i)] = name
	}
	for version := range c.versions {
		first := c.snapshot(w, version)
		second := *first
		second.OrganizationID = c.orgs[1]
		c.versions[version] = []*node.Snapshot{first, &second}
	}
	return c
}

// snapshot draws a configuration: a policy for each target of each route, and beside
// each such target a route of its own with the same policy.
func (c *config) snapshot(w *world, version int) *node.Snapshot {
	s := &node.Snapshot{Format: node.Format, OrganizationID: c.orgs[0], Version: int64(version + 1)}
	for i, p := range []node.Provider{
		{Family: "openai", AuthType: "bearer_api_key"}, {Family: "openai", AuthType: "bearer_api_key"},
		{Family: "anthropic", AuthType: "claude_oauth"}, {Family: "anthropic", AuthType: "x_api_key"},
	} {
		p.ID, p.Name, p.BaseURL, p.Enabled, p.Serving = providerID(i), c.names[providerID(i)], "https://llm.invalid/v1", true, true
		if i != passthroughProvider {
			p.Credential = &node.Sealed{}
		}
		s.Providers = append(s.Providers, p)
	}
	c.routes = nil
	for _, sp := range spots {
		c.add(w, s, sp, sp.model, false, policy(w))
	}
	for _, r := range layout {
		c.routes = append(c.routes, route{r.name, r.dialect, false})
		for i, sp := range r.targets {
			p := policy(w)
			c.add(w, s, sp, r.name, true, p)
			solo := fmt.Sprintf("%s-%d", r.name, i+1)
			c.add(w, s, sp, solo, true, p)
			c.routes = append(c.routes, route{solo, r.dialect, true})
		}
	}
	return s
}

func (c *config) add(w *world, s *node.Snapshot, sp spot, alias string, bare bool, p *node.Cooldown) {
	timeout, idle := 1+w.rng.IntN(12), 1+w.rng.IntN(12)
	n := len(s.Mappings)
	s.Mappings = append(s.Mappings, node.Mapping{
		ID: uuid.UUID{0: 0xb, 15: byte(n)}, ProviderID: providerID(sp.provider), Alias: alias, UpstreamModel: sp.model, Enabled: true, BareAlias: bare,
		Priority: n, RetryOn429Count: pick(w, 0, 0, 0, 1, 2), RetryOn429MaxWaitSecs: pick(w, 0, 0, 3, 10),
		RequestTimeoutSecs: &timeout, StreamIdleTimeoutSecs: &idle, Cooldown: p,
	})
}

// policy draws a target's cooldown policy; nil is the default one.
func policy(w *world) *node.Cooldown {
	if w.chance(0.3) {
		return nil
	}
	p := &node.Cooldown{
		FailureThreshold: 1 + w.rng.IntN(8), WindowSecs: pick(w, 2, 10, 40, 600), FirstSecs: 1 + w.rng.IntN(15),
		MaxSecs: pick(w, 15, 60, 300), RateLimitedSecs: 1 + w.rng.IntN(20), OverloadedSecs: w.rng.IntN(8),
	}
	if w.chance(0.08) {
		p.FailureThreshold = 0
	}
	return p
}

// configure compiles what the node is to serve now.
func (n *fleetNode) configure() {
	c := &n.w.config
	n.orgs, n.targets = map[uuid.UUID]*decide.Org{}, map[key][]*decide.Target{}
	for _, snapshot := range c.versions[c.current] {
		org, err := decide.Compile(snapshot, n.board)
		if err != nil {
			panic(err)
		}
		n.orgs[org.ID] = org
		for _, r := range c.routes {
			for _, t := range org.Resolve(r.name).Targets {
				k := shared(t)
				if !slices.ContainsFunc(n.targets[k], func(o *decide.Target) bool { return o.Cooldown == t.Cooldown }) {
					n.targets[k] = append(n.targets[k], t)
				}
			}
		}
	}
}

// shared is a target's record for everyone.
func shared(t *decide.Target) key {
	k := t.Health.Cell.Key
	return key{org: k.OrganizationID, provider: k.ProviderID, model: k.UpstreamModel}
}

// own is a target's record of a caller.
func own(t *decide.Target, caller string) key {
	k := shared(t)
	k.caller = caller
	return k
}

// name is what histories call a record.
func (c *config) name(k key) string {
	name := c.names[k.provider] + "/" + k.model
	if k.caller != "" {
		name += " of " + k.caller
	}
	if k.org != c.orgs[0] {
		name = "the other organization's " + name
	}
	return name
}

// reconfigure gives every node new policies, one after the other.
func (w *world) reconfigure() {
	w.config.current = 1
	w.say("configuration: new policies")
	for _, n := range w.nodes {
		n.in(w.between(0, 2*time.Second), func() {
			if n.alive {
				n.configure()
			}
		})
	}
}
