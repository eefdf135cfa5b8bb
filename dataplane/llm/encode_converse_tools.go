package llm

// offered are the tools that the model may call, none where it must not. toolConfig has
// no "none", and a list that is narrowed stands for a choice that is.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html
func (e *converseEncoder) offered() []Tool {
	c := &e.q.Choice
	if e.answer != "" {
		f := e.q.Settings.Format
		return []Tool{{Name: e.answer, Description: f.Description, Schema: f.Schema}}
	}
	if c.Mode == ChoiceNone || len(e.q.Tools) == 0 {
		return nil
	}
	if e.m.has(NoTools) {
		e.cannot("tools", "the target's model calls no tools")
	}
	tools := e.q.allowedTools()
	if c.Mode != ChoiceTool || e.m.has(NamedCalls) {
		return tools
	}
	for i := range tools {
		if tools[i].Name == c.Names[0] {
			return tools[i : i+1]
		}
	}
	e.cannot("tool_choice", "there is no tool \""+c.Names[0]+"\"")
	return nil
}

func (e *converseEncoder) toolConfig() {
	if len(e.tools) == 0 {
		return
	}
	e.in("toolConfig", '{')
	e.in("tools", '[')
	for i := range e.tools {
		if t, ok := e.asFunction(&e.tools[i]); ok {
			e.tool(&t)
		}
	}
	e.close(']')
	e.choice()
	e.close('}')
}

// tool leaves out strict, which few models know and the others refuse.
func (e *converseEncoder) tool(t *Tool) {
	schema := schemaObject(t.Schema)
	if e.m.has(PlainSchemas) {
		var ok bool
		if schema, ok = plainSchema(schema); !ok {
			e.cannot("tools", "the schema of the tool \""+t.Name+"\" is too long when it is written out")
		}
	}
	e.open('{')
	e.in("toolSpec", '{')
	e.str("name", flatName(t.Namespace, t.Name))
	e.opt("description", t.Description)
	e.in("inputSchema", '{')
	e.raw("json", schema)
	e.close('}')
	e.close('}')
	e.close('}')
}

// choice writes toolChoice. Left to the model is what every model does without one, and
// one tool of which one must be called is that tool.
func (e *converseEncoder) choice() {
	if !e.forced() {
		return
	}
	if e.m.has(NoForcedCalls) {
		e.cannot("tool_choice", "the target's model cannot be made to call a tool")
	}
	e.in("toolChoice", '{')
	switch {
	case !e.m.has(NamedCalls), e.q.Choice.Mode == ChoiceRequired:
		e.in("any", '{')
	case e.answer != "":
		e.in("tool", '{')
		e.str("name", e.answer)
	default:
		e.in("tool", '{')
		e.str("name", e.q.toolNamed(e.q.Choice.Names[0]))
	}
	e.close('}')
	e.close('}')
}

// forced reports whether the model must call a tool.
func (e *converseEncoder) forced() bool {
	mode := e.q.Choice.Mode
	return e.answer != "" || mode == ChoiceRequired || mode == ChoiceTool
}

// answerTool is the name of the tool by whose call a model answers that cannot be held to
// a schema otherwise, or empty: what it calls it with is the answer. It cannot be offered
// beside others, since it is the one that must be called.
func (q *Request) answerTool(hop *Hop) string {
	f, m := q.Settings.Format, &hop.Model
	switch {
	case hop.To != Converse, f == nil, f.Schema == nil, !m.NoSchemas, len(q.Tools) > 0:
	case m.has(NoTools), m.has(NoForcedCalls):
	case f.Name != "":
		return flatName("", f.Name)
	default:
		return "answer"
	}
	return ""
}
