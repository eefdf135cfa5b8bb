package llm

import (
	"bytes"
	"slices"
	"strings"
)

// bedrockBeta is a beta that Bedrock takes, and of which models: one that a model does not
// take is a 400 ("invalid beta flag"), for the whole request.
type bedrockBeta struct {
	name     string
	from, to int      // versions, see claude
	families []string // nil: all
}

// bedrockBetas: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html
// and, of fine-grained streaming, .../model-parameters-anthropic-claude-messages-tool-use.html.
// Models from 4.7 on were seen to refuse all of them, and need none.
var bedrockBetas = []bedrockBeta{
	{"output-128k-2025-02-19", 307, 307, nil},
	{"token-efficient-tools-2025-02-19", 307, 401, nil},
	{"computer-use-2025-01-24", 307, 405, nil},
	{"computer-use-2025-11-24", 405, 406, nil},
	{"interleaved-thinking-2025-05-14", 400, 406, nil},
	{"dev-full-thinking-2025-05-14", 400, 401, nil},
	{"fine-grained-tool-streaming-2025-05-14", 400, 405, nil},
	{"context-1m-2025-08-07", 400, 405, []string{"sonnet"}},
	{"context-1m-2025-08-07", 406, 406, nil},
	{contextManagement, 405, 405, []string{"sonnet", "haiku"}},
	{effortBeta, 405, 405, []string{"opus"}},
	{toolSearchBeta, 405, 405, []string{"opus"}},
	{toolExamplesBeta, 405, 405, []string{"opus"}},
}

// Betas on which it depends what else of a body can stay, beside contextManagement.
const (
	effortBeta       = "effort-2025-11-24"
	toolSearchBeta   = "tool-search-tool-2025-10-19"
	toolExamplesBeta = "tool-examples-2025-10-29"
)

// advancedToolUse is what Anthropic calls the last two together.
const advancedToolUse = "advanced-tool-use-2025-11-20"

// claude is the family and the version of one of Anthropic's models, e.g. "opus" and 405 of
// "us.anthropic.claude-opus-4-5-20251101-v1:0" or "claude-opus-4-5@20251101"; 0 where the name does not say it.
func claude(model string) (family string, version int) {
	short, _, _ := strings.Cut(strings.ToLower(model), "@") // Vertex AI's mark of a version
	if i := strings.LastIndex(short, "claude-"); i >= 0 {
		short = short[i+len("claude-"):]
	} else {
		return "", 0
	}
	for part := range strings.SplitSeq(short, "-") {
		small := len(part) <= 2 && strings.Trim(part, "0123456789") == "" && part != ""
		switch n := number(part); {
		case small && version == 0:
			version = n * 100
		case small && version%100 == 0:
			return familyIn(short), version + n
		case version > 0:
			return familyIn(short), version
		}
	}
	return familyIn(short), version
}

func number(digits string) (n int) {
	for _, c := range []byte(digits) {
		n = n*10 + int(c-'0')
	}
	return n
}

func familyIn(name string) string {
	for _, f := range []string{"opus", "sonnet", "haiku"} {
		if strings.Contains(name, f) {
			return f
		}
	}
	return ""
}

// bedrock writes a body of the messages dialect as Bedrock takes it from one model. Bedrock
// refuses what it does not know, with a 400 for the whole request, where Anthropic's own API
// may have it; so what the model would not take is left out where that does no harm, and the
// request refused where the caller would notice.
type bedrock struct {
	*reader
	family  string
	version int // 0: unknown
	model   Model
	betas   []string // that the model takes
}

// bedrockBody is the body for a model.
func bedrockBody(body []byte, asked []string, model string) ([]byte, error) {
	b := bedrock{reader: new(reader), model: KnownModel(model)}
	b.family, b.version = claude(model)
	m := b.document(body)
	b.chooseBetas(append(slices.Clone(asked), b.texts(m, "anthropic_beta")...), m)
	w := writer{b: make([]byte, 0, len(body)+128)}
	w.open('{')
	w.str("anthropic_version", hostedVersions[BedrockForm])
	w.betas(b.betas)
	for _, member := range m {
		b.member(&w, m, member)
	}
	w.close('}')
	if b.err != nil {
		return nil, b.err
	}
	return w.b, nil
}

