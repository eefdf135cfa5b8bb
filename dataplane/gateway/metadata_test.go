package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/api/node"
)

// told are the attempts in an error of the gateway's own envelope, as "position outcome
// reason status", wherever the dialect has its error.
func told(t *testing.T, text string) (attempts []string) {
	t.Helper()
	_, data, _ := strings.Cut(text, "{")
	type failure struct {
		Metadata map[string][]struct {
			Position        int
			Outcome, Reason string
			Status          int
		}
	}
	var said struct {
		Error    failure
		Response struct{ Error failure }
	}
	if err := json.Unmarshal([]byte("{"+strings.TrimSpace(data)), &said); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	for _, f := range []failure{said.Error, said.Response.Error} {
		for key, list := range f.Metadata {
			if key != "attempts" {
				t.Errorf("metadata of somebody else's, %s: %s", key, text)
			}
			for _, a := range list {
				attempts = append(attempts, fmt.Sprint(a.Position, " ", a.Outcome, " ", a.Reason, " ", a.Status))
			}
		}
	}
	return attempts
}

// A provider's refusal that is written anew says what was tried before it, and nothing of
// what the provider had as metadata; one that is passed on is left as it came.
func TestRefusalsTellOfAttempts(t *testing.T) {
	t.Parallel()
	const foreign = `{"error":{"code":400,"message":"no such voice","metadata":{"provider_name":"X"}},"user_id":"u"}`
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			b.on("first", func(c *call) { c.refuse(503) })
			b.on("second", as(400, jsonType, foreign))
			a := b.ask(stream)
			wantEnvelope(t, d, a.body)
			if diff := cmp.Diff([]string{"1 failed server_error 503", "2 failed invalid_request 400"}, told(t, a.body)); diff != "" || a.status != 400 {
				t.Errorf("status %d (-want +got):\n%s", a.status, diff)
			}
			own := `{"type":"error","error":{"type":"invalid_request_error","message":"no","code":null,"param":null,"metadata":{"x":1}}}`
			b.on("second", as(400, jsonType, own))
			if a := b.ask(stream); a.body != own {
				t.Errorf("an error of the dialect's own did not come as it was: %s", a.body)
			}
		})
	})
}

// A stream that breaks after content says what was tried, whether the provider tells of an
// error in a shape of its own or just breaks off.
func TestBrokenStreamsTellOfAttempts(t *testing.T) {
	t.Parallel()
	streams(t, func(t *testing.T, d *dialect) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			good := strings.Join(b.lifecycle("second"), "") + b.content("second")
			b.on("first", func(c *call) { c.refuse(503) })
			b.on("second", func(c *call) { c.say(good) })
			rest, _ := strings.CutPrefix(b.ask(true).body, good)
			if diff := cmp.Diff([]string{"1 failed server_error 503", "2 failed connection 200"}, told(t, rest)); diff != "" {
				t.Errorf("broken off (-want +got):\n%s", diff)
			}
			b.on("second", func(c *call) {
				c.say(good + map[string]string{"Chat": "data: ", "Messages": "event: error\ndata: ", "Responses": "event: error\ndata: "}[d.name] +
					`{"type":"error","object":"error","message":"Overloaded","metadata":{"x":["y"]}}` + "\n\n")
			})
			rest, _ = strings.CutPrefix(b.ask(true).body, good)
			if i := strings.Index(rest, "event: response.failed"); i > 0 {
				rest = rest[i:] // after OpenAI's own event, which is none of the gateway's
			}
			if diff := cmp.Diff([]string{"1 failed server_error 503", "2 failed server_error 200"}, told(t, rest)); diff != "" {
				t.Errorf("failed: %s (-want +got):\n%s", rest, diff)
			}
		})
	})
}

// The same of a stream that is translated.
func TestBrokenTranslationsTellOfAttempts(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"BrokenOff": false, "Failed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			across(t, pair(node.Mapping{}), func(t *testing.T, b *bed) {
				said, last := strings.Join(b.speaks.lifecycle("second"), "")+b.speaks.content("second"), "2 failed connection 200"
				if fails {
					said, last = said+b.speaks.failed, "2 failed overloaded 200"
				}
				b.on("first", func(c *call) { c.refuse(503) })
				b.on("second", func(c *call) { c.say(said) })
				body := b.ask(true).body
				i := max(strings.Index(body, "event: error"), strings.Index(body, "event: response.failed"), strings.LastIndex(body, "data: {\"error"))
				if i < 0 {
					t.Fatalf("no error event: %s", body)
				}
				if diff := cmp.Diff([]string{"1 failed server_error 503", last}, told(t, body[i:])); diff != "" {
					t.Errorf("%s (-want +got):\n%s", body[i:], diff)
				}
			})
		})
	}
}
