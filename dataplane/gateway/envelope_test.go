package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/api/node"
)

// refusals are how providers say no in shapes of their own: words is what callers must be
// able to read.
var refusals = map[string]struct {
	status      int
	body, words string
}{
	"Google":       {400, `{"error":{"code":400,"message":"Invalid value at 'messages'","status":"INVALID_ARGUMENT"}}`, "Invalid value at 'messages'"},
	"GoogleList":   {400, `[{"error":{"code":400,"message":"Unknown name \"x\"","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest"}]}}]`, `Unknown name \"x\"`},
	"Azure":        {400, `{"error":{"code":"BadRequest","message":"Unsupported data type"}}`, "Unsupported data type"},
	"Mistral":      {422, `{"object":"error","message":"Invalid model parameter","type":"invalid_request_error","param":null,"code":"1500"}`, "Invalid model parameter"},
	"MistralField": {422, `{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required","input":{}},{"type":"x","loc":["body","n"],"msg":"Too large"}]}`, "Field required; Too large"},
	"Detail":       {400, `{"detail":"no such thing"}`, "no such thing"},
	"AWS":          {400, `{"message":"Malformed input request"}`, "Malformed input request"},
	"Cohere":       {400, `{"id":"1","message":"invalid request: messages must not be empty"}`, "messages must not be empty"},
	"OpenRouter":   {400, `{"error":{"code":400,"message":"Provider returned error","metadata":{"provider_name":"X"}},"user_id":"u"}`, "Provider returned error"},
	"Text":         {400, `{"error":"model is required"}`, "model is required"},
	"Plain":        {413, `payload too large`, "payload too large"},
	"Page":         {400, `<html><body>Bad Request</body></html>`, "without saying why"},
	"Nothing":      {400, ``, "without saying why"},
}

// Whatever shape a provider refuses in, the caller gets its own dialect's envelope with the
// provider's words.
func TestRefusalsComeInTheCallersEnvelope(t *testing.T) {
	t.Parallel()
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, d *dialect, stream bool) {
				bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
					b.on("first", as(c.status, "text/plain; charset=utf-8", c.body))
					a := b.ask(stream)
					if a.status != c.status || a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Bd-Error-Origin") != "provider" || !strings.Contains(a.body, c.words) {
						t.Errorf("%d %v: %s", a.status, a.header, a.body)
					}
					wantEnvelope(t, d, a.body)
				})
			})
		})
	}
}

// wantEnvelope checks that a body is a whole error of the dialect.
func wantEnvelope(t *testing.T, d *dialect, body string) {
	t.Helper()
	var said struct {
		Type      string
		RequestID string `json:"request_id"`
		Error     struct {
			Message, Type string
			Code, Param   *string
		}
	}
	if err := json.Unmarshal([]byte(body), &said); err != nil || said.Error.Message == "" || said.Error.Type == "" {
		t.Errorf("not an error of the dialect (%v): %s", err, body)
	}
	if d.name == "Messages" && (said.Type != "error" || said.RequestID == "") {
		t.Errorf("not Anthropic's envelope: %s", body)
	}
}

// A refusal under a 200 that another target would repeat gets the status it stands for:
// SDKs take a 200 for an answer.
func TestRefusalUnderA200GetsAStatus(t *testing.T) {
	t.Parallel()
	const said = `{"error":{"message":"the prompt is too long","type":"invalid_request_error","code":"context_length_exceeded"}}`
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
			b.on("first", as(http.StatusOK, jsonType, said))
			a := b.ask(stream)
			if a.status != 400 || !strings.Contains(a.body, "the prompt is too long") {
				t.Errorf("%d: %s", a.status, a.body)
			}
			wantEnvelope(t, d, a.body)
		})
	})
}

// An error inside a chat stream in a shape that no SDK reads ends the stream in one that
// they do, once content has come; before it, another target answers.
func TestForeignErrorsInAChatStream(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]string{
		"GoogleList":   `[{"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}]`,
		"Mistral":      `{"object":"error","message":"The model is overloaded","type":"service_unavailable","code":"3505"}`,
		"Cohere":       `{"id":"1","message":"The model is overloaded"}`,
		"FinishReason": `{"id":"g","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"The model is overloaded"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &dialects[0] // chat
			bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
				good := strings.Join(d.lifecycle("first"), "") + d.content("first")
				b.on("first", func(c *call) { c.say(good + "data: " + said + "\n\n") })
				a := b.ask(true)
				rest, whole := strings.CutPrefix(a.body, good)
				if !whole || strings.Contains(rest, "[DONE]") || strings.Count(rest, "data: ") != 1 || !strings.Contains(rest, "The model is overloaded") {
					t.Errorf("got %s", a.body)
				}
				wantEnvelope(t, d, strings.TrimPrefix(strings.TrimSpace(rest), "data: "))
				if n := len(b.asked("second")); n != 0 {
					t.Errorf("another was asked %d times after content", n)
				}
			})
			bubble(t, d, pair(node.Mapping{}), func(t *testing.T, b *bed) {
				b.on("first", func(c *call) { c.say(strings.Join(d.lifecycle("first"), "") + "data: " + said + "\n\n") })
				b.served(b.ask(true), true, "second", "1")
			})
		})
	}
}
