package llm

// decodeChat reads a request of OpenAI's chat completions.
func decodeChat(r *reader, m members) *Request {
	q := &Request{From: Chat, Model: r.text(m, "model"), Stream: r.truth(m, "stream")}
	refuseFields(r, m, chatOnly)
	if n := m.get("n"); n != nil && string(n) != "1" {
		r.fail("n", "the target gives one choice")
	}
	r.modalities(m)
	r.inside(m, "stream_options", func(m members) { q.StreamUsage = r.truth(m, "include_usage") })
	r.each(m, "messages", func(v raw) { r.chatTurn(q, r.object("", v)) })
	r.each(m, "tools", func(v raw) { r.chatTool(q, r.object("", v)) })
	if m.get("web_search_options") != nil {
		q.Tools = append(q.Tools, Tool{Kind: WebSearch, Name: "web_search"})
	}
	q.Choice = r.openAIChoice(m)
	s := &q.Settings
	if s.MaxTokens = r.integer(m, "max_completion_tokens"); s.MaxTokens == 0 {
		s.MaxTokens = r.integer(m, "max_tokens")
	}
	s.Stop = r.texts(m, "stop")
	s.Think.effort(r.text(m, "reasoning_effort"))
	s.Verbosity = r.text(m, "verbosity")
	r.openAISettings(s, m)
	r.inside(m, "response_format", func(f members) {
		r.openAIFormat(s, f, func() members { return r.at(f, "json_schema") })
	})
	return q
}

// chatOnly: what would be missed. seed, penalties, prediction and moderation are not:
// they promise nothing.
var chatOnly = []field{
	{"logprobs", "the target gives no log probabilities"},
	{"top_logprobs", "the target gives no log probabilities"},
	{"logit_bias", "the target's tokens are others"},
	{"audio", "the target does not speak"},
	{"functions", "write them as tools"},
	{"function_call", "write it as tool_choice"},
}

func (r *reader) modalities(m members) {
	for _, kind := range r.texts(m, "modalities") {
		if kind != "text" {
			r.fail("modalities", "the target answers in text")
		}
	}
}

// effort takes OpenAI's word for it.
func (t *Think) effort(word string) {
	switch word {
	case "":
	case "none":
		t.Mode = ThinkOff
	default:
		t.Mode, t.Effort = ThinkOn, word
	}
}

// openAISettings are those that chat and responses have in common.
func (r *reader) openAISettings(s *Settings, m members) {
	s.Temperature = r.number(m, "temperature", 0, 2)
	s.TopP = r.number(m, "top_p", 0, 1)
	if s.User = r.text(m, "safety_identifier"); s.User == "" {
		s.User = r.text(m, "user")
	}
	s.Metadata = []byte(m.get("metadata"))
	s.CacheKey = r.text(m, "prompt_cache_key")
	s.Tier = r.text(m, "service_tier")
	s.Store = r.boolean(m, "store")
}

// openAIFormat reads a format; schema is where its schema and name are.
func (r *reader) openAIFormat(s *Settings, f members, schema func() members) {
	switch kind := r.text(f, "type"); kind {
	case "text", "":
	case "json_object":
		s.Format = &Format{}
	case "json_schema":
		m := schema()
		s.Format = &Format{Name: r.text(m, "name"), Description: r.text(m, "description"), Schema: []byte(m.get("schema")), Strict: r.boolean(m, "strict")}
		if s.Format.Schema == nil {
			s.Format.Schema = []byte("{}")
		}
	default:
		r.fail("type", "the target has no format %q", kind)
	}
}

