package gateway

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Serve is server.Serve for a server around a Handler, which then refuses requests whose
// length a proxy on the way may have read in another way than net/http does: what is a
// part of a body to one of the two is a request to the other. net/http refuses most of
// those by itself. Of a request with both a Content-Length and a Transfer-Encoding it
// forgets the former, and of one in HTTP/1.0 the latter, and shows neither to a handler.
// RFC 9112 section 6.3 wants errors of both.
func Serve(server *http.Server, l net.Listener) error {
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, wireKey{}, c) }
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if w, ok := c.(*wire); ok && state == http.StateIdle {
			w.reset()
		}
	}
	return server.Serve(wires{l})
}

// wireKey is where a request's context has its *wire. It says nothing of the request's
// that its header would not.
type wireKey struct{}

type wires struct{ net.Listener }

func (l wires) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &wire{Conn: c}, nil
}

// wire is a caller's connection, and what of the header that is being read from it has to
// be known.
type wire struct {
	net.Conn
	mu     sync.Mutex
	over   bool   // the header has come whole
	line   []byte // the beginning of a line whose end has not come
	first  []byte // the header's first line, by which it is known
	length bool   // it has a Content-Length
	coding bool   // it has a Transfer-Encoding
}

// reset is for the time between two requests.
func (w *wire) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over, w.length, w.coding = false, false, false
	w.line, w.first = w.line[:0], w.first[:0]
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	for b := p[:n]; !w.over; {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if !whole {
			w.line = append(w.line, line...)
			w.over = len(w.line) > MaxHeaderBytes // it is no header
			break
		}
		if len(w.line) > 0 {
			w.line = append(w.line, line...)
			line, w.line = w.line, w.line[:0]
		}
		w.see(bytes.TrimSuffix(line, []byte("\r")))
		b = rest
	}
	return n, err
}

// see takes one line of the header.
func (w *wire) see(line []byte) {
	switch name, _, _ := bytes.Cut(line, []byte(":")); {
	case len(w.first) == 0: // net/http passes over empty lines before it
		w.first = append(w.first, line...)
	case len(line) == 0:
		w.over = true
	case bytes.EqualFold(name, []byte("Content-Length")):
		w.length = true
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		w.coding = true
	}
}

// ambiguous reports whether the request's length could be read in another way. So it is
// taken where its header was not seen whole either, which takes a client that does not
// wait for answers.
func ambiguous(r *http.Request) bool {
	chunked := len(r.TransferEncoding) > 0
	if !chunked && r.ProtoAtLeast(1, 1) {
		return false
	}
	w, ok := r.Context().Value(wireKey{}).(*wire)
	if !ok {
		return false // it came another way than by Serve
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// While it serves a request net/http waits for a byte, to notice that the caller left. The
	// caller may send its next request before that wait ends: its first byte comes too early.
	first := []byte(r.Method + " " + r.RequestURI + " ")
	if !w.over || !bytes.HasPrefix(w.first, first) && !bytes.HasPrefix(w.first, first[1:]) {
		return true
	}
	return w.length && chunked || w.coding && !chunked
}

// refuseAmbiguous refuses a request whose length is not certain, and reads nothing more of
// the connection.
func (h *Handler) refuseAmbiguous(w http.ResponseWriter, r *http.Request, d llm.Dialect) {
	x := h.exchange(w, r, d, surfaceOther)
	defer x.end()
	x.set("Connection", "close")
	x.refuse(&llm.Error{Status: http.StatusBadRequest, Code: "ambiguous_length", Message: "a request has a Content-Length or, in HTTP/1.1, a Transfer-Encoding, and not both"})
}
