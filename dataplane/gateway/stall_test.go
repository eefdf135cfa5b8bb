package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// limits are what the two timeouts can be: the least, the default, the most.
var limits = []struct {
	name          string
	request, idle *int // seconds; nil: the default
}{
	{"Least", new(1), new(1)}, {"Default", nil, nil}, {"Most", new(600), new(300)},
}

// eachLimit runs a test for every way and limit. The target "first" has the limit for
// the way at hand; the other one is half of it, and must not matter.
func eachLimit(t *testing.T, test func(t *testing.T, b *bed, stream bool, limit time.Duration)) {
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		for _, l := range limits {
			t.Run(l.name, func(t *testing.T) {
				m := node.Mapping{RequestTimeoutSecs: l.request}
				limit, otherwise := l.request, 120*time.Second
				if stream {
					m = node.Mapping{StreamIdleTimeoutSecs: l.idle}
					limit, otherwise = l.idle, 180*time.Second
				}
				if limit != nil {
					otherwise = time.Duration(*limit) * time.Second
				}
				bubble(t, d, pair(m), func(t *testing.T, b *bed) { test(t, b, stream, otherwise) })
			})
		}
	})
}

func wantTook(t *testing.T, got, want time.Duration) {
	t.Helper()
	if got != want {
		t.Errorf("took %v, want %v", got, want)
	}
}

func wantTold(t *testing.T, b *bed, model string, want ...decide.Class) {
	t.Helper()
	if got := b.watch.told(model); !slices.Equal(got, want) {
		t.Errorf("health of %s was told %q, want %q", model, got, want)
	}
}

// A provider that takes the request and never answers costs exactly its timeout.
func TestSilentProviderFailsOverAtItsTimeout(t *testing.T) {
	t.Parallel()
	eachLimit(t, func(t *testing.T, b *bed, stream bool, limit time.Duration) {
		b.on("first", (*call).hang)
		a := b.ask(stream)
		b.served(a, stream, "second", "1")
		wantTook(t, a.took, limit)
		wantTold(t, b, "first", decide.Timeout)
		first := b.asked("first")
		if len(first) != 1 || first[0].left.Sub(first[0].at) != limit {
			t.Errorf("asked %d times, let go after %v, want once and %v", len(first), first[0].left.Sub(first[0].at), limit)
		}
	})
}

// Where every target is silent the caller waits for their timeouts one after another.
func TestAllSilentProvidersAreOneError(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		targets := pair(node.Mapping{RequestTimeoutSecs: new(7), StreamIdleTimeoutSecs: new(7)})
		targets[1].RequestTimeoutSecs, targets[1].StreamIdleTimeoutSecs = new(20), new(20)
		bubble(t, d, targets, func(t *testing.T, b *bed) {
			b.on("first", (*call).hang)
			b.on("second", (*call).hang)
			a := b.ask(stream)
			wantTook(t, a.took, 27*time.Second)
			if a.status != http.StatusBadGateway || strings.Count(a.body, `"reason":"timeout"`) != 2 || !strings.Contains(a.body, `"duration_ms":20000`) {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	})
}

// A connection that is never made ends with the try's time too, and is told apart.
func TestDialingIsPartOfTheTimeout(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{RequestTimeoutSecs: new(3), StreamIdleTimeoutSecs: new(3)}), func(t *testing.T, b *bed) {
			b.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if b.dials.Load() > 1 {
					return b.providers.dial(ctx, network, addr)
				}
				<-ctx.Done()
				return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
			}
			a := b.ask(stream)
			b.served(a, stream, "second", "1")
			wantTook(t, a.took, 3*time.Second)
			wantTold(t, b, "first", decide.Timeout)
		})
	})
}

func TestRefusedConnectionFailsOverAtOnce(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			b.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if b.dials.Load() > 1 {
					return b.providers.dial(ctx, network, addr)
				}
				return nil, &net.OpError{Op: "dial", Net: network, Err: errRefused}
			}
			a := b.ask(stream)
			b.served(a, stream, "second", "1")
			wantTook(t, a.took, 0)
			wantTold(t, b, "first", decide.Connection)
		})
	})
}

// The header in time and the body not: the timeout is of the whole try. A stream's is
// to the first event, whenever the header came.
func TestHeaderDoesNotRestartTheTimeout(t *testing.T) {
	t.Parallel()
	eachLimit(t, func(t *testing.T, b *bed, stream bool, limit time.Duration) {
		b.on("first", func(c *call) {
			if c.pause(limit * 3 / 4) {
				c.say("")
				c.hang()
			}
		})
		a := b.ask(stream)
		b.served(a, stream, "second", "1")
		wantTook(t, a.took, limit)
		wantTold(t, b, "first", decide.Timeout)
	})
}

