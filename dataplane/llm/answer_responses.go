package llm

import "strconv"

// decodeResponsesAnswer reads a whole response.
func decodeResponsesAnswer(r *reader, m members) *Answer {
	a := &Answer{ID: r.text(m, "id"), Model: r.text(m, "model"), Created: r.count(m, "created_at")}
	r.each(m, "output", func(v raw) { a.Parts = r.outputItem(a.Parts, r.object("", v)) })
	a.Stop = r.responsesStop(m)
	r.settle(a)
	a.Usage, _ = r.openAIUsage(m)
	return a
}

func (r *reader) responsesStop(m members) StopReason {
	if r.text(m, "status") != "incomplete" {
		return StopEnd
	}
	if r.text(r.at(m, "incomplete_details"), "reason") == "content_filter" {
		return StopRefusal
	}
	return StopLength
}

// outputItem reads an item of an answer. What a vendor's own tools did is left out;
// what the model made of it is in its text.
func (r *reader) outputItem(parts []Part, m members) []Part {
	switch r.text(m, "type") {
	case "message":
		text := Part{Kind: Text}
		r.each(m, "content", func(v raw) {
			p := r.object("", v)
			text.Text += r.text(p, "text")
			if refusal := r.text(p, "refusal"); refusal != "" {
				parts = append(parts, Part{Kind: Refusal, Text: refusal})
			}
		})
		if text.Text != "" {
			parts = append(parts, text)
		}
	case "function_call":
		parts = append(parts, Part{Kind: ToolCall, Call: &Call{ID: r.text(m, "call_id"), Name: r.text(m, "name"), Arguments: r.arguments(m)}})
	case "custom_tool_call":
		parts = append(parts, Part{Kind: ToolCall, Call: &Call{ID: r.text(m, "call_id"), Name: r.text(m, "name"), Arguments: r.text(m, "input"), Custom: true}})
	case "reasoning":
		if text := r.summary(m); text != "" {
			parts = append(parts, Part{Kind: Thinking, Text: text, Seal: r.text(m, "encrypted_content")})
		}
	}
	return parts
}

// encodeResponsesAnswer writes a whole response.
func encodeResponsesAnswer(a *Answer, t *Translation) []byte {
	w := writer{b: make([]byte, 0, 2048)}
	id := answerID("resp_", a.ID, t.hop.ID)
	w.response(response{id: id, created: t.created(a.Created), status: a.Stop.status(), stop: a.Stop, usage: &a.Usage, t: t}, func() {
		for i := range a.Parts {
			w.outputItem(itemID(&a.Parts[i], id, i), "completed", &a.Parts[i])
		}
	})
	return w.b
}

// status is a response's, by why it stopped.
func (s StopReason) status() string {
	if s == StopLength || s == StopRefusal {
		return "incomplete"
	}
	return "completed"
}

// response is what the object of a response says beside its output.
type response struct {
	id      string
	created int64
	status  string
	stop    StopReason
	usage   *Usage // nil: not known yet
	t       *Translation
}

// response writes the object with every field that clients' types require.
func (w *writer) response(of response, output func()) {
	w.open('{')
	w.str("id", of.id)
	w.str("object", "response")
	w.int("created_at", of.created)
	w.str("status", of.status)
	w.null("error")
	if of.status == "incomplete" {
		reason := "max_output_tokens"
		if of.stop == StopRefusal {
			reason = "content_filter"
		}
		w.in("incomplete_details", '{')
		w.str("reason", reason)
		w.close('}')
	} else {
		w.null("incomplete_details")
	}
	w.null("instructions")
	w.in("metadata", '{')
	w.close('}')
	w.str("model", of.t.q.Model)
	w.in("output", '[')
	output()
	w.close(']')
	parallel := of.t.q.Choice.Parallel
	w.bool("parallel_tool_calls", parallel == nil || *parallel)
	w.null("temperature")
	w.str("tool_choice", "auto")
	w.in("tools", '[')
	w.close(']')
	w.null("top_p")
	if of.usage == nil {
		w.null("usage")
	} else {
		w.responsesUsage(*of.usage)
	}
	w.close('}')
}

func (w *writer) responsesUsage(u Usage) {
	w.in("usage", '{')
	w.int("input_tokens", u.prompt())
	w.in("input_tokens_details", '{')
	w.cached(u)
	w.close('}')
	w.int("output_tokens", u.Output)
	w.in("output_tokens_details", '{')
	w.int("reasoning_tokens", u.Reasoning)
	w.close('}')
	w.int("total_tokens", u.prompt()+u.Output)
	w.close('}')
}

// itemID is an item's id, derived from the response's.
func itemID(p *Part, id string, index int) string {
	prefix := "msg_"
	switch {
	case p.Kind == Thinking:
		prefix = "rs_"
	case p.Kind == ToolCall && p.Call.Custom:
		prefix = "ctc_"
	case p.Kind == ToolCall && p.Call.Search:
		prefix = "tsc_"
	case p.Kind == ToolCall:
		prefix = "fc_"
	}
	return answerID(prefix, id, "") + "_" + strconv.Itoa(index)
}

// outputItem writes a part as the item that holds it.
func (w *writer) outputItem(id, status string, p *Part) {
	w.open('{')
	w.str("id", id)
	switch p.Kind {
	case Thinking:
		w.str("type", "reasoning")
		w.in("summary", '[')
		if p.Text != "" {
			w.summaryPart(p.Text)
		}
		w.close(']')
		w.str("encrypted_content", foreignSeal)
	case ToolCall:
		w.callItem(status, p.Call)
	default:
		w.str("type", "message")
		w.str("status", status)
		w.str("role", "assistant")
		w.in("content", '[')
		if p.Text != "" {
			w.contentPart(p.Kind, p.Text)
		}
		w.close(']')
	}
	w.close('}')
}

func (w *writer) callItem(status string, c *Call) {
	if c.Search {
		w.searchItem(status, c)
		return
	}
	if c.Custom {
		w.str("type", "custom_tool_call")
	} else {
		w.str("type", "function_call")
	}
	w.str("status", status)
	w.str("call_id", c.ID)
	w.str("name", c.Name)
	w.opt("namespace", c.Namespace)
	if c.Custom {
		w.str("input", c.Arguments)
	} else {
		w.str("arguments", c.Arguments)
	}
}

// searchItem is a call of the caller's search for tools. Its arguments are an object; a
// model that wrote something else is told so by the caller, as what it wrote.
func (w *writer) searchItem(status string, c *Call) {
	arguments, ok := object(c.Arguments)
	if !ok {
		arguments = string(append(quote([]byte(`{"query":`), c.Arguments), '}'))
	}
	w.str("type", "tool_search_call")
	w.str("status", status)
	w.str("call_id", c.ID)
	w.str("execution", "client")
	w.raw("arguments", []byte(arguments))
}

func (w *writer) summaryPart(text string) {
	w.open('{')
	w.str("type", "summary_text")
	w.str("text", text)
	w.close('}')
}

func (w *writer) contentPart(kind PartKind, text string) {
	w.open('{')
	if kind == Refusal {
		w.str("type", "refusal")
		w.str("refusal", text)
	} else {
		w.str("type", "output_text")
		w.str("text", text)
		w.in("annotations", '[')
		w.close(']')
		w.in("logprobs", '[')
		w.close(']')
	}
	w.close('}')
}
