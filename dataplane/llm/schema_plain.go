package llm

import "strings"

// Bounds of a schema that is written out: what refers to itself has no end.
const (
	maxPlainDepth = 12
	maxPlainBytes = 256 << 10
)

// plainSchema is a tool's schema with type, properties and required on top and nothing
// else, which is all that Amazon's own models take there ("extraneous key ... is not
// permitted"). What stood beside them and was referred to is written out where it is
// used. false: it would be too long.
// https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html
func plainSchema(schema []byte) ([]byte, bool) {
	var r reader
	m := r.object("", raw(schema))
	p := plainer{reader: &r, definitions: map[string]members{"#/$defs/": r.at(m, "$defs"), "#/definitions/": r.at(m, "definitions")}}
	if r.err != nil {
		return schema, true
	}
	p.open('{')
	for _, member := range m {
		switch string(member.key) {
		case "type", "properties", "required":
			p.sep()
			p.b = append(quote(p.b, string(member.key)), ':')
			p.write(member.value, 0)
		}
	}
	p.close('}')
	if r.err != nil {
		return schema, true
	}
	return p.b, len(p.b) <= maxPlainBytes
}

type plainer struct {
	*reader
	writer
	definitions map[string]members // by what references begin with
}

// write copies a value, with definitions instead of what refers to them; depth is how
// many it is inside of.
func (p *plainer) write(v raw, depth int) {
	if len(p.b) > maxPlainBytes {
		return
	}
	switch v.kind() {
	case '{':
		p.object(v, depth)
	case '[':
		p.open('[')
		s := scanner{b: v}
		_ = s.elements(func() error {
			start := s.i
			err := s.value(1)
			p.write(v[start:s.i], depth)
			return err
		})
		p.close(']')
	default:
		p.sep()
		p.value(v)
	}
}

func (p *plainer) object(v raw, depth int) {
	m := p.reader.object("", v)
	if definition := p.definition(m); definition != nil {
		if depth == maxPlainDepth { // it is inside of itself: from here on anything goes
			definition = raw("{}")
		}
		p.write(definition, depth+1)
		return
	}
	p.open('{')
	for _, member := range m {
		p.sep()
		p.b = append(quote(p.b, string(member.key)), ':')
		p.write(member.value, depth)
	}
	p.close('}')
}

// definition is what an object refers to, or nil.
func (p *plainer) definition(m members) raw {
	ref := m.get("$ref")
	if ref.kind() != '"' {
		return nil
	}
	target := unquote(ref)
	for prefix, definitions := range p.definitions {
		if name, ok := strings.CutPrefix(target, prefix); ok {
			return definitions.get(name)
		}
	}
	return nil
}
