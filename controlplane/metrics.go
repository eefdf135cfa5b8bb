package controlplane

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// counted has r tell of the requests that the handler serves, by which API they are for and
// the class of their status. Paths hold ids and names, so they are no label.
func counted(handler http.Handler, r prometheus.Registerer) http.Handler {
	if r == nil {
		return handler
	}
	f := promauto.With(r)
	requests := f.NewCounterVec(prometheus.CounterOpts{Name: "spillway_control_requests_total", Help: "Requests that the control plane has answered, by API and class of the status."}, []string{"api", "status"})
	duration := f.NewHistogramVec(prometheus.HistogramOpts{Name: "spillway_control_request_duration_seconds", Help: "How long the control plane took to answer, by API.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}}, []string{"api"})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen := time.Now(), &statusWriter{ResponseWriter: w, status: http.StatusOK}
		handler.ServeHTTP(seen, r)
		api := apiOf(r.URL.Path)
		requests.WithLabelValues(api, strconv.Itoa(seen.status/100)+"xx").Inc()
		if seen.Header().Get("Content-Type") != "text/event-stream" { // which lasts as long as somebody listens
			duration.WithLabelValues(api).Observe(time.Since(began).Seconds())
		}
	})
}

// apiOf is which of the control plane's APIs a path is of.
func apiOf(path string) string {
	for _, api := range []struct{ prefix, name string }{
		{"/api/llm-gateway/admin/", "admin"}, {"/api/llm-gateway/user/", "user"}, {"/oauth/", "token"}, {"/auth/", "sign_in"},
	} {
		if strings.HasPrefix(path, api.prefix) {
			return api.name
		}
	}
	return "other"
}

// statusWriter keeps the status that a handler answers with.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
