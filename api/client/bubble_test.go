package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-gateway/spillway/api/client"
)

// wire answers requests without a network, so that time can be virtual.
type wire func(*http.Request) (*http.Response, error)

func (f wire) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// A token is renewed before it ends, and not sooner than it must be.
func TestTokenIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		life   string
		within time.Duration // of its end it is renewed
	}{
		"AnHour":     {"3600", time.Minute},
		"AHundred":   {"100", 20 * time.Second},
		"TenSeconds": {"10", 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tokens := 0
				cl, err := client.New(client.Config{URL: "http://gateway.example", ClientID: "a", ClientSecret: "b", HTTPClient: &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path == "/oauth/token" {
						tokens++
						return answer(200, `{"access_token":"t","token_type":"Bearer","expires_in":`+c.life+`}`)
					}
					return answer(200, `[]`)
				})}})
				if err != nil {
					t.Fatal(err)
				}
				life, err := time.ParseDuration(c.life + "s")
				if err != nil {
					t.Fatal(err)
				}
				for _, step := range []struct {
					wait time.Duration
					want int
				}{{0, 1}, {life - c.within - time.Millisecond, 1}, {time.Millisecond, 2}} {
					time.Sleep(step.wait)
					if err := list(t.Context(), cl); err != nil || tokens != step.want {
						t.Errorf("after %s more: error %v, %d tokens, want %d", step.wait, err, tokens, step.want)
					}
				}
			})
		})
	}
}

// A deletion that never left is sent again; one that may have arrived is not.
func TestDeletionThatNeverLeft(t *testing.T) {
	t.Parallel()
	for op, want := range map[string]int{"dial": 2, "read": 1} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			cl, err := client.New(client.Config{URL: "http://gateway.example", Token: "t", HTTPClient: &http.Client{Transport: wire(func(*http.Request) (*http.Response, error) {
				if sent++; sent == 1 {
					return nil, &net.OpError{Op: op, Err: errors.New("refused")}
				}
				return answer(200, `{"deleted":true}`)
			})}})
			if err != nil {
				t.Fatal(err)
			}
			if err := remove(t.Context(), cl); sent != want || (err == nil) != (want == 2) {
				t.Errorf("%s: sent %d times, error %v", op, sent, err)
			}
		})
	}
}

// Pauses grow, what the server asks for goes before, and a caller who leaves ends them.
func TestPausesBetweenTries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		retryAfter string
		retries    int
		least      time.Duration // and at most a quarter more
	}{
		"Growing":   {"", 4, (200 + 400 + 800 + 1600) * time.Millisecond},
		"AskedFor":  {"2", 2, 4 * time.Second},
		"AskedMuch": {"3600", 1, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cl, err := client.New(client.Config{URL: "http://gateway.example", Token: "t", Retries: c.retries, HTTPClient: &http.Client{Transport: wire(func(*http.Request) (*http.Response, error) {
					resp, err := answer(503, `{}`)
					if c.retryAfter != "" {
						resp.Header.Set("Retry-After", c.retryAfter)
					}
					return resp, err
				})}})
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				if err := list(t.Context(), cl); client.StatusOf(err) != 503 {
					t.Errorf("got %v", err)
				}
				if took := time.Since(begun); took < c.least || took > c.least*5/4 {
					t.Errorf("took %s, want %s and at most a quarter more", took, c.least)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				begun = time.Now()
				if err := list(ctx, cl); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 100*time.Millisecond {
					t.Errorf("a caller who leaves: %v after %s", err, time.Since(begun))
				}
			})
		})
	}
}
