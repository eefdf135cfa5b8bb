package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"go.yaml.in/yaml/v4"
)

// Bounds of a file: how many values it may have once its aliases are followed, and how
// deep they may lie in each other.
const (
	maxValues = 1_000_000
	maxDepth  = 100
	// maxProblems is after how many the rest of a file is not looked at.
	maxProblems = 20
)

// reader turns the nodes of a file into entries, and gathers what is wrong with them.
type reader struct {
	file, dir string
	values    int
	problems  []error
}

func (r *reader) pos(n *yaml.Node) Pos { return Pos{r.file, n.Line, n.Column} }

func (r *reader) fail(n *yaml.Node, format string, args ...any) {
	if len(r.problems) == maxProblems {
		r.values = maxValues // it is enough: read no further
		return
	}
	r.problems = append(r.problems, &Problem{r.pos(n), fmt.Sprintf(format, args...)})
}

// parse returns the mapping that is the file, or nil where it is empty or wrong.
func (r *reader) parse(content []byte) *yaml.Node {
	var doc yaml.Node
	if err := yaml.Load(content, &doc); err != nil {
		at, message := Pos{File: r.file, Line: 1, Column: 1}, err.Error()
		if e, ok := errors.AsType[*yaml.LoadError](err); ok {
			message = e.Message
			if e.Mark.Line > 0 {
				at.Line, at.Column = e.Mark.Line, max(e.Mark.Column, 1)
			}
		}
		if !strings.Contains(message, "no documents") {
			r.problems = append(r.problems, &Problem{at, strings.TrimPrefix(message, "yaml: ")})
		}
		return nil
	}
	top := &doc
	if top.Kind == yaml.DocumentNode && len(top.Content) == 1 {
		top = top.Content[0]
	}
	if top.Kind == 0 || top.Kind == yaml.DocumentNode || top.ShortTag() == "!!null" {
		return nil
	}
	if top.Kind != yaml.MappingNode {
		r.fail(top, "must be a mapping of lists, such as providers and routes")
		return nil
	}
	return top
}

// follow returns what an alias stands for.
func (r *reader) follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

type pair struct{ key, value *yaml.Node }

// pairs are the fields of a mapping, those merged by `<<` after its own.
func (r *reader) pairs(n *yaml.Node) []pair { return r.pairsDeep(n, 0) }

func (r *reader) pairsDeep(n *yaml.Node, depth int) (out []pair) {
	if depth > maxDepth || r.spent(n) {
		return nil
	}
	has := map[string]bool{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := r.follow(n.Content[i]), n.Content[i+1]
		switch {
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
		case key.Kind != yaml.ScalarNode:
			r.fail(key, "a field's name must be a word")
		case has[key.Value]:
			r.fail(key, "the field %q is there twice", key.Value)
		default:
			has[key.Value] = true
			out = append(out, pair{key, value})
		}
	}
	for _, m := range merged {
		from := []*yaml.Node{r.follow(m)}
		if from[0].Kind == yaml.SequenceNode {
			from = from[0].Content
		}
		for _, source := range from {
			if source = r.follow(source); source.Kind != yaml.MappingNode {
				r.fail(m, "only mappings can be merged")
				continue
			}
			for _, p := range r.pairsDeep(source, depth+1) {
				if !has[p.key.Value] {
					has[p.key.Value] = true
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// spent counts a value, and refuses a file with too many: aliases of aliases make few
// lines into very many values.
func (r *reader) spent(n *yaml.Node) bool {
	if r.values++; r.values == maxValues {
		r.fail(n, "the file has too many values")
	}
	return r.values >= maxValues
}

// value reads a node as a value of no known type.
func (r *reader) value(n *yaml.Node, depth int) any {
	if n = r.follow(n); r.spent(n) {
		return nil
	}
	if depth > maxDepth {
		r.fail(n, "lies too deep")
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := object{}
		for _, p := range r.pairs(n) {
			out[p.key.Value] = r.value(p.value, depth+1)
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			out = append(out, r.value(item, depth+1))
		}
		return out
	}
	return r.scalar(n)
}

func (r *reader) scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		if word := strings.ToLower(n.Value); word == "true" || word == "false" {
			return word == "true"
		}
		r.fail(n, "must be true or false") // tagged as a truth value, and none
		return nil
	case "!!int":
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return v
		}
		r.fail(n, "the number is too large")
		return nil
	case "!!float":
		v, err := number(n.Value)
		if err != nil {
			r.fail(n, "%s", err)
		}
		return v
	case "!!str", "!!timestamp": // a date is text to the API
		return n.Value
	}
	r.fail(n, "unknown tag %s", n.Tag)
	return nil
}

// typed reads a node as a value of a schema's.
func (r *reader) typed(n *yaml.Node, name string, s *openapi3.Schema) any {
	before := len(r.problems)
	n = r.follow(n)
	v := r.value(n, 0)
	if len(r.problems) > before {
		return nil
	}
	if message := misfit(v, n, s); message != "" {
		r.fail(n, "%s %s", name, message)
		return nil
	}
	if items, ok := v.([]any); ok && s.Items != nil {
		for i, item := range items {
			if at := r.follow(n.Content[i]); item == nil || misfit(item, at, s.Items.Value) != "" {
				r.fail(at, "%s[%d] %s", name, i, misfit(item, at, s.Items.Value))
			}
		}
	}
	return v
}

// misfit says what a value is not that the schema wants, or "".
func misfit(v any, n *yaml.Node, s *openapi3.Schema) string {
	s = flat(s)
	switch {
	case s.Type.Is(openapi3.TypeString):
		word, ok := v.(string)
		switch {
		case v == nil:
			return "must be a string: leave it out for its default"
		case !ok:
			return "must be a string: put it in quotes"
		case n.ShortTag() == "!!timestamp":
			return "must be a string: put it in quotes"
		case len(s.Enum) > 0 && !slices.Contains(s.Enum, any(word)):
			return fmt.Sprintf("must be one of %v", s.Enum)
		case s.MaxLength != nil && uint64(len([]rune(word))) > *s.MaxLength:
			return fmt.Sprintf("must have at most %d characters", *s.MaxLength)
		case s.Format == "uuid" && uuid.Validate(word) != nil:
			return "must be an id (a UUID)"
		}
	case s.Type.Is(openapi3.TypeInteger):
		count, ok := v.(int64)
		if !ok {
			return "must be a whole number"
		}
		return outOfRange(float64(count), s)
	case s.Type.Is(openapi3.TypeNumber):
		if _, ok := v.(int64); !ok && !isNumber(v) {
			return "must be a number"
		}
	case s.Type.Is(openapi3.TypeBoolean):
		if _, ok := v.(bool); !ok {
			return "must be true or false"
		}
	case s.Type.Is(openapi3.TypeArray):
		if _, ok := v.([]any); !ok {
			return "must be a list"
		}
	default: // an object, or one that the description gives no type
		if _, ok := v.(object); !ok {
			return "must be a mapping"
		}
	}
	return ""
}

func outOfRange(count float64, s *openapi3.Schema) string {
	low, high := s.Min != nil && count < *s.Min, s.Max != nil && count > *s.Max
	switch {
	case (low || high) && s.Min != nil && s.Max != nil:
		return fmt.Sprintf("must be between %v and %v", *s.Min, *s.Max)
	case low:
		return fmt.Sprintf("must be at least %v", *s.Min)
	case high:
		return fmt.Sprintf("must be at most %v", *s.Max)
	}
	return ""
}