// chooseBetas keeps of what was asked what the model takes, and adds what a field needs
// that Anthropic's own API takes without.
func (b *bedrock) chooseBetas(asked []string, m members) {
	if slices.Contains(asked, advancedToolUse) {
		asked = append(asked, toolSearchBeta, toolExamplesBeta)
	}
	if b.at(m, "output_config").get("effort") != nil {
		asked = append(asked, effortBeta)
	}
	if m.get("context_management") != nil {
		asked = append(asked, contextManagement)
	}
	for _, beta := range asked {
		if b.takes(beta) && !slices.Contains(b.betas, beta) {
			b.betas = append(b.betas, beta)
		}
	}
}

func (b *bedrock) takes(beta string) bool {
	return slices.ContainsFunc(bedrockBetas, func(t bedrockBeta) bool {
		return t.name == beta && t.from <= b.version && b.version <= t.to && (t.families == nil || slices.Contains(t.families, b.family))
	})
}

func (b *bedrock) has(beta string) bool { return slices.Contains(b.betas, beta) }

// member writes one field of the request, or not. What is not named here Bedrock does not
// know.
func (b *bedrock) member(w *writer, m members, f member) {
	switch key := string(f.key); key {
	case "metadata", "stop_sequences", "temperature", "top_k", "top_p", "tool_choice":
		w.raw(key, f.value)
	case "max_tokens":
		w.int(key, b.model.limit(b.integer(m, key)))
	case "context_management":
		if b.has(contextManagement) {
			w.raw(key, f.value)
		}
	case "output_config":
		b.outputConfig(w, m)
	case "thinking":
		b.thinking(w, m)
	case "system":
		b.list(w, m, key, b.systemBlock)
	case "messages":
		b.list(w, m, key, b.message)
	case "tools":
		b.list(w, m, key, b.tool)
	case "mcp_servers":
		b.each(m, key, func(raw) { b.fail("", "Bedrock has no connector to MCP servers") })
	case "container", "inference_geo", "output_format":
		b.fail(key, "Bedrock does not take it")
	}
}

// list writes a list whose elements each writes, or leaves out; a text stays.
func (b *bedrock) list(w *writer, m members, key string, each func(w *writer, v raw)) {
	if m.get(key).kind() != '[' {
		w.raw(key, m.get(key))
		return
	}
	w.in(key, '[')
	b.each(m, key, func(v raw) { each(w, v) })
	w.close(']')
}

// outputConfig keeps a form that was asked for, which the caller would miss, and an effort
// where the model takes it.
func (b *bedrock) outputConfig(w *writer, m members) {
	config := b.at(m, "output_config")
	format, effort := config.get("format"), config.get("effort")
	if format != nil && b.model.NoSchemas {
		b.fail("output_config.format", "the model %s has no structured outputs", b.model.Name)
	}
	if b.version > 0 && b.version < 406 && !b.has(effortBeta) {
		effort = nil
	}
	if format == nil && effort == nil {
		return
	}
	w.in("output_config", '{')
	w.raw("effort", effort)
	w.raw("format", format)
	w.close('}')
}

// thinking tells a model from before adaptive thinking to think within a budget instead.
func (b *bedrock) thinking(w *writer, m members) {
	t := b.at(m, "thinking")
	if b.version == 0 || b.version > 406 || b.text(t, "type") != "adaptive" {
		w.raw("thinking", m.get("thinking"))
		return
	}
	switch b.model.Reasoning {
	case Adaptive:
		w.raw("thinking", []byte(`{"type":"adaptive"}`)) // display is of later models
	case ByBudget:
		budget := budgets[b.text(b.at(m, "output_config"), "effort")]
		if budget == 0 {
			budget = budgets["high"]
		}
		if room := b.model.limit(b.integer(m, "max_tokens")) - 1; budget > room {
			budget = room
		}
		if budget < minBudget {
			return
		}
		w.in("thinking", '{')
		w.str("type", "enabled")
		w.int("budget_tokens", budget)
		w.close('}')
	}
}

// attribution begins a block that Claude Code writes for Anthropic's own books. It differs
// from request to request, so before a system prompt it would keep Bedrock from caching any.
const attribution = "x-anthropic-billing-header:"

func (b *bedrock) systemBlock(w *writer, v raw) {
	if bytes.Contains(v, []byte(attribution)) && strings.HasPrefix(b.text(b.object("", v), "text"), attribution) {
		return
	}
	b.block(w, v)
}

// lateSystem is the first version that takes system messages in the middle.
// https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
const lateSystem = 408

