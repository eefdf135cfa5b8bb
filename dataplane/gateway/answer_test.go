package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// as answers with any status, type and body.
func as(status int, kind, body string) script {
	return func(c *call) {
		c.w.Header().Set("Content-Type", kind)
		c.w.WriteHeader(status)
		_, _ = io.WriteString(c.w, body)
	}
}

const (
	jsonType  = "application/json"
	eventType = "text/event-stream"
	overload  = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
)

// A 200 that is no answer fails over, and is judged by what it says.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer func(d *dialect) script
		want   decide.Class
		ways   string // "whole", "stream" or both
	}{
		{"HTML", func(*dialect) script { return as(200, "text/html", "<html>Welcome</html>") }, decide.BadAnswer, ""},
		{"Empty", func(*dialect) script { return as(200, jsonType, "") }, decide.BadAnswer, ""},
		{"Malformed", func(*dialect) script { return as(200, jsonType, `{"id":"x","choices":[`) }, decide.BadAnswer, ""},
		{"NothingInIt", func(*dialect) script { return as(200, jsonType, `{"id":"x","choices":[]}`) }, decide.BadAnswer, ""},
		{"MoreAfterIt", func(d *dialect) script { return as(200, jsonType, d.answer("first")+"{") }, decide.BadAnswer, ""},
		{"ErrorInside", func(*dialect) script { return as(200, jsonType, overload) }, decide.Overloaded, ""},
		{"Redirect", func(d *dialect) script { return as(302, jsonType, d.answer("first")) }, decide.BadAnswer, ""},
		{"StreamUnasked", func(d *dialect) script { return as(200, eventType, d.good("first", true)) }, decide.BadAnswer, "whole"},
		{"NoStream", func(d *dialect) script { return as(200, jsonType, d.answer("first")) }, decide.BadAnswer, "stream"},
		{"EmptyStream", func(*dialect) script { return as(200, eventType, "") }, decide.Connection, "stream"},
		{"Garbled", func(*dialect) script { return as(200, eventType, "data: {\"id\": \n\n") }, decide.BadAnswer, "stream"},
		{"OnlyTheEnd", func(d *dialect) script { return as(200, eventType, d.events[len(d.events)-1]) }, decide.BadAnswer, "end"},
		{"OnlyTheEndCutShort", func(d *dialect) script {
			return as(200, eventType, strings.TrimRight(d.events[len(d.events)-1], "\n"))
		}, decide.Connection, "end"},
		{"EndBeforeContent", func(d *dialect) script {
			return as(200, eventType, strings.Join(d.lifecycle("first"), "")+d.events[len(d.events)-1])
		}, decide.BadAnswer, "end"},
		{"ErrorFirst", func(d *dialect) script { return as(200, eventType, d.failed) }, decide.Overloaded, "stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kinds := map[string][]bool{"whole": {false}, "stream": {true}, "end": {true}}[c.ways]
			if kinds == nil {
				kinds = []bool{false, true}
			}
			asked(t, kinds, func(t *testing.T, d *dialect, stream bool) {
				if c.ways == "end" && d.name == "Responses" {
					return // whose end holds all of the answer
				}
				bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
					b.on("first", c.answer(d))
					a := b.ask(stream)
					b.served(a, stream, "second", "1")
					wantTook(t, a.took, 0)
					wantTold(t, b, "first", c.want)
				})
			})
		})
	}
}

// A refusal of the caller's request is passed on as the provider said it, and nobody
// else is asked.
func TestRefusalIsPassedOn(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, []node.Mapping{{UpstreamModel: "zeroth"}, {UpstreamModel: "first"}, {UpstreamModel: "second"}}, func(t *testing.T, b *bed) {
			b.on("zeroth", failing(http.StatusInternalServerError))
			said := `{"error":{"message":"prompt is too long: 5 tokens > 4 maximum","type":"invalid_request_error"}} `
			if d.name == "Messages" {
				said = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 5 tokens > 4 maximum"}} `
			}
			b.on("first", func(c *call) {
				c.w.Header().Set("Request-Id", "theirs")
				c.w.Header().Set("Set-Cookie", "secret")
				as(http.StatusUnprocessableEntity, jsonType, said)(c)
			})
			a := b.ask(stream)
			if a.status != http.StatusUnprocessableEntity || a.body != said || a.broken != nil {
				t.Errorf("%d %q %v", a.status, a.body, a.broken)
			}
			for name, want := range map[string]string{
				"X-Bd-Error-Origin": "provider", "X-Bd-Provider-Failover-Count": "1", "X-Bd-Provider-Route-Count": "3", "X-Bd-Provider-Route-Attempt": "",
				"Request-Id": "theirs", "X-Request-Id": a.header.Get("X-Bd-Request-Id"), "Set-Cookie": "", "Content-Type": jsonType,
			} {
				if got := a.header.Get(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
			wantTold(t, b, "first", decide.BadRequest)
			wantTold(t, b, "second")
		})
	})
}

