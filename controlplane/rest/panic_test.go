package rest

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

// TestPanicIsAnInternalError: one request's bug is logged with its stack, answered
// without it, and ends no other request.
func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := &server{log: slog.New(slog.NewTextHandler(&log, nil))}
	e := echo.New()
	e.HTTPErrorHandler = s.answerError
	e.Use(s.observe, s.recoverPanic)
	e.GET("/", func(echo.Context) error { panic("the secret reason") })

	answer := httptest.NewRecorder()
	e.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	if answer.Code != 500 || strings.Contains(answer.Body.String(), "secret") || !strings.Contains(answer.Body.String(), answer.Header().Get(echo.HeaderXRequestID)) {
		t.Errorf("got %d: %s", answer.Code, answer.Body)
	}
	if !strings.Contains(log.String(), "the secret reason") || !strings.Contains(log.String(), "panic_test.go") {
		t.Errorf("the log does not say where it happened:\n%s", &log)
	}
}
