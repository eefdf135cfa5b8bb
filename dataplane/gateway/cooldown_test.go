package gateway_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// failing answers with a status.
func failing(status int, header ...string) script {
	return func(c *call) { c.refuse(status, header...) }
}

// all asks so many times at once, and returns how many requests each model served.
func (b *bed) all(n int, stream bool) (first, second int) {
	var running sync.WaitGroup
	var mu sync.Mutex
	for range n {
		running.Go(func() {
			a := b.ask(stream)
			mu.Lock()
			defer mu.Unlock()
			switch a.body {
			case b.good("first", stream):
				first++
			case b.good("second", stream):
				second++
			default:
				b.t.Errorf("status %d, %q", a.status, a.body)
			}
		})
	}
	running.Wait()
	return first, second
}

func (b *bed) wantAll(n int, stream bool, first, second int) {
	b.t.Helper()
	if f, s := b.all(n, stream); f != first || s != second {
		b.t.Errorf("of %d requests the targets served %d and %d, want %d and %d", n, f, s, first, second)
	}
}

// wantAsked checks how often the first target was asked since the last time.
func (b *bed) wantAsked(since *int, want int) {
	b.t.Helper()
	n := len(b.asked("first"))
	if got := n - *since; got != want {
		b.t.Errorf("the first target was asked %d times, want %d", got, want)
	}
	*since = n
}

// The whole life of a cooldown by the default policy, as callers see it.
func TestCooldownTimeline(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			b.on("first", failing(http.StatusInternalServerError))
			asked := 0
			for range 9 {
				b.served(b.ask(stream), stream, "second", "1")
			}
			time.Sleep(59 * time.Second)
			b.served(b.ask(stream), stream, "second", "1")
			b.wantAsked(&asked, 10)
			b.served(b.ask(stream), stream, "second", "0")
			b.wantAsked(&asked, 0)
			b.wantCooling(t, 30*time.Second)
			// Each failed recovery doubles it, up to the longest.
			for _, secs := range []int{60, 120, 240, 300, 300} {
				b.wantAll(1, stream, 0, 1)
				b.wantAsked(&asked, 1)
				b.wantAll(5, stream, 0, 5)
				b.wantAsked(&asked, 0)
				b.wantCooling(t, time.Duration(secs)*time.Second)
			}
			// Three at a time, after three successes a tenth, and ten seconds later everyone.
			b.on("first", func(c *call) {
				c.pause(time.Second)
				c.say(c.good("first", stream))
			})
			b.wantAll(8, stream, 3, 5)
			time.Sleep(10 * time.Second)
			b.wantAll(8, stream, 8, 0)
			// Healthy again is as new: ten failures, and thirty seconds.
			b.on("first", failing(http.StatusBadGateway))
			asked = len(b.asked("first"))
			for range 9 {
				b.ask(stream)
			}
			b.wantAsked(&asked, 9)
			b.wantAll(1, stream, 0, 1)
			b.wantCooling(t, 30*time.Second)
		})
	})
}

// Failures count within their window only, and successes in between do not wipe them.
func TestFailuresOfAWindow(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			fail := func(n int) {
				b.on("first", failing(http.StatusInternalServerError))
				for range n {
					b.ask(stream)
				}
			}
			fail(9)
			time.Sleep(time.Minute)
			fail(9)
			if got := b.watch.standing(); got != decide.StandingHealthy {
				t.Fatalf("standing %v: failures of another window counted", got)
			}
			b.on("first", nil)
			b.wantAll(20, stream, 20, 0)
			fail(1)
			b.wantCooling(t, 30*time.Second)
		})
	})
}

