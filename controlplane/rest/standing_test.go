package rest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// fleet is nodes that say what a test tells them to: states that real ones are in for
// a moment only.
type fleet struct {
	mu      sync.Mutex
	reports []node.HealthReport
	silent  []string
	acks    []node.Ack
	err     error
	asked   int
	user    uuid.UUID // whom Glance was asked for last
	probe   node.ProbeReport
	tried   *node.Provider // that Probe was asked to check without a row
	watched watched
}

func (f *fleet) Health(_ context.Context, _, user uuid.UUID) ([]node.HealthReport, []string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.user = f.asked+1, user
	return f.reports, f.silent, f.err
}

func (f *fleet) Glance(_ context.Context, _, user uuid.UUID) (*node.HealthReport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	f.user = user
	if f.err != nil || len(f.reports) == 0 {
		return nil, f.err
	}
	return &f.reports[0], nil
}

func (f *fleet) Nodes(ctx context.Context, org uuid.UUID) ([]node.HealthReport, []string, error) {
	return f.Health(ctx, org, uuid.Nil)
}

// watched is what Watch tells, of every organization.
type watched struct {
	changed chan struct{}
	topics  chan []string
	stopped atomic.Int64
	left    chan struct{} // has a value at each stop, if made
}

func (f *fleet) Watch(uuid.UUID) (changed <-chan struct{}, take func() []string, stop func()) {
	if f.watched.changed == nil { // nothing is going to change
		over := make(chan struct{})
		close(over)
		return over, func() []string { return nil }, func() {}
	}
	return f.watched.changed, func() []string { return <-f.watched.topics }, func() {
		f.watched.stopped.Add(1)
		if f.watched.left != nil {
			f.watched.left <- struct{}{}
		}
	}
}

func (f *fleet) Acks(uuid.UUID) []node.Ack { return f.acks }

// Probe answers what the test sets, of the newest configuration.
func (f *fleet) Probe(_ context.Context, ask node.ProbeAsk) (node.ProbeReport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.probe
	f.tried = ask.Provider
	if r.Version == 0 {
		r.Version = ask.Version
	}
	return r, f.err
}

func (f *fleet) ResetHealth(context.Context, uuid.UUID, uuid.UUID, string) error { return f.err }

// say sets what the nodes answer, and returns how often they were asked before.
func (f *fleet) say(reports ...node.HealthReport) (asked int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked, f.asked, f.reports = f.asked, 0, reports
	return asked
}

// report is what a node says of one record, by policy.
func report(name, provider, model string, policies ...node.PolicyHealth) node.HealthReport {
	r := node.RecordHealth{ProviderID: uuid.MustParse(provider), UpstreamModel: model, Policies: policies}
	r.Judgement = policies[0].Judgement
	return node.HealthReport{Node: name, Records: []node.RecordHealth{r}}
}

func byDefault(j node.Judgement) node.PolicyHealth {
	return node.PolicyHealth{Policy: node.DefaultCooldown(), Judgement: j}
}

