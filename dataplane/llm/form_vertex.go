package llm

import (
	"bytes"
	"slices"
	"strings"
)

// vertexBetas are the betas that Anthropic's models on Google's cloud know. A header with
// any other is refused whole (400 "Unexpected value(s) ... for the `anthropic-beta`
// header"), and tools send those that their own vendor knows. They come as the header but
// for the ones in vertexBodyBetas.
// https://docs.anthropic.com/en/api/claude-on-vertex-ai,
// https://docs.anthropic.com/en/docs/claude-code/google-vertex-ai
var vertexBetas = []string{
	"claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27", "compact-2026-01-12", "compact-2026-09-04",
	"computer-use-2025-01-24", "computer-use-2025-11-24", "tool-search-tool-2025-10-19", "web-search-2025-03-05",
	"per-turn-control-2026-07-01", "thinking-binding-controls-2026-08-01", "thinking-display-updates-2026-08-18", "dangerous-tool-use-2026-09-03",
	"context-1m-2025-08-07",
}

// vertexBodyBetas are refused in the header and taken as the body's anthropic_beta.
var vertexBodyBetas = []string{"context-1m-2025-08-07"}

// vertexAliases are betas that have another name there.
var vertexAliases = map[string]string{"advanced-tool-use-2025-11-20": "tool-search-tool-2025-10-19"}

// contextManagement is the beta without which the field of that name is refused.
const contextManagement = "context-management-2025-06-27"

// vertexFields are fields of a request that are left out: Google's cloud refuses them
// ("Extra inputs are not permitted"), and what is asked for is the same without them.
var vertexFields = []string{"model", "anthropic_version", "anthropic_beta", "safeguards", "diagnostics", "service_tier", "speed", "cache_control"}

// vertexLacks are fields that are refused too, but whose loss would change what was asked.
var vertexLacks = map[string]string{
	"mcp_servers":   "Vertex AI has no MCP connector",
	"container":     "Vertex AI has no containers",
	"inference_geo": "on Vertex AI the address says where",
}

// vertexToolFields are the same as vertexFields inside a tool.
var vertexToolFields = []string{"eager_input_streaming", "input_examples"}

// Betas are those of a caller's betas that the form takes, by where they go, and one that a
// request needs and its own vendor does not: request is its body.
func (f Form) Betas(asked []string, request []byte) (header, body []string) {
	if f != VertexForm {
		return nil, asked
	}
	if bytes.Contains(request, []byte(`"context_management"`)) {
		asked = append(asked, contextManagement)
	}
	for _, beta := range asked {
		if alias, found := vertexAliases[beta]; found {
			beta = alias
		}
		switch {
		case !slices.Contains(vertexBetas, beta), slices.Contains(header, beta), slices.Contains(body, beta):
		case slices.Contains(vertexBodyBetas, beta):
			body = append(body, beta)
		default:
			header = append(header, beta)
		}
	}
	return header, body
}

// vertexField writes one member of a request as Vertex AI takes it. model is the target's.
func (w *writer) vertexField(r *reader, m member, model string) {
	key := string(m.key)
	if reason, lacking := vertexLacks[key]; lacking {
		r.fail(key, "%s", reason)
		return
	}
	switch {
	case slices.Contains(vertexFields, key):
	case key == "output_config":
		w.vertexOutput(r, m.value, model)
	case key == "tools":
		w.vertexTools(r, m)
	case key == "messages":
		w.vertexMessages(r, m, model)
	default:
		w.named(m.key)
		w.unscoped(r, m.value)
	}
}

// vertexOutput writes output_config where the model has it: those before Claude 4.6 know
// neither efforts nor schemas there.
// https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/structured_outputs
func (w *writer) vertexOutput(r *reader, config raw, model string) {
	if KnownModel(model).Reasoning == Adaptive {
		w.raw("output_config", config)
		return
	}
	if r.object("output_config", config).get("format") != nil {
		r.fail("output_config.format", "%s has no structured outputs on Vertex AI", model)
	}
}

// vertexTools writes the tools without vertexToolFields.
func (w *writer) vertexTools(r *reader, list member) {
	w.objects(r, list, func(tool members) {
		w.open('{')
		for _, field := range tool {
			if !slices.Contains(vertexToolFields, string(field.key)) {
				w.named(field.key)
				w.unscoped(r, field.value)
			}
		}
		w.close('}')
	})
}

// vertexMessages writes the messages without the output_config that one may have. A message
// that said nothing else is left out, and one of the system's in the middle is marked for
// models that take none there.
func (w *writer) vertexMessages(r *reader, list member, model string) {
	_, version := claude(model)
	w.objects(r, list, func(message members) {
		if content := string(message.get("content")); (content == `""` || content == "[]") && message.get("output_config") != nil {
			return
		}
		late := marksSystem(r, message, version)
		w.open('{')
		for _, field := range message {
			switch key := string(field.key); {
			case key == "output_config":
			case key == "role" && late:
				w.str(key, "user")
			case key == "content" && late:
				w.marked(r, message)
			default:
				w.named(field.key)
				w.unscoped(r, field.value)
			}
		}
		w.close('}')
	})
}

// objects writes a list whose objects each writes, or leaves out; what is no object stays.
func (w *writer) objects(r *reader, list member, each func(object members)) {
	w.in(string(list.key), '[')
	r.each(members{list}, string(list.key), func(v raw) {
		if v.kind() != '{' {
			w.sep()
			w.value(v)
			return
		}
		each(r.object("", v))
	})
	w.close(']')
}

// named writes a name as it came.
func (w *writer) named(key []byte) {
	w.sep()
	w.b = append(quote(w.b, string(key)), ':')
}

// unscoped writes a value whose cache_control has no scope, which only Anthropic itself
// knows. What a model or a tool wrote is not looked into.
func (w *writer) unscoped(r *reader, v raw) {
	if !bytes.Contains(v, []byte(`"scope"`)) {
		w.sep()
		w.value(v)
		return
	}
	switch v.kind() {
	case '{':
		w.open('{')
		for _, m := range r.object("", v) {
			w.named(m.key)
			switch string(m.key) {
			case "cache_control":
				w.withoutScope(r, m.value)
			case "input", "input_schema":
				w.value(m.value)
			default:
				w.unscoped(r, m.value)
			}
		}
		w.close('}')
	case '[':
		w.open('[')
		r.each(members{{value: v}}, "", func(e raw) {
			w.unscoped(r, e)
		})
		w.close(']')
	default:
		w.sep()
		w.value(v)
	}
}

func (w *writer) withoutScope(r *reader, control raw) {
	w.open('{')
	for _, m := range r.object("cache_control", control) {
		if string(m.key) != "scope" {
			w.named(m.key)
			w.value(m.value)
		}
	}
	w.close('}')
}

// counted is the model as Vertex AI's count of tokens wants to hear it: in the body, and
// without the version "@default", which it does not know.
func counted(model string) string { return strings.TrimSuffix(model, "@default") }
