package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

type routeHealth struct {
	Routes []struct {
		ProviderID          string                              `json:"provider_id"`
		ProviderName        string                              `json:"provider_name"`
		UpstreamModel       string                              `json:"upstream_model"`
		State               string                              `json:"state"`
		CooldownReason      *string                             `json:"cooldown_reason"`
		ConsecutiveFailures int                                 `json:"consecutive_failures"`
		EjectRemainingSecs  int                                 `json:"eject_remaining_secs"`
		RecentTransitions   []struct{ From, To, Reason string } `json:"recent_transitions"`
	}
	Nodes struct{ Answered, Silent []string }
}

func health(e *env.Env) (h routeHealth) {
	e.Must(e.Admin(http.MethodGet, "/llm-gw/route-health", nil), &h)
	return h
}

// An administrator sees what cools down on all nodes, and ends it.
func TestRouteHealthIsListedAndReset(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	id := e.AddProvider("cools", "openai", "m-1", "m-2")
	e.AddTarget("route", id, "m-1", 1, nil)
	e.AddTarget("route", id, "m-2", 2, nil)
	e.Live()
	if h := health(e); len(h.Routes) != 0 {
		t.Errorf("before anything happened: %+v", h)
	}
	e.Provider.Script("m-1", provider.Behavior{Status: 429, RetryAfter: "200"}, provider.Behavior{})
	e.Chat(0, "route", false)
	var h routeHealth
	within(t, 2*time.Second, "both nodes to tell", func() bool { h = health(e); return len(h.Routes) == 1 && len(h.Nodes.Answered) == 2 })
	got := h.Routes[0]
	if got.ProviderID != id || got.ProviderName != "cools" || got.UpstreamModel != "m-1" || got.State != "ejected" || got.CooldownReason == nil ||
		*got.CooldownReason != "rate_limited" || got.EjectRemainingSecs < 190 || got.EjectRemainingSecs > 201 {
		t.Errorf("got %+v", got)
	}
	if len(got.RecentTransitions) != 1 || got.RecentTransitions[0].From != "healthy" || got.RecentTransitions[0].To != "ejected" {
		t.Errorf("got transitions %+v", got.RecentTransitions)
	}
	if diff := cmp.Diff([]string{"node-1", "node-2"}, h.Nodes.Answered); diff != "" {
		t.Error(diff)
	}

	reset := func(provider string) env.Answer {
		return e.Admin(http.MethodPost, "/llm-gw/route-health/"+provider+"/reset", map[string]any{"upstream_model": "m-1"})
	}
	var result struct {
		WasEjected         bool `json:"was_ejected"`
		SharedStateCleared bool `json:"shared_state_cleared"`
	}
	e.Must(reset(id), &result)
	if !result.WasEjected || !result.SharedStateCleared {
		t.Errorf("got %+v", result)
	}
	for node := range 2 {
		within(t, 2*time.Second, "the reset to arrive", func() bool { return e.Chat(node, "route", false).Header.Get("X-Bd-Provider-Route-Attempt") == "1" })
	}
	if h := health(e); len(h.Routes) == 0 || len(h.Routes[0].RecentTransitions) == 0 {
		t.Errorf("after the reset: %+v", h)
	} else if h.Routes[0].State != "healthy" || h.Routes[0].RecentTransitions[0].Reason != "reset" {
		t.Errorf("after the reset: %+v", h.Routes[0])
	}
	if a := reset(uuid.NewString()); a.Status != 404 {
		t.Errorf("a provider that is not there: status %d: %s", a.Status, a.Body)
	}
}

// Another organization sees nothing of it and cannot reset it.
func TestRouteHealthIsTheOrganizationsOwn(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	first, _ := pair(e, "mine", "openai", nil)
	e.Live()
	e.Provider.Script(first, provider.Behavior{Status: 402})
	e.Chat(0, "mine", false)
	within(t, 2*time.Second, "the cooldown to be listed", func() bool { return len(health(e).Routes) == 1 })
	other := e.NewOrg("other")
	other.Live()
	var h routeHealth
	other.Must(other.Admin(http.MethodGet, "/llm-gw/route-health", nil), &h)
	if len(h.Routes) != 0 {
		t.Errorf("another organization sees %+v", h.Routes)
	}
	a := other.Admin(http.MethodPost, "/llm-gw/route-health/"+health(e).Routes[0].ProviderID+"/reset", map[string]any{"upstream_model": first})
	if a.Status != 404 {
		t.Errorf("another organization's reset: status %d: %s", a.Status, a.Body)
	}
	if state := health(e).Routes[0].State; state != "ejected" {
		t.Errorf("state %s after another organization's reset", state)
	}
	if !json.Valid(a.Body) {
		t.Error("not JSON")
	}
}

// Targets with different policies judge one record: on the route with the strict
// policy the target is skipped, on the other it is asked.
func TestPoliciesAreTheTargetsOwn(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	id := e.AddProvider("shared", "openai", "m-1", "m-2")
	for _, route := range []string{"strict", "lax"} {
		threshold := 2
		if route == "lax" {
			threshold = 100
		}
		e.AddTarget(route, id, "m-1", 1, map[string]any{"cooldown_failure_threshold": threshold})
		e.AddTarget(route, id, "m-2", 2, nil)
	}
	e.Live()
	e.Provider.Script("m-1", provider.Behavior{Status: 500})
	for range 2 {
		e.Chat(0, "strict", false)
	}
	if a := e.Chat(0, "strict", false); a.Header.Get("X-Bd-Provider-Failover-Count") != "0" || a.Header.Get("X-Bd-Provider-Route-Attempt") != "2" {
		t.Errorf("the strict policy: headers %v", a.Header)
	}
	if a := e.Chat(0, "lax", false); a.Header.Get("X-Bd-Provider-Failover-Count") != "1" {
		t.Errorf("the lax policy: headers %v", a.Header)
	}
}
