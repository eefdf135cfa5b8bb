package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// recorded is a stream as OpenAI sends it.
var recorded = strings.Join([]string{
	`event: response.created` + "\n" + `data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_7","object":"response","created_at":1764504000,"status":"in_progress","error":null,"model":"m","output":[]}}`,
	`event: response.in_progress` + "\n" + `data: {"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_7","status":"in_progress","output":[]}}`,
	`event: response.output_item.added` + "\n" + `data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}`,
	`event: response.content_part.added` + "\n" + `data: {"type":"response.content_part.added","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":""}}`,
	`event: response.output_text.delta` + "\n" + `data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","delta":"Alpha"}`,
	`event: response.output_text.delta` + "\n" + `data: {"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_1","delta":" omega"}`,
	`event: response.output_text.done` + "\n" + `data: {"type":"response.output_text.done","sequence_number":6,"item_id":"msg_1","text":"(all)"}`,
	`event: response.output_item.done` + "\n" + `data: {"type":"response.output_item.done","sequence_number":7,"item":{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"(all)"}]}}`,
	`event: response.completed` + "\n" + `data: {"type":"response.completed","sequence_number":8,"response":{"id":"resp_7","status":"completed","output":[{"type":"message"}],"usage":{"output_tokens":2}}}`,
	"",
}, "\n\n")

// streams serves what a model's target sends, by the model's name.
func streams(t *testing.T, bodies map[string]string) (*Handler, string) {
	t.Helper()
	return setup(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for model, body := range bodies {
			if strings.Contains(string(asked), `"model":"`+model+`"`) {
				_, _ = w.Write([]byte(body))
			}
		}
	}), "first", "second")
}

func ask(h *Handler, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const streamed = `{"model":"r","stream":true,"input":"hi"}`

// A recorded stream cut at any byte: another target answers, or the stream ends as
// failed. It never just ends, and no text comes twice.
func TestResponseCutAtEveryByte(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{"second": recorded}
	h, key := streams(t, bodies)
	begins := strings.Index(recorded, "event: response.output_text.delta")
	begins += strings.Index(recorded[begins:], "\n\n") + 2
	for at := range len(recorded) - 1 { // the last byte is a blank line's that may lack
		bodies["first"] = recorded[:at]
		w := ask(h, key, streamed)
		text := w.Body.String()
		served := w.Header().Get("X-Bd-Provider-Route-Attempt")
		if at < begins && (served != "2" || text != recorded) {
			t.Fatalf("cut at %d, before content: attempt %s: %s", at, served, text)
		}
		done, failed := strings.Count(text, "event: response.completed\n"), strings.Count(text, "event: response.failed\n")
		if w.Code != 200 || done+failed != 1 || !strings.HasSuffix(text, "\n\n") || strings.Count(text, "Alpha") != 1 || strings.Count(text, " omega") > 1 {
			t.Fatalf("cut at %d: status %d, %d completed, %d failed: %s", at, w.Code, done, failed, text)
		}
		if at >= begins {
			checkFailed(t, at, text)
		}
	}
}

// checkFailed checks the end of a stream that broke: numbered after what came.
func checkFailed(t *testing.T, at int, text string) {
	t.Helper()
	came, end, found := strings.Cut(text, "event: response.failed\n")
	if !found { // whole but for its blank line
		return
	}
	want := fmt.Sprintf(`"sequence_number":%d,`, strings.Count(came, "\n\n"))
	if !strings.Contains(end, want) || !strings.Contains(end, `"id":"resp_7"`) || !strings.Contains(end, `"code":"upstream_stream_broken"`) {
		t.Fatalf("cut at %d: want %s in the end: %s", at, want, end)
	}
}

func event(kind, rest string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + rest + "}\n\n"
}

var (
	created  = event("response.created", `,"sequence_number":0,"response":{"id":"resp_9","error":null,"output":[]}`)
	delta    = event("response.output_text.delta", `,"sequence_number":1,"delta":"Beta"`)
	overload = event("response.failed", `,"sequence_number":2,"response":{"id":"resp_9","status":"failed","error":{"code":"server_is_overloaded","message":"at capacity"}}`)
	tooLong  = event("response.failed", `,"sequence_number":1,"response":{"id":"resp_9","status":"failed","error":{"code":"context_length_exceeded","message":"too long"}}`)
	errEvent = event("error", `,"sequence_number":2,"code":"server_error","message":"sorry"`)
)

func TestResponseFailsInItsStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first   string
		attempt string
		want    string // the whole stream, or where it ends in "...", its beginning
	}{
		"OverloadedBeforeContent": {created + overload, "2", recorded},
		"ErrorBeforeContent":      {created + errEvent, "2", recorded},
		"ErrorFirst":              {errEvent, "2", recorded},
		"OverloadedAfterContent":  {created + delta + overload, "1", created + delta + overload},
		"NothingAfterFailed":      {created + delta + overload + delta, "1", created + delta + overload},
		"ErrorAfterContent":       {created + delta + errEvent, "1", created + delta + errEvent + "event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":3,\"response\":{\"id\":\"resp_9\"..."},
		// Another target would say the same, and the tool goes on by the code.
		"RequestAtFault": {created + tooLong, "1", created + tooLong},
		"OnlyItsEnd":     {event("response.completed", `,"response":{"output":[{"type":"message"}]}`), "1", event("response.completed", `,"response":{"output":[{"type":"message"}]}`)},
		"Incomplete":     {created + event("response.incomplete", `,"response":{"output":[]}`), "1", created + event("response.incomplete", `,"response":{"output":[]}`)},
		"GarbledEnd":     {created + "event: response.completed\ndata: {\"type\n\n", "2", recorded},
		"OfAnotherKind":  {"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\ndata: [DONE]\n\n", "2", recorded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, key := streams(t, map[string]string{"first": c.first, "second": recorded})
			w := ask(h, key, streamed)
			text := w.Body.String()
			beginning, open := strings.CutSuffix(c.want, "...")
			if w.Code != 200 || w.Header().Get("X-Bd-Provider-Route-Attempt") != c.attempt || !open && text != c.want || !strings.HasPrefix(text, beginning) {
				t.Errorf("status %d, attempt %s: got\n%s\nwant\n%s", w.Code, w.Header().Get("X-Bd-Provider-Route-Attempt"), text, c.want)
			}
		})
	}
}

