package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// baselineConfig is what "bench baseline FILE" reads.
type baselineConfig struct {
	Upstream string              `json:"upstream"`
	Keys     []string            `json:"keys"`
	Routes   map[string][]string `json:"routes"` // a model, and the upstream models in the order they are tried
}

// baseline is the least that a gateway on net/http does: it checks the key, buffers
// the body, finds the model in it, tries the route's targets in order, and relays,
// flushing per read. Whatever a real gateway costs more is its own doing.
type baseline struct {
	keys      map[[sha256.Size]byte]struct{}
	routes    map[string][]string
	url       string
	transport *http.Transport
	buffers   sync.Pool
}

func baselineMain(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: bench baseline FILE")
	}
	raw, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var cfg baselineConfig
	if err := json.Unmarshal(raw, &cfg); err != nil {
		return err
	}
	return serveChild(ctx, newBaseline(cfg))
}

func newBaseline(cfg baselineConfig) *baseline {
	b := &baseline{keys: map[[sha256.Size]byte]struct{}{}, routes: cfg.Routes, url: cfg.Upstream + "/v1/chat/completions", transport: newTransport()}
	for _, key := range cfg.Keys {
		b.keys[sha256.Sum256([]byte(key))] = struct{}{}
	}
	b.buffers.New = func() any { return new([32 << 10]byte) }
	return b
}

func (b *baseline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, ok := b.keys[sha256.Sum256([]byte(key))]; !ok {
		http.Error(w, "invalid key", http.StatusUnauthorized)
		return
	}
	body, err := readBody(r)
	if err != nil {
		http.Error(w, "unreadable body", http.StatusBadRequest)
		return
	}
	start, end := scanModel(body)
	targets := b.routes[string(body[start:end])]
	if len(targets) == 0 {
		http.Error(w, "unknown model", http.StatusNotFound)
		return
	}
	for i, target := range targets {
		if i == 0 { // in place; later the transport may still be reading it
			body = slices.Replace(body, start, end, []byte(target)...)
		} else {
			body = slices.Concat(body[:start], []byte(target), body[end:])
		}
		end = start + len(target)
		res, err := b.try(r, body)
		if err != nil {
			continue
		}
		if res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusNotFound {
			drain(res.Body)
			continue
		}
		w.Header().Set(failoverHeader, strconv.Itoa(i))
		b.relay(w, res)
		return
	}
	http.Error(w, "every target failed", http.StatusBadGateway)
}

// try sends a body. It is in memory as a whole: of a reader that net/http does not
// know it sends the header first, in a packet of its own.
func (b *baseline) try(r *http.Request, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, b.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer upstream-key")
	return b.transport.RoundTrip(req)
}

// drain reads what is left of a failed attempt, so that its connection is used again.
func drain(body io.ReadCloser) {
	_, _ = io.Copy(io.Discard, io.LimitReader(body, 64<<10)) // what fails is not used again
	_ = body.Close()
}

// relay passes an answer on as it comes. One that breaks off must break off for the
// client too.
func (b *baseline) relay(w http.ResponseWriter, res *http.Response) {
	defer func() { _ = res.Body.Close() }()
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	streaming := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	flush := http.NewResponseController(w)
	buffer := b.buffers.Get().(*[32 << 10]byte)
	defer b.buffers.Put(buffer)
	for {
		n, err := res.Body.Read(buffer[:])
		if n > 0 {
			_, writeErr := w.Write(buffer[:n])
			if streaming && writeErr == nil {
				writeErr = flush.Flush()
			}
			if writeErr != nil {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