func TestRouteHealthStatus(t *testing.T) {
	t.Parallel()
	nodes := &fleet{}
	a := setupFleet(t, storetest.Shared(t), nodes)
	provider := a.provider(t, "OpenAI", "gpt-5")
	id := a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0]["id"].(string)
	status := func(state, reason string, secs float64, message string) fields {
		return fields{"state": state, "reason": reason, "scope": "all_users", "recovers_in_secs": secs, "message": message}
	}
	for name, c := range map[string]struct {
		judged node.Judgement
		want   any
	}{
		"Errors": {node.Judgement{State: "ejected", Reason: "provider_errors", RemainingMilli: 24_001},
			status("suspended", "provider_errors", 25, "Cooling down after repeated provider errors; recovers in 25 s")},
		"RateLimited": {node.Judgement{State: "ejected", Reason: "rate_limited", RemainingMilli: 1000},
			status("suspended", "rate_limited", 1, "Cooling down after a rate limit; recovers in 1 s")},
		"Overloaded": {node.Judgement{State: "ejected", Reason: "overloaded", RemainingMilli: 1},
			status("suspended", "overloaded", 1, "Cooling down after the provider was overloaded; recovers in 1 s")},
		"UsageLimit": {node.Judgement{State: "ejected", Reason: "usage_limit", RemainingMilli: 300_000},
			status("suspended", "usage_limit", 300, "Cooling down after a used-up usage limit; recovers in 300 s")},
		"AuthFailed": {node.Judgement{State: "ejected", Reason: "auth_failed", RemainingMilli: 5000},
			status("suspended", "auth_failed", 5, "Cooling down after a rejected credential; recovers in 5 s")},
		"ReasonOfALaterNode": {node.Judgement{State: "ejected", Reason: "moonlight", RemainingMilli: 5000},
			status("suspended", "unavailable", 5, "Cooling down after the provider was unavailable; recovers in 5 s")},
		"Recovering": {node.Judgement{State: "half_open", Reason: "rate_limited", Probes: 2},
			status("recovering", "rate_limited", 0, "Recovering after a rate limit; a few requests at a time are let through")},
		"Healthy": {node.Judgement{State: "healthy", Failures: 9}, nil},
	} {
		nodes.say(report("node-1", provider, "gpt-5", byDefault(c.judged)))
		for where, row := range map[string]fields{
			"listing":  a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0],
			"provider": a.call(t, "GET", providersPath+"/"+provider+"/model-mappings", nil).want(t, 200).list(t)[0],
			"id":       a.call(t, "GET", mappingsPath+"/"+id, nil).want(t, 200).object(t),
			"PUT":      a.call(t, "PUT", mappingsPath+"/"+id, fields{}).want(t, 200).object(t),
			"POST":     a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "gpt-5", "upstream_model": "gpt-5"}).want(t, 200).object(t),
		} {
			if diff := cmp.Diff(c.want, row["route_health_status"]); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, where, diff)
			}
			if _, shown := row["route_health_status"]; shown != (c.want != nil) {
				t.Errorf("%s, %s: a healthy target's status must be left out", name, where)
			}
		}
		if asked := nodes.say(); asked != 5 {
			t.Errorf("%s: nodes were asked %d times by 5 requests", name, asked)
		}
	}
}

// What concerns the caller's own credential is told to a person, where nothing concerns
// everyone; it keeps nobody else from a target.
func TestRouteHealthStatusForOnesOwnCredential(t *testing.T) {
	t.Parallel()
	nodes := &fleet{}
	a := setupFleet(t, storetest.Shared(t), nodes)
	provider := a.provider(t, "OpenAI", "gpt-5")
	a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "smart", "upstream_model": "gpt-5"}).want(t, 200)
	boss := a.person(t, unique(), "admin")
	for name, c := range map[string]struct {
		judged node.Judgement
		want   fields
	}{
		"RateLimited": {node.Judgement{State: "ejected", Reason: "rate_limited", RemainingMilli: 1000},
			fields{"state": "suspended", "reason": "rate_limited", "recovers_in_secs": 1.0, "message": "Cooling down for your own credential after a rate limit; recovers in 1 s"}},
		"Recovering": {node.Judgement{State: "half_open", Reason: "usage_limit"},
			fields{"state": "recovering", "reason": "usage_limit", "recovers_in_secs": 0.0, "message": "Recovering for your own credential after a used-up usage limit; a few requests at a time are let through"}},
		"Rejected": {node.Judgement{State: "ejected", Reason: "auth_failed", RemainingMilli: 5000},
			fields{"state": "suspended", "reason": "auth_failed", "recovers_in_secs": 5.0, "message": "The provider rejected your own credential: sign in to it again"}},
	} {
		told := report("node-1", provider, "gpt-5", byDefault(node.Judgement{State: "healthy"}))
		told.Own = report("node-1", provider, "gpt-5", byDefault(c.judged)).Records
		nodes.say(told)
		c.want["scope"] = "current_credential"
		route := boss.call(t, "GET", routesPath+"/smart", nil).want(t, 200).object(t)
		if diff := cmp.Diff(map[string]any(c.want), route["targets"].([]any)[0].(map[string]any)["route_health_status"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := route["targets_available"]; got != 1.0 {
			t.Errorf("%s: %v targets are available to everybody", name, got)
		}
		if want := uuid.MustParse(boss.call(t, "GET", userPath+"profile", nil).want(t, 200).id(t)); nodes.user != want {
			t.Errorf("%s: asked for %v, want %v", name, nodes.user, want)
		}
		told.Records[0].Policies[0].Judgement = node.Judgement{State: "ejected", Reason: "overloaded"}
		nodes.say(told)
		if got := boss.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0]["route_health_status"].(map[string]any)["scope"]; got != "all_users" {
			t.Errorf("%s: beside a cooldown for everyone: %v", name, got)
		}
	}
	a.call(t, "GET", mappingsPath, nil).want(t, 200)
	if nodes.user != uuid.Nil {
		t.Error("a service account has no credential of its own")
	}
}

