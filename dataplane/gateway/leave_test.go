package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// stages are how far a provider gets before the caller leaves.
var stages = []struct {
	name string
	say  func(c *call)
}{
	{"BeforeTheHeader", func(*call) {}},
	{"AfterTheHeader", func(c *call) { c.say("") }},
	{"AfterLifecycleEvents", func(c *call) {
		if c.stream {
			c.say(strings.Join(c.lifecycle(c.model), ""))
		}
	}},
	{"InTheMiddle", func(c *call) {
		text := c.good(c.model, c.stream)
		c.say(text[:len(text)/2])
	}},
	{"AfterContent", func(c *call) {
		if c.stream {
			c.say(strings.Join(c.lifecycle(c.model), "") + c.content(c.model))
		}
	}},
	{"InAnError", func(c *call) {
		c.w.Header().Set("Content-Length", "1000")
		c.w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(c.w, `{"error":`)
		_ = http.NewResponseController(c.w).Flush()
	}},
}

// leave asks and goes away after a while.
func (b *bed) leave(stream bool, after time.Duration) {
	ctx, cancel := context.WithTimeout(b.t.Context(), after)
	defer cancel()
	resp, err := b.open(ctx, stream)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	if err == nil {
		b.t.Error("the caller left, and was answered in full")
	}
}

// When the caller leaves the provider is let go in the same moment, wherever it was, and
// nothing is said of it. The request is over then, is told of once, and failed nobody.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	const after = 4321 * time.Millisecond
	for _, stage := range stages {
		t.Run(stage.name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, d *dialect, stream bool) {
				bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
					b.on("first", func(c *call) {
						stage.say(c)
						c.hang()
					})
					began := time.Now()
					b.leave(stream, after)
					synctest.Wait()
					first := b.asked("first")
					if len(first) != 1 || !first[0].left.Equal(began.Add(after)) {
						t.Errorf("asked %d times, let go after %v, want once and %v", len(first), first[0].left.Sub(began), after)
					}
					wantTold(t, b, "first", decide.Canceled)
					wantTold(t, b, "second")
					b.wantOver(1, 0)
				})
			})
		})
	}
}

func TestCallerLeavesWhileConnecting(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			b.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
			}
			b.leave(stream, time.Second)
			synctest.Wait()
			wantTold(t, b, "first", decide.Canceled)
			wantTold(t, b, "second")
			b.wantOver(1, 0)
		})
	})
}

// A probe whose caller leaves gives its slot to the next one, wherever it was: three
// have them, a fourth request goes elsewhere, until one of the three is gone.
func TestCallerWhoLeavesGivesBackTheProbeSlot(t *testing.T) {
	t.Parallel()
	policy := &node.Cooldown{FailureThreshold: 1, WindowSecs: 60, FirstSecs: 30, MaxSecs: 300, RateLimitedSecs: 30, OverloadedSecs: 10}
	for _, stage := range stages {
		t.Run(stage.name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, d *dialect, stream bool) {
				bubble(t, d, pair(node.Mapping{Cooldown: policy}), func(t *testing.T, b *bed) {
					b.on("first", func(c *call) { c.refuse(http.StatusInternalServerError) })
					b.ask(stream)
					time.Sleep(30 * time.Second)
					b.on("first", func(c *call) { stage.say(c); c.hang() })
					for i := range 3 {
						go b.leave(stream, time.Duration(i+1)*time.Second)
					}
					synctest.Wait()
					b.served(b.ask(stream), stream, "second", "0")
					time.Sleep(time.Second)
					synctest.Wait() // the first one has left
					b.on("first", nil)
					b.served(b.ask(stream), stream, "first", "0")
					time.Sleep(time.Second)
					synctest.Wait() // and the second
					for range 2 {
						b.served(b.ask(stream), stream, "first", "0")
					}
					if got := b.watch.standing(); got != decide.StandingHealthy {
						t.Errorf("standing %v, want healthy", got)
					}
					time.Sleep(time.Second)
				})
			})
		})
	}
}
