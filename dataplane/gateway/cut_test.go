package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// untouched is a policy by which a target that always fails is asked for ever.
var untouched = &node.Cooldown{FailureThreshold: 0, WindowSecs: 60, FirstSecs: 30, MaxSecs: 300, RateLimitedSecs: 30, OverloadedSecs: 10}

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

// chunked is the recorded stream as it goes over the wire, and how much of the body a
// reader has after each byte of it.
func chunked(events []string) (wire string, body []int) {
	wire = head + "Transfer-Encoding: chunked\r\n\r\n"
	body = make([]int, len(wire))
	n := 0
	add := func(text string, counts bool) {
		for range len(text) {
			if counts {
				n++
			}
			body = append(body, n)
		}
		wire += text
	}
	for _, e := range events {
		add(fmt.Sprintf("%x\r\n", len(e)), false)
		add(e, true)
		add("\r\n", false)
	}
	return wire, body
}

// unframed is the same where the end of the connection is the end of the body, so that a
// cut looks like an end.
func unframed(events []string) (wire string, body []int) {
	wire = head + "Connection: close\r\n\r\n"
	body = make([]int, len(wire))
	for _, e := range events {
		for range len(e) {
			body = append(body, body[len(body)-1]+1)
		}
		wire += e
	}
	return wire, body
}

// A recorded stream, cut at every byte. Before content the caller gets the next target's
// whole answer and nothing of the first. After content it gets whole events of the
// first and one error event: no text twice, no end that looks good.
func TestStreamCutAtEveryByte(t *testing.T) {
	t.Parallel()
	for name, framing := range map[string]func([]string) (string, []int){"Chunked": chunked, "Unframed": unframed} {
		for _, reset := range []bool{false, true} {
			if reset && name == "Chunked" {
				continue // no end in order is like another
			}
			t.Run(fmt.Sprintf("%s,Reset=%t", name, reset), func(t *testing.T) {
				t.Parallel()
				streams(t, func(t *testing.T, d *dialect) {
					bubble(t, d, pair(node.Mapping{Cooldown: untouched}), func(t *testing.T, b *bed) {
						wire, body := framing(d.stream("first"))
						for at := range len(wire) {
							had := 0
							if at > 0 {
								had = body[at-1]
							}
							b.on("first", func(c *call) { c.cut(wire[:at], reset) })
							b.wantCut(b.ask(true), had, name == "Unframed" && !reset)
							if t.Failed() {
								t.Fatalf("cut at byte %d, after %q", at, wire[:at])
							}
						}
					})
				})
			})
		}
	}
}

// wantCut checks what the caller got of a stream of "first" that was cut after so many
// bytes of its body, in a way that may be taken for an end or not.
func (b *bed) wantCut(a reply, had int, looksEnded bool) {
	b.t.Helper()
	events := b.stream("first")
	whole, sent := 0, ""
	for whole < len(events) && len(sent)+len(ends(events[whole])) <= had {
		sent += events[whole][:min(len(events[whole]), had-len(sent))]
		whole++
	}
	verdict := b.watch.last("first")
	last := strings.TrimRight(events[len(events)-1], "\r\n")
	switch {
	case whole <= b.held: // the error event is not to be seen either
		b.served(a, true, "second", "1")
	case whole == len(events), looksEnded && whole == len(events)-1 && had >= len(sent)+len(last):
		// All of it came, but for perhaps the last blank line.
		a.body = strings.TrimRight(a.body, "\r\n") + events[len(events)-1][len(last):]
		b.served(a, true, "first", "0")
		b.wantVerdict(verdict, decide.Succeeded)
		return
	case looksEnded && b.cutShort > 0 && whole >= len(events)-b.cutShort:
		// Some providers end here, and the end marker is the gateway's.
		if want := sent + events[len(events)-1]; a.body != want || a.broken != nil {
			b.t.Errorf("broken %v, body %q, want %q", a.broken, a.body, want)
		}
		b.wantVerdict(verdict, decide.Succeeded)
		return
	default:
		rest, ok := strings.CutPrefix(a.body, sent)
		if !ok || a.status != http.StatusOK || a.broken != nil {
			b.t.Errorf("status %d, broken %v, body %q, want it to begin with %q", a.status, a.broken, a.body, sent)
		}
		if code := b.errorEvent(b.t, rest); code != "upstream_stream_broken" {
			b.t.Errorf("code %q", code)
		}
	}
	b.wantVerdict(verdict, decide.Connection)
}

