package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
)

// answer is a provider's refusal, kept until it is known whether the caller gets it.
type answer struct {
	status      int
	header      http.Header
	body        []byte
	passthrough bool // it is about the caller's own account
	rewritten   bool // the body is the gateway's, with the provider's words
	metadata    any  // the gateway's own, for an envelope that it writes
}

const (
	maxErrorBody = 256 << 10             // of a provider's error; more is cut
	errorTime    = 5 * time.Second       // for an error's body after its status, which says most of it
	maxHeld      = 1 << 20               // lifecycle events held back before the stream counts as started
	maxJudged    = 32 << 20              // of an answer that is read whole before it is passed on
	maxVectors   = 128 << 20             // the same of embeddings: 2048 long vectors in base64 are more than maxJudged
	drainTime    = 50 * time.Millisecond // for the bytes after a stream's end, to keep its connection
)

// attempt sends the request to one target once. A good answer is relayed on the
// way; the verdict says what happened, and the answer is set for a refusal.
func (h *Handler) attempt(x *exchange, t *decide.Target) (decide.Verdict, *answer) {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(x.ctx)
	defer cancel(nil)
	limit := x.limit(t) - x.across.files.took // fetching for the target is part of trying it
	timer := time.AfterFunc(limit, func() { cancel(upstream.ErrTimedOut) })
	defer timer.Stop()

	resp, err := h.cfg.Upstream.Open(ctx, x.call(t))
	if err != nil {
		var failure *upstream.Error
		errors.As(err, &failure)
		if failure.Cause == decide.GatewayFault || errors.Is(err, upstream.ErrCredential) {
			h.cfg.Log.Error("attempt impossible", "request_id", x.id, "provider_id", t.Provider.ID, "error", err)
		}
		return decide.Classify(decide.Evidence{Phase: failure.Phase, Cause: failure.Cause}), nil
	}
	defer func() { _ = resp.Body.Close() }()
	x.metrics.headed(t, time.Since(began))
	a := attempt{exchange: x, target: t, ctx: ctx, cancel: cancel, resp: resp, timer: timer, began: began}
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return a.refusal()
	case x.control.Stream && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		return a.stream(), nil
	}
	return a.whole()
}

// limit is how long a try of the target may take: until its first bytes, for a stream.
func (x *exchange) limit(t *decide.Target) time.Duration {
	if x.control.Stream && !x.wholly() {
		return t.StreamIdle
	}
	return t.Timeout
}

// wholly reports whether the target is asked for its answer in one piece although the caller
// wants a stream.
func (x *exchange) wholly() bool { return x.across.now != nil && x.across.now.Whole() }

// call is what a target is sent.
func (x *exchange) call(t *decide.Target) upstream.Call {
	call := upstream.Call{Target: t, Dialect: x.to, Stream: x.control.Stream, Whole: x.wholly(), Own: x.token, Query: x.query()}
	switch {
	case x.across.now != nil:
		call.Header, call.Body = upstream.CrossingHeader(x.r.Header, x.to), upstream.Body{x.across.now.Body()}
	case t.Passthrough():
		call.Header, call.Body = upstream.PassthroughHeader(x.r.Header), x.spliced(t)
	default:
		call.Header, call.Body = upstream.RequestHeader(x.r.Header), x.spliced(t)
	}
	if x.across.formed != nil {
		call.Header, call.Body, call.Query = upstream.FormedHeader(call.Header, x.across.betas), upstream.Body{x.across.formed}, ""
	}
	return call
}

// spliced is the caller's body with the target's model in it.
func (x *exchange) spliced(t *decide.Target) upstream.Body {
	if x.bare != nil {
		return x.bare.control.Splice(x.bare.body, t.Called())
	}
	return x.control.Splice(x.body, t.Called())
}

// query is what of the caller's query goes upstream: Anthropic's clients say
// ?beta=true.
func (x *exchange) query() string {
	if x.dialect == llm.Messages && x.to == llm.Messages {
		return x.r.URL.RawQuery
	}
	return ""
}

// attempt is an attempt that got an answer's headers.
type attempt struct {
	*exchange
	target *decide.Target
	ctx    context.Context
	cancel context.CancelCauseFunc
	resp   *http.Response
	timer  *time.Timer
	began  time.Time
}

// told is what an error that the attempt ends in says as metadata: what happened to each
// target up to this one.
func (a *attempt) told(v decide.Verdict) any {
	return decide.Metadata(a.run.Told(a.target, v, time.Since(a.began)))
}

