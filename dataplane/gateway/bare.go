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
	if !changed {
		return nil
	}
	if body = x.fitted(body, t); x.bare != nil && bytes.Equal(body, x.bare.body) {
		return nil
	}
	return bareOf(body)
}

// fit makes a chat's conversation one that the target takes: without what models thought,
// where it does not take that back, and with calls as it knows them.
func (x *exchange) fit(t *decide.Target) {
	if x.dialect != llm.Chat || x.to != llm.Chat {
		return
	}
	vendor := t.Vendor()
	body, forgotten := llm.Forgotten(x.body, &vendor)
	if !forgotten {
		body = x.body
	}
	if fitted, changed := llm.Fitted(body, &vendor); changed {
		x.bare = bareOf(fitted)
	} else if forgotten {
		x.bare = bareOf(body)
	}
}

// fitted is a chat's body with calls as the target knows them, and any other as it is.
func (x *exchange) fitted(body []byte, t *decide.Target) []byte {
	if x.dialect != llm.Chat {
		return body
	}
	vendor := t.Vendor()
	if fitted, changed := llm.Fitted(body, &vendor); changed {
		return fitted
	}
	return body
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
