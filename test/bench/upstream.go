package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	fastEvents  = 1000
	pacedEvents = 100
	pacedGap    = 10 * time.Millisecond
	holdBefore  = 2 // events before a held stream falls silent
	holdEvents  = 6
)

// upstream is a provider that costs as little as net/http allows, so that what is
// measured beside it is not short of CPU.
type upstream struct {
	completion []byte
	message    []byte
	events     [][]byte // of a stream in messages
	role, last []byte
	usage      []byte
	chunks     [][]byte

	mu       sync.Mutex
	released chan struct{}
}

func newUpstream() http.Handler {
	u := &upstream{completion: completion(), message: message(), role: roleChunk(), last: finishChunk(), usage: usageChunk(), released: make(chan struct{})}
	for n := range fastEvents {
		u.chunks = append(u.chunks, contentChunk(n))
	}
	u.events = messageEvents()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", u.chat)
	mux.HandleFunc("POST /v1/messages", u.messages)
	mux.HandleFunc("GET /v1/models", u.models)
	mux.HandleFunc("POST /release", u.release)
	return mux
}

func (u *upstream) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": []map[string]any{{"id": modelGood, "object": "model"}}})
}

// release lets every held stream go on.
func (u *upstream) release(http.ResponseWriter, *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.released)
	u.released = make(chan struct{})
}

func (u *upstream) hold() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.released
}

func (u *upstream) chat(w http.ResponseWriter, r *http.Request) {
	held := u.hold() // before the first event: who reads that may release
	body, err := readBody(r)
	if err != nil {
		return
	}
	start, end := scanModel(body)
	name := string(body[start:end])
	// The flags come after the model, or were spliced in right at the start: a prompt of
	// a megabyte is not searched for them.
	tail := body[end:]
	usage := bytes.Contains(tail, includeUsage) || bytes.Contains(body[:min(len(body), 256)], includeUsage)
	switch {
	case strings.HasPrefix(name, "bad-"):
		w.Header().Set("Content-Type", "application/json")
		// A model that is not there fails over and cools nothing down, so that the cost of
		// failing over can be measured for as long as it takes.
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"The model does not exist.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`)
	case !bytes.Contains(tail, []byte(`"stream":true`)):
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(u.completion)))
		_, _ = w.Write(u.completion)
	default:
		s := stream{u: u, w: w, flush: http.NewResponseController(w), ctx: r.Context(), held: held}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		s.serve(name, usage)
	}
}

func (u *upstream) messages(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		return
	}
	if bytes.Contains(body, []byte(`"stream":true`)) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		s := stream{u: u, w: w, flush: http.NewResponseController(w), ctx: r.Context()}
		s.messages()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(u.message)))
	_, _ = w.Write(u.message)
}

var includeUsage = []byte(`"include_usage":true`)

// readBody reads a body into a buffer of its announced size, with room for a longer
// name of the model.
func readBody(r *http.Request) ([]byte, error) {
	const maxBody = 32 << 20
	if r.ContentLength < 0 || r.ContentLength > maxBody {
		return io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	}
	body := make([]byte, r.ContentLength, r.ContentLength+64)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}
