package llm

import (
	"slices"
	"strings"
)

// encodeConverse writes the request for a model on AWS that is asked through Converse or
// ConverseStream. The address names the model and says whether to stream; the body has
// neither. What the service knows of each field is in
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
func encodeConverse(q *Request, hop *Hop) ([]byte, error) {
	e := converseEncoder{encoding: encode(q, hop), answer: q.answerTool(hop)}
	e.tools = e.offered()
	e.open('{')
	e.conversation()
	e.inference()
	e.toolConfig()
	e.additional()
	e.format(q.Settings.Format)
	e.close('}')
	return e.body()
}

type converseEncoder struct {
	encoding
	answer string   // see answerTool
	tools  []Tool   // that may be called; none: the calls of the history are told as text
	names  []string // of the documents so far
}

// conversation writes system and messages. The service wants turns that take turns, the
// user's first, and no blank text.
func (e *converseEncoder) conversation() {
	system, turns := e.opened()
	if e.m.has(NoSystem) && len(system) > 0 {
		turns[0].Parts = append(instructing(system), turns[0].Parts...)
		system = nil
	}
	if last := len(turns) - 1; turns[last].Role == Assistant && e.m.has(NoPrefill) {
		turns = append(turns, Turn{User, []Part{{Kind: Text, Text: "(The answer goes on.)"}}})
	} else {
		trimEnd(&turns[last])
	}
	if len(system) > 0 {
		e.in("system", '[')
		for i := range system {
			e.block(&system[i])
		}
		e.close(']')
	}
	e.in("messages", '[')
	for i := range turns {
		e.turn(&turns[i])
	}
	e.close(']')
}

// instructing are instructions as text of the user's.
func instructing(system []Part) (parts []Part) {
	for _, p := range system {
		p.Text = marked(p.Text)
		parts = append(parts, p)
	}
	return parts
}

func (e *converseEncoder) turn(t *Turn) {
	role := "user"
	if t.Role == Assistant {
		role = "assistant"
	}
	e.open('{')
	e.str("role", role)
	e.in("content", '[')
	parts := resultsFirst(t.Parts)
	if len(e.tools) == 0 {
		parts = told(parts)
	}
	written, files := false, false
	for i := range parts {
		p := e.known(&parts[i])
		e.block(p)
		written, files = written || p.Kind == Text, files || p.Kind == Document
	}
	if files && !written { // a document stands beside a text, or is refused
		e.block(&Part{Kind: Text, Text: "(See the document.)"})
	}
	e.close(']')
	e.close('}')
}

// told are a turn's parts with calls and results as text. The service refuses both where
// the request offers no tools, and offers no way to forbid the tools that it offers: who
// says that none may be called, or has none, would else get calls.
func told(parts []Part) (out []Part) {
	for _, p := range parts {
		switch p.Kind {
		case ToolCall:
			name := flatName(p.Call.Namespace, p.Call.Name)
			p = Part{Kind: Text, Text: "(Called the tool " + name + " with " + p.Call.Arguments + ", call " + p.Call.ID + ".)", Cache: p.Cache}
		case Result:
			out = append(out, Part{Kind: Text, Text: "(What call " + p.Output.ID + " returned:)"})
			out = append(out, output(p.Output)...)
			out[len(out)-1].Cache = p.Cache
			continue
		}
		out = append(out, p)
	}
	return out
}

// output is what a tool said, which is never nothing: the service refuses that.
func output(o *Output) []Part {
	if len(o.Parts) == 0 {
		return []Part{{Kind: Text, Text: "(no output)"}}
	}
	return o.Parts
}

// known is the part as a text or as a file whose bytes are known.
func (e *converseEncoder) known(p *Part) *Part {
	if p.Kind != Document && p.Kind != Image {
		return p
	}
	m := e.inBytes(p)
	if m.FileID != "" {
		e.foreignFile(m)
	}
	if p.Kind == Document {
		m = asText(m)
	}
	file := *p
	if file.Media = m; m.Plain != "" {
		file = Part{Kind: Text, Text: file.plain(), Cache: p.Cache}
	}
	return &file
}

// block writes a part, and the end of a cached beginning where the caller marked one.
func (e *converseEncoder) block(p *Part) {
	e.open('{')
	switch p.Kind {
	case Image:
		e.image(p.Media)
	case Document:
		e.document(p.Media)
	case ToolCall:
		e.in("toolUse", '{')
		e.str("toolUseId", shortID(wireID(p.Call.ID), maxCallID))
		e.str("name", flatName(p.Call.Namespace, p.Call.Name))
		e.raw("input", []byte(p.Call.wireArguments()))
		e.close('}')
	case Result:
		e.result(p.Output)
	default:
		e.str("text", p.Text)
	}
	e.close('}')
	if p.Cache != nil && e.m.Caches {
		e.open('{')
		e.in("cachePoint", '{')
		e.str("type", "default")
		e.close('}')
		e.close('}')
	}
}

func (e *converseEncoder) result(o *Output) {
	e.in("toolResult", '{')
	e.str("toolUseId", shortID(wireID(o.ID), maxCallID))
	e.in("content", '[')
	for _, p := range output(o) {
		p.Cache = nil // only whole blocks of a message end what is cached
		e.block(e.known(&p))
	}
	e.close(']')
	if o.Failed && e.m.has(FailedResults) {
		e.str("status", "error")
	}
	e.close('}')
}

// imageFormats: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html
var imageFormats = map[string]string{"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"}

// documentFormats: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html
// What is text goes as text.
var documentFormats = map[string]string{
	"application/pdf":    "pdf",
	"application/msword": "doc",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.ms-excel": "xls",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}

func (e *converseEncoder) image(m *Media) {
	if e.m.has(NoImages) {
		e.cannot("image", "the target's model sees no images")
	}
	format, ok := imageFormats[m.MIME]
	if !ok && m.URL == "" { // else it is fetched first
		e.cannot("image", "Converse takes PNG, JPEG, GIF and WebP, not "+m.MIME)
	}
	e.file("image", format, "", m)
}

func (e *converseEncoder) document(m *Media) {
	if e.m.has(NoDocuments) {
		e.cannot("file_data", "the target's model reads no documents but text")
	}
	format, ok := documentFormats[m.MIME]
	if !ok && m.URL == "" {
		e.cannot("file_data", "Converse takes PDF, Word, Excel and text, not "+m.MIME)
	}
	e.file("document", format, e.documentName(m.Name), m)
}

func (e *converseEncoder) file(kind, format, name string, m *Media) {
	e.in(kind, '{')
	e.str("format", format)
	e.opt("name", name)
	e.in("source", '{')
	e.str("bytes", m.Data)
	e.close('}')
	e.close('}')
}

// documentName is a name as the service takes it, which no other document of the request
// has: letters, digits, hyphens, brackets, and spaces one at a time.
func (e *converseEncoder) documentName(name string) string {
	const longest = 100 // half of what is taken leaves room for a number
	legal := strings.Map(func(c rune) rune {
		if c < 0x80 && (c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune("-()[]", c)) {
			return c
		}
		return ' '
	}, name)
	legal = strings.Join(strings.Fields(legal), " ")
	legal = strings.TrimSpace(legal[:min(len(legal), longest)])
	if legal == "" {
		legal = "document"
	}
	unique := legal
	for n := int64(2); slices.Contains(e.names, unique); n++ {
		unique = legal + " (" + string(intRaw(n)) + ")"
	}
	e.names = append(e.names, unique)
	return unique
}
