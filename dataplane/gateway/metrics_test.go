package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spillway-gateway/spillway/api/node"
)

// wantMetrics checks what the metrics of these names tell: a line for each, in order.
func (b *bed) wantMetrics(want string, names ...string) {
	b.t.Helper()
	families, err := b.metrics.Gather()
	if err != nil {
		b.t.Error(err)
	}
	var got []string
	for _, f := range families {
		if !slices.Contains(names, f.GetName()) {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			got = append(got, fmt.Sprintf("%s{%s} %v", f.GetName(), strings.Join(labels, ","), m.GetCounter().GetValue()+m.GetGauge().GetValue()))
		}
	}
	if diff := cmp.Diff(strings.Join(strings.Fields(want), "\n"), strings.Join(strings.Fields(strings.Join(got, "\n")), "\n")); diff != "" {
		b.t.Errorf("(-want +got):\n%s", diff)
	}
}

// observed is how many observations a histogram has had, and what they come to.
func (b *bed) observed(name string) (n uint64, sum time.Duration) {
	b.t.Helper()
	families, err := b.metrics.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				n += m.GetHistogram().GetSampleCount()
				sum += time.Duration(m.GetHistogram().GetSampleSum() * float64(time.Second))
			}
		}
	}
	return n, sum
}

// wantOver checks that as many requests are over as there were, each told of once, and how
// many failed.
func (b *bed) wantOver(requests, failed int64) {
	b.t.Helper()
	families, err := b.metrics.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	if got["spillway_requests_total"] != float64(requests) || got["spillway_requests_in_flight"] != 0 || got["spillway_streams_open"] != 0 {
		b.t.Errorf("%v requests are over, %v are not, %v streams are open, want %d, 0 and 0",
			got["spillway_requests_total"], got["spillway_requests_in_flight"], got["spillway_streams_open"], requests)
	}
	var sum node.ActivityMinute
	for _, m := range b.activity.LastHour(time.Now()) {
		sum.Requests, sum.Failed = sum.Requests+m.Requests, sum.Failed+m.Failed
	}
	if sum.Requests != requests || sum.Failed != failed {
		b.t.Errorf("activity is %d requests of which %d failed, want %d and %d", sum.Requests, sum.Failed, requests, failed)
	}
}

var counted = []string{"spillway_requests_total", "spillway_attempts_total", "spillway_targets_skipped_total", "spillway_requests_in_flight", "spillway_streams_open"}

// A request counts once by how it ends, and each of its attempts by what came of it.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	d := &dialects[0] // chat
	bubble(t, d, pair(node.Mapping{RetryOn429Count: 1}), func(t *testing.T, b *bed) {
		b.ask(false)
		b.on("first", func(c *call) { c.refuse(503) })
		b.ask(true)
		b.on("first", func(c *call) { c.refuse(429, "Retry-After", "100") })
		b.ask(false) // tried twice
		b.ask(false) // skipped
		b.on("second", as(400, jsonType, `{"error":{"message":"no"}}`))
		b.ask(false)
		for _, path := range []string{"/v1/models", "/metrics", "/healthz"} {
			if status := b.status(http.MethodGet, path, ""); path == "/metrics" && status != http.StatusNotFound {
				t.Errorf("callers are told the metrics: status %d", status)
			}
		}
		b.wantMetrics(`spillway_attempts_total{failover=false,outcome=invalid_request,provider_family=openai} 1
			spillway_attempts_total{failover=false,outcome=ok,provider_family=openai} 4
			spillway_attempts_total{failover=true,outcome=rate_limited,provider_family=openai} 2
			spillway_attempts_total{failover=true,outcome=server_error,provider_family=openai} 1
			spillway_requests_in_flight{} 0
			spillway_requests_total{status=2xx,surface=chat_completions} 4
			spillway_requests_total{status=2xx,surface=models} 1
			spillway_requests_total{status=4xx,surface=chat_completions} 1
			spillway_requests_total{status=4xx,surface=other} 1
			spillway_streams_open{} 0
			spillway_targets_skipped_total{reason=cooling_down} 2`, counted...)
		for name, want := range map[string]uint64{"spillway_request_own_seconds": 5, "spillway_request_first_byte_seconds": 7, "spillway_request_duration_seconds": 7, "spillway_attempt_first_byte_seconds": 8} {
			if got, _ := b.observed(name); got != want {
				t.Errorf("%s has %d observations, want %d", name, got, want)
			}
		}
		problems, err := testutil.GatherAndLint(b.metrics)
		if err != nil || len(problems) > 0 {
			t.Errorf("%v %v", err, problems)
		}
	})
}

// surfaceOf is what the metrics call a dialect's endpoint.
var surfaceOf = map[string]string{"Chat": "chat_completions", "Messages": "messages", "Responses": "responses"}

// Each time is from and to what its metric says: the slowness of a caller who sends and of
// providers is not the gateway's own.
func TestTimesAreWhoseTheyAre(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			b.on("first", func(c *call) { c.pause(2 * time.Second); c.refuse(http.StatusServiceUnavailable) })
			b.on("second", func(c *call) {
				c.pause(3 * time.Second)
				c.say(strings.Join(c.lifecycle("second"), ""))
				c.pause(4 * time.Second)
				c.say(c.content("second"))
				c.pause(5 * time.Second)
				c.say(strings.Join(d.stream("second")[d.held+1:], ""))
			})
			in, out := io.Pipe()
			go func() {
				body := b.body("r", true)
				_, _ = io.WriteString(out, body[:1])
				time.Sleep(time.Second) // of the bubble
				_, _ = io.WriteString(out, body[1:])
				_ = out.Close()
			}()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway.test"+b.path, in)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Bd-Api-Key", b.key)
			resp, err := b.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			synctest.Wait() // until its handler is done
			if resp.StatusCode != http.StatusOK || err != nil {
				t.Errorf("status %d, %v", resp.StatusCode, err)
			}
			for name, want := range map[string]time.Duration{
				"spillway_request_own_seconds": 0, "spillway_attempt_first_byte_seconds": 5 * time.Second,
				"spillway_request_first_byte_seconds": 10 * time.Second, "spillway_request_duration_seconds": 15 * time.Second,
			} {
				if _, got := b.observed(name); got != want {
					t.Errorf("%s: %v, want %v", name, got, want)
				}
			}
		})
	})
}

// A stream is open from its first content until it ends, however it ends; a caller who
// leaves before there is an answer has no status.
func TestOpenStreamsAreCounted(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			during := func(c *call) {
				b.wantMetrics("spillway_requests_in_flight{} 1\nspillway_streams_open{} 1", "spillway_requests_in_flight", "spillway_streams_open")
			}
			begun := strings.Join(d.lifecycle("first"), "") + d.content("first")
			for _, ends := range []string{strings.Join(d.stream("first")[d.held+1:], ""), ""} { // whole, and cut
				b.on("first", func(c *call) {
					c.say(begun)
					c.pause(time.Second)
					during(c)
					c.say(ends)
				})
				b.ask(true)
			}
			b.on("first", func(c *call) { c.hang() })
			b.leave(true, time.Second)
			synctest.Wait() // until its handler is done
			surface := surfaceOf[d.name]
			b.wantMetrics(`spillway_requests_in_flight{} 0
				spillway_requests_total{status=2xx,surface=`+surface+`} 2
				spillway_requests_total{status=none,surface=`+surface+`} 1
				spillway_streams_open{} 0`, "spillway_requests_in_flight", "spillway_requests_total", "spillway_streams_open")
		})
	})
}
