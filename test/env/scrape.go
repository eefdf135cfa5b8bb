package env

import (
	"io"
	"net/http"
	"testing"
)

// Scrape asks an address as Prometheus does, and returns what it is told.
func Scrape(t *testing.T, address string) (status int, text string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