// A body that trickles in does not stretch the time of a try without a stream.
func TestBodyThatStopsInTheMiddle(t *testing.T) {
	t.Parallel()
	for i := range dialects {
		d := &dialects[i]
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, d, pair(node.Mapping{RequestTimeoutSecs: new(30)}), func(t *testing.T, b *bed) {
				b.on("first", func(c *call) {
					whole := c.answer("first")
					for i := range len(whole) - 1 {
						c.say(whole[i : i+1])
						if !c.pause(time.Second) {
							return
						}
					}
				})
				a := b.ask(false)
				b.served(a, false, "second", "1")
				wantTook(t, a.took, 30*time.Second)
				wantTold(t, b, "first", decide.Timeout)
			})
		})
	}
}

// An error whose body does not come is an error all the same: its status counts, and
// the caller does not wait for the rest.
func TestErrorBodyThatNeverEnds(t *testing.T) {
	t.Parallel()
	eachLimit(t, func(t *testing.T, b *bed, stream bool, limit time.Duration) {
		b.on("first", func(c *call) {
			c.w.Header().Set("Content-Type", "application/json")
			c.w.WriteHeader(http.StatusServiceUnavailable)
			_ = http.NewResponseController(c.w).Flush()
			c.hang()
		})
		a := b.ask(stream)
		b.served(a, stream, "second", "1")
		wantTook(t, a.took, min(limit, 5*time.Second))
		wantTold(t, b, "first", decide.ServerError)
	})
}

func TestStreamSilentAfterLifecycleEventsFailsOver(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		for upTo := range d.held + 1 {
			bubble(t, d, pair(node.Mapping{StreamIdleTimeoutSecs: new(20)}), func(t *testing.T, b *bed) {
				b.on("first", func(c *call) {
					for _, event := range c.lifecycle("first")[:upTo] {
						if !c.pause(15 * time.Second) {
							return
						}
						c.say(event)
					}
					c.hang()
				})
				a := b.ask(true)
				failovers, n := "1", 0
				if n, a.body = d.beats(a.body); n > 0 { // the header went out with the first
					failovers = "0"
				}
				if upTo > 0 && n == 0 || upTo == 0 && n > 0 {
					t.Errorf("%d keep-alives after %d events", n, upTo)
				}
				b.served(a, true, "second", failovers)
				wantTook(t, a.took, time.Duration(upTo)*15*time.Second+20*time.Second)
				wantTold(t, b, "first", decide.Timeout)
			})
		}
	})
}

func TestStreamSilentAfterContentEndsInAnErrorEvent(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		for _, l := range limits {
			bubble(t, d, pair(node.Mapping{StreamIdleTimeoutSecs: l.idle}), func(t *testing.T, b *bed) {
				idle := 180 * time.Second
				if l.idle != nil {
					idle = time.Duration(*l.idle) * time.Second
				}
				sent := strings.Join(b.lifecycle("first"), "") + b.content("first")
				b.on("first", func(c *call) {
					c.say(sent)
					c.pause(idle - time.Millisecond)
					c.say(c.ping)
					c.hang()
				})
				a := b.ask(true)
				wantTook(t, a.took, 2*idle-time.Millisecond)
				a.body = strings.ReplaceAll(a.body, d.beat, "")
				rest, ok := strings.CutPrefix(a.body, sent+b.ping)
				if code := d.errorEvent(t, rest); !ok || code != "upstream_stream_timeout" || a.broken != nil {
					t.Errorf("code %q, broken %v, body %q", code, a.broken, a.body)
				}
				wantTold(t, b, "first", decide.Timeout)
				wantTold(t, b, "second")
			})
		}
	})
}

// Pings keep a stream open, however long its content takes; they are not content, so
// that it can still fail over.
func TestPingsAreLivenessAndNoContent(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{StreamIdleTimeoutSecs: new(10)}), func(t *testing.T, b *bed) {
			thinking := func(c *call) {
				for range 360 {
					c.say(c.ping)
					if !c.pause(10*time.Second - time.Nanosecond) {
						t.Error("a stream that pings was left")
						return
					}
				}
			}
			b.on("first", func(c *call) { thinking(c); c.say(c.failed) })
			b.on("second", func(c *call) { thinking(c); c.say(c.good("second", true)) })
			a := b.ask(true)
			if want := strings.Repeat(d.beat, 479) + strings.Repeat(d.ping, 360) + d.good("second", true); a.status != http.StatusOK || a.body != want {
				t.Errorf("status %d, body %q", a.status, a.body)
			}
			wantTook(t, a.took, 720*(10*time.Second-time.Nanosecond))
			wantTold(t, b, "first", decide.Overloaded)
			wantTold(t, b, "second", decide.Succeeded)
		})
	})
}

