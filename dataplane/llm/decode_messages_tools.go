package llm

import (
	"slices"
	"strings"
)

// toolChange is what a conversation says of a tool: from there on the model is shown it,
// or is no longer.
type toolChange struct {
	name    string
	removed bool
	defined *Tool // a tool that stands in the conversation only
}

// toolChange reads a tool_addition or a tool_removal, and notes it.
func (r *reader) toolChange(m members, removed bool) {
	r.inside(m, "tool", func(m members) {
		switch kind := r.text(m, "type"); kind {
		case "tool_reference":
			r.changes = append(r.changes, toolChange{name: r.needed(m, "name"), removed: removed})
		case "tool_definition":
			r.inside(m, "definition", func(m members) {
				if t, ok := r.messagesTool(m); ok {
					r.changes = append(r.changes, toolChange{t.Name, removed, &t})
				}
			})
		default:
			r.fail("type", "the target does not call MCP servers")
		}
	})
}

// messagesTools reads the tools that the model is shown, those first that it is shown from
// the start and then the others as they came up: a list that only grows at its end leaves
// the prompt cache most of what it has. A tool that is deferred (defer_loading) is shown
// when the conversation has named or called it, and all are where Anthropic would have searched them:
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
func (r *reader) messagesTools(q *Request, m members) {
	var deferred []Tool
	searched := false
	r.each(m, "tools", func(v raw) {
		m := r.object("", v)
		searched = searched || strings.HasPrefix(r.text(m, "type"), "tool_search_")
		t, ok := r.messagesTool(m)
		switch {
		case !ok:
		case r.truth(m, "defer_loading"):
			deferred = append(deferred, t)
		default:
			q.Tools = append(q.Tools, t)
		}
	})
	for _, c := range r.changes {
		q.changeTool(c, deferred)
	}
	for i := range deferred {
		if searched || slices.Contains(q.Choice.Names, deferred[i].Name) {
			q.changeTool(toolChange{name: deferred[i].Name}, deferred)
		}
	}
}

// changeTool shows or withdraws a tool; what is shown already stays where it is.
func (q *Request) changeTool(c toolChange, deferred []Tool) {
	named := func(t Tool) bool { return t.Name == c.name && t.Kind == Function }
	switch at := slices.IndexFunc(deferred, named); {
	case c.removed:
		q.Tools = slices.DeleteFunc(q.Tools, named)
	case slices.ContainsFunc(q.Tools, named):
	case c.defined != nil:
		q.Tools = append(q.Tools, *c.defined)
	case at >= 0:
		q.Tools = append(q.Tools, deferred[at])
	}
}

// messagesTool reads a tool, and reports whether it is one: all tools are there without
// Anthropic's search.
func (r *reader) messagesTool(m members) (t Tool, ok bool) {
	t = Tool{Name: r.text(m, "name"), Description: r.text(m, "description"), Schema: []byte(m.get("input_schema")), Strict: r.boolean(m, "strict"), Cache: []byte(m.get("cache_control"))}
	kind := r.text(m, "type")
	switch {
	case kind == "" || kind == "custom":
		if t.Name == "" {
			r.fail("name", "is missing")
		}
	case strings.HasPrefix(kind, "web_search_"):
		t = Tool{Kind: WebSearch, Name: t.Name, Cache: t.Cache, Domains: r.texts(m, "allowed_domains")}
		if m.get("blocked_domains") != nil {
			r.fail("blocked_domains", "the target cannot leave out sites of its search")
		}
	case strings.HasPrefix(kind, "tool_search_"):
		return t, false
	default:
		r.fail("type", "the target has no tool %q", kind)
	}
	return t, true
}

func (r *reader) messagesChoice(m members) (c Choice) {
	r.inside(m, "tool_choice", func(m members) {
		if m == nil {
			return
		}
		switch kind := r.text(m, "type"); kind {
		case "auto":
			c.Mode = ChoiceAuto
		case "any":
			c.Mode = ChoiceRequired
		case "tool":
			c.Mode, c.Names = ChoiceTool, []string{r.needed(m, "name")}
		case "none":
			c.Mode = ChoiceNone
		default:
			r.fail("type", "%q is not a choice of tools", kind)
		}
		if one := r.boolean(m, "disable_parallel_tool_use"); one != nil {
			parallel := !*one
			c.Parallel = &parallel
		}
	})
	return c
}
