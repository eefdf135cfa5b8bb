package provider

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is one request as it was received.
type Request struct {
	Time   time.Time
	Method string
	Path   string
	Query  string
	Header http.Header
	Body   []byte
	// Model and Stream are read from the body.
	Model  string
	Stream bool
	// Status is what was answered; 0 while it is being answered, and when nothing was.
	Status int
	// ClientGone says that the client went away before the answer was complete.
	ClientGone bool
	// Problems is what no provider should ever be sent, such as the gateway's own key.
	Problems []string
}

const (
	maxRequests    = 1000
	maxRecordBytes = 64 << 20
)

// ring holds the last requests, bounded in number and in bytes of their bodies.
type ring struct {
	mu     sync.Mutex
	items  []*Request
	bytes  int
	signal chan struct{}
}

func (r *ring) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items, r.bytes = nil, 0
	r.wake()
}

func (r *ring) add(req Request) *Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items = append(r.items, &req)
	r.bytes += len(req.Body)
	for len(r.items) > maxRequests || (r.bytes > maxRecordBytes && len(r.items) > 1) {
		r.bytes -= len(r.items[0].Body)
		r.items = slices.Delete(r.items, 0, 1)
	}
	r.wake()
	return &req
}

// finish notes how a request ended.
func (r *ring) finish(req *Request, status int, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	req.Status, req.ClientGone = status, gone
	r.wake()
}

func (r *ring) list() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Request, len(r.items))
	for i, item := range r.items {
		out[i] = *item
	}
	return out
}

func (r *ring) changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.signal
}

func (r *ring) wake() {
	if r.signal != nil {
		close(r.signal)
	}
	r.signal = make(chan struct{})
}

// ofAPlan are headers, or their beginnings, that tell of a person's ChatGPT account.
var ofAPlan = []string{"Chatgpt-", "Originator", "Session-Id", "Session_id", "Conversation_id", "X-Codex-"}

// problems checks what is true of every request whatever it asks: nothing of the
// gateway and nothing of another vendor's credential reaches a provider.
func problems(path string, h http.Header) []string {
	var found []string
	for name, values := range h {
		if strings.HasPrefix(name, "X-Bd-") {
			found = append(found, "gateway header reached the provider: "+name)
		}
		if path != codexPath && slices.ContainsFunc(ofAPlan, func(p string) bool { return strings.HasPrefix(name, p) }) {
			found = append(found, "a person's account reached a provider that is not the vendor's: "+name)
		}
		for _, value := range values {
			if strings.HasPrefix(strings.TrimPrefix(value, "Bearer "), "bd-") {
				found = append(found, "gateway key reached the provider: "+name)
			}
		}
	}
	if isJWT(bearer(h)) != (path == codexPath) && bearer(h) != "" {
		found = append(found, "a credential of another vendor reached the provider")
	}
	if h.Get("Content-Encoding") != "" {
		found = append(found, "an encoding that the gateway had decoded reached the provider")
	}
	if h.Get("X-Api-Key") != "" && h.Get("Authorization") != "" {
		found = append(found, "two credentials reached the provider: x-api-key and authorization")
	}
	slices.Sort(found)
	return found
}

// credential returns the API key or token of a request.
func credential(h http.Header) string { return cmp.Or(h.Get("X-Api-Key"), bearer(h)) }

// isJWT reports whether a token looks like a signed JWT.
func isJWT(token string) bool {
	return strings.Count(token, ".") == 2 && strings.HasPrefix(token, "eyJ")
}

func bearer(h http.Header) string {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
