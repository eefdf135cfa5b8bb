package gateway

import (
	"errors"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
	"github.com/spillway-gateway/spillway/dataplane/upstream"
)

// crossing is what a request keeps so that it can be asked of targets of other
// dialects. It is read when the first of them comes up, and not before.
type crossing struct {
	written []byte // the body as the caller wrote it
	request *llm.Request
	cannot  *llm.CannotError // why it cannot be read
	files   files            // what its URLs gave
	now     *llm.Translation // for the target that is being tried; nil where it takes the caller's dialect
	formed  []byte           // the body for the target that is being tried, where its cloud has a form of its own
	betas   []string         // the betas that go with it as a header
	count   bool             // only the tokens of the request are asked for
}

// prepare makes the request ready for a target, and reports whether it can be asked. If
// not, that is noted: another may have the words.
func (h *Handler) prepare(x *exchange, t *decide.Target) bool {
	x.across.now, x.across.formed, x.across.betas, x.across.files.took, x.bare = nil, nil, nil, 0, nil
	x.to, _ = t.Dialect(x.dialect)
	var err *llm.CannotError
	if x.to != x.dialect {
		err = h.translate(x, t)
	}
	x.fit(t)
	if err == nil {
		err = x.form(t)
	}
	if err != nil && len(err.Fetch) > 0 {
		if err = x.fetch(t, h.cfg.Upstream, err.Fetch); err == nil {
			err = x.form(t)
		}
	}
	if err != nil {
		x.run.Refuse(t, err)
		return false
	}
	return true
}

// form writes the body as the target's cloud takes it, where that is another than its
// dialect's vendor.
func (x *exchange) form(t *decide.Target) *llm.CannotError {
	f := t.Endpoint(x.to).Form
	if f == llm.OwnForm {
		return nil
	}
	body, inBody := x.body, []string(nil)
	if x.across.now != nil {
		body = x.across.now.Body()
	} else {
		if x.bare != nil {
			body = x.bare.body
		}
		var err error
		if body, err = llm.Inlined(body, x.across.files.got); err != nil {
			return cannot(err)
		}
		x.across.betas, inBody = f.Betas(upstream.Betas(x.r.Header), body)
	}
	write := f.Write
	if x.across.count {
		write = f.WriteCount
	}
	var err error
	x.across.formed, err = write(body, inBody, t.Called())
	return cannot(err)
}

func (h *Handler) translate(x *exchange, t *decide.Target) *llm.CannotError {
	c := &x.across
	if c.request == nil && c.cannot == nil {
		var err error
		c.request, err = llm.Parse(x.dialect, c.written)
		c.cannot = cannot(err)
	}
	if c.cannot != nil {
		return c.cannot
	}
	var err error
	c.now, err = c.request.Translate(x.hop(t.Model()))
	refusal := cannot(err)
	if refusal == nil || len(refusal.Fetch) == 0 {
		return refusal
	}
	if refusal := x.fetch(t, h.cfg.Upstream, refusal.Fetch); refusal != nil {
		return refusal
	}
	c.now, err = c.request.Translate(x.hop(t.Model()))
	return cannot(err)
}

// hop is the way to the target that is tried now.
func (x *exchange) hop(m llm.Model) llm.Hop {
	return llm.Hop{To: x.to, Model: m, ID: x.id, Now: time.Now().Unix(), Fetched: x.across.files.got}
}

// cannot is the error as what it always is.
func cannot(err error) *llm.CannotError {
	var e *llm.CannotError
	if err != nil && !errors.As(err, &e) {
		e = &llm.CannotError{Reason: err.Error()}
	}
	return e
}

// translated is a whole answer as the caller gets it. The error says that it is none.
func (a *attempt) translated(body []byte) ([]byte, error) {
	if a.across.now == nil {
		return body, nil
	}
	body, _, err := a.across.now.Answer(body)
	return body, err
}

// cross is event for a stream in another dialect than the caller's.
func (s *relay) cross(ev llm.Event) (over bool, v decide.Verdict) {
	out, meaning := s.foreign.Event(ev)
	switch meaning {
	case llm.Failed:
		if v = s.verdict(decide.ErrorInside, ev.Data); !s.started && v.Failover {
			return true, v // out is dropped
		}
		s.out = append(s.out, out...)
		s.forward()
		v.Committed = true
		return true, v
	case llm.Garbled:
		return true, s.cut(s.verdict(decide.NotAnAnswer, nil))
	}
	if s.out = append(s.out, out...); len(s.out) > 0 && !s.started {
		s.commit()
	}
	if meaning == llm.Done {
		return true, s.done()
	}
	return false, v
}

// endForeign ends a stream in another dialect whose bytes ended without its end.
func (s *relay) endForeign() decide.Verdict {
	out, whole := s.foreign.End()
	if !whole {
		return s.cut(s.verdict(decide.Broken, nil))
	}
	s.out = append(s.out, out...)
	if !s.forward() {
		return s.callerGone()
	}
	return s.verdict(decide.NoCause, nil)
}
