package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// fetching runs a test for a caller of messages over a provider of chat, which takes the
// document of every request as bytes only; it comes after a time, or never for 0.
func fetching(t *testing.T, takes time.Duration, targets []node.Mapping, test func(t *testing.T, b *bed, fetched *atomic.Int32)) {
	bubbleAcross(t, &dialects[1], &dialects[0], targets, func(t *testing.T, b *bed) {
		host, fetched := newListener(), new(atomic.Int32)
		b.serve((*http.Server).Serve, host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fetched.Add(1)
			if takes == 0 {
				<-r.Context().Done()
				return
			}
			time.Sleep(takes) // of the bubble
			_, _ = w.Write([]byte("%PDF-1.7"))
		}))
		b.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == "files.test:80" {
				return host.dial(ctx, network, addr)
			}
			return b.providers.dial(ctx, network, addr)
		}
		test(t, b, fetched)
	})
}

// askAbout sends a request about a document.
func (b *bed) askAbout(ctx context.Context, stream bool) (reply, error) {
	b.t.Helper()
	body := fmt.Sprintf(`{"model":"r","stream":%t,"max_tokens":10,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"http://files.test/a.pdf"}}]}]}`, stream)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway.test"+b.path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("X-Bd-Api-Key", b.key)
	began := time.Now()
	resp, err := b.client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(out), err, time.Since(began)}, nil
}

// What it takes to fetch a target's files is time of its try, and the next target, which
// has the file already, has all of its own.
func TestFetchingIsPartOfTheTry(t *testing.T) {
	t.Parallel()
	first := node.Mapping{RequestTimeoutSecs: new(7), StreamIdleTimeoutSecs: new(5), Cooldown: untouched}
	for stream, limit := range map[bool]time.Duration{false: 7 * time.Second, true: 5 * time.Second} {
		targets := pair(first)
		targets[1].RequestTimeoutSecs, targets[1].StreamIdleTimeoutSecs = new(4), new(4)
		fetching(t, 3*time.Second, targets, func(t *testing.T, b *bed, fetched *atomic.Int32) {
			b.on("first", func(c *call) { c.hang() })
			b.on("second", func(c *call) {
				c.pause(3500 * time.Millisecond)
				c.say(c.speaks.good("second", stream))
			})
			a, err := b.askAbout(t.Context(), stream)
			if err != nil || a.status != http.StatusOK || a.header.Get("X-Bd-Provider-Failover-Count") != "1" || fetched.Load() != 1 {
				t.Errorf("%v, status %d, fetched %d times: %s", err, a.status, fetched.Load(), a.body)
			}
			wantTook(t, a.took, limit+3500*time.Millisecond)
			wantTold(t, b, "first", decide.Timeout)
		})
	}
}

// A file that does not come takes no longer than the try may, nor than 20 seconds, and is
// not asked for again by the next target.
func TestFilesThatNeverCome(t *testing.T) {
	t.Parallel()
	for secs, limit := range map[int]time.Duration{7: 7 * time.Second, 60: 20 * time.Second} {
		fetching(t, 0, pair(node.Mapping{RequestTimeoutSecs: &secs}), func(t *testing.T, b *bed, fetched *atomic.Int32) {
			a, err := b.askAbout(t.Context(), false)
			if err != nil || a.status != http.StatusBadRequest || !strings.Contains(a.body, "did not come in time") || fetched.Load() != 1 {
				t.Errorf("%v, status %d, fetched %d times: %s", err, a.status, fetched.Load(), a.body)
			}
			wantTook(t, a.took, limit)
			if n := len(b.asked("first")) + len(b.asked("second")); n != 0 {
				t.Errorf("providers were asked %d times", n)
			}
		})
	}
}

// The caller's leaving ends the fetching, and nobody is asked any more.
func TestCallerLeavesWhileFilesAreFetched(t *testing.T) {
	t.Parallel()
	fetching(t, 0, pair(node.Mapping{}), func(t *testing.T, b *bed, fetched *atomic.Int32) {
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if a, err := b.askAbout(ctx, true); err == nil {
			t.Errorf("status %d: %s", a.status, a.body)
		}
		time.Sleep(time.Second) // of the bubble
		if n := len(b.asked("first")) + len(b.asked("second")); n != 0 || fetched.Load() != 1 {
			t.Errorf("fetched %d times, providers were asked %d times", fetched.Load(), n)
		}
	})
}