// Each row is judged by its own policy, and by no other.
func TestRouteHealthStatusIsOfTheRowsPolicy(t *testing.T) {
	t.Parallel()
	nodes := &fleet{}
	a := setupFleet(t, storetest.Shared(t), nodes)
	provider := a.provider(t, "OpenAI", "gpt-5", "gpt-4")
	for alias, threshold := range map[string]int{"strict": 2, "off": 0, "unknown-yet": 5} {
		a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": alias, "upstream_model": "gpt-5", "cooldown_failure_threshold": threshold}).want(t, 200)
	}
	a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "other-model", "upstream_model": "gpt-4", "cooldown_failure_threshold": 2}).want(t, 200)
	strict, off := node.DefaultCooldown(), node.DefaultCooldown()
	strict.FailureThreshold, off.FailureThreshold = 2, 0
	nodes.say(report("node-1", provider, "gpt-5",
		node.PolicyHealth{Policy: strict, Judgement: node.Judgement{State: "ejected", Reason: "provider_errors", RemainingMilli: 9000}},
		byDefault(node.Judgement{State: "healthy", Failures: 2}),
		node.PolicyHealth{Policy: off, Judgement: node.Judgement{State: "healthy"}}))
	for _, row := range a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t) {
		_, shown := row["route_health_status"]
		if alias := row["model_alias"]; shown != (alias == "strict") {
			t.Errorf("%v: got %v", alias, row["route_health_status"])
		}
	}
}

// Nodes that do not answer cost a listing nothing but the status, and are not asked
// where there is nothing to show.
func TestListingsDoNotNeedTheNodes(t *testing.T) {
	t.Parallel()
	nodes := &fleet{}
	a := setupFleet(t, storetest.Shared(t), nodes)
	a.call(t, "GET", mappingsPath, nil).want(t, 200)
	if asked := nodes.say(); asked != 0 {
		t.Errorf("nodes were asked %d times for an empty listing", asked)
	}
	a.provider(t, "OpenAI", "gpt-5")
	for _, err := range []error{nil, errors.New("the bus is not connected")} {
		nodes.mu.Lock()
		nodes.err = err
		nodes.mu.Unlock()
		if row := a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0]; row["route_health_status"] != nil {
			t.Errorf("%v: got %v", err, row["route_health_status"])
		}
	}
}

