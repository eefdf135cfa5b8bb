package e2e

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// listen hears the topics that change in the organization, as the portal does.
func listen(t *testing.T, e *env.Env) <-chan string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.Info.BaseURL+"/api/llm-gateway/admin/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+e.Token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	topics := make(chan string, 1024)
	lines := bufio.NewScanner(answer.Body)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	next() // everything: it listens by now
	go func() {
		for data := next(); data != ""; data = next() {
			topics <- data
		}
	}()
	return topics
}

// Whoever listens hears within a second of a cooldown that a node sees and of a change
// of the configuration.
func TestChangesAreHeard(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	first, _ := pair(e, "heard", "openai", nil)
	e.Live()
	topics, took := listen(t, e), []time.Duration(nil)
	hears := func(since time.Time, missing ...string) {
		t.Helper()
		for len(missing) > 0 {
			select {
			case data := <-topics: // several may come as one
				missing = slices.DeleteFunc(missing, func(topic string) bool { return strings.Contains(data, topic) })
			case <-time.After(20 * time.Second):
				t.Fatalf("%v is not heard", missing)
			}
		}
		took = append(took, time.Since(since))
	}
	e.Provider.Script(first, provider.Behavior{Status: 429})
	e.Chat(1, "heard", false)
	hears(time.Now(), "health")
	for range 3 { // the machine may be busy at any one of them
		began := time.Now()
		e.Must(e.Admin(http.MethodPut, "/governance-config", map[string]any{"require_pricing_for_mappings": false}), nil)
		hears(began, "config", "nodes") // and which serve it
	}
	if best := slices.Min(took[1:]); took[0] > time.Second && best > time.Second {
		t.Errorf("heard after %v, want a second", took)
	}
}

// Administrators see what each node did in the last hour, and when each key was used.
func TestWhatNodesDid(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	first, second := pair(e, "route", "openai", map[string]any{"cooldown_failure_threshold": 0})
	e.Live()
	type node struct {
		Node, Build string
		Live        bool
		StartedAt   time.Time `json:"started_at"`
		Activity    []struct{ Requests, Failovers, Rescued, Failed int }
	}
	counts := func(n node) (out [4]int) {
		for _, m := range n.Activity {
			for i, count := range []int{m.Requests, m.Failovers, m.Rescued, m.Failed} {
				out[i] += count
			}
		}
		return out
	}
	e.Chat(0, "route", false)
	e.Provider.Script(first, provider.Behavior{Status: 503})
	e.Chat(0, "route", false)
	e.Chat(0, "route", true)
	e.Provider.Script(second, provider.Behavior{Status: 503})
	e.Chat(0, "route", false)
	e.Provider.Script(first, provider.Behavior{Status: 400})
	e.Chat(0, "route", false)
	e.Chat(0, "no such model", false)
	e.Chat(1, "route", false)
	// 2: served at once and refused by the provider; 2 rescued; 1 failed over and then failed.
	want := []([4]int){{5, 4, 2, 1}, {1, 0, 0, 0}}
	within(t, 10*time.Second, "both nodes to tell", func() bool {
		var nodes []node
		e.Must(e.Admin(http.MethodGet, "/nodes", nil), &nodes)
		return len(nodes) == 2 && counts(nodes[0]) == want[0] && counts(nodes[1]) == want[1] && nodes[0].Live && nodes[0].Build != "" &&
			time.Since(nodes[1].StartedAt) < time.Hour
	})
	var keys []struct {
		Prefix string     `json:"key_prefix"`
		Used   *time.Time `json:"last_used_at"`
	}
	within(t, 30*time.Second, "the use of the key", func() bool {
		e.Must(e.Admin(http.MethodGet, "/api-keys", nil), &keys)
		i := slices.IndexFunc(keys, func(k struct {
			Prefix string     `json:"key_prefix"`
			Used   *time.Time `json:"last_used_at"`
		}) bool {
			return strings.HasPrefix(e.APIKey, k.Prefix)
		})
		return i >= 0 && keys[i].Used != nil && time.Since(*keys[i].Used) < time.Minute
	})
}
