package gateway

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Metrics counts what requests meet. How many series there are is bounded by this code: no
// label says an organization, a key, a route or a model. No request takes a lock for it.
type Metrics struct {
	requests  children[requestLabels, prometheus.Counter]
	attempts  children[attemptLabels, prometheus.Counter]
	skipped   children[decide.Reason, prometheus.Counter]
	own       children[string, prometheus.Observer] // by surface
	firstByte children[string, prometheus.Observer] // by surface
	duration  children[string, prometheus.Observer] // by surface
	upstream  children[string, prometheus.Observer] // by family
	inFlight  prometheus.Gauge
	streams   prometheus.Gauge
}

type requestLabels struct {
	surface string
	status  int // its first digit; 0: the caller left before it was sent one
}

type attemptLabels struct {
	family   string
	outcome  decide.Class
	failover bool
}

// Seconds. Models take from a tenth of a second to minutes, the gateway's own part is under
// a millisecond.
var (
	longBuckets = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	ownBuckets  = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 2.5}
)

// NewMetrics returns metrics that r tells of; nil: nobody does.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	histogram := func(name, help, label string, buckets []float64) children[string, prometheus.Observer] {
		v := f.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label})
		return children[string, prometheus.Observer]{make: func(value string) prometheus.Observer { return v.WithLabelValues(value) }}
	}
	requests := f.NewCounterVec(prometheus.CounterOpts{Name: "spillway_requests_total",
		Help: "Requests of callers that are over, by endpoint and class of the status; none: the caller left before there was one."}, []string{"surface", "status"})
	attempts := f.NewCounterVec(prometheus.CounterOpts{Name: "spillway_attempts_total",
		Help: "Attempts at providers, by what came of them and whether that lets another target answer."}, []string{"provider_family", "outcome", "failover"})
	skipped := f.NewCounterVec(prometheus.CounterOpts{Name: "spillway_targets_skipped_total",
		Help: "Targets that requests passed over, by the reason."}, []string{"reason"})
	return &Metrics{
		requests: children[requestLabels, prometheus.Counter]{make: func(l requestLabels) prometheus.Counter {
			return requests.WithLabelValues(l.surface, statusClasses[l.status])
		}},
		attempts: children[attemptLabels, prometheus.Counter]{make: func(l attemptLabels) prometheus.Counter {
			return attempts.WithLabelValues(l.family, string(l.outcome), map[bool]string{true: "true", false: "false"}[l.failover])
		}},
		skipped: children[decide.Reason, prometheus.Counter]{make: func(r decide.Reason) prometheus.Counter { return skipped.WithLabelValues(string(r)) }},
		own: histogram("spillway_request_own_seconds",
			"The gateway's own part of a request: from its body's last byte to the first attempt.", "surface", ownBuckets),
		firstByte: histogram("spillway_request_first_byte_seconds", "From a request's header to the first byte of its answer.", "surface", longBuckets),
		duration:  histogram("spillway_request_duration_seconds", "From a request's header to the last byte of its answer.", "surface", longBuckets),
		upstream: histogram("spillway_attempt_first_byte_seconds",
			"From the start of an attempt to the header of the provider's answer; attempts without one are not in it.", "provider_family", longBuckets),
		inFlight: f.NewGauge(prometheus.GaugeOpts{Name: "spillway_requests_in_flight", Help: "Requests of callers that are being served."}),
		streams:  f.NewGauge(prometheus.GaugeOpts{Name: "spillway_streams_open", Help: "Streaming answers that have begun and not ended."}),
	}
}

// children are a vector's members by their labels, which the vector itself looks up under a
// lock.
type children[K comparable, M any] struct {
	make  func(K) M
	known atomic.Pointer[map[K]M]
}

func (c *children[K, M]) of(key K) M {
	for {
		known := c.known.Load()
		if known != nil {
			if m, there := (*known)[key]; there {
				return m
			}
		}
		next := map[K]M{}
		if known != nil {
			next = maps.Clone(*known)
		}
		next[key] = c.make(key) // the same one, whoever asks
		c.known.CompareAndSwap(known, &next)
	}
}

// statusClasses are by a status's first digit.
var statusClasses = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// Surfaces that are no dialect's, as the metrics name them.
const (
	surfaceCount  = "count_tokens"
	surfaceModels = "models"
	surfaceOther  = "other"
)

// surfaces are the endpoints that generate, as the admin API names them.
var surfaces = map[llm.Dialect]string{llm.Chat: "chat_completions", llm.Messages: "messages", llm.Responses: "responses", llm.Embeddings: "embeddings"}

// families are those that a metric's label may say: a snapshot could say anything.
var families = map[string]bool{"openai": true, "anthropic": true, "azure_openai": true, "bedrock": true, "vertex": true, "google_ai": true, "groq": true, "together": true, "mistral": true,
	"xai": true, "fireworks": true, "perplexity": true, "openrouter": true, "deepseek": true, "cohere": true, "custom": true}

func familyOf(t *decide.Target) string {
	if families[t.Provider.Family] {
		return t.Provider.Family
	}
	return "other"
}

// began counts a request in; ended is told of it once.
func (m *Metrics) began() { m.inFlight.Inc() }

func (m *Metrics) ended(x *exchange) {
	m.inFlight.Dec()
	if x.keeper.open {
		m.streams.Dec()
	}
	class := x.status / 100
	if class >= len(statusClasses) {
		class = 0
	}
	m.requests.of(requestLabels{x.surface, class}).Inc()
	m.duration.of(x.surface).Observe(time.Since(x.at.came).Seconds())
	if !x.at.head.IsZero() {
		m.firstByte.of(x.surface).Observe(x.at.head.Sub(x.at.came).Seconds())
	}
	for i := range x.run.Attempts {
		if reason := x.run.Attempts[i].Skipped(); reason != "" {
			m.skipped.of(reason).Inc()
		}
	}
}

// asking notes that an attempt begins.
func (m *Metrics) asking(x *exchange, now time.Time) {
	if !x.at.body.IsZero() {
		m.own.of(x.surface).Observe(now.Sub(x.at.body).Seconds())
		x.at.body = time.Time{} // of the first one only
	}
}

// headed notes that a provider's answer has begun.
func (m *Metrics) headed(t *decide.Target, took time.Duration) {
	m.upstream.of(familyOf(t)).Observe(took.Seconds())
}

// attempted notes what came of an attempt.
func (m *Metrics) attempted(t *decide.Target, v decide.Verdict) {
	m.attempts.of(attemptLabels{familyOf(t), v.Class, v.Failover}).Inc()
}
