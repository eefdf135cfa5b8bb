package llm

import "strings"

// decodeResponses reads a request of OpenAI's responses.
func decodeResponses(r *reader, m members) *Request {
	q := &Request{From: Responses, Model: r.text(m, "model"), Stream: r.truth(m, "stream")}
	refuseFields(r, m, responsesOnly)
	for _, what := range r.texts(m, "include") {
		if what == "message.output_text.logprobs" {
			r.fail("include", "the target gives no log probabilities")
		}
	}
	r.each(m, "tools", func(v raw) { r.responsesTool(q, r.object("", v), "") })
	q.addSystem(appendText(nil, r.text(m, "instructions"))...)
	if m.get("input").kind() == '"' {
		q.add(User, appendText(nil, r.text(m, "input"))...)
	} else {
		r.each(m, "input", func(v raw) { r.responsesItem(q, r.object("", v)) })
	}
	q.Choice = r.openAIChoice(m)
	s := &q.Settings
	s.MaxTokens = r.integer(m, "max_output_tokens")
	r.inside(m, "reasoning", func(m members) {
		s.Think.effort(r.text(m, "effort"))
		s.Think.Show = r.text(m, "summary") != ""
	})
	r.openAISettings(s, m)
	r.inside(m, "text", func(m members) {
		s.Verbosity = r.text(m, "verbosity")
		r.inside(m, "format", func(f members) { r.openAIFormat(s, f, func() members { return f }) })
	})
	return q
}

// responsesOnly: what only the vendor that keeps it can do. truncation, max_tool_calls
// and context_management change nothing while they are not reached.
var responsesOnly = []field{
	{"previous_response_id", "the target does not keep what was said: send it again in input"},
	{"conversation", "the target does not keep what was said: send it again in input"},
	{"prompt", "the target keeps no prompt templates"},
	{"background", "the target answers at once or not at all"},
	{"top_logprobs", "the target gives no log probabilities"},
	{"access_programs", "the target does not know them"},
	{"image", "the target makes no images"},
}

func (r *reader) responsesItem(q *Request, m members) {
	kind := r.text(m, "type")
	if kind == "" && m.get("role") != nil {
		kind = "message"
	}
	switch kind {
	case "message":
		r.responsesMessage(q, m)
	case "function_call":
		q.add(Assistant, Part{Kind: ToolCall, Call: &Call{
			ID: r.needed(m, "call_id"), Namespace: r.text(m, "namespace"), Name: r.needed(m, "name"), Arguments: r.arguments(m),
		}})
	case "custom_tool_call":
		q.add(Assistant, Part{Kind: ToolCall, Call: &Call{
			ID: r.needed(m, "call_id"), Namespace: r.text(m, "namespace"), Name: r.needed(m, "name"), Arguments: r.text(m, "input"), Custom: true,
		}})
	case "function_call_output", "custom_tool_call_output":
		out := &Output{ID: r.needed(m, "call_id"), Custom: kind == "custom_tool_call_output", Parts: r.responsesContent(m, "output")}
		q.add(User, Part{Kind: Result, Output: out})
	case "reasoning":
		p := Part{Kind: Thinking, Seal: r.text(m, "encrypted_content"), Text: r.summary(m)}
		q.add(Assistant, p)
	case "additional_tools":
		r.each(m, "tools", func(v raw) { r.responsesTool(q, r.object("", v), "") })
	case "tool_search_call":
		if id := r.text(m, "call_id"); id != "" { // else OpenAI searched
			q.add(Assistant, Part{Kind: ToolCall, Call: &Call{ID: id, Name: toolSearch, Arguments: r.jsonObject(m, "arguments"), Search: true}})
		}
	case "tool_search_output":
		r.foundTools(q, m)
	case "web_search_call": // what the model made of it is in its text
	case "item_reference":
		r.fail("type", "the target does not keep what was said: send the item itself")
	default:
		r.fail("type", "%q items are known to OpenAI only", kind)
	}
}

// summary is the readable text of a reasoning item.
func (r *reader) summary(m members) string {
	var texts []string
	add := func(v raw) { texts = append(texts, r.text(r.object("", v), "text")) }
	r.each(m, "summary", add)
	if len(texts) == 0 {
		r.each(m, "content", add)
	}
	return strings.Join(texts, "\n\n")
}

