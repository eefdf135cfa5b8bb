package gateway_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// across runs a test for every dialect over every other that its targets are asked in.
func across(t *testing.T, targets []node.Mapping, test func(t *testing.T, b *bed)) {
	chat, messages, responses := &dialects[0], &dialects[1], &dialects[2]
	chatOnly := *chat
	chatOnly.family = "groq"
	for _, c := range []struct{ caller, provider *dialect }{{chat, messages}, {messages, chat}, {responses, messages}, {responses, &chatOnly}} {
		t.Run(c.caller.name+"Over"+c.provider.name, func(t *testing.T) {
			t.Parallel()
			bubbleAcross(t, c.caller, c.provider, targets, test)
		})
	}
}

// lasts are the events with which whole streams end, by dialect.
var lasts = map[string]string{"Chat": "data: [DONE]\n\n", "Messages": "event: message_stop\n", "Responses": "event: response.completed\n"}

// words are how the first word of an answer comes, by dialect; a dialect may say it
// again at the end.
var words = map[string]string{"Chat": `"content":"Hello"`, "Messages": `"text":"Hello"`, "Responses": `"delta":"Hello"`}

// wantCrossed checks a stream that is whole, in the caller's dialect.
func (b *bed) wantCrossed(a reply, failovers string) {
	b.t.Helper()
	if a.status != http.StatusOK || a.broken != nil || strings.Count(a.body, words[b.name]) != 1 || strings.Count(a.body, lasts[b.name]) != 1 || strings.Contains(a.body, "error\":{") {
		b.t.Errorf("status %d, broken %v, want a whole stream: %q", a.status, a.broken, a.body)
	}
	if got := a.header.Get("X-Bd-Provider-Failover-Count"); got != failovers {
		b.t.Errorf("failover count %q, want %s", got, failovers)
	}
}

// wantBroken checks a stream that has the answer's first word once and ends in one error
// event of the caller's dialect, with the code.
func (b *bed) wantBroken(a reply, code string) {
	b.t.Helper()
	if a.status != http.StatusOK || a.broken != nil || strings.Count(a.body, words[b.name]) != 1 || strings.Contains(a.body, lasts[b.name]) {
		b.t.Errorf("status %d, broken %v, want a stream that broke: %q", a.status, a.broken, a.body)
	}
	if got := b.codeOf(a); got != code {
		b.t.Errorf("code %q, want %q", got, code)
	}
}

// A stream of another dialect, cut at every byte: before content the caller gets the
// next target's whole answer, after it one error event of its own dialect, and what looks
// whole is whole.
func TestCrossedStreamCutAtEveryByte(t *testing.T) {
	t.Parallel()
	cut := func(t *testing.T, frame func([]string) (string, []int), looksEnded bool) {
		across(t, pair(node.Mapping{Cooldown: untouched}), func(t *testing.T, b *bed) {
			events := b.speaks.stream("first")
			wire, body := frame(events)
			begins := len(strings.Join(events[:b.speaks.held], "")) + len(ends(events[b.speaks.held]))
			stops := len(strings.Join(events[:len(events)-b.speaks.cutShort], ""))
			all := len(ends(strings.Join(events, "")))
			if looksEnded { // then the last event may lack its blank line
				all = len(strings.TrimRight(strings.Join(events, ""), "\r\n"))
			}
			for at := range len(wire) {
				had := 0
				if at > 0 {
					had = body[at-1]
				}
				b.on("first", func(c *call) { c.cut(wire[:at], false) })
				a := b.ask(true)
				switch {
				case had < begins:
					b.wantCrossed(a, "1")
				case had >= all, looksEnded && had >= stops && strings.Contains(a.body, lasts[b.name]):
					b.wantCrossed(a, "0")
				default:
					b.wantBroken(a, "upstream_stream_broken")
					b.wantVerdict(b.watch.last("first"), decide.Connection)
				}
				if t.Failed() {
					t.Fatalf("cut at byte %d, after %q", at, wire[:at])
				}
			}
		})
	}
	t.Run("Chunked", func(t *testing.T) { t.Parallel(); cut(t, chunked, false) })
	t.Run("Unframed", func(t *testing.T) { t.Parallel(); cut(t, unframed, true) })
}

