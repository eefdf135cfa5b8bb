package llm

// encoding is what the encoders of requests have in common: what is written, what it is
// written from and for, and the first thing that the target's dialect has no words for.
type encoding struct {
	writer
	q   *Request
	hop *Hop
	m   *Model
	err *CannotError
}

func encode(q *Request, hop *Hop) encoding {
	// About as long as what came.
	return encoding{writer: writer{b: make([]byte, 0, min(1024+3*q.tokens, 1<<20))}, q: q, hop: hop, m: &hop.Model}
}

func (e *encoding) cannot(field, reason string) {
	if e.err == nil {
		e.err = &CannotError{Field: field, Reason: reason}
	}
}

// body is what was written, or why it cannot be said.
func (e *encoding) body() ([]byte, error) {
	if e.err != nil {
		return nil, e.err
	}
	return e.b, nil
}