// Every way in which a provider fails counts as one failure, those after content too.
func TestEveryFailureIsCharged(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]script{
		"500":  failing(500),
		"408":  failing(408),
		"401":  failing(401),
		"Hang": (*call).hang,
		"Cut":  func(c *call) { c.cut("", false) },
		"HTML": func(c *call) {
			c.w.Header().Set("Content-Type", "text/html")
			_, _ = c.w.Write([]byte("<html>"))
		},
		"CutAfterContent": func(c *call) {
			if !c.stream {
				c.cut("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", false)
				return
			}
			wire, _ := chunked(c.dialect.stream("first")[:c.held+1])
			c.cut(wire, false)
		},
		"HangAfterContent": func(c *call) {
			text := c.good("first", c.stream)
			c.say(text[:len(text)-30])
			c.hang()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, d *dialect, stream bool) {
				bubble(t, d, pair(node.Mapping{RequestTimeoutSecs: new(1), StreamIdleTimeoutSecs: new(1)}), func(t *testing.T, b *bed) {
					b.on("first", fail)
					for range 9 {
						b.ask(stream)
					}
					if got := b.watch.standing(); got != decide.StandingHealthy {
						t.Fatalf("standing %v after nine failures", got)
					}
					b.ask(stream)
					b.wantCooling(t, 30*time.Second)
				})
			})
		})
	}
}

// One word of the provider is enough to cool it, for as long as it says.
func TestProviderAsksForACooldown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		after  string
		want   time.Duration
	}{
		{529, "", 10 * time.Second}, {529, "25", 25 * time.Second}, {429, "", 30 * time.Second}, {429, "7", 7 * time.Second},
		{429, "1587827", 300 * time.Second}, {402, "", 300 * time.Second}, {402, "5", 300 * time.Second},
	} {
		t.Run(fmt.Sprintf("%d,%s", c.status, c.after), func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, d *dialect, stream bool) {
				bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
					var header []string
					if c.after != "" {
						header = []string{"Retry-After", c.after}
					}
					b.on("first", failing(c.status, header...))
					for range 2 { // no escalation
						asked := len(b.asked("first"))
						b.served(b.ask(stream), stream, "second", "1")
						b.served(b.ask(stream), stream, "second", "0")
						b.wantAsked(&asked, 1)
						b.wantCooling(t, c.want)
					}
				})
			})
		})
	}
}

// A probe that is never answered has its slot until its time is up; then it has failed.
// Two more slots are there in the meantime, and no more.
func TestHungProbeGivesItsSlotBackAtItsDeadline(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		policy := &node.Cooldown{FailureThreshold: 1, WindowSecs: 60, FirstSecs: 30, MaxSecs: 300, RateLimitedSecs: 30, OverloadedSecs: 10}
		bubble(t, d, pair(node.Mapping{Cooldown: policy, RequestTimeoutSecs: new(20), StreamIdleTimeoutSecs: new(20)}), func(t *testing.T, b *bed) {
			b.on("first", failing(http.StatusInternalServerError))
			b.ask(stream)
			time.Sleep(30 * time.Second)
			b.on("first", (*call).hang)
			hung := make(chan reply)
			for range 3 {
				go func() { hung <- b.ask(stream) }()
			}
			synctest.Wait()
			asked := len(b.asked("first"))
			time.Sleep(19 * time.Second)
			b.wantAll(5, stream, 0, 5)
			b.wantAsked(&asked, 0)
			for range 3 {
				a := <-hung
				b.served(a, stream, "second", "1")
				wantTook(t, a.took, 20*time.Second)
			}
			b.wantCooling(t, time.Minute)
			b.on("first", func(c *call) {
				c.pause(time.Second)
				c.say(c.good("first", stream))
			})
			b.wantAll(8, stream, 3, 5)
			time.Sleep(10 * time.Second)
			b.wantAll(8, stream, 8, 0)
		})
	})
}

// What says nothing of a target's health leaves it recovering, and its slots free.
func TestProbeThatSaysNothingGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			b.on("first", failing(529))
			b.ask(stream)
			time.Sleep(10 * time.Second)
			asked := len(b.asked("first"))
			b.on("first", failing(http.StatusNotFound))
			for range 5 {
				b.served(b.ask(stream), stream, "second", "1")
			}
			b.on("first", failing(http.StatusBadRequest))
			for range 5 {
				if a := b.ask(stream); a.status != http.StatusBadRequest {
					t.Errorf("status %d", a.status)
				}
			}
			b.wantAsked(&asked, 10)
			if got := b.watch.standing(); got != decide.StandingRecovering {
				t.Errorf("standing %v, want recovering", got)
			}
		})
	})
}