func (r *reader) chatTurn(q *Request, m members) {
	switch role := r.text(m, "role"); role {
	case "system", "developer":
		q.addSystem(r.chatContent(m, nil)...)
	case "user":
		q.add(User, r.chatContent(m, nil)...)
	case "assistant":
		parts := r.chatContent(m, nil)
		if refusal := r.text(m, "refusal"); refusal != "" {
			parts = append(parts, Part{Kind: Refusal, Text: refusal})
		}
		r.each(m, "tool_calls", func(v raw) { parts = append(parts, Part{Kind: ToolCall, Call: r.chatCall(r.object("", v))}) })
		if m.get("function_call") != nil {
			r.fail("function_call", "write it as tool_calls")
		}
		q.add(Assistant, parts...)
	case "tool":
		p := Part{Kind: Result, Output: &Output{ID: r.needed(m, "tool_call_id"), Parts: r.chatContent(m, nil)}, Cache: []byte(m.get("cache_control"))}
		q.add(User, p)
	default:
		r.fail("role", "%q is not a role", role)
	}
}

// chatContent reads text, or a list of parts, and puts it behind parts.
func (r *reader) chatContent(m members, parts []Part) []Part {
	if m.get("content").kind() == '"' {
		parts = appendText(parts, r.text(m, "content"))
		if v := m.get("cache_control"); v != nil && len(parts) > 0 {
			parts[len(parts)-1].Cache = []byte(v)
		}
		return parts
	}
	r.each(m, "content", func(v raw) { parts = r.chatPart(parts, r.object("", v)) })
	return parts
}

func (r *reader) chatPart(parts []Part, m members) []Part {
	p := Part{Cache: []byte(m.get("cache_control"))}
	switch kind := r.text(m, "type"); kind {
	case "text":
		before := len(parts)
		parts = appendText(parts, r.text(m, "text"))
		if p.Cache != nil && len(parts) > before {
			parts[before].Cache = p.Cache
		}
		return parts
	case "refusal":
		p.Kind, p.Text = Refusal, r.text(m, "refusal")
	case "image_url":
		p.Kind = Image
		r.inside(m, "image_url", func(image members) {
			p.Media = r.mediaURL(image, "url")
			p.Media.Detail = r.text(image, "detail")
		})
	case "file":
		p.Kind = Document
		r.inside(m, "file", func(m members) { p.Media = r.openAIFile(m) })
	default:
		r.fail("type", "the target takes no %q parts", kind)
		return parts
	}
	return append(parts, p)
}

// mediaURL reads a URL that may be a data: URL.
func (r *reader) mediaURL(m members, key string) *Media {
	url := r.text(m, key)
	if mime, data, ok := parseDataURL(url); ok {
		return &Media{MIME: mime, Data: data}
	}
	if len(url) > 5 && url[:5] == "data:" || url == "" {
		r.fail(key, "must be a URL, or a data: URL in base64")
	}
	return &Media{URL: url, At: r.where(key)}
}

func (r *reader) openAIFile(m members) *Media {
	media := &Media{}
	switch {
	case m.get("file_data") != nil:
		data := r.text(m, "file_data")
		if mime, inner, ok := parseDataURL(data); ok {
			media.MIME, media.Data = mime, inner
		} else {
			media.MIME, media.Data = "application/pdf", data
		}
	case m.get("file_url") != nil:
		media.URL, media.At = r.text(m, "file_url"), r.where("file_url")
	case m.get("file_id") != nil:
		media.FileID, media.At = r.text(m, "file_id"), r.where("file_id")
	default:
		r.fail("file_data", "is missing")
	}
	media.Name = r.text(m, "filename")
	return media
}

func (r *reader) chatCall(m members) *Call {
	c := &Call{ID: r.text(m, "id")}
	if c.ID == "" && !r.answer { // settle gives an answer's call one
		r.fail("id", "is missing")
	}
	if r.text(m, "type") == "custom" {
		r.inside(m, "custom", func(custom members) {
			c.Custom, c.Name, c.Arguments = true, r.needed(custom, "name"), r.text(custom, "input")
		})
		return c
	}
	r.inside(m, "function", func(f members) {
		c.Name, c.Arguments = r.needed(f, "name"), r.arguments(f)
	})
	return c
}

// arguments are an object's text; models that have none to give write nothing.
func (r *reader) arguments(m members) string {
	said := r.text(m, "arguments")
	text, ok := object(said)
	if !ok && r.answer {
		return said
	}
	if !ok {
		r.fail("arguments", "must be the text of a JSON object")
	}
	return text
}

