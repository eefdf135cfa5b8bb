package provider

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dial sends a request on a connection of its own and returns what comes back on the
// wire.
func (b *bundle) dial(t *testing.T, path, sent string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	var head strings.Builder
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", path, len(sent))
	for name, value := range goodHeaders(path) {
		fmt.Fprintf(&head, "%s: %s\r\n", name, value)
	}
	if _, err := io.WriteString(conn, head.String()+"\r\n"+sent); err != nil {
		t.Fatal(err)
	}
	return conn
}

const terminalChunk = "0\r\n\r\n"

// events counts what a chat stream brought.
func events(raw string) int { return strings.Count(raw, "data: ") }

func TestReset(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("*", Behavior{Reset: true})
	for _, stream := range []bool{false, true} {
		got, err := io.ReadAll(b.dial(t, chatPath, body(chatPath, "m", stream)))
		if len(got) != 0 || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %q, %v; want a reset", got, err)
		}
	}
}

func TestCutAfter(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for _, n := range []int{-1, 1, 2, 3, 9} {
		b.Script("m", Behavior{CutAfter: n, Tokens: 20})
		raw, err := io.ReadAll(b.dial(t, chatPath, body(chatPath, "m", true)))
		got := string(raw)
		if !errors.Is(err, syscall.ECONNRESET) || events(got) != max(n, 0) || strings.HasSuffix(got, terminalChunk) || !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
			t.Errorf("after %d: %v, %s", n, err, got)
		}
	}
}

func TestCutAfterNoStream(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{CutAfter: 1})
	raw, err := io.ReadAll(b.dial(t, messagesPath, body(messagesPath, "m", false)))
	if !errors.Is(err, syscall.ECONNRESET) || !strings.Contains(string(raw), `"role":"assistant"`) || strings.HasSuffix(string(raw), "}") {
		t.Errorf("%v, %s", err, raw)
	}
}

func TestCleanEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for n, behavior := range map[int]Behavior{
		2: {CutAfter: 2, CleanEnd: true, Tokens: 20},
		4: {CleanEnd: true, Tokens: 3}, // the role and all content, but no end
		0: {CutAfter: -1, CleanEnd: true},
	} {
		b.Script("m", behavior)
		res := b.ask(t, chatPath, body(chatPath, "m", true))
		got := read(t, res) // without an error: the body ended as it should
		if events(got) != n || strings.Contains(got, "[DONE]") || strings.Contains(got, `"finish_reason":"`) {
			t.Errorf("%+v: %s", behavior, got)
		}
	}
}

func TestCutAtByte(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for _, stream := range []bool{false, true} {
		for _, at := range []int{1, 150, 400} {
			b.Script("m", Behavior{CutAtByte: at, Tokens: 50})
			res := b.ask(t, chatPath, body(chatPath, "m", stream))
			got, err := io.ReadAll(res.Body)
			if len(got) != at || err == nil {
				t.Errorf("stream %v: %d bytes of %d, %v", stream, len(got), at, err)
			}
			if !stream && res.ContentLength <= int64(at) {
				t.Errorf("length %d, want that of the whole answer", res.ContentLength)
			}
			b.Script("m", Behavior{CutAtByte: at, Tokens: 50, CleanEnd: true})
			if got := read(t, b.ask(t, chatPath, body(chatPath, "m", stream))); len(got) != at {
				t.Errorf("stream %v: clean end after %d of %d", stream, len(got), at)
			}
		}
	}
}

func gone(n int) func([]Request) bool {
	return func(r []Request) bool { return len(r) == n && r[n-1].ClientGone }
}

func TestHangUntilClientGone(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("*", Behavior{Hang: true})
	conn := b.dial(t, messagesPath, body(messagesPath, "m", true))
	if _, err := b.Await(t.Context(), func(r []Request) bool { return len(r) == 1 }); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := b.Await(t.Context(), gone(1))
	if err != nil || got[0].Status != 0 {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestHangAfter(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for i, n := range []int{-1, 1, 4} {
		b.Script("m", Behavior{HangAfter: n, Tokens: 20})
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", b.url+chatPath, strings.NewReader(body(chatPath, "m", true)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer k")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(res.Body)
		for range max(n, 0) {
			for line := "x"; line != "\n"; {
				if line, err = lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
		}
		// That nothing more comes cannot be waited for; that the answer is not over can:
		// the request is still being answered when its client leaves.
		if r := b.Requests()[i]; r.Status != 0 {
			t.Errorf("after %d: over with %d", n, r.Status)
		}
		cancel()
		if lines.Buffered() != 0 {
			t.Errorf("after %d: more came", n)
		}
		if _, err := b.Await(t.Context(), gone(i+1)); err != nil {
			t.Error(err)
		}
		_ = res.Body.Close()
	}
}

func TestHangAfterNoStream(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{HangAfter: 2})
	conn := b.dial(t, chatPath, body(chatPath, "m", false))
	if _, err := b.Await(t.Context(), func(r []Request) bool { return len(r) == 1 }); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if _, err := b.Await(t.Context(), gone(1)); err != nil {
		t.Error(err)
	}
}

func TestDelayEndsWithClient(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{Delay: time.Hour})
	conn := b.dial(t, chatPath, body(chatPath, "m", false))
	if _, err := b.Await(t.Context(), func(r []Request) bool { return len(r) == 1 }); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if _, err := b.Await(t.Context(), gone(1)); err != nil {
		t.Error(err)
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{Delay: 20 * time.Millisecond, EventDelay: 10 * time.Millisecond, Tokens: 3})
	begun := time.Now()
	_ = read(t, b.ask(t, chatPath, body(chatPath, "m", true)))
	if took := time.Since(begun); took < 80*time.Millisecond { // 20 and 6 gaps of 10
		t.Errorf("took %s", took)
	}
}

func TestCloseReleases(t *testing.T) {
	t.Parallel()
	for _, behavior := range []Behavior{{Hang: true}, {HangAfter: 1}, {EventDelay: time.Hour}, {Delay: time.Hour}} {
		s := New(Config{})
		outer := httptest.NewServer(s.Handler()) // whose connections Close does not own
		b := &bundle{s, outer.URL}
		s.Script("m", behavior)
		conn := b.dial(t, chatPath, body(chatPath, "m", true))
		if _, err := b.Await(t.Context(), func(r []Request) bool { return len(r) == 1 }); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(conn)
		if err == nil || strings.HasSuffix(string(raw), terminalChunk) || s.Requests()[0].ClientGone {
			t.Errorf("%+v: %v, %s", behavior, err, raw)
		}
		outer.Close()
	}
}

func TestCloseAndStartAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	addr := strings.TrimPrefix(b.url, "http://")
	if _, err := b.Start(addr); err == nil {
		t.Error("started twice")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after Close: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	url, err := b.Start(addr)
	if err != nil || url != b.url {
		t.Fatal(url, err)
	}
	if res := b.ask(t, chatPath, body(chatPath, "m", false)); res.StatusCode != 200 {
		t.Error(res.Status)
	}
}
