package e2e

import (
	"encoding/json"
	"fmt"
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

// mapping is what a listing of model mappings says of a row's health.
type mapping struct {
	ID                string
	ModelAlias        string `json:"model_alias"`
	UpstreamModel     string `json:"upstream_model"`
	RouteHealthStatus *struct {
		State, Reason, Scope, Message string
		RecoversInSecs                int `json:"recovers_in_secs"`
	} `json:"route_health_status"`
}

// rows lists the mappings of a path, by alias and upstream model.
func rows(e *env.Env, path string) map[string]mapping {
	var list []mapping
	e.Must(e.Admin(http.MethodGet, path, nil), &list)
	out := map[string]mapping{}
	for _, m := range list {
		out[m.ModelAlias+" "+m.UpstreamModel] = m
	}
	return out
}

// A listing of targets says which of them the nodes hold back, each by its own policy
// over the record they share, until it is reset.
func TestMappingsShowTheirHealth(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	id := e.AddProvider("shared", "openai", "m-1", "m-2")
	for route, more := range map[string]map[string]any{
		"strict": {"cooldown_failure_threshold": 2, "cooldown_first_secs": 200, "cooldown_max_secs": 200}, "lax": {"cooldown_failure_threshold": 100},
		"never": {"cooldown_failure_threshold": 0},
	} {
		e.AddTarget(route, id, "m-1", 1, more)
		e.AddTarget(route, id, "m-2", 2, nil)
	}
	e.Live()
	for key, m := range rows(e, "/model-mappings") {
		if m.RouteHealthStatus != nil {
			t.Errorf("before anything happened, %s: %+v", key, m.RouteHealthStatus)
		}
	}
	e.Provider.Script("m-1", provider.Behavior{Status: 500})
	for range 2 {
		e.Chat(0, "strict", false)
	}
	var listed map[string]mapping
	within(t, 5*time.Second, "the cooldown to be listed", func() bool {
		listed = rows(e, "/model-mappings")
		return listed["strict m-1"].RouteHealthStatus != nil
	})
	for key, m := range listed {
		if (m.RouteHealthStatus != nil) != (key == "strict m-1") {
			t.Errorf("%s: %+v", key, m.RouteHealthStatus)
		}
	}
	// The first node to answer speaks, and the other may learn of it a moment later.
	var read, owned mapping
	within(t, 5*time.Second, "every node to know", func() bool {
		read = mapping{}
		e.Must(e.Admin(http.MethodGet, "/model-mappings/"+listed["strict m-1"].ID, nil), &read)
		owned = rows(e, "/providers/"+id+"/model-mappings")["strict m-1"]
		return read.RouteHealthStatus != nil && owned.RouteHealthStatus != nil
	})
	for where, m := range map[string]mapping{"listing": listed["strict m-1"], "read": read, "provider's": owned} {
		s := m.RouteHealthStatus
		if s == nil || s.State != "suspended" || s.Reason != "provider_errors" || s.Scope != "all_users" || s.RecoversInSecs < 150 || s.RecoversInSecs > 200 ||
			s.Message != fmt.Sprintf("Cooling down after repeated provider errors; recovers in %d s", s.RecoversInSecs) {
			t.Errorf("%s: %+v", where, s)
		}
	}
	// A 429 cools the record by every policy that cools at all.
	e.Provider.Script("m-1", provider.Behavior{Status: 429, RetryAfter: "120"}, provider.Behavior{})
	e.Chat(1, "lax", false)
	within(t, 5*time.Second, "the rate limit to be listed", func() bool {
		listed = rows(e, "/model-mappings")
		return listed["lax m-1"].RouteHealthStatus != nil && listed["m-1 m-1"].RouteHealthStatus != nil
	})
	if got := listed["lax m-1"].RouteHealthStatus; got.Reason != "rate_limited" || got.RecoversInSecs > 120 || listed["never m-1"].RouteHealthStatus != nil {
		t.Errorf("lax: %+v, never: %+v", got, listed["never m-1"].RouteHealthStatus)
	}
	e.Must(e.Admin(http.MethodPost, "/llm-gw/route-health/"+id+"/reset", map[string]any{"upstream_model": "m-1"}), nil)
	within(t, 5*time.Second, "the reset to be listed", func() bool {
		for _, m := range rows(e, "/model-mappings") {
			if m.RouteHealthStatus != nil {
				return false
			}
		}
		return true
	})
}
