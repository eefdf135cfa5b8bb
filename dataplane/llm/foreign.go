package llm

import (
	"bytes"
	"slices"
	"strings"
)

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
	if d == Chat {
		return body // which has no seals
	}
	out, changed := withoutThoughts(d, body, thoughts{})
	if !changed {
		return body // not for this function to judge
	}
	return out
}

// chatThoughts are the fields of an assistant's message in which vendors of chat, and the
// gateway where it translates, write what a model thought. Tools send them back with the
// conversation, whoever is asked next.
// https://api-docs.deepseek.com/guides/thinking_mode,
// https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
var chatThoughts = []string{"reasoning_content", "reasoning", "reasoning_details"}

// Forgotten returns a chat request's body without the thoughts in its conversation that the
// target does not take back (Model.Forgets), and whether there were any. All other fields keep
// their bytes, but for those that are null.
func Forgotten(body []byte, m *Model) ([]byte, bool) {
	if len(m.Forgets) == 0 || !bytes.Contains(body, []byte(`"reasoning`)) || !mentions(body, m.Forgets) {
		return nil, false
	}
	return withoutThoughts(Chat, body, thoughts{fields: m.Forgets})
}

func mentions(text []byte, fields []string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { return bytes.Contains(text, []byte(`"`+f+`"`)) })
}

// WithoutThoughts returns a request's body without any thinking in its conversation, and
// with a model that thinks on a budget, or that thinks unasked (m.ThinkSwitch), told not
// to: for a target that refuses what another account's model thought, or a conversation
// that lacks it. It reports whether that changed anything. All other fields keep their bytes, but for those that are null
// and the ids of what stands beside a thought, by which OpenAI would ask for it.
func WithoutThoughts(d Dialect, body []byte, m *Model) ([]byte, bool) {
	return withoutThoughts(d, body, thoughts{all: true, fields: chatThoughts, off: d == Chat && m.ThinkSwitch})
}

func withoutThoughts(d Dialect, body []byte, f thoughts) ([]byte, bool) {
	f.reader = new(reader)
	m := f.document(body)
	switch d {
	case Messages:
		f.list(m, "messages", f.message)
	case Responses:
		f.list(m, "input", f.item)
	case Chat:
		f.list(m, "messages", f.turn)
		f.off = f.off && f.text(f.at(m, "thinking"), "type") != "disabled"
		f.changed = f.changed || f.off
		out := f.rewrite(m)
		return out, f.err == nil && f.changed
	default:
		return nil, false
	}
	if f.off = f.all || f.waiting; f.off {
		f.off = f.text(f.at(m, "thinking"), "type") == "enabled"
		f.changed = f.changed || f.off && f.all
	}
	out := f.rewrite(m)
	return out, f.err == nil && f.changed
}

// thoughts rewrites one list of a request without some or all of the thoughts in it.
type thoughts struct {
	*reader
	all     bool     // and not only those with the gateway's seal
	fields  []string // of a message of chat
	field   string
	out     writer
	changed bool
	waiting bool // the last message brings results
	off     bool // the model is not to think
}

// list goes through a list; each writes an element, or says that it is left out.
func (f *thoughts) list(m members, key string, each func(v raw, w *writer) bool) {
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

func (f *thoughts) keep(v raw, w *writer) bool {
	w.sep()
	w.value(v)
	return true
}

// item keeps an item of responses, unless it is a thought or leads to one.
func (f *thoughts) item(v raw, w *writer) bool {
	m := f.object("", v)
	kind := f.text(m, "type")
	switch {
	case !f.all:
		return f.text(m, "encrypted_content") != foreignSeal && f.keep(v, w)
	case kind == "reasoning", kind == "item_reference" && strings.HasPrefix(f.text(m, "id"), "rs_"):
		return false
	case m.get("id") == nil, kind != "message" && kind != "function_call" && kind != "custom_tool_call":
		return f.keep(v, w)
	}
	w.open('{')
	for _, member := range m {
		if string(member.key) != "id" {
			w.member(member, "", nil)
		}
	}
	w.close('}')
	return true
}

// message keeps a message, its blocks but for thoughts, and nothing where none is left.
func (f *thoughts) message(v raw, w *writer) bool {
	f.waiting = bytes.Contains(v, []byte(`"tool_result"`))
	sign := foreignSeal
	if f.all {
		sign = "thinking"
	}
	if !bytes.Contains(v, []byte(sign)) {
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
		if !f.thought(f.object("", v)) {
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

// turn keeps a message of chat but for the fields with thoughts, and nothing of one that had
// nothing else.
func (f *thoughts) turn(v raw, w *writer) bool {
	if !mentions(v, f.fields) {
		return f.keep(v, w)
	}
	m := f.object("", v)
	thought := func(m member) bool { return slices.Contains(f.fields, string(m.key)) }
	if f.text(m, "role") != "assistant" || !slices.ContainsFunc(m, thought) {
		return f.keep(v, w)
	}
	if content := string(m.get("content")); (content == "" || content == "null" || content == `""`) && m.get("tool_calls") == nil && m.get("function_call") == nil && m.get("refusal") == nil {
		return false
	}
	f.changed = true
	w.open('{')
	for _, member := range m {
		if !thought(member) {
			w.member(member, "", nil)
		}
	}
	w.close('}')
	return true
}

// thought reports whether a block is one that is left out.
func (f *thoughts) thought(m members) bool {
	if f.text(m, "signature") == foreignSeal {
		return true
	}
	kind := f.text(m, "type")
	return f.all && (kind == "thinking" || kind == "redacted_thinking")
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

func (f *thoughts) rewrite(m members) []byte {
	w, told := writer{}, false
	w.open('{')
	for _, member := range m {
		switch key := string(member.key); {
		case f.off && key == "thinking":
			w.raw("thinking", disabled)
			told = true
		case f.off && key == "reasoning_effort": // how much it is not to think
		case f.off && key == "context_management" && member.value.kind() == '{':
			f.contextManagement(&w, member)
		default:
			w.member(member, f.field, f.out.b)
		}
	}
	if f.off && !told {
		w.raw("thinking", disabled)
	}
	w.close('}')
	return w.b
}

// disabled is thinking that is turned off, as Anthropic and DeepSeek have it.
var disabled = raw(`{"type":"disabled"}`)

// contextManagement leaves out the edits that clear thinking: without any Anthropic
// refuses them.
func (f *thoughts) contextManagement(w *writer, m member) {
	inner, edits := f.object("", m.value), writer{}
	edits.open('[')
	f.each(inner, "edits", func(v raw) {
		if !strings.HasPrefix(f.text(f.object("", v), "type"), "clear_thinking_") {
			f.keep(v, &edits)
		}
	})
	edits.close(']')
	w.in(string(m.key), '{')
	for _, member := range inner {
		w.member(member, "edits", edits.b)
	}
	w.close('}')
}