// What comes before content is held back, and comes with it at once; silence before it and
// after it is filled with the caller's keep-alives.
func TestCrossedStreamKeepsTheCallerInformed(t *testing.T) {
	t.Parallel()
	across(t, pair(node.Mapping{}), func(t *testing.T, b *bed) {
		b.on("first", func(c *call) {
			events := c.speaks.stream("first")
			c.say(strings.Join(events[:c.speaks.held], ""))
			c.pause(20 * time.Second)
			c.say(events[c.speaks.held])
			c.pause(40 * time.Second)
			c.say(strings.Join(events[c.speaks.held+1:], ""))
		})
		began := time.Now()
		resp, err := b.open(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		wantTook(t, time.Since(began), 15*time.Second)
		beat := make([]byte, len(b.beat))
		if _, err := io.ReadFull(resp.Body, beat); err != nil || string(beat) != b.beat {
			t.Errorf("%v, %q, want a keep-alive", err, beat)
		}
		first := make([]byte, 16<<10)
		n, err := resp.Body.Read(first)
		if err != nil || !strings.Contains(string(first[:n]), words[b.name]) {
			t.Errorf("%v, the first bytes are %q", err, first[:n])
		}
		wantTook(t, time.Since(began), 20*time.Second)
		rest, err := io.ReadAll(resp.Body)
		body := string(first[:n]) + string(rest)
		b.wantCrossed(reply{resp.StatusCode, resp.Header, body, err, 0}, "0")
		if got := strings.Count(body, b.beat); got != 2 {
			t.Errorf("%d keep-alives, want 2: %q", got, body)
		}
	})
}

// A stream that falls silent costs its idle timeout: before content another target
// answers, after it the caller's error event says so.
func TestCrossedStreamFallsSilent(t *testing.T) {
	t.Parallel()
	across(t, pair(node.Mapping{StreamIdleTimeoutSecs: new(7), Cooldown: untouched}), func(t *testing.T, b *bed) {
		for said, check := range map[int]func(a reply){
			b.speaks.held:     func(a reply) { b.wantCrossed(a, "1") },
			b.speaks.held + 1: func(a reply) { b.wantBroken(a, "upstream_stream_timeout") },
		} {
			b.on("first", func(c *call) {
				c.say(strings.Join(c.speaks.stream("first")[:said], ""))
				c.hang()
			})
			a := b.ask(true)
			check(a)
			b.wantVerdict(b.watch.last("first"), decide.Timeout)
			if took := a.took.Truncate(time.Second); took != 7*time.Second {
				t.Errorf("took %v", a.took)
			}
		}
	})
}

// An event that makes no sense is no answer: before content another target answers,
// after it the stream ends as broken.
func TestCrossedStreamIsGarbled(t *testing.T) {
	t.Parallel()
	across(t, pair(node.Mapping{Cooldown: untouched}), func(t *testing.T, b *bed) {
		for said, check := range map[int]func(a reply){
			b.speaks.held:     func(a reply) { b.wantCrossed(a, "1") },
			b.speaks.held + 1: func(a reply) { b.wantBroken(a, "upstream_stream_broken") },
		} {
			for _, atOnce := range []bool{true, false} {
				b.on("first", func(c *call) {
					events := strings.Join(c.speaks.stream("first")[:said], "")
					if !atOnce {
						c.say(events)
						c.pause(1)
						events = ""
					}
					c.say(events + "data: {\"half\n\n")
					c.say(strings.Join(c.speaks.stream("first")[said:], ""))
				})
				check(b.ask(true))
				b.wantVerdict(b.watch.last("first"), decide.BadAnswer)
			}
		}
	})
}

// An error that the provider reports in its stream is told in its own words.
func TestCrossedStreamReportsAnError(t *testing.T) {
	t.Parallel()
	across(t, pair(node.Mapping{Cooldown: untouched}), func(t *testing.T, b *bed) {
		for n := range len(b.speaks.events) - b.speaks.cutShort {
			b.on("first", func(c *call) {
				c.say(strings.Join(c.speaks.stream("first")[:n], "") + c.speaks.failed + c.speaks.content("first"))
			})
			a := b.ask(true)
			if n <= b.speaks.held {
				b.wantCrossed(a, "1")
			} else if b.wantBroken(a, b.codeOf(a)); !strings.Contains(strings.ToLower(a.body), "overloaded") {
				t.Errorf("not the provider's words: %q", a.body)
			}
			b.wantVerdict(b.watch.last("first"), decide.Overloaded)
		}
	})
}

// An error event that finds the request itself at fault is told at once, in the caller's
// dialect: no other target could do better.
func TestCrossedStreamRefusesTheRequest(t *testing.T) {
	t.Parallel()
	refusals := map[string]string{
		"Chat":     `data: {"error":{"message":"Too long","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		"Messages": "event: error\n" + `data: {"type":"error","error":{"type":"invalid_request_error","message":"Too long","details":{"error_code":"context_length_exceeded"}}}`,
	}
	across(t, pair(node.Mapping{}), func(t *testing.T, b *bed) {
		b.on("first", func(c *call) {
			c.say(strings.Join(c.speaks.lifecycle("first"), "") + refusals[c.speaks.name] + "\n\n")
		})
		a := b.ask(true)
		b.codeOf(a)
		b.wantVerdict(b.watch.last("first"), decide.BadRequest)
		if a.status != http.StatusOK || a.broken != nil || !strings.Contains(a.body, "Too long") || len(b.asked("second")) > 0 {
			t.Errorf("status %d, broken %v, %d more asked: %q", a.status, a.broken, len(b.asked("second")), a.body)
		}
	})
}

// codeOf is the code of the error event at a stream's end.
func (b *bed) codeOf(a reply) string {
	events := strings.SplitAfter(strings.TrimSuffix(a.body, "\n\n"), "\n\n")
	return b.errorEvent(b.t, events[len(events)-1]+"\n\n")
}

// A 200 in another dialect than the one asked in is no answer.
func TestCrossedAnswerOfAnotherDialect(t *testing.T) {
	t.Parallel()
	across(t, pair(node.Mapping{}), func(t *testing.T, b *bed) {
		b.on("first", func(c *call) { c.say(c.answer("first")) })
		a := b.ask(false)
		if a.status != http.StatusOK || !strings.Contains(a.body, "Hello world") || a.header.Get("X-Bd-Provider-Failover-Count") != "1" {
			t.Errorf("status %d: %s", a.status, a.body)
		}
		wantTold(t, b, "first", decide.BadAnswer)
	})
}

// A request that cannot be translated takes none of the few probes of a target that
// recovers.
func TestWhatCannotCrossIsNoProbe(t *testing.T) {
	t.Parallel()
	bubbleAcross(t, &dialects[0], &dialects[1], []node.Mapping{{UpstreamModel: "only"}}, func(t *testing.T, b *bed) {
		b.on("only", func(c *call) { c.refuse(http.StatusTooManyRequests, "Retry-After", "1") })
		b.ask(false)
		b.on("only", nil)
		time.Sleep(2 * time.Second) // of the bubble
		for range 5 {
			body := strings.Replace(b.body("r", false), "{", `{"n":2,`, 1)
			if status := b.status(http.MethodPost, b.path, body); status != http.StatusBadRequest {
				t.Errorf("status %d, want 400", status)
			}
		}
		if a := b.ask(false); a.status != http.StatusOK {
			t.Errorf("the target was not asked: %d %s", a.status, a.body)
		}
		wantTold(t, b, "only", decide.RateLimited, decide.Succeeded)
	})
}

// A provider's signs of life count as such in every dialect, and a silence between two of
// them is no silence of the model's.
func TestCrossedPingsAreLiveness(t *testing.T) {
	t.Parallel()
	across(t, pair(node.Mapping{StreamIdleTimeoutSecs: new(7), Cooldown: untouched}), func(t *testing.T, b *bed) {
		b.on("first", func(c *call) {
			events := c.speaks.stream("first")
			for n, e := range events {
				c.say(e)
				if n >= c.speaks.held-1 && n <= c.speaks.held+1 {
					for range 4 {
						c.pause(5 * time.Second)
						c.say(c.speaks.ping)
					}
				}
			}
		})
		a := b.ask(true)
		b.wantCrossed(a, "0")
		wantTook(t, a.took, 60*time.Second)
	})
}

// A stream that comes byte by byte is the stream that came at once, usage included.
func TestCrossedStreamInSingleBytes(t *testing.T) {
	t.Parallel()
	across(t, pair(node.Mapping{}), func(t *testing.T, b *bed) {
		atOnce := b.ask(true)
		b.on("first", func(c *call) {
			for _, one := range []byte(strings.Join(c.speaks.stream("first"), "")) {
				c.say(string(one))
			}
		})
		a := b.ask(true)
		b.wantCrossed(a, "0")
		if same(a.body) != same(atOnce.body) {
			t.Errorf("byte by byte: %q\nat once: %q", a.body, atOnce.body)
		}
	})
}

// ids are what differs from one request to the next.
var ids = regexp.MustCompile(`req_\w+`)

func same(body string) string { return ids.ReplaceAllString(body, "req") }
