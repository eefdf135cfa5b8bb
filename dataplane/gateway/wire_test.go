package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/gateway"
)

// door serves a handler without a configuration on a listener: who asks well is told that
// the key is missing.
func door(t *testing.T, l net.Listener) {
	t.Helper()
	table := new(decide.Table)
	h := gateway.New(gateway.Config{Table: func() *decide.Table { return table }, Ready: func() bool { return true }})
	server := &http.Server{Handler: h, ReadHeaderTimeout: gateway.ReadHeaderTimeout, MaxHeaderBytes: gateway.MaxHeaderBytes}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = gateway.Serve(server, l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
}

// socket opens a door on a real one.
func socket(t *testing.T) (dial func() net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	door(t, l)
	return func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(20 * time.Second)) // a test that hangs says where
		return c
	}
}

// behind is a request that must not be one: it stands in another's body.
const behind = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

// A request whose end two servers may see in different places is refused, nothing behind
// it is answered, and the connection ends. net/http by itself serves all those that are refused
// with an envelope here, and then what stands behind them.
func TestRequestsWithTwoLengthsAreRefused(t *testing.T) {
	t.Parallel()
	dial := socket(t)
	const chunks = "2\r\n{}\r\n0\r\n\r\n"
	for name, c := range map[string]struct {
		raw      string
		status   int
		envelope string // "" for a refusal of net/http's own
	}{
		"BothLengths":        {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + behind, 400, `"code":"ambiguous_length"`},
		"BothTheOtherWay":    {"POST /v1/responses HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n" + chunks + behind, 400, `"code":"ambiguous_length"`},
		"OfMessages":         {"POST /api/llm-gateway/v1/messages?beta=true HTTP/1.1\r\nHost: x\r\ncontent-length: 12\r\ntransfer-encoding: CHUNKED\r\n\r\n" + chunks + behind, 400, `"error_code":"ambiguous_length"`},
		"WithoutReturns":     {"POST /v1/embeddings HTTP/1.1\nHost: x\nContent-Length: 12\nTransfer-Encoding: chunked\n\n" + chunks + behind, 400, `"code":"ambiguous_length"`},
		"OnAPathWithoutBody": {"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + behind, 400, `"code":"ambiguous_length"`},
		"ChunkedInHTTP10":    {"POST /v1/chat/completions HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + behind, 400, `"code":"ambiguous_length"`},
		"BothInHTTP10":       {"POST /v1/chat/completions HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}" + behind, 400, `"code":"ambiguous_length"`},
		"Folded":             {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nTransfer-Encoding:\r\n chunked\r\n\r\n" + chunks + behind, 400, `"code":"ambiguous_length"`},
		"TwoDifferent":       {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}" + behind, 400, ""},
		"NoNumber":           {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n{}" + behind, 400, ""},
		"TwoInOne":           {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2, 2\r\n\r\n{}" + behind, 400, ""},
		"SpaceBeforeColon":   {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding : chunked\r\n\r\n{}" + behind, 400, ""},
		"ChunkedTwice":       {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + behind, 501, ""},
		"AnotherCoding":      {"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: xchunked\r\n\r\n{}" + behind, 501, ""},
		// A client that does not wait for answers: what has come with the request before is not looked at.
		"Pipelined": {behind + "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + behind, 400, `"code":"ambiguous_length"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial()
			if _, err := io.WriteString(conn, c.raw); err != nil {
				t.Fatal(err)
			}
			answers, _ := io.ReadAll(conn) // to the connection's end, which may be a reset: there is more to read
			all := string(answers)
			if name == "Pipelined" {
				first, rest, _ := strings.Cut(all, "ok\n")
				if all = rest; !strings.HasPrefix(first, "HTTP/1.1 200 ") {
					t.Errorf("got %q", first)
				}
			}
			if !strings.HasPrefix(all, fmt.Sprintf("HTTP/1.1 %d ", c.status)) && !strings.HasPrefix(all, fmt.Sprintf("HTTP/1.0 %d ", c.status)) || strings.Count(all, "HTTP/1.1 ")+strings.Count(all, "HTTP/1.0 ") != 1 {
				t.Errorf("got %q, want a %d and nothing else", all, c.status)
			}
			if c.envelope == "" {
				return
			}
			for _, want := range []string{c.envelope, "\r\nConnection: close\r\n", "\r\nRequest-Id: req_", "\r\nX-Request-Id: req_", "\r\nX-Bd-Request-Id: req_", "\r\nX-Bd-Error-Origin: gateway\r\n"} {
				if !strings.Contains(all, want) {
					t.Errorf("no %q in %q", want, all)
				}
			}
		})
	}
}

// Requests with one length are served one after another over one connection, however
// their bytes come.
func TestRequestsWithOneLengthShareAConnection(t *testing.T) {
	t.Parallel()
	requests := []string{
		"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Note: Content-Length: 3\r\nContent-Length: 2\r\n\r\n{}",
		"\r\nPOST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX-Content-Length: 2\r\n\r\n11\r\nContent-Length: 2\r\n0\r\n\r\n",
		"POST /v1/messages HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
	}
	l := newListener()
	door(t, l)
	for at := range 150 {
		conn, err := l.dial(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		for i, r := range requests {
			at := min(at, len(r)-1)
			for _, part := range []string{r[:at], r[at : at+1], r[at+1:]} {
				if _, err := io.WriteString(conn, part); err != nil {
					t.Fatal(err)
				}
			}
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("request %d, cut at byte %d: %v", i, at, err)
			}
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusUnauthorized || err != nil {
				t.Fatalf("request %d, cut at byte %d: status %d, %v: %s", i, at, resp.StatusCode, err, body)
			}
		}
		_ = conn.Close()
	}
}

// A header that is written with underscores must not mean something to one server and
// nothing to another.
func TestHeadersWithUnderscores(t *testing.T) {
	t.Parallel()
	dial := socket(t)
	for name, code := range map[string]string{
		"X_Bd_Api_Key": "ambiguous_header", "x-bd_api-key": "ambiguous_header", "X_API_KEY": "ambiguous_header", "Content_Length": "ambiguous_header",
		"transfer_encoding": "ambiguous_header", "session_id": "invalid_api_key", "X_Forwarded_For": "invalid_api_key",
	} {
		conn := dial()
		_, err := fmt.Fprintf(conn, "POST /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: close\r\nsession-id: 1\r\n%s: 2\r\nContent-Length: 2\r\n\r\n{}", name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || !strings.Contains(string(got), `"code":"`+code+`"`) {
			t.Errorf("%s: %v, got %q, want %s", name, err, got, code)
		}
	}
}
