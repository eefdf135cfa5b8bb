package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

const (
	// checkTime bounds a check of a connection.
	checkTime = 10 * time.Second
	// checkBytes is how much of an answer is read: what it begins with is enough.
	checkBytes = 64 << 10
)

// Probe reads a provider's list of models, or what else it answers only to a good
// credential, and says what that shows of the connection, in words that hold no secret. It never fails.
// https://platform.openai.com/docs/api-reference/models/list
// https://docs.anthropic.com/en/api/models-list
func (c *Client) Probe(ctx context.Context, p *decide.Provider) (node.ProbeOutcome, string) {
	if !p.Checkable() {
		return node.ProbeUnsupported, "the gateway cannot check a provider of this kind"
	}
	ctx, cancel := context.WithTimeoutCause(ctx, checkTime, ErrTimedOut)
	defer cancel()
	evidence, err := c.check(ctx, p)
	if errors.Is(err, ErrForbidden) {
		return node.ProbeUnreachable, "the address is not one that the gateway may reach"
	}
	return p.JudgeCheck(evidence)
}

// check is one request for the list.
func (c *Client) check(ctx context.Context, p *decide.Provider) (decide.Evidence, error) {
	to, err := c.attach(p)
	if err != nil {
		return decide.Evidence{Cause: decide.GatewayFault}, err
	}
	req := (&http.Request{
		Method: http.MethodGet, URL: p.Check, Host: p.Check.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"User-Agent": {""}, "Accept": {"application/json"}},
	}).WithContext(ctx)
	if p.Endpoints[llm.Messages] != nil {
		req.Header["Anthropic-Version"] = []string{"2023-06-01"}
	}
	if err := to.signer.sign(req, &Call{}); err != nil {
		failed := &Error{Cause: decide.GatewayFault}
		errors.As(err, &failed)
		return decide.Evidence{Phase: failed.Phase, Cause: failed.Cause}, err
	}
	resp, err := to.transport.RoundTrip(req)
	if err != nil {
		failed := failure(ctx, err)
		return decide.Evidence{Phase: failed.Phase, Cause: failed.Cause}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, checkBytes))
	if err != nil {
		failed := failure(ctx, err)
		return decide.Evidence{Phase: decide.Answered, Cause: failed.Cause}, err
	}
	return decide.Evidence{Phase: decide.Answered, Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}
