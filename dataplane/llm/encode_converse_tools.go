package llm

// offered are the tools that the model may call, none where it must not. toolConfig has
// no "none", and a list that is narrowed stands for a choice that is.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html
func (e *converseEncoder) offered() []Tool {
	c := &e.q.Choice
	if c.Mode == ChoiceNone || len(e.q.Tools) == 0 {
		return nil
	}
	switch {
	case e.m.has(NoTools):
		e.cannot("tools", "the target's model calls no tools")
	case e.m.has(NoStreamedTools) && e.q.Stream:
		e.cannot("tools", "the target's model calls no tools where its answer is streamed")
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
	for _, t := range e.tools {
		switch t.Kind {
		case WebSearch:
			e.noTool(&t)
			continue
		case Custom:
			t = t.wrapped()
		}
		e.tool(&t)
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
	c := &e.q.Choice
	if c.Mode != ChoiceRequired && c.Mode != ChoiceTool {
		return
	}
	if e.m.has(NoForcedCalls) {
		e.cannot("tool_choice", "the target's model cannot be made to call a tool")
	}
	e.in("toolChoice", '{')
	if c.Mode == ChoiceTool && e.m.has(NamedCalls) {
		e.in("tool", '{')
		e.str("name", e.q.toolNamed(c.Names[0]))
	} else {
		e.in("any", '{')
	}
	e.close('}')
	e.close('}')
}
