package llm

import "bytes"

// Native returns a request's body without the thinking of other vendors' models, which
// a translated answer put into the conversation and which its own vendor would refuse
// for its signature. It is for requests that are forwarded in their own dialect, before
// Scan. Where there is none, which costs one search, it is body itself; else all other
// fields keep their bytes, but for those that are null. A model that thinks on a
// budget and is in the middle of a turn of calls is told not to think this once:
// it wants the thought that began the turn, and has none.
func Native(d Dialect, body []byte) []byte {
	if !bytes.Contains(body, []byte(foreignSeal)) {
		return body
	}
	var r reader
	m := r.document(body)
	f := foreign{reader: &r}
	switch d {
	case Messages:
		f.list(m, "messages", f.message)
	case Responses:
		f.list(m, "input", func(v raw, w *writer) bool {
			return r.text(r.object("", v), "encrypted_content") != foreignSeal && f.keep(v, w)
		})
	default:
		return body
	}
	if r.err != nil || !f.changed {
		return body // not for this function to judge
	}
	return f.rewrite(m)
}

// foreign rewrites one list of a request.
type foreign struct {
	*reader
	field   string
	out     writer
	changed bool
	waiting bool // the last message brings results
}

// list goes through a list; each writes an element, or says that it is left out.
func (f *foreign) list(m members, key string, each func(v raw, w *writer) bool) {
	f.field = key
	f.out.open('[')
	if m.get(key).kind() == '[' {
		f.each(m, key, func(v raw) {
			if !each(v, &f.out) {
				f.changed = true
			}
		})
	}
	f.out.close(']')
}

func (f *foreign) keep(v raw, w *writer) bool {
	w.sep()
	w.value(v)
	return true
}

// message keeps a message, its blocks but those with the seal, and nothing where none
// is left.
func (f *foreign) message(v raw, w *writer) bool {
	f.waiting = bytes.Contains(v, []byte(`"tool_result"`))
	if !bytes.Contains(v, []byte(foreignSeal)) {
		return f.keep(v, w)
	}
	m := f.object("", v)
	if m.get("content").kind() != '[' {
		return f.keep(v, w)
	}
	content, blocks, left := writer{}, 0, 0
	content.open('[')
	f.each(m, "content", func(v raw) {
		blocks++
		if f.text(f.object("", v), "signature") != foreignSeal {
			left++
			f.keep(v, &content)
		}
	})
	content.close(']')
	if f.err != nil || left == 0 && blocks > 0 {
		return false
	}
	f.changed = f.changed || left < blocks
	w.open('{')
	for _, member := range m {
		w.member(member, "content", content.b)
	}
	w.close('}')
	return true
}

// member writes a member as it came, or with the value instead where it has the name.
func (w *writer) member(m member, name string, instead []byte) {
	w.sep()
	w.b = append(quote(w.b, string(m.key)), ':')
	if string(m.key) == name {
		w.value(instead)
	} else {
		w.value(m.value)
	}
}

func (f *foreign) rewrite(m members) []byte {
	w := writer{}
	w.open('{')
	for _, member := range m {
		if string(member.key) == "thinking" && f.waiting && f.text(f.object("", member.value), "type") == "enabled" {
			w.raw("thinking", []byte(`{"type":"disabled"}`))
			continue
		}
		w.member(member, f.field, f.out.b)
	}
	w.close('}')
	return w.b
}
