package metrics_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spillway-gateway/spillway/metrics"
)

func TestHandlerServesMetricsOnly(t *testing.T) {
	t.Parallel()
	h := metrics.Handler(metrics.New())
	for request, want := range map[string]int{"GET /metrics": 200, "POST /metrics": 405, "GET /": 404, "GET /debug/pprof/": 404, "GET /v1/models": 404} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", request, w.Code, want)
		}
		if want == 200 && !strings.Contains(w.Body.String(), "go_goroutines ") {
			t.Errorf("the runtime is missing: %s", w.Body)
		}
	}
}

func TestNewHasNothingToComplainOf(t *testing.T) {
	t.Parallel()
	if problems, err := testutil.GatherAndLint(metrics.New()); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", err, problems)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- metrics.Serve(ctx, listener, metrics.New()) }()
	resp, err := http.Get("http://" + listener.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if _ = resp.Body.Close(); err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), "process_start_time_seconds") {
		t.Errorf("status %d, %v: %s", resp.StatusCode, err, body)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeTellsOfAListenerThatFails(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	if err := metrics.Serve(t.Context(), listener, metrics.New()); err == nil {
		t.Error("a closed listener is served")
	}
}