// What every answer's headers say.
func TestHeadersOfAnAnswer(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			b.on("first", failing(http.StatusServiceUnavailable))
			a := b.ask(stream)
			cache := ""
			if stream {
				cache = "no-cache"
			}
			for name, want := range map[string]string{
				"X-Bd-Provider-Route-Attempt": "2", "X-Bd-Provider-Route-Count": "2", "X-Bd-Provider-Failover-Count": "1", "X-Bd-Error-Origin": "", "Cache-Control": cache,
			} {
				if got := a.header.Get(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
			if a.header.Get("X-Bd-Request-Id") == "" || !strings.HasPrefix(a.header.Get("Content-Type"), map[bool]string{false: jsonType, true: eventType}[stream]) {
				t.Errorf("%v", a.header)
			}
		})
	})
}

// Events reach the caller as they come, not when the answer is done.
func TestEventsAreForwardedAtOnce(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			events := d.stream("first")
			b.on("first", func(c *call) {
				for _, e := range events {
					c.say(e)
					c.pause(time.Second)
				}
			})
			began := time.Now()
			resp, err := b.open(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			wantTook(t, time.Since(began), time.Duration(d.held)*time.Second)
			// What was held back comes with the first content, then each event in its second.
			events = append([]string{strings.Join(events[:d.held+1], "")}, events[d.held+1:]...)
			for i, want := range events {
				got := make([]byte, len(want))
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
					t.Fatalf("%v, %q, want %q", err, got, want)
				}
				wantTook(t, time.Since(began), time.Duration(d.held+i)*time.Second)
			}
		})
	})
}

// A provider that keeps the connection open after the end of its answer delays nobody,
// and its connection is used again where it does not.
func TestAfterTheEndOfAStream(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			b.on("first", func(c *call) {
				c.say(c.good("first", true))
				c.hang()
			})
			a := b.ask(true)
			b.served(a, true, "first", "0")
			if a.took > 50*time.Millisecond {
				t.Errorf("took %v", a.took)
			}
			wantTold(t, b, "first", decide.Succeeded)
			b.on("first", func(c *call) {
				c.say(c.good("first", true))
				c.pause(10 * time.Millisecond)
			})
			b.ask(true)
			dials := b.dials.Load()
			for range 10 {
				b.ask(true)
			}
			if got := b.dials.Load() - dials; got != 0 {
				t.Errorf("%d new connections for streams that ended well", got)
			}
		})
	})
}

// The only target cooling down is an error at once, with how long to wait.
func TestOnlyTargetCoolsDown(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, []node.Mapping{{UpstreamModel: "first"}}, func(t *testing.T, b *bed) {
			b.on("first", failing(http.StatusTooManyRequests, "Retry-After", "40"))
			for i, want := range []string{"40", "30"} {
				a := b.ask(stream)
				if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != want {
					t.Errorf("%d, Retry-After %q, want 429 and %s", a.status, a.header.Get("Retry-After"), want)
				}
				if got, want := a.header.Get("X-Bd-Error-Origin"), []string{"provider", "gateway"}[i]; got != want {
					t.Errorf("origin %q, want %s", got, want)
				}
				wantTook(t, a.took, 0)
				time.Sleep(10*time.Second + time.Nanosecond)
			}
			if n := len(b.asked("first")); n != 1 {
				t.Errorf("asked %d times, want once", n)
			}
		})
	})
}

// A stream that comes byte by byte is forwarded whole, and as it is.
func TestStreamInSingleBytes(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			b.on("first", func(c *call) {
				for _, one := range []byte(c.good("first", true)) {
					c.say(string(one))
				}
			})
			b.served(b.ask(true), true, "first", "0")
		})
	})
}
