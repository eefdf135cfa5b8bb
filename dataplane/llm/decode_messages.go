package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// decodeMessages reads a request of Anthropic's messages.
func decodeMessages(r *reader, m members) *Request {
	q := &Request{From: Messages, Model: r.text(m, "model"), Stream: r.truth(m, "stream")}
	refuseFields(r, m, messagesOnly)
	q.System = withoutAttribution(r.messagesContent(m, "system"))
	r.each(m, "messages", func(v raw) { r.messagesTurn(q, r.object("", v)) })
	q.Choice = r.messagesChoice(m)
	r.messagesTools(q, m)
	s := &q.Settings
	s.MaxTokens = r.integer(m, "max_tokens")
	s.Temperature = r.number(m, "temperature", 0, 1)
	s.TopP = r.number(m, "top_p", 0, 1)
	s.TopK = r.number(m, "top_k", 0, maxCount)
	s.Stop = r.texts(m, "stop_sequences")
	r.inside(m, "metadata", func(m members) { s.User = r.text(m, "user_id") })
	r.messagesThinking(s, m)
	return q
}

// withoutAttribution leaves out what Claude Code tells Anthropic in the first block. It
// differs from request to request, so in front of everything it would defeat every
// other vendor's prompt cache.
func withoutAttribution(system []Part) []Part {
	if len(system) > 0 && strings.HasPrefix(system[0].Text, attribution) {
		return system[1:]
	}
	return system
}

// field is one that would be missed, and why.
type field struct{ name, reason string }

// messagesOnly: what no other dialect can be asked for. top_k, service_tier, speed,
// context_management and the like change no more than quality, price and speed.
var messagesOnly = []field{
	{"mcp_servers", "the target does not call MCP servers"},
	{"container", "the target has no containers"},
	{"inference_geo", "the target cannot promise where it computes"},
	{"thread", "the target keeps no threads"},
}

// refuseFields refuses the first of the fields that is there and asks for something.
func refuseFields(r *reader, m members, fields []field) {
	for _, f := range fields {
		switch v := m.get(f.name); {
		case v == nil, string(v) == "false", string(v) == "0", blank(string(v)):
		default:
			r.fail(f.name, "%s", f.reason)
		}
	}
}

// messagesContent reads text, or a list of blocks.
func (r *reader) messagesContent(m members, key string) (parts []Part) {
	if m.get(key).kind() == '"' {
		return appendText(nil, r.text(m, key))
	}
	r.each(m, key, func(v raw) { parts = r.messagesBlock(parts, r.object("", v)) })
	return parts
}

// appendText leaves out text that says nothing: Anthropic refuses it.
func appendText(parts []Part, text string) []Part {
	if strings.TrimSpace(text) == "" {
		return parts
	}
	return append(parts, Part{Kind: Text, Text: text})
}

func (r *reader) messagesTurn(q *Request, m members) {
	parts := r.messagesContent(m, "content")
	switch role := r.text(m, "role"); role {
	case "user":
		q.add(User, parts...)
	case "assistant":
		q.add(Assistant, parts...)
	case "system": // Claude Code's beta: instructions in the middle, and changes of effort
		q.addSystem(parts...)
		r.inside(m, "output_config", func(m members) {
			if effort := r.text(m, "effort"); effort != "" {
				q.Settings.Think.Effort = effort
			}
		})
	default:
		r.fail("role", "%q is not a role", role)
	}
}

