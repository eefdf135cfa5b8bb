package llm

import (
	"strconv"
	"strings"
)

// encodeMessages writes the request for a target that speaks messages.
func encodeMessages(q *Request, hop *Hop) ([]byte, error) {
	e := messagesEncoder{encode(q, hop)}
	w := &e.writer
	w.open('{')
	w.str("model", e.m.Name)
	limit := e.m.limitOr(q.Settings.MaxTokens)
	w.int("max_tokens", limit)
	e.conversation()
	e.tools()
	e.settings(limit)
	if q.Stream {
		w.bool("stream", true)
	}
	w.close('}')
	return e.body()
}

type messagesEncoder struct{ encoding }

// conversation writes system and messages.
func (e *messagesEncoder) conversation() {
	system, turns := e.opened()
	trimEnd(&turns[len(turns)-1])
	if len(system) > 0 {
		e.in("system", '[')
		for i := range system {
			e.part(&system[i])
		}
		e.close(']')
	}
	e.in("messages", '[')
	for i := range turns {
		e.turn(&turns[i])
	}
	e.close(']')
}

// trimEnd: an answer that the caller began must not end in white space. The turn's
// parts are the encoder's own.
func trimEnd(t *Turn) {
	if last := len(t.Parts) - 1; t.Role == Assistant && t.Parts[last].Kind == Text {
		t.Parts[last].Text = strings.TrimRight(t.Parts[last].Text, " \t\r\n")
	}
}

func (e *messagesEncoder) turn(t *Turn) {
	e.open('{')
	role := "user"
	if t.Role == Assistant {
		role = "assistant"
	}
	e.str("role", role)
	e.in("content", '[')
	parts := resultsFirst(t.Parts)
	for i := range parts {
		e.part(&parts[i])
	}
	e.close(']')
	e.close('}')
}

func (e *messagesEncoder) part(p *Part) {
	e.open('{')
	switch p.Kind {
	case Image:
		e.str("type", "image")
		e.source(p.Media)
	case Document:
		e.str("type", "document")
		e.source(e.document(p.Media))
		e.opt("title", p.Media.Name)
	case ToolCall:
		e.str("type", "tool_use")
		e.str("id", wireID(p.Call.ID))
		e.str("name", flatName(p.Call.Namespace, p.Call.Name))
		e.raw("input", []byte(p.Call.wireArguments()))
	case Result:
		e.result(p.Output)
	default:
		e.str("type", "text")
		e.str("text", p.Text)
	}
	e.raw("cache_control", p.Cache)
	e.close('}')
}

func (e *messagesEncoder) result(out *Output) {
	e.str("type", "tool_result")
	e.str("tool_use_id", wireID(out.ID))
	if len(out.Parts) > 0 {
		e.in("content", '[')
		for i := range out.Parts {
			e.part(&out.Parts[i])
		}
		e.close(']')
	}
	if out.Failed {
		e.bool("is_error", true)
	}
}

// document is what Anthropic takes of a document's data: PDF as it is, text as text.
func (e *messagesEncoder) document(m *Media) *Media {
	if m = asText(m); m.Data != "" && m.MIME != "application/pdf" {
		e.cannot("file_data", "messages takes PDF and text, not "+m.MIME)
	}
	return m
}

func (e *messagesEncoder) source(m *Media) {
	e.in("source", '{')
	switch {
	case m.URL != "":
		e.str("type", "url")
		e.str("url", m.URL)
	case m.FileID != "":
		e.own(m)
	case m.Plain != "":
		e.str("type", "text")
		e.str("media_type", "text/plain")
		e.str("data", m.Plain)
	default:
		e.str("type", "base64")
		e.str("media_type", m.MIME)
		e.str("data", m.Data)
	}
	e.close('}')
}

func (e *messagesEncoder) settings(limit int64) {
	s := &e.q.Settings
	thinks := e.thinking(s, limit)
	if !thinks && !e.m.NoSampling { // with thinking Anthropic refuses both
		e.num("temperature", atMost1(s.Temperature))
		if s.Temperature == "" { // newer models refuse the two together
			e.num("top_p", s.TopP)
		}
	}
	if len(s.Stop) > 0 {
		e.in("stop_sequences", '[')
		for _, stop := range s.Stop {
			if strings.TrimSpace(stop) == "" {
				e.cannot("stop", "messages cannot stop at white space alone")
			}
			e.element(stop)
		}
		e.close(']')
	}
	if s.User != "" {
		e.in("metadata", '{')
		e.str("user_id", s.User)
		e.close('}')
	}
}

// atMost1: OpenAI's temperature goes to 2, Anthropic's to 1.
func atMost1(n Number) Number {
	if f, err := strconv.ParseFloat(string(n), 64); err == nil && f > 1 {
		return "1"
	}
	return n
}

// thinking writes thinking and output_config and reports whether the model will think.
func (e *messagesEncoder) thinking(s *Settings, limit int64) (thinks bool) {
	word := s.Think.word()
	forced := e.q.Choice.Mode == ChoiceRequired || e.q.Choice.Mode == ChoiceTool
	asked := s.Think.Mode == ThinkOn || s.Think.Mode == ThinkAdaptive || word != ""
	asked = asked && s.Think.Mode != ThinkOff && !forced // Anthropic refuses to think before a forced call
	effort := ""
	switch {
	case !asked:
	case e.m.Reasoning == Adaptive:
		thinks, effort = true, e.m.effort(word)
		e.in("thinking", '{')
		e.str("type", "adaptive")
		if s.Think.Show {
			e.str("display", "summarized")
		}
		e.close('}')
	case e.m.Reasoning == ByBudget && !e.awaitsModel():
		budget := s.Think.Budget
		if budget == 0 {
			budget = budgets[word]
		}
		if budget = min(budget, limit-1); budget >= minBudget {
			thinks = true
			e.in("thinking", '{')
			e.str("type", "enabled")
			e.int("budget_tokens", budget)
			e.close('}')
		}
	}
	e.outputConfig(s.Format, effort)
	return thinks
}

// awaitsModel reports whether the model is in the middle of a turn of calls. Models with
// a budget want the thought that began the turn, and another vendor's does not cross.
func (e *messagesEncoder) awaitsModel() bool {
	turns := e.q.Turns
	if len(turns) == 0 {
		return false
	}
	for _, p := range turns[len(turns)-1].Parts {
		if p.Kind == Result {
			return true
		}
	}
	return false
}

func (e *messagesEncoder) outputConfig(f *Format, effort string) {
	if f != nil {
		e.schema(f, "messages")
	}
	if f == nil && effort == "" {
		return
	}
	e.in("output_config", '{')
	e.opt("effort", effort)
	if f != nil {
		e.in("format", '{')
		e.str("type", "json_schema")
		e.raw("schema", f.Schema)
		e.close('}')
	}
	e.close('}')
}
