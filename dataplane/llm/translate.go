package llm

import (
	"slices"
)

// Parse reads a request so that it can be asked of targets of other dialects. It is
// needed once per request, and only when a target of another dialect comes up; the
// Request aliases body, is never changed, and serves any number of Translate calls,
// at once too. The error is a *CannotError: what no other dialect can be asked for, or
// what has no single reading.
func Parse(from Dialect, body []byte) (*Request, error) {
	var r reader
	m := r.document(body)
	var q *Request
	switch from {
	case Chat:
		q = decodeChat(&r, m)
	case Messages:
		q = decodeMessages(&r, m)
	case Responses:
		q = decodeResponses(&r, m)
	default:
		r.fail("", "%s requests cannot be translated", from)
	}
	if r.err != nil {
		return nil, r.err
	}
	if len(q.System) == 0 && !q.hasTurns() {
		return nil, &CannotError{Field: inputField(from), Reason: "there is nothing to answer"}
	}
	if !q.instructsInText() {
		return nil, &CannotError{Field: inputField(from), Reason: "instructions can only be text"}
	}
	q.gather()
	q.tokens = estimate(body, true)
	return q, nil
}

// gather puts results right behind the calls that they are of. Responses leaves the order to
// the caller, and Codex tells the model something in between; the other dialects refuse a
// call whose result is not in the very next message.
func (q *Request) gather() {
	turns := map[string]int{} // of the calls that wait for their results, by id
	for i := 0; i < len(q.Turns); i++ {
		for _, p := range slices.Clone(q.Turns[i].Parts) {
			switch {
			case p.Kind == ToolCall:
				turns[p.Call.ID] = i
			case p.Kind == Result && q.Turns[i].Role == User:
				from, waits := turns[p.Output.ID]
				if delete(turns, p.Output.ID); !waits || from == i-1 || !q.move(i, from, p.Output) {
					continue
				}
				i++
				for id, at := range turns {
					if at > from {
						turns[id]++
					}
				}
			}
		}
	}
	if last := len(q.Turns) - 1; last >= 0 && q.Turns[last].Role == User && len(q.Turns[last].Parts) == 0 {
		q.Turns[last].Parts = []Part{{Kind: Text, Text: resultsCame}} // or the model would go on with its own last words
	}
}

// resultsCame stands where somebody must have spoken, and only results came.
const resultsCame = "(The results have come.)"

// move puts a result of turn i behind turn from, and reports whether that took another turn.
func (q *Request) move(i, from int, out *Output) (another bool) {
	isIt := func(p Part) bool { return p.Kind == Result && p.Output == out }
	at := slices.IndexFunc(q.Turns[i].Parts, isIt)
	p := q.Turns[i].Parts[at]
	q.Turns[i].Parts = slices.Delete(q.Turns[i].Parts, at, at+1)
	if q.Turns[from+1].Role != User {
		q.Turns = slices.Insert(q.Turns, from+1, Turn{Role: User})
		another = true
	}
	q.Turns[from+1].Parts = append(q.Turns[from+1].Parts, p)
	return another
}

// hasTurns reports whether any turn says something that crosses.
func (q *Request) hasTurns() bool {
	return slices.ContainsFunc(q.Turns, func(t Turn) bool {
		return slices.ContainsFunc(t.Parts, func(p Part) bool { return p.Kind != Thinking })
	})
}

func (q *Request) instructsInText() bool {
	ok := true
	for _, p := range q.System {
		ok = ok && p.Kind == Text
	}
	for i := range q.Turns {
		for _, p := range q.Turns[i].Parts {
			ok = ok && (p.Kind == Text || q.Turns[i].Role != System)
		}
	}
	return ok
}

func inputField(d Dialect) string {
	if d == Responses {
		return "input"
	}
	return "messages"
}

// Hop is one try of a request at a target of another dialect.
type Hop struct {
	To    Dialect // what the target speaks; not what the request was written in
	Model Model   // the target's
	// ID is the gateway's id of the request: an answer's, where the provider gives none.
	ID string
	// Now is Unix seconds: when an answer was created, where the provider does not say.
	Now int64
	// Fetched are the files that earlier errors asked for, by URL.
	Fetched map[string]File
}