// marksSystem reports whether a message is of the system, in the middle of a conversation
// with a model that takes none there: it comes as a marked turn of the user's, as
// everywhere else.
func marksSystem(r *reader, message members, version int) bool {
	return version < lateSystem && r.text(message, "role") == "system"
}

// message writes a message, but one that says only how much effort is to be made from here
// on.
func (b *bedrock) message(w *writer, v raw) {
	m := b.object("", v)
	if content := string(m.get("content")); m.get("output_config") != nil && (content == `""` || content == "[]") {
		return
	}
	late := marksSystem(b.reader, m, b.version)
	w.open('{')
	for _, f := range m {
		switch key := string(f.key); {
		case key == "output_config":
		case key == "role" && late:
			w.str(key, "user")
		case key == "content" && late:
			w.marked(b.reader, m)
		case key == "content":
			b.list(w, m, key, b.block)
		default:
			w.same(f)
		}
	}
	w.close('}')
}

// marked writes what a message of the system says, as content of a user's.
func (w *writer) marked(r *reader, m members) {
	w.in("content", '[')
	text := func(s string) {
		w.open('{')
		w.str("type", "text")
		w.str("text", "<system>\n"+s+"\n</system>")
		w.close('}')
	}
	if m.get("content").kind() == '"' {
		text(r.text(m, "content"))
	} else {
		r.each(m, "content", func(v raw) { text(r.text(r.object("", v), "text")) })
	}
	w.close(']')
}

// peculiar are what a block may have that Bedrock may not take. Most blocks have none, and
// are long.
var peculiar = [][]byte{[]byte(`"cache_control"`), []byte(`"caller"`), []byte(`"tool_reference"`)}

func isPeculiar(v raw) bool {
	return slices.ContainsFunc(peculiar, func(p []byte) bool { return bytes.Contains(v, p) })
}

// block writes a block of content.
func (b *bedrock) block(w *writer, v raw) {
	if !isPeculiar(v) {
		w.sep()
		w.value(v)
		return
	}
	m := b.object("", v)
	kind := b.text(m, "type")
	if kind == "tool_reference" && !b.has(toolSearchBeta) {
		// Every tool is there from the start: see tool.
		w.open('{')
		w.str("type", "text")
		w.str("text", "The tool "+b.text(m, "tool_name")+" is available.")
		w.close('}')
		return
	}
	w.open('{')
	for _, f := range m {
		switch key := string(f.key); {
		case key == "cache_control":
			b.cacheControl(w, m)
		case key == "caller" && kind != "text": // who called a tool, which only Anthropic's own API says
		case key == "content" && kind == "tool_result":
			b.list(w, m, key, b.block)
		default:
			w.same(f)
		}
	}
	w.close('}')
}

// cacheControl keeps a breakpoint without what says how far it is shared and, for a model
// from before longer times, how long.
func (b *bedrock) cacheControl(w *writer, m members) {
	b.inside(m, "cache_control", func(c members) {
		w.in("cache_control", '{')
		for _, f := range c {
			if key := string(f.key); key == "type" || key == "ttl" && (b.version == 0 || b.version >= 405) {
				w.raw(key, f.value)
			}
		}
		w.close('}')
	})
}

// clientTools are how the types of tools begin that the caller itself runs.
var clientTools = []string{"bash_", "text_editor_", "computer_", "memory_"}

// tool writes a tool. One that is to be found by searching is there from the start where
// the model cannot search, and the search is not.
func (b *bedrock) tool(w *writer, v raw) {
	m := b.object("", v)
	kind := b.text(m, "type")
	runs := kind == "" || kind == "custom" || slices.ContainsFunc(clientTools, func(p string) bool { return strings.HasPrefix(kind, p) })
	switch searches := strings.HasPrefix(kind, "tool_search_tool"); {
	case searches && !b.has(toolSearchBeta):
		return
	case !searches && !runs:
		b.fail("", "Bedrock does not have the tool %s", kind)
		return
	}
	w.open('{')
	for _, f := range m {
		switch key := string(f.key); {
		case key == "cache_control":
			b.cacheControl(w, m)
		case key == "defer_loading" && !b.has(toolSearchBeta), key == "input_examples" && !b.has(toolExamplesBeta),
			key == "strict" && b.model.NoSchemas, key == "eager_input_streaming", key == "allowed_callers":
		default:
			w.same(f)
		}
	}
	w.close('}')
}
