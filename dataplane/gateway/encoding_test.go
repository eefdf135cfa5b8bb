package gateway

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdOf(t testing.TB, body []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(body, nil)
}

// asked posts a body to a chat route over an upstream that says what it was sent.
func asked(t *testing.T, coding string, body []byte) (w *httptest.ResponseRecorder, sent []byte, header http.Header) {
	t.Helper()
	h, key := setup(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ = io.ReadAll(r.Body)
		header = r.Header
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"hi"}}]}`))
	}), "r-model")
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	if coding != "" {
		r.Header.Set("Content-Encoding", coding)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, sent, header
}

func TestEncodedBodiesAreDecoded(t *testing.T) {
	t.Parallel()
	plain := []byte(`{"model":"r","messages":[{"role":"user","content":"` + strings.Repeat("word ", 100_000) + `"}]}`)
	want := bytes.Replace(plain, []byte(`"r"`), []byte(`"r-model"`), 1)
	two := bytes.Join([][]byte{zstdOf(t, plain[:1000]), zstdOf(t, plain[1000:])}, nil) // RFC 8878: frames may follow one another
	for name, c := range map[string]struct {
		coding string
		body   []byte
	}{
		"Gzip": {"gzip", gzipped(t, plain)}, "XGzip": {"X-GZIP", gzipped(t, plain)}, "Zstd": {"zstd", zstdOf(t, plain)}, "ZstdFrames": {"zstd", two},
		"Identity": {"identity", plain}, "None": {"", plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // with a decoder that is new, and one that was used
				w, sent, header := asked(t, c.coding, c.body)
				if w.Code != 200 || !bytes.Equal(sent, want) || header.Get("Content-Encoding") != "" {
					t.Errorf("status %d, %d bytes went upstream, want %d, as %q: %.200s", w.Code, len(sent), len(want), header.Get("Content-Encoding"), w.Body)
				}
			}
		})
	}
}

func TestBadEncodingsAreRefused(t *testing.T) {
	t.Parallel()
	plain := []byte(`{"model":"r","messages":[]}`)
	large := append([]byte(`{"model":"r","x":"`), bytes.Repeat([]byte("a"), maxBody)...)
	damaged := gzipped(t, plain)
	damaged[len(damaged)-5] ^= 1 // its checksum
	for name, c := range map[string]struct {
		coding string
		body   []byte
		status int
		code   string
	}{
		"Unknown":   {"br", plain, 415, "unsupported_encoding"},
		"Stacked":   {"gzip, zstd", plain, 415, "unsupported_encoding"},
		"NotGzip":   {"gzip", plain, 400, "unreadable_body"},
		"NotZstd":   {"zstd", plain, 400, "unreadable_body"},
		"Damaged":   {"gzip", damaged, 400, "unreadable_body"},
		"CutGzip":   {"gzip", gzipped(t, plain)[:20], 400, "unreadable_body"},
		"CutZstd":   {"zstd", zstdOf(t, large)[:40], 400, "unreadable_body"},
		"NotJSON":   {"zstd", zstdOf(t, []byte("x")), 400, "invalid_body"},
		"LargeGzip": {"gzip", gzipped(t, large), 413, "request_too_large"},
		"LargeZstd": {"zstd", zstdOf(t, large), 413, "request_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, sent, _ := asked(t, c.coding, c.body)
			if w.Code != c.status || !strings.Contains(w.Body.String(), `"code":"`+c.code+`"`) || sent != nil {
				t.Errorf("status %d, want %d, %s: %s", w.Code, c.status, c.code, w.Body)
			}
		})
	}
}

// A body of a few KB that decodes to a GB costs a refusal and not its memory.
func TestBombsCostLittleMemory(t *testing.T) {
	t.Parallel()
	part := make([]byte, 64<<20)
	for coding, body := range map[string][]byte{
		"gzip": bytes.Repeat(gzipped(t, part), 16), "zstd": bytes.Repeat(zstdOf(t, part), 16),
	} {
		const times = 8
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			if _, refusal := decoded(coding, body); refusal == nil || refusal.Status != 413 {
				t.Fatalf("got %+v", refusal)
			}
		}
		runtime.ReadMemStats(&after)
		// Other tests of the package allocate too, but nothing like eight bodies.
		if got := (after.TotalAlloc - before.TotalAlloc) / times; got > maxBody/2 {
			t.Errorf("%s: %d bytes of memory for one refusal", coding, got)
		}
	}
}
