package rest_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// listen opens a stream of events and returns how to read the next and how to leave.
func (a *api) listen(t *testing.T, path string) (next func() string, leave func()) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("status %d, %v", answer.StatusCode, answer.Header)
	}
	lines := bufio.NewReader(answer.Body)
	return func() string {
		t.Helper()
		var text strings.Builder
		for {
			line, err := lines.ReadString('\n')
			if err == io.EOF {
				return "end"
			}
			if err != nil {
				t.Fatal(err)
			}
			if text.WriteString(line); line == "\n" {
				return text.String()
			}
		}
	}, func() { _ = answer.Body.Close() }
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, path := range []string{adminPath + "events", "/api/llm-gateway/user/events"} {
		nodes := &fleet{watched: watched{changed: make(chan struct{}), topics: make(chan []string, 1)}}
		a := setupFleet(t, storetest.Shared(t), nodes)
		next, leave := a.listen(t, path)
		defer leave()
		reads := func(want string) {
			t.Helper()
			if got := next(); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
		reads("retry: 2000\n\n")
		reads("event: change\ndata: {\"topics\":[\"config\",\"health\",\"nodes\"]}\n\n")
		nodes.watched.topics <- []string{"health"}
		nodes.watched.changed <- struct{}{}
		reads("event: change\ndata: {\"topics\":[\"health\"]}\n\n")
		close(nodes.watched.changed)
		reads("end")
		if got := nodes.watched.stopped.Load(); got != 1 {
			t.Errorf("the watch was stopped %d times", got)
		}
	}
}

func TestEventsAreLimited(t *testing.T) {
	t.Parallel()
	nodes := &fleet{watched: watched{changed: make(chan struct{}), topics: make(chan []string, 1), left: make(chan struct{}, 32)}}
	a := setupFleet(t, storetest.Shared(t), nodes)
	path := adminPath + "events"
	leaves := []func(){}
	for range 16 {
		next, leave := a.listen(t, path)
		defer leave()
		next()
		leaves = append(leaves, leave)
	}
	r := a.call(t, "GET", path, nil)
	r.wantError(t, 429, "invalid_request_error", "at most 16 streams of events at a time")
	if got := r.header.Get("Retry-After"); got != "10" {
		t.Errorf("Retry-After %q", got)
	}
	other := a.as(t, "Other", tenant.RoleAdmin)
	next, leave := other.listen(t, path) // is not kept from its own
	defer leave()
	next()
	leaves[0]()
	<-nodes.watched.left // and with it its place is free
	next, leave = a.listen(t, path)
	defer leave()
	next()
}

func TestNodes(t *testing.T) {
	t.Parallel()
	nodes := &fleet{silent: []string{"node-3"}}
	a := setupFleet(t, storetest.Shared(t), nodes)
	a.provider(t, "P")
	version := int64(a.call(t, "GET", adminPath+"config-status", nil).want(t, 200).field(t, "version").(float64))
	nodes.say(node.HealthReport{Node: "node-2", Version: 1, Epoch: 1},
		node.HealthReport{Node: "node-1", Epoch: 1, Version: version, Partial: true, Build: "v1.4.0", UptimeMillis: 60_000,
			Activity: []node.ActivityMinute{{Minute: 30_000_000, Requests: 5, Failovers: 4, Rescued: 3, Failed: 2}}})
	got := a.call(t, "GET", adminPath+"nodes", nil).want(t, 200).list(t)
	if len(got) != 3 {
		t.Fatalf("got %v", got)
	}
	began, err := time.Parse(time.RFC3339, got[0]["started_at"].(string))
	if err != nil || time.Since(began) < 55*time.Second || time.Since(began) > 5*time.Minute {
		t.Errorf("started_at: %v, %v", began, err)
	}
	delete(got[0], "started_at")
	bare := func(name string, answered bool, at ...any) fields {
		return fields{"node": name, "answered": answered, "epoch": at[0], "version": at[1], "live": false, "refused": nil, "build": nil, "started_at": nil,
			"joining": false, "activity": []any{}}
	}
	want := []fields{
		{"node": "node-1", "answered": true, "epoch": 1.0, "version": float64(version), "live": true, "refused": nil, "build": "v1.4.0", "joining": true,
			"activity": []any{fields{"minute": "2027-01-15T08:00:00Z", "requests": 5.0, "failovers": 4.0, "rescued": 3.0, "failed": 2.0}}},
		bare("node-2", true, 1.0, 1.0), bare("node-3", false, nil, nil),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	nodes.mu.Lock()
	nodes.err = io.ErrUnexpectedEOF
	nodes.mu.Unlock()
	a.call(t, "GET", adminPath+"nodes", nil).want(t, 503)
}
