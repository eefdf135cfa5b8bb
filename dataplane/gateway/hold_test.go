package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// held lets a model say that it begins, and no more for so long.
func held(d time.Duration, then func(c *call)) script {
	return func(c *call) {
		c.say(strings.Join(c.speaks.stream(c.model)[:c.speaks.held], ""))
		if c.pause(d) {
			then(c)
		}
	}
}

// whole is the stream after what held says.
func whole(c *call) { c.say(strings.Join(c.speaks.stream(c.model)[c.speaks.held:], "")) }

// eachStream runs a test for the streams of every dialect, from a provider of the same and
// of another.
func eachStream(t *testing.T, test func(t *testing.T, b *bed)) {
	streams(t, func(t *testing.T, d *dialect) { bubble(t, d, pair(node.Mapping{}), test) })
	across(t, pair(node.Mapping{}), test)
}

// beats takes the keep-alives off the front of a stream.
func (d *dialect) beats(body string) (n int, rest string) {
	for strings.HasPrefix(body, d.beat) {
		n, body = n+1, body[len(d.beat):]
	}
	return n, body
}

// A caller who is kept waiting may still be served by another target: it hears of both
// waits, and the second's answer is whole.
func TestFailoverAfterKeepAlives(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *testing.T, b *bed) {
		b.on("first", held(40*time.Second, func(c *call) { c.say(c.speaks.failed) }))
		b.on("second", func(c *call) {
			c.pause(40 * time.Second)
			held(time.Second, whole)(c)
		})
		a := b.ask(true)
		wantTook(t, a.took, 81*time.Second)
		n, rest := b.beats(a.body)
		if n != 5 || strings.Contains(rest, b.beat) {
			t.Errorf("%d keep-alives, then %q", n, rest)
		}
		b.wantCrossed(reply{a.status, a.header, rest, a.broken, a.took}, "0")
		if b.dialect == b.speaks && rest != b.good("second", true) {
			t.Errorf("%q", rest)
		}
		// The header went out with the first keep-alive.
		if got := a.header.Get("X-Bd-Provider-Route-Attempt") + a.header.Get("X-Bd-Provider-Failover-Count"); got != "10" {
			t.Errorf("attempt and failovers %s, want 1 and 0", got)
		}
		wantTold(t, b, "first", decide.Overloaded)
		wantTold(t, b, "second", decide.Succeeded)
		b.wantMetrics("spillway_requests_in_flight{} 0\nspillway_streams_open{} 0", "spillway_requests_in_flight", "spillway_streams_open")
	})
}

// Where nobody serves a caller who was kept waiting, the stream ends in the dialect's error
// event, with all that happened; and so it does with a refusal of the provider's.
func TestFailureAfterKeepAlives(t *testing.T) {
	t.Parallel()
	ends := []struct {
		name, want string
		second     script
	}{
		{"NobodyServed", "every target", func(c *call) { c.refuse(http.StatusInternalServerError) }},
		{"Refused", "too long for me", func(c *call) {
			as(http.StatusBadRequest, jsonType, `{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long for me"}}`)(c)
		}},
	}
	for _, end := range ends {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			eachStream(t, func(t *testing.T, b *bed) {
				b.on("first", held(20*time.Second, func(c *call) { c.cut("", false) }))
				b.on("second", end.second)
				a := b.ask(true)
				n, rest := b.beats(a.body)
				if a.status != http.StatusOK || a.broken != nil || n != 1 || !strings.Contains(rest, end.want) || !strings.Contains(rest, `"attempts":[{"position":1,`) {
					t.Errorf("status %d, broken %v, %d keep-alives, then %q", a.status, a.broken, n, rest)
				}
				b.errorEvent(t, rest)
			})
		})
	}
}

// A failure before the first keep-alive is a plain error, whatever was held back: and what
// is told of it comes with its status.
func TestFailureBeforeKeepAlivesIsAPlainError(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *testing.T, b *bed) {
		b.on("first", held(15*time.Second-time.Nanosecond, func(c *call) { c.say(c.speaks.failed) }))
		b.on("second", func(c *call) { // nothing is held back: there is nothing to hear
			c.pause(time.Minute)
			c.refuse(http.StatusInternalServerError)
		})
		a := b.ask(true)
		if a.status != http.StatusBadGateway || a.header.Get("X-Bd-Error-Origin") != "provider" || !strings.Contains(a.body, `"attempts"`) || strings.Contains(a.body, b.beat) {
			t.Errorf("status %d, %v: %s", a.status, a.header, a.body)
		}
	})
}

// A caller who was kept waiting and leaves is told of once, as one who had a stream.
func TestCallerLeavesAfterKeepAlives(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *testing.T, b *bed) {
		b.on("first", held(time.Hour, whole))
		b.leave(true, 40*time.Second)
		synctest.Wait()
		wantTold(t, b, "first", decide.Canceled)
		wantTold(t, b, "second")
		b.wantMetrics(`spillway_requests_in_flight{} 0
				spillway_requests_total{status=2xx,surface=`+surfaceOf[b.name]+`} 1
				spillway_streams_open{} 0`, "spillway_requests_in_flight", "spillway_requests_total", "spillway_streams_open")
	})
}
