package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A caller that is quick may be heard while the request before is still being ended: by the
// byte that net/http waits for to notice who leaves.
func TestTheNextRequestsFirstByteComesEarly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header string
		want   bool
	}{
		"Good":    {"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", false},
		"Twofold": {"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", true},
		"Unseen":  {"POST /elsewhere HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", true},
	} {
		w := &wire{Conn: nil}
		read := func(text string) {
			server, client := net.Pipe()
			defer server.Close()
			defer client.Close()
			w.Conn = server
			go func() { _, _ = io.WriteString(client, text) }()
			if _, err := io.ReadFull(w, make([]byte, len(text))); err != nil {
				t.Fatal(err)
			}
		}
		read("GET / HTTP/1.1\r\n\r\n")
		read(c.header[:1])
		w.reset()
		read(c.header[1:])
		r := httptest.NewRequest(http.MethodPost, "/v1/messages", nil)
		r.TransferEncoding = []string{"chunked"}
		if got := ambiguous(r.WithContext(context.WithValue(t.Context(), wireKey{}, net.Conn(w)))); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}
