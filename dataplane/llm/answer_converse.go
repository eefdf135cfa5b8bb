package llm

import "slices"

// converseStops: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
// An answer of which the service says that the model garbled it is none: see malformed.
var converseStops = map[string]StopReason{
	"end_turn": StopEnd, "stop_sequence": StopSequence, "max_tokens": StopLength, "model_context_window_exceeded": StopLength,
	"tool_use": StopTools, "guardrail_intervened": StopRefusal, "content_filtered": StopRefusal,
}

// malformed reports whether a reason to stop says that the model's output made no sense.
func malformed(stop string) bool {
	return stop == "malformed_model_output" || stop == "malformed_tool_use"
}

// decodeConverseAnswer reads a whole answer of Converse's. byCall: the model was made to
// answer by a call.
func decodeConverseAnswer(r *reader, m members, byCall bool) *Answer {
	a := &Answer{}
	r.inside(m, "output", func(m members) {
		r.inside(m, "message", func(m members) {
			r.each(m, "content", func(v raw) {
				if p, ok := r.converseBlock(r.object("", v)); ok {
					a.add(p)
				}
			})
		})
	})
	stop := r.text(m, "stopReason")
	if malformed(stop) {
		r.fail("stopReason", "the model's output is malformed")
	}
	a.Stop = converseStops[stop]
	r.settle(a)
	if byCall {
		a.takeCall()
	}
	a.Usage, _ = r.converseUsage(m)
	return a
}

// takeCall makes what the first call brings the text of the answer. What the model said
// beside it is no part of what the caller will read as JSON.
func (a *Answer) takeCall() {
	first := slices.IndexFunc(a.Parts, func(p Part) bool { return p.Kind == ToolCall })
	if first < 0 {
		return
	}
	for i := range a.Parts {
		p := &a.Parts[i]
		if p.Kind == ToolCall {
			p.Text, p.Call = p.Call.Arguments, nil
		}
		if p.Kind = Thinking; i == first {
			p.Kind = Text
		}
	}
	if a.Stop == StopTools {
		a.Stop = StopEnd
	}
}

// add appends a part. Neighbouring texts are one: citations cut one text into several.
func (a *Answer) add(p Part) {
	n := len(a.Parts)
	switch {
	case p.Kind != ToolCall && p.Text == "":
	case p.Kind == Text && n > 0 && a.Parts[n-1].Kind == Text:
		a.Parts[n-1].Text += p.Text
	default:
		a.Parts = append(a.Parts, p)
	}
}

// converseBlock reads a block of an answer, a union with one member. What a vendor's own
// tools did is left out, and so are kinds that nobody here knows.
func (r *reader) converseBlock(m members) (Part, bool) {
	switch {
	case m.get("text") != nil:
		return Part{Kind: Text, Text: r.text(m, "text")}, true
	case m.get("toolUse") != nil:
		use := r.at(m, "toolUse")
		if r.text(use, "type") == "server_tool_use" {
			return Part{}, false
		}
		return Part{Kind: ToolCall, Call: &Call{ID: r.text(use, "toolUseId"), Name: r.text(use, "name"), Arguments: r.input(use)}}, true
	case m.get("reasoningContent") != nil:
		thought := r.at(r.at(m, "reasoningContent"), "reasoningText")
		return Part{Kind: Thinking, Text: r.text(thought, "text"), Seal: r.text(thought, "signature")}, true
	case m.get("citationsContent") != nil:
		p := Part{Kind: Text}
		r.each(r.at(m, "citationsContent"), "content", func(v raw) { p.Text += r.text(r.object("", v), "text") })
		return p, true
	}
	return Part{}, false
}

// converseUsage reads usage. Its inputTokens are without those of the cache, as Anthropic
// counts.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html
func (r *reader) converseUsage(m members) (Usage, bool) {
	m = r.at(m, "usage")
	return Usage{
		Input: r.count(m, "inputTokens"), CacheRead: r.count(m, "cacheReadInputTokens"),
		CacheWrite: r.count(m, "cacheWriteInputTokens"), Output: r.count(m, "outputTokens"),
	}, m != nil
}

// readConverse judges a whole 2xx body: an answer has a message with a list of content.
// One that its model garbled is none.
func readConverse(body []byte) AnswerKind {
	r := reader{answer: true}
	m := r.document(body)
	content := r.at(r.at(m, "output"), "message").get("content")
	stop := r.text(m, "stopReason")
	switch {
	case r.err != nil:
		return NoAnswer
	case content.kind() == '[' && !malformed(stop):
		return RealAnswer
	case content == nil && m.get("message").kind() == '"':
		return ErrorAnswer
	}
	return NoAnswer
}
