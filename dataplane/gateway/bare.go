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
	} else if bare := x.withoutThoughts(t); bare != nil {
		x.bare = bare
	} else {
		return false
	}
	return x.form(t) == nil
}

// withoutThoughts is the request as it is asked without thoughts, or nil where it has none,
// or is being asked like that.
func (x *exchange) withoutThoughts(t *decide.Target) *bareBody {
	model := t.Model()
	body, changed := llm.WithoutThoughts(x.dialect, x.body, &model)
	if !changed || x.bare != nil && bytes.Equal(body, x.bare.body) {
		return nil
	}
	return bareOf(body)
}

// forget leaves out of a chat's conversation what models thought, where the target is one
// that does not take it back.
func (x *exchange) forget(t *decide.Target) {
	if x.dialect != llm.Chat || x.to != llm.Chat {
		return
	}
	vendor := t.Vendor()
	if body, changed := llm.Forgotten(x.body, &vendor); changed {
		x.bare = bareOf(body)
	}
}

// bareOf is a body that the gateway wrote; nil: one that cannot be read after all.
func bareOf(body []byte) *bareBody {
	control, err := llm.Scan(body)
	if err != nil {
		return nil
	}
	return &bareBody{body, control}
}

// mayGoBare reports whether the target can be asked again without the conversation's
// thoughts, after a stream in which it refused them: then the caller is not told.
func (a *attempt) mayGoBare(v decide.Verdict) bool {
	return v.Class == decide.ThoughtsRefused && a.across.now == nil && a.withoutThoughts(a.target) != nil
}
