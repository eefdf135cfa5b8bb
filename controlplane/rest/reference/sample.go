package reference

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// maxSampleDepth bounds an example where schemas hold themselves.
const maxSampleDepth = 6

// sample is an example of a body as JSON: the document's own, or one made from the schema.
// A request has what it must have and what has an example of its own, an answer everything.
func sample(content *openapi3.MediaType, request bool) string {
	v := content.Example
	if v == nil {
		v = sampleOf(content.Schema.Value, request, 0)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return ""
	}
	return out.String()
}

func sampleOf(s *openapi3.Schema, request bool, depth int) any {
	switch {
	case s.Example != nil:
		return s.Example
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AllOf) == 1 && depth < maxSampleDepth:
		return sampleOf(s.AllOf[0].Value, request, depth+1)
	case s.Nullable && !s.Type.Is(openapi3.TypeObject):
		return nil
	case s.Type.Is(openapi3.TypeArray):
		if depth >= maxSampleDepth {
			return []any{}
		}
		return slices.Repeat([]any{sampleOf(s.Items.Value, request, depth+1)}, max(1, int(s.MinItems)))
	case s.Type.Is(openapi3.TypeInteger), s.Type.Is(openapi3.TypeNumber):
		if s.Min != nil {
			return *s.Min
		}
		return 0
	case s.Type.Is(openapi3.TypeBoolean):
		return true
	case s.Type.Is(openapi3.TypeString):
		return sampleText(s.Format)
	}
	out := map[string]any{}
	if depth >= maxSampleDepth {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name].Value
		if !request && !p.WriteOnly || slices.Contains(s.Required, name) || request && p.Example != nil {
			out[name] = sampleOf(p, request, depth+1)
		}
	}
	return out
}

func sampleText(format string) string {
	switch format {
	case "uuid":
		return "0198c5a2-7d3e-7c41-9a55-0b8a4f6f2c11"
	case "date-time":
		return "2026-03-01T09:00:00Z"
	case "password":
		return "..."
	}
	return "text"
}