func (r *reader) messagesBlock(parts []Part, m members) []Part {
	p := Part{Cache: []byte(m.get("cache_control"))}
	switch kind := r.text(m, "type"); kind {
	case "text":
		parts = appendText(parts, r.text(m, "text"))
		if n := len(parts); n > 0 && p.Cache != nil {
			parts[n-1].Cache = p.Cache // of an empty block: the part before is where the cache ends
		}
		return parts
	case "image", "document":
		p.Kind = Image
		if kind == "document" {
			p.Kind = Document
		}
		r.inside(m, "source", func(m members) { p.Media = r.messagesSource(m) })
		p.Media.Name = r.text(m, "title")
		return r.documentContext(parts, p, m)
	case "search_result":
		text := r.text(m, "title") + "\n" + r.text(m, "source")
		for _, inner := range r.messagesContent(m, "content") {
			text += "\n" + inner.Text
		}
		p.Text = text
	case "thinking":
		p.Kind, p.Text, p.Seal = Thinking, r.text(m, "thinking"), r.text(m, "signature")
	case "redacted_thinking":
		p.Kind, p.Seal = Thinking, r.text(m, "data")
	case "tool_use":
		p.Kind = ToolCall
		p.Call = &Call{ID: r.needed(m, "id"), Name: r.needed(m, "name"), Arguments: r.jsonObject(m, "input")}
		r.changes = append(r.changes, toolChange{name: p.Call.Name}) // it was shown
	case "tool_result":
		p.Kind = Result
		p.Output = &Output{ID: r.needed(m, "tool_use_id"), Failed: r.truth(m, "is_error"), Parts: r.messagesContent(m, "content")}
	case "tool_reference":
		name := r.text(m, "tool_name")
		r.changes = append(r.changes, toolChange{name: name})
		p.Text = "The tool " + name + " can be called."
	case "tool_addition", "tool_removal":
		r.toolChange(m, kind == "tool_removal")
		return parts
	case "compaction":
		r.each(m, "tool_changes", func(v raw) {
			m := r.object("", v)
			r.toolChange(m, r.text(m, "type") == "tool_removal")
		})
		return appendText(parts, r.text(m, "content"))
	case "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "tool_search_tool_result", "fallback", "mcp_tool_listing":
		return parts // bound to the vendor; what the model made of it is in its text
	default:
		r.fail("type", "%q blocks are known to Anthropic only", kind)
		return parts
	}
	return append(parts, p)
}

// jsonObject is an object as text, without the space around its tokens.
func (r *reader) jsonObject(m members, key string) string {
	v := m.get(key)
	if v != nil && v.kind() != '{' {
		r.fail(key, "must be an object")
	}
	if v == nil {
		return "{}"
	}
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return string(v)
	}
	return b.String()
}

func (r *reader) messagesSource(m members) *Media {
	media := &Media{MIME: r.text(m, "media_type")}
	switch kind := r.text(m, "type"); kind {
	case "base64":
		media.Data = r.needed(m, "data")
		if !isMIME(media.MIME) {
			r.fail("media_type", "must be a type like image/png")
		}
	case "url":
		media.URL, media.At = r.needed(m, "url"), r.where("url")
	case "file":
		media.FileID, media.At = r.needed(m, "file_id"), r.where("file_id")
	case "text":
		media.Plain = r.needed(m, "data")
	case "content":
		for _, p := range r.messagesContent(m, "content") {
			if p.Kind != Text {
				r.fail("content", "a document made of more than text is known to Anthropic only")
			}
			media.Plain += p.Text
		}
		if media.Plain == "" {
			r.fail("content", "is empty")
		}
	default:
		r.fail("type", "%q is not a source", kind)
	}
	return media
}

// needed reads a string that must say something.
func (r *reader) needed(m members, key string) string {
	text := r.text(m, key)
	if text == "" {
		r.fail(key, "is missing")
	}
	return text
}

// isMIME reports whether a type can stand in a data: URL.
func isMIME(mime string) bool {
	return strings.Count(mime, "/") == 1 && !strings.ContainsFunc(mime, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`,;"\\`, c) })
}

// documentContext puts what Anthropic says beside a document before it, as text.
func (r *reader) documentContext(parts []Part, p Part, m members) []Part {
	return append(appendText(parts, r.text(m, "context")), p)
}

func (r *reader) messagesThinking(s *Settings, m members) {
	r.inside(m, "thinking", func(m members) {
		switch kind := r.text(m, "type"); kind {
		case "":
		case "adaptive":
			s.Think.Mode = ThinkAdaptive
		case "enabled":
			s.Think.Mode, s.Think.Budget = ThinkOn, r.integer(m, "budget_tokens")
		case "disabled":
			s.Think.Mode = ThinkOff
		default:
			r.fail("type", "%q is not a way to think", kind)
		}
		// Older models show their thinking without being asked.
		show := r.text(m, "display")
		s.Think.Show = show == "summarized" || show == "" && s.Think.Mode == ThinkOn
		s.Think.Hide = show == "omitted"
	})
	r.inside(m, "output_config", func(m members) {
		if effort := r.text(m, "effort"); effort != "" && s.Think.Effort == "" {
			s.Think.Effort = effort
		}
		r.messagesFormat(s, m, "format")
	})
	r.messagesFormat(s, m, "output_format") // the beta's name for it
}

func (r *reader) messagesFormat(s *Settings, m members, key string) {
	r.inside(m, key, func(f members) {
		if f == nil {
			return
		}
		if kind := r.text(f, "type"); kind != "json_schema" || f.get("schema").kind() != '{' {
			r.fail("type", "%q is not a format", kind)
		}
		yes := true // Anthropic's formats are always kept to
		s.Format = &Format{Schema: []byte(f.get("schema")), Strict: &yes}
	})
}
