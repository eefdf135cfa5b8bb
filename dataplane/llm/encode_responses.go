package llm

// encodeResponses writes the request for a target that speaks responses.
func encodeResponses(q *Request, hop *Hop) ([]byte, error) {
	e := responsesEncoder{encode(q, hop)}
	w := &e.writer
	w.open('{')
	w.str("model", e.m.Name)
	system := q.System
	if len(system) == 1 && q.hasTurns() { // instructions alone are no input
		w.str("instructions", system[0].Text)
		system = nil
	}
	w.in("input", '[')
	e.message("developer", system)
	for i := range q.Turns {
		e.turn(&q.Turns[i])
	}
	w.close(']')
	e.tools()
	e.settings()
	if q.Stream {
		w.bool("stream", true)
	}
	w.close('}')
	return e.body()
}

type responsesEncoder struct{ encoding }

func (e *responsesEncoder) turn(t *Turn) {
	switch t.Role {
	case System:
		e.message("developer", t.Parts)
	case User:
		e.user(t.Parts)
	case Assistant:
		e.assistant(t.Parts)
	}
}

func (e *responsesEncoder) message(role string, parts []Part) {
	if len(parts) == 0 {
		return
	}
	e.open('{')
	e.str("type", "message")
	e.str("role", role)
	e.in("content", '[')
	for i := range parts {
		e.part(&parts[i], role == "assistant")
	}
	e.close(']')
	e.close('}')
}

func (e *responsesEncoder) user(parts []Part) {
	var rest []Part
	for _, p := range parts {
		switch p.Kind {
		case Result:
			e.result(p.Output)
		case Thinking:
		default:
			rest = append(rest, p)
		}
	}
	e.message("user", rest)
}

func (e *responsesEncoder) result(out *Output) {
	e.open('{')
	kind := "function_call_output"
	if out.Custom || e.customID(out.ID) {
		kind = "custom_tool_call_output"
	}
	e.str("type", kind)
	e.str("call_id", shortID(out.ID, maxCallID))
	switch {
	case len(out.Parts) == 0:
		e.str("output", "")
	case len(out.Parts) == 1 && out.Parts[0].Kind == Text:
		e.str("output", out.Parts[0].Text)
	default:
		e.in("output", '[')
		for i := range out.Parts {
			e.part(&out.Parts[i], false)
		}
		e.close(']')
	}
	e.close('}')
}

// customID reports whether a call was of a custom tool: chat's results do not say.
func (e *responsesEncoder) customID(id string) bool {
	for i := range e.q.Turns {
		for _, p := range e.q.Turns[i].Parts {
			if p.Kind == ToolCall && p.Call.Custom && p.Call.ID == id {
				return true
			}
		}
	}
	return false
}

// assistant keeps the order of texts and calls.
func (e *responsesEncoder) assistant(parts []Part) {
	var text []Part
	for _, p := range parts {
		switch p.Kind {
		case ToolCall:
			e.message("assistant", text)
			text = nil
			e.call(p.Call)
		case Thinking:
		default:
			text = append(text, p)
		}
	}
	e.message("assistant", text)
}

func (e *responsesEncoder) call(c *Call) {
	e.open('{')
	if c.Custom {
		e.str("type", "custom_tool_call")
	} else {
		e.str("type", "function_call")
	}
	e.str("call_id", shortID(c.ID, maxCallID))
	e.str("name", flatName(c.Namespace, c.Name))
	if c.Custom {
		e.str("input", c.Arguments)
	} else {
		e.str("arguments", c.Arguments)
	}
	e.close('}')
}

func (e *responsesEncoder) part(p *Part, spoken bool) {
	e.open('{')
	switch {
	case p.Kind == Refusal:
		e.str("type", "refusal")
		e.str("refusal", p.Text)
	case p.Kind == Image:
		e.image(e.media(p))
	case p.Kind == Document && p.Media.Plain == "":
		e.file(e.media(p))
	default:
		kind := "input_text"
		if spoken {
			kind = "output_text"
		}
		e.str("type", kind)
		e.str("text", p.plain())
	}
	e.close('}')
}

