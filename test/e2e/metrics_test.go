package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// What Prometheus is told of two nodes and a control plane: what happened, by names that
// keep to its conventions, and nothing of whose it was. Callers are told nothing.
func TestMetrics(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	first, second := pair(e, "told", "openai", map[string]any{"cooldown_failure_threshold": 1})
	e.Live()
	e.Provider.Script(first, provider.Behavior{Status: 503})
	if a := e.Chat(0, "told", true); a.Status != 200 {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	if a := e.Call(1, "/v1/messages", `{"model":"nothing","max_tokens":5,"messages":[]}`, nil); a.Status != 404 {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	for _, want := range []string{
		`spillway_requests_total{node="node-1",status="2xx",surface="chat_completions"} 1`,
		`spillway_requests_total{node="node-2",status="4xx",surface="messages"} 1`,
		`spillway_attempts_total{failover="true",node="node-1",outcome="server_error",provider_family="openai"} 1`,
		`spillway_attempts_total{failover="false",node="node-1",outcome="ok",provider_family="openai"} 1`,
		`spillway_request_own_seconds_count{node="node-1",surface="chat_completions"} 1`,
		`spillway_request_first_byte_seconds_count{node="node-1",surface="chat_completions"} 1`,
		`spillway_attempt_first_byte_seconds_count{node="node-1",provider_family="openai"} 2`,
		`spillway_targets_cooling{node="node-1"} 1`,
		`spillway_targets_cooling{node="node-2"} 1`, // heard over the bus
		`spillway_targets_recovering{node="node-1"} 0`,
		`spillway_streams_open{node="node-1"} 0`,
		`spillway_bus_connected{node="node-2"} 1`,
		`spillway_ready{node="node-2"} 1`,
		`spillway_organizations{node="node-2"} 1`,
		`spillway_health_events_untold{node="node-1"} 0`,
		`spillway_configurations_refused_total{node="node-1"} 0`,
		`spillway_configuration_applied_timestamp_seconds{node="node-1"} 1.`, // since 2001
		`spillway_control_requests_total{api="admin",status="2xx"} `,
		`spillway_control_request_duration_seconds_count{api="token"} `,
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		within(t, 5*time.Second, want, func() bool {
			_, text := env.Scrape(t, e.Info.MetricsURL)
			return strings.Contains(text, "\n"+want)
		})
	}
	status, text := env.Scrape(t, e.Info.MetricsURL)
	for _, secret := range []string{e.Info.OrganizationID, e.APIKey, first, second, `"told"`} {
		if strings.Contains(text, secret) {
			t.Errorf("status %d: %s is told: %s", status, secret, text)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", err, problems)
	}
	for _, u := range e.Info.GatewayURLs {
		for _, path := range []string{"/metrics", "/api/llm-gateway/metrics"} {
			if status, body := env.Scrape(t, u+path); status != http.StatusNotFound {
				t.Errorf("%s%s: callers get status %d: %s", u, path, status, body)
			}
		}
	}
}
