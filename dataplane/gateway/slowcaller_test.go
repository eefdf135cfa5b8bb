package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// writeTimeout is how long a caller may leave what it is sent unread.
const writeTimeout = 30 * time.Second

// connect is a caller that reads only what the test reads.
func (b *bed) connect() net.Conn {
	b.t.Helper()
	c, err := b.callers.dial(b.t.Context(), "tcp", "")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	return c
}

// raw is a request as it goes over the wire.
func (b *bed) raw(stream bool) string {
	body := b.body("r", stream)
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: gateway.test\r\nX-Bd-Api-Key: %s\r\nContent-Length: %d\r\n\r\n%s", b.path, b.key, len(body), body)
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// long is an answer of at least n bytes.
func (b *bed) long(model string, stream bool, n int) string {
	if stream {
		events := b.stream(model)
		content := b.content(model)
		return strings.Join(events[:b.held], "") + strings.Repeat(content, n/len(content)+1) + strings.Join(events[b.held+1:], "")
	}
	return strings.Replace(b.answer(model), "Hello", strings.Repeat("Hello", n/5+1), 1)
}

// A caller that never reads is dropped after the write timeout and the provider let go;
// what was not read is held back at the provider. It says nothing of the provider.
func TestCallerThatNeverReadsIsDropped(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{StreamIdleTimeoutSecs: new(1)}), func(t *testing.T, b *bed) {
			const size = 8 << 20
			var sent atomic.Int64
			b.on("first", func(c *call) {
				text := b.long("first", stream, size)
				for text != "" && c.r.Context().Err() == nil {
					n := min(len(text), 1<<10)
					c.say(text[:n])
					text = text[n:]
					sent.Add(int64(n))
				}
			})
			began := time.Now()
			caller := b.connect()
			write(t, caller, b.raw(stream))
			synctest.Wait()
			if kept := sent.Load() - 2*window; stream && kept > 256<<10 {
				t.Errorf("%d bytes that nobody reads are held", kept)
			}
			time.Sleep(writeTimeout - time.Nanosecond)
			if got := b.watch.told("first"); len(got) != 0 {
				t.Errorf("dropped before its time: %v", got)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			wantTook(t, time.Since(began), writeTimeout)
			wantTold(t, b, "first", decide.Canceled)
			wantTold(t, b, "second")
			got, err := io.ReadAll(caller)
			if len(got) > window || err != nil {
				t.Errorf("read %d bytes and %v, want what was on its way and the end", len(got), err)
			}
		})
	})
}

// A caller that reads slowly gets everything: neither is it dropped nor the provider
// taken for slow.
func TestSlowCallerIsNoSlowProvider(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, d *dialect, stream bool) {
		bubble(t, d, pair(node.Mapping{RequestTimeoutSecs: new(1), StreamIdleTimeoutSecs: new(1)}), func(t *testing.T, b *bed) {
			want := b.long("first", stream, 1<<20)
			b.on("first", func(c *call) { c.say(want) })
			caller := b.connect()
			write(t, caller, b.raw(stream))
			resp, err := http.ReadResponse(bufio.NewReaderSize(slowly{caller}, window), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if string(body) != want || err != nil {
				t.Errorf("got %d bytes and %v, want %d", len(body), err, len(want))
			}
			synctest.Wait()
			wantTold(t, b, "first", decide.Succeeded)
		})
	})
}

// slowly takes a window's worth every 25 s.
type slowly struct{ net.Conn }

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(25 * time.Second)
	return s.Conn.Read(p)
}

// The same for what the gateway says itself, and for a provider's refusals.
func TestErrorsThatNobodyReads(t *testing.T) {
	t.Parallel()
	refused := func(b *bed) string { return strings.Replace(b.raw(false), b.key, "bd-none", 1) }
	for name, request := range map[string]func(b *bed) string{
		"Health":   func(*bed) string { return "GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n" },
		"NotFound": func(*bed) string { return "GET /nothing HTTP/1.1\r\nHost: g\r\n\r\n" },
		"Models": func(b *bed) string {
			return "GET /v1/models HTTP/1.1\r\nHost: g\r\nX-Bd-Api-Key: " + b.key + "\r\n\r\n"
		},
		"Unauthorized": refused,
		"Refusal":      func(b *bed) string { return b.raw(false) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &dialects[0], pair(node.Mapping{}), func(t *testing.T, b *bed) {
				b.on("first", func(c *call) { c.refuse(http.StatusBadRequest) })
				began := time.Now()
				caller := b.connect()
				_, err := io.WriteString(caller, strings.Repeat(request(b), 5000))
				if took := time.Since(began); err == nil || took != writeTimeout {
					t.Errorf("%v after %v, want the connection ended after %v", err, took, writeTimeout)
				}
			})
		})
	}
}

// A caller that never sends its body is told so, sooner where that is not needed, and
// let go.
func TestBodyThatNeverComes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key    string
		status int
		after  time.Duration
	}{{"", http.StatusBadRequest, time.Minute}, {"bd-none", http.StatusUnauthorized, 5 * time.Second}} {
		t.Run(http.StatusText(c.status), func(t *testing.T) {
			t.Parallel()
			bubble(t, &dialects[0], pair(node.Mapping{}), func(t *testing.T, b *bed) {
				request := b.raw(false)
				if c.key != "" {
					request = strings.Replace(request, b.key, c.key, 1)
				}
				began := time.Now()
				caller := b.connect()
				write(t, caller, request[:len(request)-1])
				resp, err := http.ReadResponse(bufio.NewReader(caller), nil)
				if err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != c.status {
					t.Errorf("status %d, want %d", resp.StatusCode, c.status)
				}
				wantTook(t, time.Since(began), c.after)
				if _, err := io.ReadAll(caller); err != nil {
					t.Error(err)
				}
				// net/http lingers a little, so that the answer is not lost to a reset.
				if took := time.Since(began); took > c.after+time.Second {
					t.Errorf("let go after %v", took)
				}
			})
		})
	}
}