func (e *responsesEncoder) image(m *Media) {
	e.str("type", "input_image")
	switch {
	case m.URL != "":
		e.str("image_url", m.URL)
	case m.FileID != "" && e.q.From == Messages:
		e.foreignFile(m)
	case m.FileID != "":
		e.str("file_id", m.FileID)
	default:
		e.dataURL("image_url", m.MIME, m.Data)
	}
	detail := m.Detail
	if detail == "" {
		detail = "auto"
	}
	e.str("detail", detail)
}

func (e *responsesEncoder) file(m *Media) {
	e.str("type", "input_file")
	switch {
	case m.URL != "":
		e.str("file_url", m.URL)
	case m.FileID != "" && e.q.From == Messages:
		e.foreignFile(m)
	case m.FileID != "":
		e.str("file_id", m.FileID)
	default:
		name := m.Name
		if name == "" {
			name = "document.pdf" // required with data, and tells the type
		}
		e.str("filename", name)
		e.dataURL("file_data", m.MIME, m.Data)
	}
}

func (e *responsesEncoder) tools() {
	if len(e.q.Tools) == 0 {
		return
	}
	e.in("tools", '[')
	for i := range e.q.Tools {
		e.tool(&e.q.Tools[i])
	}
	e.close(']')
	e.choice()
}

func (e *responsesEncoder) tool(t *Tool) {
	e.open('{')
	switch t.Kind {
	case WebSearch:
		e.str("type", "web_search")
		if len(t.Domains) > 0 {
			e.in("filters", '{')
			e.in("allowed_domains", '[')
			for _, domain := range t.Domains {
				e.element(domain)
			}
			e.close(']')
			e.close('}')
		}
	case Custom:
		e.str("type", "custom")
		e.str("name", flatName(t.Namespace, t.Name))
		e.opt("description", t.Description)
		e.raw("format", t.Format)
	case Function:
		e.str("type", "function")
		e.function(t)
		// Left out it would be true here, and false where the request comes from.
		e.bool("strict", t.Strict != nil && *t.Strict)
	}
	e.close('}')
}

func (e *responsesEncoder) choice() {
	c := &e.q.Choice
	switch {
	case c.Mode == ChoiceTool:
		e.in("tool_choice", '{')
		e.named(c.Names[0])
		e.close('}')
	case c.Names != nil:
		e.in("tool_choice", '{')
		e.str("type", "allowed_tools")
		e.str("mode", choiceWords[c.Mode])
		e.in("tools", '[')
		for _, name := range c.Names {
			e.open('{')
			e.named(name)
			e.close('}')
		}
		e.close(']')
		e.close('}')
	case c.Mode != ChoiceUnset:
		e.str("tool_choice", choiceWords[c.Mode])
	}
	if c.Parallel != nil {
		e.bool("parallel_tool_calls", *c.Parallel)
	}
}

func (e *responsesEncoder) named(name string) {
	kind := "function"
	for i := range e.q.Tools {
		switch t := &e.q.Tools[i]; {
		case t.Name != name:
		case t.Kind == WebSearch:
			e.str("type", "web_search")
			return
		case t.Kind == Custom:
			kind = "custom"
		}
	}
	e.str("type", kind)
	e.str("name", e.q.toolNamed(name))
}

// minOutput is the least that responses takes as max_output_tokens.
const minOutput = 16

func (e *responsesEncoder) settings() {
	s := &e.q.Settings
	if limit := e.m.limit(s.MaxTokens); limit > 0 {
		e.int("max_output_tokens", max(limit, minOutput))
	}
	if len(s.Stop) > 0 {
		field := "stop"
		if e.q.From == Messages {
			field = "stop_sequences"
		}
		e.cannot(field, "responses cannot stop at a text")
	}
	effort := e.m.openAIEffort(s.Think)
	show := s.Think.Show && e.m.Reasoning == ByEffort && effort != "none"
	if effort != "" || show {
		e.in("reasoning", '{')
		e.opt("effort", effort)
		if show {
			e.str("summary", "auto")
		}
		e.close('}')
	}
	if s.Format != nil || s.Verbosity != "" {
		e.in("text", '{')
		if s.Format != nil {
			e.in("format", '{')
			e.format(s.Format, false)
			e.close('}')
		}
		e.opt("verbosity", s.Verbosity)
		e.close('}')
	}
	e.sampling(s, e.m)
	e.extras(s)
	// Left out it would be true here: nobody asked for the conversation to be kept.
	e.bool("store", s.Store != nil && *s.Store)
}