// Where nodes differ the strictest speaks, for the listing of records as well as for
// each policy; probes are those of all nodes.
func TestRouteHealthOfNodesThatDiffer(t *testing.T) {
	t.Parallel()
	nodes := &fleet{silent: []string{"node-3"}}
	a := setupFleet(t, storetest.Shared(t), nodes)
	provider := a.provider(t, "OpenAI", "gpt-5")
	cooling := node.Judgement{State: "ejected", Reason: "rate_limited", Multiplier: 1, RemainingMilli: 12_500, Probes: 1,
		Transitions: []node.Transition{{From: "healthy", To: "ejected", Reason: "rate_limited", WindowMilli: 30_000, AgeMilli: 17_500}}}
	shorter := cooling
	shorter.RemainingMilli = 9000
	probing := node.Judgement{State: "half_open", Reason: "rate_limited", Multiplier: 1, Probes: 2}
	for name, reports := range map[string][]node.HealthReport{
		"StrictestLast":  {report("node-2", provider, "gpt-5", byDefault(probing)), report("node-1", provider, "gpt-5", byDefault(cooling))},
		"StrictestFirst": {report("node-2", provider, "gpt-5", byDefault(cooling)), report("node-1", provider, "gpt-5", byDefault(probing))},
		"Longest":        {report("node-2", provider, "gpt-5", byDefault(shorter)), report("node-1", provider, "gpt-5", byDefault(cooling)), {Node: "node-0"}},
	} {
		nodes.say(reports...)
		got := a.call(t, "GET", adminPath+"llm-gw/route-health", nil).want(t, 200).object(t)
		answered := []any{"node-1", "node-2"}
		probes := 3.0
		if name == "Longest" {
			answered, probes = []any{"node-0", "node-1", "node-2"}, 2
		}
		want := fields{
			"routes": []any{fields{
				"provider_id": provider, "provider_name": "OpenAI", "model_provider": "openai", "upstream_model": "gpt-5", "state": "ejected",
				"cooldown_reason": "rate_limited", "consecutive_failures": 0.0, "multiplier": 1.0, "eject_remaining_secs": 13.0, "in_flight": probes, "concurrency_cap": nil,
				"recent_transitions": []any{fields{"from": "healthy", "to": "ejected", "reason": "rate_limited", "window_secs": 30.0, "age_secs": 17.0}},
			}},
			"nodes": fields{"answered": answered, "silent": []any{"node-3"}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestServingStatusOfAnUnhealthyProvider(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.provider(t, "OpenAI", "gpt-5")
	super := storetest.Connect(t, a.db.SuperuserURL)
	for _, c := range []struct {
		status   string
		enforced bool
		want     any
	}{{"unhealthy", true, "provider_not_serving"}, {"unhealthy", false, nil}, {"healthy", true, nil}, {"unverified", true, nil}} {
		if _, err := super.Exec(t.Context(), `UPDATE providers SET health_status = $1, enforce_health_check = $2, health_checked_at = now() WHERE org_id = $3`,
			c.status, c.enforced, a.org); err != nil {
			t.Fatal(err)
		}
		if got := a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0]["serving_status"]; got != c.want {
			t.Errorf("%s, enforced %t: got %v, want %v", c.status, c.enforced, got, c.want)
		}
	}
}

// TestListingOfWhatIsUnhealthy: it has every row that some node holds back by the row's own
// policy, and no other, and does not take silence for health.
func TestListingOfWhatIsUnhealthy(t *testing.T) {
	t.Parallel()
	nodes := &fleet{}
	a := setupFleet(t, storetest.Shared(t), nodes)
	p, other := a.provider(t, "A", "gpt-5", "gpt-4"), a.provider(t, "B", "gpt-5")
	for alias, threshold := range map[string]int{"one": 2, "two": 2, "patient": 10} {
		a.call(t, "POST", mappingsPath, fields{"provider_id": p, "model_alias": alias, "upstream_model": "gpt-5", "cooldown_failure_threshold": threshold}).want(t, 200)
	}
	strict := node.DefaultCooldown()
	strict.FailureThreshold = 2
	cooling := node.Judgement{State: "ejected", Reason: "provider_errors", RemainingMilli: 9000}
	nodes.say(
		report("node-1", other, "gpt-5", byDefault(node.Judgement{State: "healthy"})),
		report("node-2", p, "gpt-5", node.PolicyHealth{Policy: strict, Judgement: cooling}, byDefault(node.Judgement{State: "healthy", Failures: 2})))
	aliases := func(list []fields) (names []string) {
		for _, row := range list {
			names = append(names, row["model_alias"].(string))
			if row["route_health_status"] == nil {
				t.Errorf("%v has no status", row["model_alias"])
			}
		}
		slices.Sort(names)
		return names
	}
	r := a.call(t, "GET", mappingsPath+"?unhealthy=true", nil).want(t, 200)
	if diff := cmp.Diff([]string{"one", "two"}, aliases(r.list(t))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	boss := a.person(t, unique(), "admin")
	own := report("node-3", other, "gpt-5", byDefault(node.Judgement{State: "healthy"}))
	own.Own = report("node-3", other, "gpt-5", byDefault(cooling)).Records
	nodes.say(own)
	if diff := cmp.Diff([]string{"gpt-5"}, aliases(boss.call(t, "GET", mappingsPath+"?unhealthy=true", nil).want(t, 200).list(t))); diff != "" || nodes.user == uuid.Nil {
		t.Errorf("what concerns one's own credential (-want +got):\n%s", diff)
	}
	nodes.say(report("node-2", p, "gpt-5", node.PolicyHealth{Policy: strict, Judgement: cooling}))
	first := a.call(t, "GET", mappingsPath+"?unhealthy=true&limit=1", nil).want(t, 200)
	second := a.call(t, "GET", nextLink.FindStringSubmatch(first.header.Get("Link"))[1], nil).want(t, 200)
	if diff := cmp.Diff(r.list(t), append(first.list(t), second.list(t)...)); diff != "" || second.header.Get("Link") != "" {
		t.Errorf("in pages (-whole +pages):\n%s", diff)
	}
	if got := len(a.call(t, "GET", mappingsPath+"?unhealthy=false", nil).want(t, 200).list(t)); got != 6 {
		t.Errorf("got %d rows of all, want 6", got)
	}
	a.call(t, "GET", mappingsPath+"?unhealthy=perhaps", nil).wantError(t, 400, "invalid_request_error", "unhealthy: invalid value, expected true or false")
	nodes.say()
	nodes.err = tenant.Unavailable()
	a.call(t, "GET", mappingsPath+"?unhealthy=true", nil).want(t, 503)
}
