package gateway_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// limited answers 429 so many times, and then well.
func limited(times int, header ...string) script {
	return func(c *call) {
		if len(c.asked(c.model)) <= times {
			c.refuse(http.StatusTooManyRequests, header...)
			return
		}
		c.say(c.good(c.model, c.stream))
	}
}

// waits are the times between the calls that a model got.
func (b *bed) waits(model string) (waits []time.Duration) {
	calls := b.asked(model)
	for i := 1; i < len(calls); i++ {
		waits = append(waits, calls[i].at.Sub(calls[i-1].at))
	}
	return waits
}

func TestRateLimitIsWaitedOutAsConfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		maxWait int
		header  []string
		want    time.Duration
	}{
		{"AsAsked", 5, []string{"Retry-After", "2"}, 2 * time.Second},
		{"Milliseconds", 5, []string{"Retry-After-Ms", "250"}, 250 * time.Millisecond},
		{"AtMost", 5, []string{"Retry-After", "60"}, 5 * time.Second},
		{"Most", 180, []string{"Retry-After", "86400"}, 180 * time.Second},
		{"NothingAsked", 5, nil, time.Second},
		{"Unreadable", 5, []string{"Retry-After", "soon"}, time.Second},
		{"AtOnce", 5, []string{"Retry-After", "0"}, 0},
		{"InThePast", 5, []string{"Retry-After", "-7"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, d *dialect, stream bool) {
				bubble(t, d, pair(node.Mapping{RetryOn429Count: 2, RetryOn429MaxWaitSecs: c.maxWait}), func(t *testing.T, b *bed) {
					b.on("first", limited(2, c.header...))
					a := b.ask(stream)
					b.served(a, stream, "first", "0")
					if got, want := b.waits("first"), []time.Duration{c.want, c.want}; !slices.Equal(got, want) {
						t.Errorf("waited %v, want %v", got, want)
					}
					wantTook(t, a.took, 2*c.want)
					// The rate limits on the way were waited out, and are nobody's health.
					wantTold(t, b, "first", decide.Succeeded)
				})
			})
		})
	}
}

// With no wait configured it is about a second, whatever the provider asks, and not the
// same for everyone.
func TestRateLimitWaitIsSpread(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{RetryOn429Count: 10}), func(t *testing.T, b *bed) {
			b.on("first", limited(10, "Retry-After", "60"))
			a := b.ask(stream)
			b.served(a, stream, "first", "0")
			waits := b.waits("first")
			slices.Sort(waits)
			if len(waits) != 10 || waits[0] < 800*time.Millisecond || waits[9] > 1200*time.Millisecond || waits[9]-waits[0] < 50*time.Millisecond {
				t.Errorf("waited %v, want ten of 0.8 to 1.2 s, spread", waits)
			}
		})
	})
}

// A target is tried once and as often again as configured; then the next one is, and
// only the last 429 cools, for what that one asked.
func TestOnlyTheLastRateLimitCools(t *testing.T) {
	t.Parallel()
	for _, retries := range []int{0, 1, 10} {
		ways(t, func(t *testing.T, d *dialect, stream bool) {
			bubble(t, d, pair(node.Mapping{RetryOn429Count: retries, RetryOn429MaxWaitSecs: 3}), func(t *testing.T, b *bed) {
				b.on("first", func(c *call) {
					asks := "200"
					if len(c.asked("first")) == 1+retries {
						asks = "7"
					}
					c.refuse(http.StatusTooManyRequests, "Retry-After", asks)
				})
				a := b.ask(stream)
				b.served(a, stream, "second", "1")
				wantTook(t, a.took, time.Duration(retries)*3*time.Second)
				wantTold(t, b, "first", decide.RateLimited)
				if n := len(b.asked("first")); n != 1+retries {
					t.Errorf("asked %d times, want %d", n, 1+retries)
				}
				b.wantCooling(t, 7*time.Second)
			})
		})
	}
}

// wantCooling checks that the first target cools down for so long from now.
func (b *bed) wantCooling(t *testing.T, d time.Duration) {
	t.Helper()
	time.Sleep(d - time.Nanosecond)
	if got := b.watch.standing(); got != decide.StandingCooling {
		t.Errorf("standing %v just before %v, want it to be cooling", got, d)
	}
	time.Sleep(time.Nanosecond)
	if got := b.watch.standing(); got == decide.StandingCooling {
		t.Errorf("still cooling after %v", d)
	}
}

// What ends the retries is what counts, and nothing but a rate limit is tried again.
func TestOtherFailuresAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{RetryOn429Count: 5, RetryOn429MaxWaitSecs: 1}), func(t *testing.T, b *bed) {
			b.on("first", func(c *call) {
				status := http.StatusTooManyRequests
				if len(c.asked("first")) == 2 {
					status = http.StatusInternalServerError
				}
				c.refuse(status)
			})
			a := b.ask(stream)
			b.served(a, stream, "second", "1")
			wantTook(t, a.took, time.Second)
			wantTold(t, b, "first", decide.ServerError)
		})
	})
}

// A rate limit inside a 200 stream, before its content, is one like any other.
func TestRateLimitInsideAStreamIsTriedAgain(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{RetryOn429Count: 1, RetryOn429MaxWaitSecs: 9}), func(t *testing.T, b *bed) {
			b.on("first", func(c *call) {
				if len(c.asked("first")) > 1 {
					c.say(c.good("first", true))
					return
				}
				for _, e := range c.lifecycle("first") {
					c.say(e)
				}
				c.say("event: error\n" + `data: {"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}` + "\n\n")
			})
			a := b.ask(true)
			b.served(a, true, "first", "0")
			wantTook(t, a.took, time.Second)
			wantTold(t, b, "first", decide.Succeeded)
		})
	})
}

// After content it is an error that the caller is told of, and nothing is tried again.
func TestRateLimitAfterContentIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{RetryOn429Count: 10}), func(t *testing.T, b *bed) {
			const limit = "event: error\n" + `data: {"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}` + "\n\n"
			sent := strings.Join(d.lifecycle("first"), "") + d.content("first") + limit
			b.on("first", func(c *call) { c.say(sent) })
			a := b.ask(true)
			rest, whole := strings.CutPrefix(a.body, sent)
			if d.name == "Responses" { // whose clients wait for the response itself to fail
				d.errorEvent(t, rest)
				rest = ""
			}
			if !whole || rest != "" || a.broken != nil || len(b.asked("first")) != 1 {
				t.Errorf("asked %d times, broken %v, body %q", len(b.asked("first")), a.broken, a.body)
			}
			wantTold(t, b, "first", decide.RateLimited)
			wantTold(t, b, "second")
		})
	})
}

// The caller leaving ends the wait and the request, at once.
func TestCallerLeavesDuringTheWait(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{RetryOn429Count: 10, RetryOn429MaxWaitSecs: 180}), func(t *testing.T, b *bed) {
			b.on("first", limited(10, "Retry-After", "180"))
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Second)
			defer cancel()
			if _, err := b.open(ctx, stream); err == nil {
				t.Error("the caller left, and was answered")
			}
			synctest.Wait()
			wantTook(t, time.Since(began), 200*time.Second)
			if n := len(b.asked("first")); n != 2 {
				t.Errorf("asked %d times, want 2", n)
			}
			b.wantOver(1, 0)
			time.Sleep(time.Hour)
			if n := len(b.asked("first")) + len(b.asked("second")); n != 2 {
				t.Errorf("asked %d times in the end, want 2", n)
			}
			wantTold(t, b, "first")
		})
	})
}