// File is what a URL gave.
type File struct {
	MIME string
	Data []byte
}

func (h *Hop) fetched(url string) (File, bool) {
	f, ok := h.Fetched[url]
	return f, ok
}

// Translation carries one request to one target and its answer back. Use it so:
//
//	q, err := llm.Parse(callersDialect, body)              // once per request
//	t, err := q.Translate(llm.Hop{To: d, Model: m, ...})   // once per target tried
//	send t.Body()                                          // model and stream are in it
//
// An error of Parse or Translate is a *CannotError: where it names files in Fetch, get
// them and translate again with Hop.Fetched; else skip the target, or where none is left
// answer 400 with it. Then, by what came back:
//
//   - a refusal (status not 2xx): judge the provider's own bytes as ever, and give the
//     caller t.Error(status, body).
//   - a whole answer: judge it with To.ReadAnswer as ever, and give the caller what
//     t.Answer returns. Its error means: not an answer, fail over.
//   - a stream: frame it as ever and give each event to t.Stream(); see Stream.
//
// It is for one goroutine.
type Translation struct {
	q     *Request
	hop   Hop
	body  []byte
	names map[string]original
	calls bool // the target answers by a call, see answerTool
}

// Translate writes the request for a target. The error is a *CannotError that names
// the field as the caller wrote it.
func (q *Request) Translate(hop Hop) (*Translation, error) {
	t := &Translation{q: q, hop: hop, names: q.originals(hop.To), calls: q.answerTool(&hop) != ""}
	var err error
	switch {
	case hop.To == Chat && q.From != Chat:
		t.body, err = encodeChat(q, &t.hop)
	case hop.To == Messages && q.From != Messages:
		t.body, err = encodeMessages(q, &t.hop)
	case hop.To == Responses && q.From != Responses:
		t.body, err = encodeResponses(q, &t.hop)
	case hop.To == Converse:
		t.body, err = encodeConverse(q, &t.hop)
	default:
		err = &CannotError{Reason: "no translation from " + q.From.String() + " to " + hop.To.String()}
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Body is the request's body for the target. It does not change.
func (t *Translation) Body() []byte { return t.body }

// Estimate is Estimate of the caller's body.
func (q *Request) Estimate() int64 { return q.tokens }

// Answer writes a provider's whole 2xx answer in the caller's dialect, under the model
// name the caller asked for. The error says why the body is not an answer.
func (t *Translation) Answer(body []byte) ([]byte, Usage, error) {
	r := reader{answer: true}
	m := r.document(body)
	var a *Answer
	switch t.hop.To {
	case Chat:
		a = decodeChatAnswer(&r, m)
	case Messages:
		a = decodeMessagesAnswer(&r, m)
	case Converse:
		a = decodeConverseAnswer(&r, m, t.calls)
	default:
		a = decodeResponsesAnswer(&r, m)
	}
	if r.err != nil {
		return nil, Usage{}, r.err
	}
	t.restore(a.Parts)
	switch t.q.From {
	case Chat:
		body = encodeChatAnswer(a, t)
	case Messages:
		body = encodeMessagesAnswer(a, t)
	default:
		body = encodeResponsesAnswer(a, t)
	}
	return body, a.Usage, nil
}

// restore gives the calls of an answer the names and the form that the caller knows.
func (t *Translation) restore(parts []Part) {
	for i := range parts {
		if c := parts[i].Call; c != nil && c.restore(t.names) {
			c.Arguments = unwrapped(c.Arguments)
		}
	}
}

// created is when an answer was made, in Unix seconds.
func (t *Translation) created(said int64) int64 {
	if said > 0 {
		return said
	}
	return t.hop.Now
}

// wantsThinking reports whether the caller of messages expects thinking blocks: one
// that did not ask for them takes the first block for the answer.
func (t *Translation) wantsThinking() bool {
	think := &t.q.Settings.Think
	return (think.Mode == ThinkOn || think.Mode == ThinkAdaptive) && !think.Hide
}

// Error writes a provider's refusal in the caller's dialect: the same text, and the
// type and code that say the same there. The status stays what it was.
func (t *Translation) Error(status int, body []byte) []byte {
	return t.q.From.Refusal(status, body, t.hop.ID, nil)
}
