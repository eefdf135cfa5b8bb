// Package metrics is what a process tells Prometheus of itself: one registry for all parts
// that run in it, and the listener that serves it, which is never the callers' own: what
// stands there is the operator's business.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// New returns a registry that tells of the Go runtime, the process and the build.
func New() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector())
	return r
}

// Handler serves the registry under /metrics and nothing else.
func Handler(r *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{Registry: r, MaxRequestsInFlight: 4, Timeout: scrapeTime}))
	return mux
}

// scrapeTime is the longest that one scrape may take; Prometheus waits 10 s by default.
const scrapeTime = 10 * time.Second

// Serve answers on the listener until ctx ends. Scrapes that are under way then are cut:
// the next one finds nobody either.
func Serve(ctx context.Context, listener net.Listener, r *prometheus.Registry) error {
	server := &http.Server{Handler: Handler(r), ReadTimeout: 5 * time.Second, WriteTimeout: 2 * scrapeTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // its errors are those of connections that are closed anyway
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return nil
}