// An error under a 200 that another target would repeat comes back as it is.
func TestRequestAtFaultUnderA200(t *testing.T) {
	t.Parallel()
	const body = `{"id":"resp_1","status":"failed","error":{"code":"invalid_prompt","message":"m"},"output":[]}`
	h, key := setup(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }), "first", "second")
	w := ask(h, key, `{"model":"r","input":"hi"}`)
	if w.Code != 200 || w.Body.String() != body || w.Header().Get("X-Bd-Error-Origin") != "provider" || w.Header().Get("X-Bd-Provider-Failover-Count") != "0" {
		t.Errorf("status %d, headers %v: %s", w.Code, w.Header(), w.Body)
	}
}

// Codex asks for a WebSocket first, and falls back at once on this answer only.
func TestWebSocketIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	h, _ := streams(t, nil)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, path := range []string{"/v1/responses", "/api/llm-gateway/v1/responses"} {
			r := httptest.NewRequest(method, path, nil) // not even a key is asked for
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "WebSocket")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusUpgradeRequired || w.Header().Get("Upgrade") == "" || w.Header().Get("Connection") != "Upgrade" || !strings.Contains(w.Body.String(), `"code":"websocket_not_supported"`) {
				t.Errorf("%s %s: status %d, headers %v: %s", method, path, w.Code, w.Header(), w.Body)
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/responses", nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET without an upgrade: status %d", w.Code)
	}
}

// What is passed on of one request is not overwritten by the next: buffers are shared.
func TestRefusalsUnderA200AreNotMixedUp(t *testing.T) {
	t.Parallel()
	answer := func(mark string) string {
		return `{"error":{"type":"invalid_request_error","code":"invalid_prompt","message":"` + strings.Repeat(mark, 200_000) + `"}}`
	}
	h, key := setup(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		_, mark, _ := strings.Cut(string(asked), `"input":"`)
		_, _ = w.Write([]byte(answer(mark[:1])))
	}), "first")
	var running sync.WaitGroup
	for _, mark := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		running.Go(func() {
			for range 40 {
				if got := ask(h, key, `{"model":"r","input":"`+mark+`"}`).Body.String(); got != answer(mark) {
					t.Errorf("%s got another's answer: %.60s", mark, got)
					return
				}
			}
		})
	}
	running.Wait()
}