// What is held back is bounded: a stream that never gets to its content has started at
// some point, and then it is told when it breaks.
func TestHeldBackEventsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			pings := strings.Repeat(d.ping, most/len(d.ping)+1)
			b.on("first", func(c *call) {
				c.say(pings)
				c.pause(time.Second)
				c.say(c.failed)
			})
			a := b.ask(true)
			if a.status != http.StatusOK || a.body != pings+d.failed {
				t.Errorf("status %d, %d bytes, want the %d pings and the error", a.status, len(a.body), len(pings))
			}
			wantTold(t, b, "second")
		})
	})
}

// The total time of a try is none of a stream's business, and each chunk begins the
// idle time anew: be it a part of an event.
func TestHealthyStreamIsNeverCut(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{RequestTimeoutSecs: new(1), StreamIdleTimeoutSecs: new(60)}), func(t *testing.T, b *bed) {
			b.on("first", func(c *call) {
				text := c.good("first", true)
				for i := range text {
					c.say(text[i : i+1])
					if i < len(text)-1 && !c.pause(60*time.Second-time.Nanosecond) {
						t.Errorf("cut at byte %d", i)
						return
					}
				}
			})
			a := b.ask(true)
			a.body = strings.ReplaceAll(a.body, d.beat, "")
			b.served(a, true, "first", "0")
			wantTook(t, a.took, time.Duration(len(a.body)-1)*(60*time.Second-time.Nanosecond))
			wantTold(t, b, "first", decide.Succeeded)
		})
	})
}

// While a stream is silent, or says nothing that the caller could be sent yet, the caller
// hears every 15 s that it goes on, between whole events and never after the last one.
func TestCallerHearsOfASilentStream(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			events := d.stream("first")
			b.on("first", func(c *call) {
				c.say(strings.Join(events[:d.held], ""))
				c.pause(50 * time.Second)
				c.say(events[d.held] + "da")
				c.pause(50 * time.Second)
				c.say("ta: ")
				c.pause(7 * time.Second)
				c.say(strings.TrimPrefix(events[d.held+1], "data: "))
				c.pause(16 * time.Second)
				c.say(strings.Join(events[d.held+2:], ""))
				c.pause(time.Minute)
			})
			if d.name != "Chat" {
				events[d.held+1] = "data: " + strings.SplitN(events[d.held+1], "data: ", 2)[1]
			}
			began := time.Now()
			resp, err := b.open(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			const first = 50 * time.Second
			for _, want := range []struct {
				at   time.Duration
				text string
			}{
				{15 * time.Second, d.beat}, {30 * time.Second, d.beat}, {45 * time.Second, d.beat},
				{first, strings.Join(events[:d.held+1], "")}, {first + 15*time.Second, d.beat}, {first + 30*time.Second, d.beat}, {first + 45*time.Second, d.beat},
				{first + 57*time.Second, events[d.held+1]}, {first + 72*time.Second, d.beat}, {first + 73*time.Second, strings.Join(events[d.held+2:], "")},
			} {
				got := make([]byte, len(want.text))
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want.text {
					t.Fatalf("%v, %q, want %q", err, got, want.text)
				}
				wantTook(t, time.Since(began), want.at)
			}
			if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
				t.Errorf("%q, %v after the end", rest, err)
			}
		})
	})
}

// A stream whose silence must end sooner than that has none, before its content neither.
func TestNoKeepAliveWithinAShortIdleTime(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{StreamIdleTimeoutSecs: new(15)}), func(t *testing.T, b *bed) {
			sent := strings.Join(b.lifecycle("first"), "") + b.content("first")
			b.on("first", func(c *call) {
				c.say(sent)
				c.hang()
			})
			a := b.ask(true)
			if rest, ok := strings.CutPrefix(a.body, sent); !ok || d.errorEvent(t, rest) == "" {
				t.Errorf("%q", a.body)
			}
			wantTook(t, a.took, 15*time.Second)
			b.on("first", func(c *call) {
				c.say(strings.Join(b.lifecycle("first"), ""))
				c.hang()
			})
			a = b.ask(true)
			b.served(a, true, "second", "1")
			wantTook(t, a.took, 15*time.Second)
		})
	})
}
