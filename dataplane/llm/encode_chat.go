package llm

import "strings"

// encodeChat writes the request for a target that speaks chat.
func encodeChat(q *Request, hop *Hop) ([]byte, error) {
	e := chatEncoder{encode(q, hop)}
	w := &e.writer
	w.open('{')
	w.str("model", e.m.Name)
	w.in("messages", '[')
	e.system(q.System)
	turns := q.Turns
	if e.m.Alternates {
		turns = e.turns()
	}
	for i := range turns {
		e.turn(&turns[i])
	}
	w.close(']')
	e.tools()
	e.settings()
	if q.Stream {
		w.bool("stream", true)
		if !e.m.NoStreamOptions {
			w.in("stream_options", '{')
			w.bool("include_usage", true)
			w.close('}')
		}
	}
	w.close('}')
	return e.body()
}

type chatEncoder struct{ encoding }

func (e *chatEncoder) message(role string) {
	e.open('{')
	e.str("role", role)
}

func (e *chatEncoder) system(parts []Part) {
	if len(parts) == 0 {
		return
	}
	e.message("system")
	e.content(parts)
	e.close('}')
}

func (e *chatEncoder) turn(t *Turn) {
	switch t.Role {
	case System:
		e.system(t.Parts)
	case User:
		e.user(t.Parts)
	case Assistant:
		e.assistant(t.Parts)
	}
}

// user writes the results first, each as a message of its own. Those hold text only,
// so what else they have follows in the user's message.
func (e *chatEncoder) user(parts []Part) {
	var rest []Part
	results := false
	for i := range parts {
		if parts[i].Kind == Result {
			rest, results = e.result(parts[i].Output, rest), true
		}
	}
	for _, p := range parts {
		if p.Kind != Result && p.Kind != Thinking {
			rest = append(rest, p)
		}
	}
	if len(rest) == 0 {
		return
	}
	if results && e.m.AnswersResults {
		e.message("assistant")
		e.str("content", resultsCame)
		e.close('}')
	}
	e.message("user")
	e.content(rest)
	e.close('}')
}

func (e *chatEncoder) result(out *Output, rest []Part) []Part {
	e.message("tool")
	e.str("tool_call_id", e.m.chatID(out.ID))
	var text, other []Part
	for _, p := range out.Parts {
		if p.Kind == Text || e.plainDocument(&p) {
			text = append(text, p)
		} else {
			other = append(other, p)
		}
	}
	if len(text) == 0 {
		e.str("content", "")
	} else {
		e.content(text)
	}
	e.close('}')
	if len(other) == 0 {
		return rest
	}
	rest = append(rest, Part{Kind: Text, Text: "What tool call " + out.ID + " returned:"})
	return append(rest, other...)
}

// plainDocument reports whether a document is only text.
func (e *chatEncoder) plainDocument(p *Part) bool {
	return p.Kind == Document && p.Media.Plain != ""
}

// content writes one text as a string and everything else as a list.
func (e *chatEncoder) content(parts []Part) {
	if text, ok := e.oneText(parts); ok {
		e.str("content", text)
		return
	}
	e.in("content", '[')
	for i := range parts {
		e.part(&parts[i])
	}
	e.close(']')
}

func (e *chatEncoder) oneText(parts []Part) (string, bool) {
	var texts []string
	for i := range parts {
		p := &parts[i]
		if p.Kind != Text && !e.plainDocument(p) || e.m.Caches && p.Cache != nil {
			return "", false
		}
		texts = append(texts, p.plain())
	}
	if len(texts) != 1 && !e.m.PlainText {
		return "", false
	}
	return strings.Join(texts, "\n\n"), true
}

// plain is a part's text; a text document's has its title on top.
func (p *Part) plain() string {
	if p.Kind != Document {
		return p.Text
	}
	if p.Media.Name != "" {
		return p.Media.Name + "\n\n" + p.Media.Plain
	}
	return p.Media.Plain
}

func (e *chatEncoder) part(p *Part) {
	e.open('{')
	switch {
	case p.Kind == Image:
		e.str("type", "image_url")
		e.in("image_url", '{')
		e.image(e.media(p))
		e.opt("detail", p.Media.Detail)
		e.close('}')
	case p.Kind == Document && p.Media.Plain == "":
		e.str("type", "file")
		e.in("file", '{')
		e.file(e.inBytes(p)) // chat takes documents as bytes only
		e.close('}')
	default:
		e.str("type", "text")
		e.str("text", p.plain())
	}
	if e.m.Caches {
		e.raw("cache_control", p.Cache)
	}
	e.close('}')
}

func (e *chatEncoder) image(m *Media) {
	switch {
	case m.URL != "":
		e.str("url", m.URL)
	case m.FileID != "":
		e.foreignFile(m)
	default:
		e.dataURL("url", m.MIME, m.Data)
	}
}

func (e *chatEncoder) file(m *Media) {
	name := m.Name
	if name == "" {
		name = "document.pdf" // required with data, and tells the type
	}
	if m.FileID != "" {
		e.foreignFile(m)
	}
	e.str("filename", name)
	e.dataURL("file_data", m.MIME, m.Data)
}