// object is the text of one JSON object without the space around it; nothing at all
// is the empty object.
func object(text string) (string, bool) {
	s := scanner{b: []byte(text)}
	s.space()
	start := s.i
	if start == len(text) {
		return "{}", true
	}
	if s.peek() != '{' || s.value(0) != nil {
		return "{}", false
	}
	end := s.i
	s.space()
	return text[start:end], s.i == len(text)
}

func (r *reader) chatTool(q *Request, m members) {
	switch kind := r.text(m, "type"); kind {
	case "function":
		r.inside(m, "function", func(m members) { q.Tools = append(q.Tools, r.function(m)) })
	case "custom":
		r.inside(m, "custom", func(c members) {
			q.Tools = append(q.Tools, Tool{Kind: Custom, Name: r.needed(c, "name"), Description: r.text(c, "description"), Format: r.grammar(c)})
		})
	default:
		r.fail("type", "the target has no tool %q", kind)
		return
	}
	if n := len(q.Tools); n > 0 {
		q.Tools[n-1].Cache = []byte(m.get("cache_control"))
	}
}

// grammar reads a custom tool's format: chat wraps a grammar once more than responses.
func (r *reader) grammar(m members) []byte {
	f := r.at(m, "format")
	if f == nil || r.text(f, "type") == "text" {
		return nil
	}
	if inner := f.get("grammar"); inner != nil {
		m := r.object("grammar", inner)
		w := writer{}
		w.open('{')
		w.str("type", "grammar")
		w.raw("syntax", m.get("syntax"))
		w.raw("definition", m.get("definition"))
		w.close('}')
		return w.b
	}
	return m.get("format")
}

// function reads a tool that takes an object, in chat's inner form or responses' flat.
func (r *reader) function(m members) Tool {
	return Tool{Name: r.needed(m, "name"), Description: r.text(m, "description"), Schema: r.schema(m), Strict: r.boolean(m, "strict")}
}

func (r *reader) schema(m members) []byte {
	v := m.get("parameters")
	if v != nil && v.kind() != '{' {
		r.fail("parameters", "must be an object")
	}
	return v
}

// openAIChoice reads tool_choice in chat's form and in responses', and
// parallel_tool_calls.
func (r *reader) openAIChoice(m members) (c Choice) {
	c.Parallel = r.boolean(m, "parallel_tool_calls")
	v := m.get("tool_choice")
	if v == nil {
		return c
	}
	if v.kind() == '"' {
		c.Mode = r.choiceWord(r.text(m, "tool_choice"))
		return c
	}
	r.inside(m, "tool_choice", func(m members) {
		switch kind := r.text(m, "type"); kind {
		case "function", "custom":
			inner := m
			if m.get(kind) != nil {
				inner = r.at(m, kind)
			}
			c.Mode, c.Names = ChoiceTool, []string{r.needed(inner, "name")}
		case "allowed_tools":
			r.allowed(&c, m)
		default:
			r.fail("type", "the target has no tool %q", kind)
		}
	})
	return c
}

func (r *reader) choiceWord(word string) ChoiceMode {
	switch word {
	case "auto":
		return ChoiceAuto
	case "required":
		return ChoiceRequired
	case "none":
		return ChoiceNone
	}
	r.fail("tool_choice", "%q is not a choice of tools", word)
	return ChoiceUnset
}

func (r *reader) allowed(c *Choice, m members) {
	if m.get("allowed_tools") != nil {
		m = r.at(m, "allowed_tools")
	}
	c.Mode, c.Names = r.choiceWord(r.text(m, "mode")), []string{}
	r.each(m, "tools", func(v raw) {
		t := r.object("", v)
		switch kind := r.text(t, "type"); kind {
		case "function", "custom":
			inner := t
			if t.get(kind) != nil {
				inner = r.at(t, kind)
			}
			c.Names = append(c.Names, r.needed(inner, "name"))
		default:
			r.fail("type", "%q cannot be one of the allowed tools", kind)
		}
	})
}
