package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// failoverHeader says how many targets were tried in vain.
const failoverHeader = "X-Bd-Provider-Failover-Count"

// system is what is measured: one process, or the upstream itself ("direct").
type system struct {
	name      string
	url       string
	key       string
	pid       int // 0 for direct, which has no process of its own to measure
	idle      int64
	failovers atomic.Int64 // asked for so far, see failingRoute
	transport *http.Transport
}

func newSystem(name, url, key string, pid int) *system {
	transport := newTransport()
	// Before a server would close it: a POST that meets a closing connection fails.
	transport.IdleConnTimeout = 15 * time.Second
	return &system{name: name, url: url, key: key, pid: pid, transport: transport}
}

// sample is what one round of a scenario brought.
type sample struct {
	Requests int           `json:"requests"`
	Events   int           `json:"events,omitempty"`
	Failed   int           `json:"failed,omitempty"`
	Wall     time.Duration `json:"wall_ns"`
	CPU      time.Duration `json:"cpu_ns,omitempty"`
	P50      time.Duration `json:"p50_ns,omitempty"`
	P99      time.Duration `json:"p99_ns,omitempty"`
	Memory   int64         `json:"memory_bytes,omitempty"` // above idle
	Damage   damage        `json:"damage"`
	First    string        `json:"first_error,omitempty"`
}

var (
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}
	buffers = sync.Pool{New: func() any { return new([8 << 10]byte) }}
)

func (s *system) post(ctx context.Context, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.key)
	if path == messagesPath {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	res, err := s.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 200)) // the status says enough
		_ = res.Body.Close()
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return res, nil
}

const (
	chatPath     = "/v1/chat/completions"
	messagesPath = "/v1/messages"
)

// ask sends a request and reads a whole JSON answer.
func (s *system) ask(ctx context.Context, path string, body []byte, failovers int) error {
	res, err := s.post(ctx, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	buffer := buffers.Get().(*[8 << 10]byte)
	defer buffers.Put(buffer)
	n, err := io.ReadFull(res.Body, buffer[:])
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("answer of %d bytes: %v", n, err)
	}
	if n < 300 || buffer[n-1] != '}' && buffer[n-1] != '\n' {
		return fmt.Errorf("answer of %d bytes is not whole", n)
	}
	if failovers > 0 && res.Header.Get(failoverHeader) != strconv.Itoa(failovers) {
		return fmt.Errorf("did not fail over: %s %q", failoverHeader, res.Header.Get(failoverHeader))
	}
	return nil
}

// failures counts what failed and keeps the first reason.
type failures struct {
	mu    sync.Mutex
	n     int
	first error
}

func (f *failures) note(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.first == nil {
		f.first = err
	}
}

func (f *failures) into(s *sample) {
	if s.Failed = f.n; f.first != nil {
		s.First = f.first.Error()
	}
}

// closedLoop has a number of callers make total requests, each one after the other.
func closedLoop(callers, total int, call func(i int) error) sample {
	var next atomic.Int64
	var failed failures
	var wg sync.WaitGroup
	begun := time.Now()
	for range callers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= total {
					return
				}
				failed.note(call(i))
			}
		})
	}
	wg.Wait()
	out := sample{Requests: total, Wall: time.Since(begun)}
	failed.into(&out)
	return out
}

// openLoop sends at a fixed rate, whether or not earlier requests were answered, and
// measures how long each took.
func openLoop(ctx context.Context, rate int, lasts time.Duration, call func() error) sample {
	total := int(lasts.Seconds() * float64(rate))
	took := make([]time.Duration, total)
	var failed failures
	var wg sync.WaitGroup
	begun := time.Now()
	for i := range total {
		time.Sleep(time.Until(begun.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			sent := time.Now()
			failed.note(call())
			took[i] = time.Since(sent)
		})
	}
	wg.Wait()
	slices.Sort(took)
	out := sample{Requests: total, Wall: time.Since(begun), P50: took[total/2], P99: took[total*99/100]}
	failed.into(&out)
	return out
}
