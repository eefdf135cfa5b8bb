package manifest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/spillway-gateway/spillway/api/client"
)

// exportHead is the first lines of an exported file.
const exportHead = "# Written by `spillway export`; `spillway apply` takes it. Credentials are not in it: where one is\n# needed, it is read from where api_key or credentials says.\n"

// Export returns the organization as a file. Applied to the same organization it changes
// nothing.
func Export(ctx context.Context, c *client.Client) ([]byte, error) {
	s, err := readState(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.export()
}

func (s *state) export() ([]byte, error) {
	kinds, err := table()
	if err != nil {
		return nil, err
	}
	top := &yaml.Node{Kind: yaml.MappingNode}
	for _, k := range kinds {
		var node *yaml.Node
		switch {
		case k.key == keyRoutes:
			node = s.exportRoutes()
		case k.single:
			for _, r := range s.rows[k.key] {
				node = fieldsNode(k, s.written(r), nil)
			}
		default:
			if node, err = s.exportKind(k); err != nil {
				return nil, err
			}
		}
		if len(node.Content) == 0 { // it is there all the same, so that the file is the whole organization
			node.Style = yaml.FlowStyle
		}
		top.Content = append(top.Content, scalar(k.key), node)
	}
	out, err := yaml.Dump(top, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	return append([]byte(exportHead), out...), err
}

// exportKind is the list of a kind, by name.
func (s *state) exportKind(k *kind) (*yaml.Node, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	rows := slices.SortedFunc(slices.Values(s.rows[k.key]), func(a, b *row) int {
		return cmp.Or(cmp.Compare(keyOf(k, a.fields), keyOf(k, b.fields)), cmp.Compare(a.name(), b.name()))
	})
	for _, r := range rows {
		if _, err := s.find(k.key, keyOf(k, r.fields)); err != nil {
			return nil, err
		}
		list.Content = append(list.Content, fieldsNode(k, s.written(r), secretNode(r)))
	}
	return list, nil
}

// exportRoutes is the list of the routes, without those that are only a model under its own
// name: that is said of the model.
func (s *state) exportRoutes() *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, name := range s.routes() {
		targets := s.route(name)
		if len(targets) == 1 && targets[0].enablement() {
			continue
		}
		nodes := &yaml.Node{Kind: yaml.SequenceNode}
		for _, t := range targets {
			fields := s.written(t)
			if t.enablement() {
				fields = object{fieldProvider: fields[fieldProvider], fieldModel: fields[fieldModel]}
			}
			node := fieldsNode(t.kind, fields, nil)
			node.Style = yaml.FlowStyle
			nodes.Content = append(nodes.Content, node)
		}
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(fieldName), scalar(name), scalar(fieldTargets), nodes}})
	}
	return list
}

// written are the fields of a resource that the file must have: not what is left to the
// default.
func (s *state) written(r *row) object {
	p := &planner{Plan: &Plan{state: s}, file: &File{}}
	bare := &entry{kind: r.kind, given: object{}}
	for _, f := range r.kind.fields {
		if f.required || f.refers != "" && !blank(r.fields[f.name]) {
			bare.given[f.name] = r.fields[f.name]
		}
	}
	want, out := p.wanted(bare), merged(bare.given)
	for _, f := range r.kind.fields {
		from, to := p.compared(bare, f.name, r, want)
		if !alike(r.kind, f, from, to) {
			out[f.name] = from
		}
	}
	return out
}

// secretNode says where the credential of a resource could be, where it has one stored.
// Nothing reads it there before the resource is made elsewhere, or moved.
func secretNode(r *row) []*yaml.Node {
	if text(r.raw["secret_path"]) == "" && r.raw["stores_key_material"] != true || !blank(r.fields["connection"]) {
		return nil
	}
	variable := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '_'
	}, r.name())
	field, suffix := fieldCredentials, "_CREDENTIALS"
	if strings.HasSuffix(text(r.fields[fieldAuthType]), fieldAPIKey) {
		field, suffix = fieldAPIKey, "_API_KEY"
	}
	if variable == "" || variable[0] >= '0' && variable[0] <= '9' {
		variable = "_" + variable
	}
	where := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{scalar("env"), scalar(variable + suffix)}}
	return []*yaml.Node{scalar(field), where}
}

// fieldsNode is a resource, its fields in the order of the kind's.
func fieldsNode(k *kind, fields object, more []*yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	if k.key == keyModels {
		n.Style = yaml.FlowStyle
	}
	for _, f := range k.fields {
		if v, ok := fields[f.name]; ok {
			n.Content = append(n.Content, scalar(f.name), node(v))
		}
	}
	n.Content = append(n.Content, more...)
	return n
}

// node is a value as YAML. Mappings are in the order of their names.
func node(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return scalar(v)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case int64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v, 10)}
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: v.String()}
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			n.Content = append(n.Content, node(item))
		}
		n.Style = flowIfPlain(n)
		return n
	case object:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range sortedKeys(v) {
			n.Content = append(n.Content, scalar(name), node(v[name]))
		}
		n.Style = flowIfPlain(n)
		return n
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

// flowIfPlain puts what has no lists or mappings in it on one line.
func flowIfPlain(n *yaml.Node) yaml.Style {
	if slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Kind != yaml.ScalarNode }) {
		return 0
	}
	return yaml.FlowStyle
}

func sortedKeys(o object) []string {
	out := make([]string, 0, len(o))
	for name := range o {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// scalar is a text. The library quotes what would be read as something else.
func scalar(v string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
}
