package llm

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// maxToolName is how long OpenAI lets a function's name be, in bytes.
const maxToolName = 64

// flatName is the one name of a tool in a dialect without namespaces, within what every
// vendor allows. The same tool always has the same name, in history too.
func flatName(namespace, name string) string {
	flat := name
	if namespace != "" {
		flat = strings.TrimSuffix(namespace, "__") + "__" + name
	}
	flat = strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c < 0x80 && (c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9') {
			return c
		}
		return '_'
	}, flat)
	if len(flat) <= maxToolName && (namespace != "" || flat == name) {
		return flat
	}
	return shortened(flat, namespace+"\x00"+name, maxToolName) // two names that differ beyond the cut stay two
}

// shortened is a name of so many bytes at most, told from others that begin the same by
// what it is made from.
func shortened(name, from string, most int) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(from))
	sum := h.Sum32()
	out := []byte(name[:min(len(name), most-9)])
	out = append(out, '_')
	for shift := 28; shift >= 0; shift -= 4 {
		out = append(out, hexDigits[sum>>shift&0xf])
	}
	return string(out)
}

// How long a call's id may be, in bytes. Conversations come with ids of every vendor's, and
// some make longer ones than others take ("string too long. Expected a string with maximum
// length 40" of tool_calls[].id in OpenAI's chat, 64 of call_id in responses).
const (
	maxChatID   = 40
	maxCallID   = 64 // of responses, and of toolUseId in converse
	exactChatID = 9  // Mistral's, no less: "must be a-z, A-Z, 0-9, with a length of 9"
)

// shortID is a call's id in a dialect that allows so many bytes of it.
func shortID(id string, most int) string {
	if len(id) <= most {
		return id
	}
	return shortened(id, id, most)
}

// chatID is a call's id as the target takes it in chat. The same id always becomes the same.
func (m *Model) chatID(id string) string {
	switch m.IDs {
	case ShortIDs:
		return shortID(id, maxChatID)
	case ExactIDs:
		return exactID(id)
	}
	return id
}

// exactID is an id of exactChatID letters and digits.
func exactID(id string) string {
	odd := func(c rune) bool { return c|0x20 < 'a' || c|0x20 > 'z' }
	if len(id) == exactChatID && !strings.ContainsFunc(id, func(c rune) bool { return odd(c) && (c < '0' || c > '9') }) {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	text := strconv.FormatUint(h.Sum64(), 36)
	return (strings.Repeat("0", exactChatID) + text)[len(text):]
}

// wireID is a call's id in a dialect that allows letters, digits, '-' and '_' only.
// Ids are kept as they are wherever they can be.
func wireID(id string) string {
	legal := func(c byte) bool {
		return c == '-' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
	}
	plain := true
	for i := range len(id) {
		plain = plain && (legal(id[i]) || id[i] == '_')
	}
	if plain && id != "" {
		return id
	}
	var out []byte
	for i := range len(id) {
		if legal(id[i]) {
			out = append(out, id[i])
			continue
		}
		out = append(out, '_', hexDigits[id[i]>>4], hexDigits[id[i]&0xf])
	}
	return "call_" + string(out)
}

// original is what the caller calls a tool that crossed under another name.
type original struct {
	namespace, name string
	custom          bool // it takes text, and crossed as a function with one field
	search          bool // it is the caller's search for tools
}

// originals maps the names that crossed to what the caller knows, where they differ.
func (q *Request) originals(to Dialect) map[string]original {
	var names map[string]original
	for i := range q.Tools {
		t := &q.Tools[i]
		if t.Kind == WebSearch {
			continue
		}
		o := original{t.Namespace, t.Name, t.Kind == Custom && to != Responses, t.Search}
		if flat := flatName(t.Namespace, t.Name); flat != t.Name || o.custom || o.search {
			if names == nil {
				names = map[string]original{}
			}
			names[flat] = o
		}
	}
	return names
}

// restore gives a call back the name that the caller knows.
func (c *Call) restore(names map[string]original) (wrapped bool) {
	o, ok := names[c.Name]
	if !ok {
		return false
	}
	wrapped = o.custom && !c.Custom
	c.Namespace, c.Name, c.Custom, c.Search = o.namespace, o.name, c.Custom || o.custom, o.search
	return wrapped
}

// customSchema is what a tool that takes text looks like as a function.
const customSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

// wrapped is a custom call's text as the arguments of a function.
func wrapped(text string) string { return `{"input":` + string(quote(nil, text)) + `}` }

// unwrapped is the text of a custom call that crossed as a function. A model that did
// not keep to the schema is taken at its word.
func unwrapped(arguments string) string {
	var r reader
	m := r.document([]byte(arguments))
	if input := m.get("input"); r.err == nil && len(m) == 1 && input.kind() == '"' {
		return unquote(input)
	}
	return arguments
}

// customDescription tells the model of a grammar that the dialect has no place for.
func (t *Tool) customDescription() string {
	text := t.Description
	if len(t.Format) == 0 {
		return text
	}
	var r reader
	m := r.object("", raw(t.Format))
	definition := r.text(m, "definition")
	if definition == "" {
		return text
	}
	if text != "" {
		text += "\n\n"
	}
	return text + "The input must follow this " + r.text(m, "syntax") + " grammar:\n" + definition
}

// wrappedTool is a custom tool as a function.
func (t *Tool) wrapped() Tool {
	return Tool{Name: t.Name, Namespace: t.Namespace, Description: t.customDescription(), Schema: json.RawMessage(customSchema), Cache: t.Cache}
}

// wireArguments are a call's arguments for a dialect without custom calls.
func (c *Call) wireArguments() string {
	if c.Custom {
		return wrapped(c.Arguments)
	}
	return c.Arguments
}

// schemaObject is a tool's schema as all vendors take it: of an object, with properties.
func schemaObject(schema json.RawMessage) []byte {
	if len(schema) == 0 {
		return []byte(`{"type":"object","properties":{}}`)
	}
	var r reader
	m := r.object("", raw(schema))
	if r.err != nil || m.get("type") != nil && m.get("properties") != nil {
		return schema
	}
	w := writer{}
	w.open('{')
	if m.get("type") == nil {
		w.str("type", "object")
	}
	for _, member := range m {
		w.sep()
		w.b = append(quote(w.b, string(member.key)), ':')
		w.value(member.value)
	}
	if kind := m.get("type"); m.get("properties") == nil && (kind == nil || string(kind) == `"object"`) {
		w.in("properties", '{')
		w.close('}')
	}
	w.close('}')
	return w.b
}

// allowedTools are those the choice leaves, for dialects that cannot narrow a choice.
func (q *Request) allowedTools() []Tool {
	if q.Choice.Names == nil || q.Choice.Mode == ChoiceTool {
		return q.Tools
	}
	var tools []Tool
	for _, t := range q.Tools {
		if slices.Contains(q.Choice.Names, t.Name) {
			tools = append(tools, t)
		}
	}
	return tools
}

// toolNamed is the flat name of the tool that a choice names.
func (q *Request) toolNamed(name string) string {
	for i := range q.Tools {
		if q.Tools[i].Name == name {
			return flatName(q.Tools[i].Namespace, name)
		}
	}
	return flatName("", name)
}
