package gateway

import (
	"bytes"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// bareBody is a body without thoughts, and where its model is.
type bareBody struct {
	body    []byte
	control llm.Control
}

// leaveOutThoughts makes the request one without what any model thought in its
// conversation, for the target that is tried now and refused those. It reports whether
// that changes anything: if not, the refusal is the caller's to see.
func (x *exchange) leaveOutThoughts(t *decide.Target) bool {
	if c := &x.across; c.now != nil {
		model := t.Model()
		model.Reasoning = llm.NoReasoning
		plain, err := c.request.Translate(x.hop(model))
		if err != nil || bytes.Equal(plain.Body(), c.now.Body()) {
			return false
		}
		c.now = plain
	} else if x.bare = x.withoutThoughts(); x.bare == nil {
		return false
	}
	return x.form(t) == nil
}

// withoutThoughts is the request as it is asked without thoughts, or nil where it has none.
func (x *exchange) withoutThoughts() *bareBody {
	body, changed := llm.WithoutThoughts(x.dialect, x.body)
	if !changed {
		return nil
	}
	control, err := llm.Scan(body)
	if err != nil {
		return nil
	}
	return &bareBody{body, control}
}

// mayGoBare reports whether the target can be asked again without the conversation's
// thoughts, after a stream in which it refused them: then the caller is not told.
func (a *attempt) mayGoBare(v decide.Verdict) bool {
	return v.Class == decide.ThoughtsRefused && a.bare == nil && a.across.now == nil && a.withoutThoughts() != nil
}
