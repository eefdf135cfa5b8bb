package llm

import "bytes"

// Fitted returns a chat request's body with its conversation as the target takes it, and
// whether that changes anything: calls of other vendors' models have ids that it refuses
// (Model.IDs), and some want their model to speak between results and the user
// (Model.AnswersResults). All other fields keep their bytes, but for those that are null.
func Fitted(body []byte, m *Model) ([]byte, bool) {
	if !m.AnswersResults && !m.refusesIDs(body) || !bytes.Contains(body, []byte(resultKey)) {
		return nil, false
	}
	f := fitting{thoughts: thoughts{reader: new(reader)}, m: m}
	doc := f.document(body)
	f.list(doc, "messages", f.turn)
	out := f.rewrite(doc)
	return out, f.err == nil && f.changed
}

// resultKey is the name of the field by which a result says which call it is of.
const resultKey = `"tool_call_id"`

// refusesIDs looks at the ids of a conversation's results, which are those of its calls. It
// is one search where there is nothing to find.
func (m *Model) refusesIDs(body []byte) bool {
	if m.IDs == AnyIDs {
		return false
	}
	for {
		_, rest, found := bytes.Cut(body, []byte(resultKey))
		if !found {
			return false
		}
		s := scanner{b: rest}
		s.space()
		if body = rest; s.peek() != ':' {
			continue
		}
		s.i++
		if s.space(); s.peek() != '"' {
			continue
		}
		if id, err := s.text(); err == nil && m.chatID(id) != id {
			return true
		}
	}
}

// fitting goes through a conversation for one target.
type fitting struct {
	thoughts // how a list is gone through, and the rest of a body kept
	m        *Model
	before   string // the role of the message before
}

// turn writes a message.
func (f *fitting) turn(v raw, w *writer) bool {
	m := f.object("", v)
	role := f.text(m, "role")
	if role == "user" && f.before == "tool" && f.m.AnswersResults {
		w.open('{')
		w.str("role", "assistant")
		w.str("content", resultsCame)
		w.close('}')
		f.changed = true
	}
	f.before = role
	if m.get("tool_call_id") == nil && m.get("tool_calls") == nil {
		return f.keep(v, w)
	}
	w.open('{')
	for _, member := range m {
		if string(member.key) != "tool_calls" || member.value.kind() != '[' {
			f.id(w, member, "tool_call_id")
			continue
		}
		w.in("tool_calls", '[')
		f.each(m, "tool_calls", func(v raw) {
			w.open('{')
			for _, member := range f.object("", v) {
				f.id(w, member, "id")
			}
			w.close('}')
		})
		w.close(']')
	}
	w.close('}')
	return true
}

// id writes a member, which where it has the name is a call's id.
func (f *fitting) id(w *writer, m member, name string) {
	if string(m.key) != name || m.value.kind() != '"' {
		w.member(m, "", nil)
		return
	}
	id := unquote(m.value)
	fits := f.m.chatID(id)
	f.changed = f.changed || fits != id
	w.str(name, fits)
}