func (e *chatEncoder) assistant(parts []Part) {
	var text []Part
	var refusal string
	calls := 0
	for _, p := range parts {
		switch p.Kind {
		case Text:
			text = append(text, p)
		case Refusal:
			refusal += p.Text
		case ToolCall:
			calls++
		}
	}
	if len(text) == 0 && refusal == "" && calls == 0 {
		return // it only thought, and thoughts do not cross
	}
	e.message("assistant")
	if len(text) > 0 {
		e.content(text)
	} else {
		e.null("content")
	}
	e.opt("refusal", refusal)
	if calls > 0 {
		e.in("tool_calls", '[')
		signature := e.m.CallSignature // of the first call of a turn
		for i := range parts {
			if parts[i].Kind == ToolCall {
				e.call(parts[i].Call, signature)
				signature = ""
			}
		}
		e.close(']')
	}
	e.close('}')
}

func (e *chatEncoder) call(c *Call, signature string) {
	e.open('{')
	e.str("id", e.m.chatID(c.ID))
	e.str("type", "function")
	e.in("function", '{')
	e.str("name", flatName(c.Namespace, c.Name))
	e.str("arguments", c.wireArguments())
	e.close('}')
	if signature != "" {
		e.in("extra_content", '{')
		e.in("google", '{')
		e.str("thought_signature", signature)
		e.close('}')
		e.close('}')
	}
	e.close('}')
}

func (e *chatEncoder) tools() {
	tools := e.q.Tools
	if !e.m.Extras {
		tools = e.q.allowedTools() // allowed_tools is OpenAI's own
	}
	if len(tools) == 0 {
		return
	}
	if e.m.has(NoTools) {
		e.cannot("tools", "the target calls no tools")
	}
	e.in("tools", '[')
	for i := range tools {
		t, ok := e.asFunction(&tools[i])
		if !ok {
			continue
		}
		e.open('{')
		e.str("type", "function")
		e.in("function", '{')
		e.function(&t)
		if t.Strict != nil {
			e.bool("strict", *t.Strict)
		}
		e.close('}')
		if e.m.Caches {
			e.raw("cache_control", t.Cache)
		}
		e.close('}')
	}
	e.close(']')
	e.choice()
}

func (e *chatEncoder) choice() {
	c := &e.q.Choice
	switch {
	case c.Mode == ChoiceTool:
		e.in("tool_choice", '{')
		e.namedFunction(e.q.toolNamed(c.Names[0]))
		e.close('}')
	case c.Names != nil && e.m.Extras:
		e.in("tool_choice", '{')
		e.str("type", "allowed_tools")
		e.in("allowed_tools", '{')
		e.str("mode", choiceWords[c.Mode])
		e.in("tools", '[')
		for _, name := range c.Names {
			e.open('{')
			e.namedFunction(e.q.toolNamed(name))
			e.close('}')
		}
		e.close(']')
		e.close('}')
		e.close('}')
	case c.Mode != ChoiceUnset:
		e.str("tool_choice", choiceWords[c.Mode])
	}
	if c.Parallel != nil {
		e.bool("parallel_tool_calls", *c.Parallel)
	}
}

func (e *chatEncoder) namedFunction(name string) {
	e.str("type", "function")
	e.in("function", '{')
	e.str("name", name)
	e.close('}')
}

// choiceWords are OpenAI's.
var choiceWords = map[ChoiceMode]string{ChoiceAuto: "auto", ChoiceRequired: "required", ChoiceNone: "none"}

func (e *chatEncoder) settings() {
	s := &e.q.Settings
	if limit := e.m.limit(s.MaxTokens); limit > 0 {
		key := "max_tokens"
		if e.m.CompletionTokens {
			key = "max_completion_tokens"
		}
		e.int(key, limit)
	}
	if len(s.Stop) > 4 {
		e.cannot("stop_sequences", "chat takes at most four")
	}
	if len(s.Stop) > 0 {
		e.in("stop", '[')
		for _, stop := range s.Stop {
			e.element(stop)
		}
		e.close(']')
	}
	e.thinking(s.Think)
	if s.Format != nil && s.Format.Schema != nil && e.m.NoSchemas {
		e.cannot(e.formatField(), "the target keeps to no schema")
	}
	if s.Format != nil {
		e.in("response_format", '{')
		e.format(s.Format, true)
		e.close('}')
	}
	e.sampling(s, e.m)
	if e.m.Extras {
		e.opt("verbosity", s.Verbosity)
		e.extras(s)
	}
}

// thinking writes how the model is told to think. DeepSeek's do unasked, and then want
// what they thought before each call back, which did not cross: a conversation with calls
// goes on without thinking.
// https://api-docs.deepseek.com/guides/thinking_mode
func (e *chatEncoder) thinking(t Think) {
	if e.m.ThinkSwitch && (t.Mode == ThinkOff || e.q.calls()) {
		e.in("thinking", '{')
		e.str("type", "disabled")
		e.close('}')
		return
	}
	e.opt("reasoning_effort", e.m.openAIEffort(t))
}
