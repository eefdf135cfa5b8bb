package llm

import (
	"strconv"
	"strings"
)

var chatStops = map[string]StopReason{
	"stop": StopEnd, "length": StopLength, "tool_calls": StopTools, "function_call": StopTools, "content_filter": StopRefusal,
}

func (s StopReason) chat() string {
	switch s {
	case StopLength:
		return "length"
	case StopTools:
		return "tool_calls"
	case StopRefusal:
		return "content_filter"
	}
	return "stop"
}

// decodeChatAnswer reads a whole answer of OpenAI's chat completions: its first choice.
func decodeChatAnswer(r *reader, m members) *Answer {
	a := &Answer{ID: r.text(m, "id"), Model: r.text(m, "model"), Created: r.count(m, "created")}
	first := true
	r.each(m, "choices", func(v raw) {
		if !first {
			return
		}
		first = false
		choice := r.object("", v)
		a.Stop = chatStops[r.text(choice, "finish_reason")]
		r.inside(choice, "message", func(m members) { a.Parts = r.chatAnswer(m) })
	})
	r.settle(a)
	a.Usage, _ = r.openAIUsage(m)
	return a
}

func (r *reader) chatAnswer(m members) (parts []Part) {
	if text := r.reasoning(m); text != "" {
		parts = append(parts, Part{Kind: Thinking, Text: text})
	}
	r.chatSaid(m, func(kind PartKind, text string) {
		if n := len(parts); n > 0 && parts[n-1].Kind == kind {
			parts[n-1].Text += text
		} else if text != "" {
			parts = append(parts, Part{Kind: kind, Text: text})
		}
	})
	if text := r.text(m, "refusal"); text != "" {
		parts = append(parts, Part{Kind: Refusal, Text: text})
	}
	r.each(m, "tool_calls", func(v raw) {
		parts = append(parts, Part{Kind: ToolCall, Call: r.chatCall(r.object("", v))})
	})
	return parts
}

// chatSaid gives what an answer's content says: a string, or where the provider answers in
// parts the text and the thinking of each.
// https://docs.mistral.ai/capabilities/reasoning (thinking comes as a part)
func (r *reader) chatSaid(m members, each func(kind PartKind, text string)) {
	if m.get("content").kind() != '[' {
		each(Text, r.text(m, "content"))
		return
	}
	r.each(m, "content", func(v raw) {
		switch m := r.object("", v); r.text(m, "type") {
		case "text":
			each(Text, r.text(m, "text"))
		case "thinking":
			if m.get("thinking").kind() == '"' {
				each(Thinking, r.text(m, "thinking"))
				return
			}
			r.each(m, "thinking", func(v raw) { each(Thinking, r.text(r.object("", v), "text")) })
		}
	})
}

// reasoning reads what compatible providers call their models' thinking.
func (r *reader) reasoning(m members) string {
	for _, key := range [...]string{"reasoning_content", "reasoning"} {
		if v := m.get(key); v.kind() == '"' && !blank(string(v)) {
			return r.text(m, key)
		}
	}
	return ""
}

// settle makes the reason to stop fit what was said: calls that were forced end in
// "stop". A call that was cut off is left out; one that is broken
// without a reason makes the whole no answer.
func (r *reader) settle(a *Answer) {
	kept := a.Parts[:0]
	for i, p := range a.Parts {
		if p.Kind == ToolCall && p.Call.ID == "" { // derived, since a result needs something to refer to
			p.Call.ID = wireID(a.ID + "_" + strconv.Itoa(i))
		}
		if p.Kind == ToolCall && !p.Call.Custom {
			if _, ok := object(p.Call.Arguments); !ok && a.Stop == StopLength {
				continue
			} else if !ok {
				r.fail("arguments", "a call of %q is not JSON", p.Call.Name)
			}
		}
		if p.Kind == ToolCall && a.Stop <= StopSequence {
			a.Stop = StopTools
		}
		kept = append(kept, p)
	}
	a.Parts = kept
}

// openAIUsage reads usage under chat's names or responses'.
func (r *reader) openAIUsage(m members) (Usage, bool) {
	u := r.at(m, "usage")
	prompt, output, in, out := "prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details"
	if u.get("input_tokens") != nil {
		prompt, output, in, out = "input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details"
	}
	details := r.at(u, in)
	usage := openAIUsage(r.count(u, prompt), r.count(details, "cached_tokens"), r.count(details, "cache_write_tokens"), r.count(u, output), 0)
	usage.Reasoning = min(r.count(r.at(u, out), "reasoning_tokens"), usage.Output)
	return usage, u != nil
}

// encodeChatAnswer writes a whole answer of OpenAI's chat completions.
func encodeChatAnswer(a *Answer, t *Translation) []byte {
	w := writer{b: make([]byte, 0, 1024)}
	w.open('{')
	w.str("id", answerID("chatcmpl-", a.ID, t.hop.ID))
	w.str("object", "chat.completion")
	w.int("created", t.created(a.Created))
	w.str("model", t.q.Model)
	w.in("choices", '[')
	w.open('{')
	w.int("index", 0)
	w.in("message", '{')
	w.chatMessage(a.Parts)
	w.close('}')
	w.null("logprobs")
	w.str("finish_reason", a.Stop.chat())
	w.close('}')
	w.close(']')
	w.chatUsage(a.Usage)
	w.close('}')
	return w.b
}

func (w *writer) chatMessage(parts []Part) {
	w.str("role", "assistant")
	w.textOrNull("content", joined(parts, Text))
	w.textOrNull("refusal", joined(parts, Refusal))
	w.opt("reasoning_content", joined(parts, Thinking))
	calls := 0
	for i := range parts {
		if parts[i].Kind != ToolCall {
			continue
		}
		if calls++; calls == 1 {
			w.in("tool_calls", '[')
		}
		w.chatCall(parts[i].Call)
	}
	if calls > 0 {
		w.close(']')
	}
}

func (w *writer) textOrNull(key, text string) {
	if text == "" {
		w.null(key)
		return
	}
	w.str(key, text)
}

func (w *writer) chatCall(c *Call) {
	w.open('{')
	w.str("id", c.ID)
	kind, arguments := "function", "arguments"
	if c.Custom {
		kind, arguments = "custom", "input"
	}
	w.str("type", kind)
	w.in(kind, '{')
	w.str("name", c.Name)
	w.str(arguments, c.Arguments)
	w.close('}')
	w.close('}')
}

// partBreak is between two texts where a dialect has room for one only.
const partBreak = "\n\n"

func joined(parts []Part, kind PartKind) string {
	var texts []string
	for _, p := range parts {
		if p.Kind == kind && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, partBreak)
}

func (w *writer) chatUsage(u Usage) {
	w.in("usage", '{')
	w.int("prompt_tokens", u.prompt())
	w.int("completion_tokens", u.Output)
	w.int("total_tokens", u.prompt()+u.Output)
	w.in("prompt_tokens_details", '{')
	w.cached(u)
	w.close('}')
	w.in("completion_tokens_details", '{')
	w.int("reasoning_tokens", u.Reasoning)
	w.close('}')
	w.close('}')
}

// cached writes what of a prompt was read from a cache, and what written to one where
// the provider counts that.
func (w *writer) cached(u Usage) {
	w.int("cached_tokens", u.CacheRead)
	if u.CacheWrite > 0 {
		w.int("cache_write_tokens", u.CacheWrite)
	}
}
