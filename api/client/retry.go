package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// The pauses between tries: the first, doubled each time up to the longest. What the
// server asks for in Retry-After goes before, up to the longest.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
)

// doer sends the generated client's requests.
type doer struct {
	http    *http.Client
	tokens  *tokens
	retries int
	agent   string
}

// Do sends a request with a token, again where that is safe and may help, and turns an
// answer that is no success into an *Error.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", d.agent)
	req.Header.Set("Accept", "application/json")
	if req.Method == http.MethodPost && req.Header.Get("Idempotency-Key") == "" {
		req.Header.Set("Idempotency-Key", uuid.NewString())
	}
	for try := 0; ; try++ {
		resp, err := d.once(req)
		pause, again := after(req, resp, err, try)
		if !again || try >= d.retries {
			return finish(resp, err)
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
		if err := sleep(req.Context(), pause); err != nil {
			return nil, err
		}
		if err := rewind(req); err != nil {
			return nil, err
		}
	}
}

// once is one try. A token that is refused before its time, because the keys of the
// control plane changed, say, is replaced by a new one, once.
func (d *doer) once(req *http.Request) (*http.Response, error) {
	for renewed := false; ; renewed = true {
		token, err := d.tokens.get(req.Context())
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := d.http.Do(req)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || renewed || !d.tokens.forget(token) {
			return resp, err
		}
		_ = resp.Body.Close()
		if err := rewind(req); err != nil {
			return nil, err
		}
	}
}

// rewind makes the body ready to be sent again.
func rewind(req *http.Request) (err error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	if req.GetBody == nil {
		return errors.New("the request's body cannot be sent again")
	}
	req.Body, err = req.GetBody()
	return err
}

// after judges a try: whether the request is to be sent again, and after which pause.
func after(req *http.Request, resp *http.Response, err error, try int) (pause time.Duration, again bool) {
	if req.Context().Err() != nil || !canRewind(req) {
		return 0, false
	}
	pause = min(firstPause<<min(try, 10), longestPause)
	pause += rand.N(pause / 4) // so that clients that failed together do not come back together
	if err != nil {
		if status := StatusOf(err); status != 0 { // the token endpoint's
			return pause, status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout
		}
		return pause, neverSent(err) || repeatable(req)
	}
	switch resp.StatusCode {
	case http.StatusServiceUnavailable: // nothing was done
	case http.StatusBadGateway, http.StatusGatewayTimeout: // a proxy's: something may have been
		if !repeatable(req) {
			return 0, false
		}
	default:
		return 0, false
	}
	if secs, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && secs >= 0 {
		pause = min(time.Duration(secs)*time.Second, longestPause)
	}
	return pause, true
}

func canRewind(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// repeatable reports whether a request that may have been carried out may be sent again:
// the answer to the second tells as much as that to the first would have.
func repeatable(req *http.Request) bool {
	return req.Method != http.MethodDelete && req.Header.Get("If-Match") == ""
}

// neverSent reports whether the connection was never made.
func neverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish lets through what the generated code can read.
func finish(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, readError(resp)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media == "application/json" || resp.StatusCode == http.StatusNoContent {
		return resp, nil
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBytes))
	_ = resp.Body.Close()
	return nil, fmt.Errorf("%s did not answer with JSON; is the URL the control plane's?", resp.Request.URL.Redacted())
}