// verdict classifies what is known so far plus a cause.
func (a *attempt) verdict(cause decide.Cause, body []byte) decide.Verdict {
	phase := decide.Answered
	if a.started {
		phase = decide.Committed
	}
	return decide.Classify(decide.Evidence{Phase: phase, Cause: cause, Status: a.resp.StatusCode, Header: a.resp.Header, Body: body, Now: time.Now()})
}

// broken is the verdict when reading the answer failed.
func (a *attempt) broken() decide.Verdict {
	cause := decide.Broken
	if a.ctx.Err() != nil {
		cause = upstream.CauseOf(a.ctx)
	}
	return a.verdict(cause, nil)
}

func (a *attempt) refusal() (decide.Verdict, *answer) {
	late := time.AfterFunc(errorTime, func() { a.cancel(upstream.ErrTimedOut) })
	defer late.Stop()
	body, err := a.errorBody()
	if err != nil && a.ctx.Err() != nil && upstream.CauseOf(a.ctx) == decide.CallerGone {
		return a.broken(), nil
	}
	// A status is a status, even where its body broke off.
	v := a.verdict(decide.NoCause, body)
	return v, a.answer(v, body)
}

// answer is a refusal as the caller gets it, or nil where another target is asked; it takes
// the body over.
func (a *attempt) answer(v decide.Verdict, body []byte) *answer {
	if v.Failover {
		return nil
	}
	return a.exchange.answered(a.target, a.resp, body, a.told(v))
}

// answered is a provider's refusal in the caller's own envelope: as it came where it is
// that, else the same words in it. What is between a person's tool and its vendor is not
// touched. A refusal inside a 2xx gets the status that it stands for: clients take a 2xx
// for an answer. metadata is the gateway's own, for an envelope that it writes.
func (x *exchange) answered(t *decide.Target, resp *http.Response, body []byte, metadata any) *answer {
	a := &answer{status: t.RefusalStatus(x.dialect, resp.StatusCode, body), header: resp.Header, body: body, passthrough: t.Passthrough(), metadata: metadata}
	if a.passthrough || a.status < 300 {
		return a
	}
	if x.across.now != nil || !x.dialect.OwnError(body) {
		a.body, a.rewritten = x.dialect.Refusal(a.status, body, x.id, metadata), true
	}
	return a
}

// errorBody reads a refusal's body to its end, where that is near, so that the
// connection can be used again.
func (a *attempt) errorBody() ([]byte, error) {
	if n := a.resp.ContentLength; n >= 0 && n <= maxErrorBody {
		body := make([]byte, n)
		read, err := io.ReadFull(a.resp.Body, body)
		return body[:read], err
	}
	return io.ReadAll(io.LimitReader(a.resp.Body, maxErrorBody))
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// whole reads a non-streaming answer to its end before the caller sees any of it:
// a 200 that is no answer must be able to fail over.
func (a *attempt) whole() (decide.Verdict, *answer) {
	buf := buffers.Get().(*bytes.Buffer)
	buf.Reset()
	defer func() {
		if buf.Cap() <= 1<<20 {
			buffers.Put(buf)
		}
	}()
	limit := maxJudged
	if a.dialect == llm.Embeddings {
		limit = maxVectors
	}
	_, err := buf.ReadFrom(io.LimitReader(a.resp.Body, int64(limit)+1))
	if err != nil {
		return a.broken(), nil
	}
	body := buf.Bytes()
	switch cause := decide.WholeCause(a.to, a.control.Stream, body); {
	case len(body) > limit, cause == decide.NotAnAnswer:
		return a.verdict(decide.NotAnAnswer, nil), nil
	case cause == decide.ErrorInside:
		// The buffer goes back; what may be passed on must not.
		v := a.verdict(decide.ErrorInside, body)
		return v, a.answer(v, bytes.Clone(body))
	}
	if body, err = a.translated(body); err != nil {
		return a.verdict(decide.NotAnAnswer, nil), nil
	}
	a.answerHeader(a.resp.Header, a.target.Passthrough(), "application/json")
	a.set("Content-Length", strconv.Itoa(len(body)))
	a.serve(a.target, a.resp.StatusCode)
	if !a.send(body) {
		return decide.Classify(decide.Evidence{Phase: decide.Committed, Cause: decide.CallerGone}), nil
	}
	return a.verdict(decide.NoCause, nil), nil
}
