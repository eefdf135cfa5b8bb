package llm

func (e *messagesEncoder) tools() {
	tools := e.q.allowedTools()
	if len(tools) == 0 {
		e.calledTools()
		return
	}
	e.in("tools", '[')
	for i := range tools {
		e.tool(tools[i])
	}
	e.close(']')
	e.choice()
}

// calledTools writes the tools that the history calls, where the request has none:
// Anthropic refuses calls of tools that it is not told of.
func (e *messagesEncoder) calledTools() {
	seen := map[string]bool{}
	for i := range e.q.Turns {
		for _, p := range e.q.Turns[i].Parts {
			if p.Kind != ToolCall || seen[flatName(p.Call.Namespace, p.Call.Name)] {
				continue
			}
			if len(seen) == 0 {
				e.in("tools", '[')
			}
			seen[flatName(p.Call.Namespace, p.Call.Name)] = true
			e.tool(Tool{Namespace: p.Call.Namespace, Name: p.Call.Name})
		}
	}
	if len(seen) > 0 {
		e.close(']')
		e.in("tool_choice", '{')
		e.str("type", "none")
		e.close('}')
	}
}

func (e *messagesEncoder) tool(t Tool) {
	e.open('{')
	switch t.Kind {
	case WebSearch:
		e.str("type", "web_search_20250305")
		e.str("name", "web_search")
		if len(t.Domains) > 0 {
			e.in("allowed_domains", '[')
			for _, domain := range t.Domains {
				e.element(domain)
			}
			e.close(']')
		}
	case Custom, Function:
		if t.Kind == Custom {
			t = t.wrapped()
		}
		e.str("name", flatName(t.Namespace, t.Name))
		e.opt("description", t.Description)
		e.raw("input_schema", schemaObject(t.Schema))
		if t.Strict != nil && *t.Strict && !e.m.NoSchemas {
			e.bool("strict", true)
		}
	}
	e.raw("cache_control", t.Cache)
	e.close('}')
}

func (e *messagesEncoder) choice() {
	c := &e.q.Choice
	one := c.Parallel != nil && !*c.Parallel
	mode := c.Mode
	if mode == ChoiceUnset && one {
		mode = ChoiceAuto // the only place to say it
	}
	if mode == ChoiceUnset {
		return
	}
	e.in("tool_choice", '{')
	switch mode {
	case ChoiceAuto:
		e.str("type", "auto")
	case ChoiceRequired:
		e.str("type", "any")
	case ChoiceNone:
		e.str("type", "none")
	case ChoiceTool:
		e.str("type", "tool")
		e.str("name", e.q.toolNamed(c.Names[0]))
	}
	if one && mode != ChoiceNone {
		e.bool("disable_parallel_tool_use", true)
	}
	e.close('}')
}