func (r *reader) responsesMessage(q *Request, m members) {
	parts := r.responsesContent(m, "content")
	switch role := r.text(m, "role"); role {
	case "system", "developer":
		q.addSystem(parts...)
	case "user":
		q.add(User, parts...)
	case "assistant":
		q.add(Assistant, parts...)
	default:
		r.fail("role", "%q is not a role", role)
	}
}

// responsesContent reads text, or a list of parts.
func (r *reader) responsesContent(m members, key string) (parts []Part) {
	if m.get(key).kind() == '"' {
		return appendText(nil, r.text(m, key))
	}
	r.each(m, key, func(v raw) { parts = r.responsesPart(parts, r.object("", v)) })
	return parts
}

func (r *reader) responsesPart(parts []Part, m members) []Part {
	switch kind := r.text(m, "type"); kind {
	case "input_text", "output_text", "text":
		return appendText(parts, r.text(m, "text"))
	case "refusal":
		return append(parts, Part{Kind: Refusal, Text: r.text(m, "refusal")})
	case "input_image":
		media := &Media{FileID: r.text(m, "file_id"), At: r.where("file_id")}
		if media.FileID == "" {
			media = r.mediaURL(m, "image_url")
		}
		media.Detail = r.text(m, "detail")
		return append(parts, Part{Kind: Image, Media: media})
	case "input_file":
		return append(parts, Part{Kind: Document, Media: r.openAIFile(m)})
	default:
		r.fail("type", "the target takes no %q parts", kind)
		return parts
	}
}

func (r *reader) responsesTool(q *Request, m members, namespace string) {
	switch kind := r.text(m, "type"); kind {
	case "function":
		t := r.function(m)
		t.Namespace = namespace
		q.addTool(t)
	case "custom":
		q.addTool(Tool{
			Kind: Custom, Namespace: namespace, Name: r.needed(m, "name"), Description: r.text(m, "description"), Format: r.grammar(m),
		})
	case "namespace":
		if namespace != "" {
			r.fail("type", "a namespace cannot stand in another")
			return
		}
		name := r.text(m, "name")
		r.each(m, "tools", func(v raw) { r.responsesTool(q, r.object("", v), name) })
	case "web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11":
		t := Tool{Kind: WebSearch, Name: "web_search"}
		r.inside(m, "filters", func(m members) { t.Domains = r.texts(m, "allowed_domains") })
		q.Tools = append(q.Tools, t)
	case "tool_search":
		if r.text(m, "execution") == "client" { // else all tools are there without it
			q.addTool(Tool{Name: toolSearch, Description: r.text(m, "description"), Schema: r.schema(m), Search: true})
		}
	default:
		r.fail("type", "the target has no tool %q", kind)
	}
}

// toolSearch is what the caller's search for tools is called as a function. The item that
// calls it has no name (https://platform.openai.com/docs/guides/tools-tool-search).
const toolSearch = "tool_search"

// foundTools reads what the caller's search found: the model can call it from there on. It
// stands after the tools that were there, which keeps the prompt cache good for those.
func (r *reader) foundTools(q *Request, m members) {
	var found Request
	var names []string
	r.each(m, "tools", func(v raw) { r.responsesTool(&found, r.object("", v), "") })
	for _, t := range found.Tools {
		names = append(names, flatName(t.Namespace, t.Name))
		q.addTool(t)
	}
	id := r.text(m, "call_id")
	if id == "" {
		return // OpenAI searched
	}
	text := "No tools were found."
	if len(names) > 0 {
		text = "These tools can be called: " + strings.Join(names, ", ")
	}
	q.add(User, Part{Kind: Result, Output: &Output{ID: id, Parts: []Part{{Kind: Text, Text: text}}}})
}

// addTool appends a tool, but one that is there already.
func (q *Request) addTool(t Tool) {
	for i := range q.Tools {
		if q.Tools[i].Name == t.Name && q.Tools[i].Namespace == t.Namespace {
			return
		}
	}
	q.Tools = append(q.Tools, t)
}