// ends is up to where an event must have come to be whole: a CR ends it, with or without
// the LF after it.
func ends(event string) string {
	if strings.HasSuffix(event, "\r\n") {
		return event[:len(event)-1]
	}
	return event
}

func (b *bed) wantVerdict(got decide.Class, want ...decide.Class) {
	b.t.Helper()
	if !slices.Contains(want, got) {
		b.t.Errorf("health was told %q, want %q", got, want)
	}
}

// Between two events: the same for the next target's stream, when that is cut too.
func TestEveryTargetsStreamIsCut(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		targets := pair(node.Mapping{Cooldown: untouched})
		targets[1].Cooldown = untouched
		bubble(t, d, targets, func(t *testing.T, b *bed) {
			for first := range d.held + 1 {
				for second := range len(d.events) - d.cutShort {
					for i, model := range []string{"first", "second"} {
						events := d.stream(model)[:[]int{first, second}[i]]
						b.on(model, func(c *call) {
							wire, _ := chunked(events)
							c.cut(wire, false)
						})
					}
					a := b.ask(true)
					sent := strings.Join(d.stream("second")[:second], "")
					if second <= d.held {
						if a.status != http.StatusBadGateway || strings.Count(a.body, `"reason":"connection"`) != 2 || strings.Contains(a.body, "Hello") {
							t.Errorf("cut after %d and %d events: %d %s", first, second, a.status, a.body)
						}
						continue
					}
					rest, ok := strings.CutPrefix(a.body, sent)
					if d.errorEvent(t, rest); !ok || a.header.Get("X-Bd-Provider-Route-Attempt") != "2" {
						t.Errorf("cut after %d and %d events: %q", first, second, a.body)
					}
				}
			}
		})
	})
}

// An error that the provider itself reports in its stream, after each of its events.
func TestProviderReportsAnErrorAfterEveryEvent(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{Cooldown: untouched}), func(t *testing.T, b *bed) {
			for n := range len(d.events) {
				for _, atOnce := range []bool{true, false} {
					sent := strings.Join(d.stream("first")[:n], "")
					b.on("first", func(c *call) {
						if !atOnce {
							c.say(sent)
							c.pause(1)
							sent = ""
						}
						c.say(sent + c.failed + c.content("first"))
						c.say(d.stream("first")[len(d.events)-1])
					})
					want := sent + d.failed
					a := b.ask(true)
					if n <= d.held {
						b.served(a, true, "second", "1")
					} else if a.body != want || a.broken != nil {
						t.Errorf("broken %v, body %q, want %q", a.broken, a.body, want)
					}
					b.wantVerdict(b.watch.last("first"), decide.Overloaded)
				}
			}
		})
	})
}

// A whole answer, cut at every byte: the caller sees nothing of it.
func TestWholeAnswerCutAtEveryByte(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		t.Run(fmt.Sprintf("Reset=%t", reset), func(t *testing.T) {
			t.Parallel()
			for i := range dialects {
				d := &dialects[i]
				bubble(t, d, pair(node.Mapping{Cooldown: untouched}), func(t *testing.T, b *bed) {
					for _, frame := range []string{"Connection: close\r\n\r\n", fmt.Sprintf("Content-Length: %d\r\n\r\n", len(d.answer("first")))} {
						wire := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + frame + d.answer("first")
						for at := range len(wire) {
							b.on("first", func(c *call) { c.cut(wire[:at], reset) })
							b.served(b.ask(false), false, "second", "1")
							b.wantVerdict(b.watch.last("first"), decide.Connection, decide.BadAnswer)
							if t.Failed() {
								t.Fatalf("cut at byte %d, after %q", at, wire[:at])
							}
						}
					}
				})
			}
		})
	}
}
