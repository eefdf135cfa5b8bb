package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
)

// countTime is for a provider to count. Tools ask before they send, and an estimate now
// is worth more to them than a count later.
const countTime = 10 * time.Second

// countTokens says how many tokens a request for a message would be. Where the target
// that would serve it has a count of its own, that is asked, once and nowhere else; in all
// other cases, and whatever goes wrong, the answer is an estimate on the high side. It is
// no attempt: it changes nobody's health, takes no probe's slot and never fails over.
func (h *Handler) countTokens(w http.ResponseWriter, r *http.Request) {
	x := h.exchange(w, r, llm.Messages, surfaceCount)
	defer x.end()
	if !h.receive(x) {
		return
	}
	if t := x.run.Would(h.cfg.Health.Now()); t != nil && counts(t) && h.count(x, t) {
		return
	}
	x.set(headerFailoverCount, "0")
	x.answer(struct {
		InputTokens int64 `json:"input_tokens"`
	}{llm.Estimate(x.body)})
}

// count asks the target's provider, and reports whether nothing is left to answer: the
// caller has the count, or the provider's word on a request that it finds at fault.
func (h *Handler) count(x *exchange, t *decide.Target) bool {
	ctx, cancel := context.WithTimeoutCause(x.ctx, countTime, upstream.ErrTimedOut)
	defer cancel()
	x.across.count = true
	if !h.prepare(x, t) {
		return false
	}
	resp, err := h.cfg.Upstream.CountTokens(ctx, x.call(t))
	if err != nil {
		h.uncounted(x, t, 0, err)
		return x.ctx.Err() != nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	switch {
	case err != nil:
	case resp.StatusCode == http.StatusOK && isCount(body):
		upstream.AnswerHeader(x.w.Header(), resp.Header, t.Passthrough())
		x.set("Content-Type", "application/json")
		x.serve(t, http.StatusOK)
		x.send(body)
		return true
	case isCallersFault(resp, body):
		x.passOn(x.answered(t, resp, body, nil))
		return true
	}
	h.uncounted(x, t, resp.StatusCode, err)
	return x.ctx.Err() != nil
}

// counts reports whether the target has a count of its own for what callers write.
func counts(t *decide.Target) bool {
	e := t.Endpoint(llm.Messages)
	return e != nil && e.Count != nil
}

// isCount reports whether a body says a number of tokens.
func isCount(body []byte) bool {
	var said struct {
		InputTokens *int64 `json:"input_tokens"`
	}
	return json.Unmarshal(body, &said) == nil && said.InputTokens != nil && *said.InputTokens >= 0
}

// isCallersFault reports whether a provider refused what the caller wrote. Any other
// refusal (of the key, of the endpoint, of the rate) is no business of the caller's,
// whose request for a message may well be served.
func isCallersFault(resp *http.Response, body []byte) bool {
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		v := decide.Classify(decide.Evidence{Phase: decide.Answered, Status: resp.StatusCode, Header: resp.Header, Body: body, Now: time.Now()})
		return v.Class == decide.BadRequest
	}
	return false
}

func (h *Handler) uncounted(x *exchange, t *decide.Target, status int, err error) {
	h.cfg.Log.Debug("tokens are estimated: the provider did not count", "request_id", x.id, "organization_id", t.Provider.OrgID,
		"provider", t.Provider.Name, "upstream_model", t.UpstreamModel, "status", status, "error", err)
}
