package upstream

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
)

const (
	tokenTime    = 10 * time.Second // for a token service to answer
	refreshEarly = 5 * time.Minute  // before a token ends a new one is got, while the old one is used
	tokenMargin  = 10 * time.Second // a token that ends sooner is not used: the request has a way to go
	refreshPause = 10 * time.Second // after a refresh in vain, while the old token still holds
)

// token is an access token and when it ends.
type token struct {
	value string
	ends  time.Time
}

// tokens keeps one credential's access token. One request at a time asks the vendor's
// service for a new one; the others wait for it, or go on with the old one.
type tokens struct {
	fetch func(ctx context.Context) (token, error)

	mu     sync.Mutex
	now    token
	flight *flight
	failed time.Time // when a new token was last got in vain
}

// flight is one question to a token service.
type flight struct {
	landed chan struct{}
	token  token
	err    error
}

// sign puts the token on the request. The error, if any, is an *Error.
func (t *tokens) sign(req *http.Request, _ *Call) error {
	value, err := t.get(req.Context())
	if err != nil {
		return err
	}
	req.Header["Authorization"] = []string{"Bearer " + value}
	return nil
}

func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	now := time.Now()
	left := t.now.ends.Sub(now)
	if left > tokenMargin {
		value := t.now.value
		if left < refreshEarly && t.flight == nil && now.Sub(t.failed) >= refreshPause {
			t.begin()
		}
		t.mu.Unlock()
		return value, nil
	}
	f := t.flight
	if f == nil {
		f = t.begin()
	}
	t.mu.Unlock()
	select {
	case <-f.landed:
		return f.token.value, f.err
	case <-ctx.Done():
		return "", &Error{Phase: decide.Dialing, Cause: CauseOf(ctx), Err: ctx.Err()}
	}
}

// idle reports whether nobody has used the token for so long that it has ended.
func (t *tokens) idle(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flight == nil && now.After(t.now.ends)
}

// begin asks for a new token. Whoever waits for it may leave: it is for the next one too, and
// ends within tokenTime.
func (t *tokens) begin() *flight {
	f := &flight{landed: make(chan struct{})}
	t.flight = f
	go func() {
		ctx, cancel := context.WithTimeoutCause(context.Background(), tokenTime, ErrTimedOut)
		defer cancel()
		got, err := t.fetch(ctx)
		t.mu.Lock()
		defer t.mu.Unlock()
		if err == nil {
			t.now, f.token = got, got
		} else {
			t.failed, f.err = time.Now(), tokenFailure(err)
		}
		t.flight = nil
		close(f.landed)
	}()
	return f
}

// tokenFailure is a failed question to a token service as a failed attempt: the provider
// itself was not asked. What the service said is not repeated.
func tokenFailure(err error) *Error {
	var known *Error
	if !errors.As(err, &known) {
		known = &Error{Cause: decide.GatewayFault, Err: err}
	}
	return &Error{Phase: decide.Dialing, Cause: known.Cause, Err: known.Err}
}
