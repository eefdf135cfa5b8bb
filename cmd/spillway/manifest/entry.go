package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

func isNumber(v any) bool {
	_, ok := v.(json.Number)
	return ok
}

// maxSecretBytes bounds a file with a credential.
const maxSecretBytes = 64 << 10

// variable is what an environment variable is called.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secretRef says where a credential is. The file itself never has one.
type secretRef struct {
	pos   Pos
	field string // api_key or credentials
	env   string
	file  string
	dir   string
}

func (s *secretRef) String() string {
	if s.env != "" {
		return "from the environment variable " + s.env
	}
	return "from the file " + s.file
}

// resolve reads the credential.
func (s *secretRef) resolve(env func(string) string) (any, error) {
	secret := env(s.env)
	if s.file != "" {
		path := s.file
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.dir, path)
		}
		raw, err := readSome(path, maxSecretBytes+1)
		if err != nil {
			return nil, &Problem{s.pos, fmt.Sprintf("%s: the file %s cannot be read: %v", s.field, s.file, errors.Unwrap(err))}
		}
		secret = string(raw)
	}
	secret = strings.TrimRight(secret, "\r\n")
	switch {
	case secret == "" && s.env != "":
		return nil, &Problem{s.pos, fmt.Sprintf("%s: the environment variable %s is not set", s.field, s.env)}
	case secret == "":
		return nil, &Problem{s.pos, fmt.Sprintf("%s: the file %s is empty", s.field, s.file)}
	case len(secret) > maxSecretBytes:
		return nil, &Problem{s.pos, s.field + ": is too long"}
	case s.field == fieldAPIKey:
		return secret, nil
	}
	v, err := decode([]byte(secret))
	if _, ok := v.(object); err != nil || !ok {
		return nil, &Problem{s.pos, s.field + ": must be a JSON object"}
	}
	return v, nil
}

// readSome reads at most so many bytes of a file, which may have no end.
func readSome(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}

// entries reads the list of a kind.
func (r *reader) entries(k *kind, n *yaml.Node) (out []*entry) {
	n = r.follow(n)
	if k.single {
		if n.Kind != yaml.MappingNode {
			r.fail(n, "%s must be a mapping", k.key)
			return nil
		}
		return []*entry{r.entry(k, n)}
	}
	if n.ShortTag() == "!!null" { // all of it commented out, most likely: with --prune it would delete them all
		r.fail(n, "%s must be a list: write [] for an empty one", k.key)
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "%s must be a list", k.key)
		return nil
	}
	for _, item := range n.Content {
		if item = r.follow(item); item.Kind != yaml.MappingNode {
			r.fail(item, "a %s must be a mapping", k.noun)
			continue
		}
		if k.key == keyRoutes {
			out = append(out, r.route(k, item))
			continue
		}
		out = append(out, r.entry(k, item))
	}
	return out
}

// entry reads one resource, or one target of a route.
func (r *reader) entry(k *kind, n *yaml.Node) *entry {
	e := &entry{kind: k, pos: r.pos(n), at: map[string]Pos{}, given: object{}}
	for _, p := range r.pairs(n) {
		name := p.key.Value
		e.at[name] = r.pos(p.key)
		if k.secret() && (name == fieldAPIKey || name == fieldCredentials) {
			r.secret(e, name, p)
			continue
		}
		f, ok := k.field(name)
		switch {
		case !ok:
			r.fail(p.key, "unknown field %q of a %s", name, k.noun)
		case f.refers != "":
			e.given[name] = r.reference(p.value, name)
		case k.key == keyAccess && name == fieldTargets:
			e.given[name] = r.accessTargets(p.value)
		default:
			e.given[name] = r.typed(p.value, name, f.schema)
		}
	}
	for _, f := range k.fields {
		if _, ok := e.at[f.name]; !ok && f.required {
			r.fail(n, "missing field %q of a %s", f.name, k.noun)
		}
	}
	return e
}

// reference reads the name of another resource.
func (r *reader) reference(n *yaml.Node, field string) any {
	if n = r.follow(n); n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || n.Value == "" {
		r.fail(n, "%s must be a name", field)
	}
	return n.Value
}

// secret reads where a credential is.
func (r *reader) secret(e *entry, name string, p pair) {
	n := r.follow(p.value)
	ref := &secretRef{pos: r.pos(p.key), field: name, dir: r.dir}
	if n.Kind == yaml.MappingNode {
		for _, q := range r.pairs(n) {
			switch where := r.follow(q.value); {
			case q.key.Value == "env" && where.Kind == yaml.ScalarNode:
				ref.env = where.Value
			case q.key.Value == "file" && where.Kind == yaml.ScalarNode:
				ref.file = where.Value
			default:
				r.fail(q.key, "%s is one of {env: VARIABLE} and {file: PATH}", name)
			}
		}
	}
	switch {
	case ref.env != "" && !variable.MatchString(ref.env): // which may be the credential itself
		r.fail(n, "%s: env must be the name of an environment variable", name)
	case (ref.env == "") == (ref.file == ""):
		r.fail(n, "%s is one of {env: VARIABLE} and {file: PATH}: the credential itself never stands in this file", name)
	case e.secret != nil:
		r.fail(p.key, "give api_key or credentials, not both")
	}
	e.secret = ref
}

// The fields of a target of a model access policy.
var accessFields = map[string]string{"kind": "", "alias": "", "model": "", fieldProvider: keyProviders, "group": keyGroups, "provider_id": "", "group_id": ""}

// accessTargets reads what a model access policy is about.
func (r *reader) accessTargets(n *yaml.Node) any {
	n = r.follow(n)
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "targets must be a list")
		return nil
	}
	out := []any{}
	for _, item := range n.Content {
		target := object{}
		if item = r.follow(item); item.Kind != yaml.MappingNode {
			r.fail(item, "a target must be a mapping")
			continue
		}
		for _, p := range r.pairs(item) {
			if _, ok := accessFields[p.key.Value]; !ok {
				r.fail(p.key, "unknown field %q of a target", p.key.Value)
			}
			target[p.key.Value] = r.reference(p.value, p.key.Value)
		}
		if target["kind"] == nil {
			r.fail(item, "missing field \"kind\" of a target")
		}
		out = append(out, target)
	}
	return out
}

// route reads a route and its targets.
func (r *reader) route(k *kind, n *yaml.Node) *entry {
	e := &entry{kind: k, pos: r.pos(n), at: map[string]Pos{}, given: object{}}
	for _, p := range r.pairs(n) {
		e.at[p.key.Value] = r.pos(p.key)
		switch list := r.follow(p.value); {
		case p.key.Value == fieldName:
			e.given[fieldName] = r.reference(p.value, fieldName)
		case p.key.Value == fieldTargets && list.Kind == yaml.SequenceNode:
			for _, item := range list.Content {
				if item = r.follow(item); item.Kind != yaml.MappingNode {
					r.fail(item, "a target must be a mapping")
					continue
				}
				e.targets = append(e.targets, r.entry(k, item))
			}
		case p.key.Value == fieldTargets:
			r.fail(list, "targets must be a list")
		default:
			r.fail(p.key, "unknown field %q of a route", p.key.Value)
		}
	}
	if text(e.given[fieldName]) == "" {
		r.fail(n, "missing field \"name\" of a route")
	}
	if len(e.targets) == 0 {
		r.fail(n, "the route needs at least one target")
	}
	r.checkTargets(e)
	return e
}

// checkTargets refuses targets that cannot be together, or not in this route.
func (r *reader) checkTargets(e *entry) {
	seen := map[string]Pos{}
	for _, t := range e.targets {
		id := targetKey(t.given)
		if first, twice := seen[id]; twice {
			r.problems = append(r.problems, t.problem("", "the target %s is already at %s", targetName(t.given), first))
		}
		seen[id] = t.pos
		if text(t.given[fieldModel]) != e.name() {
			continue
		}
		for name := range t.given {
			if name != fieldProvider && name != fieldModel {
				r.problems = append(r.problems, t.problem(name, "the target is the model itself, since the route has its name: give %s under models", name))
			}
		}
	}
}

// targetKey and targetName are what a target of a route is known by, to compare and for
// people.
func targetKey(o object) string {
	return address(kindOf(keyProviders).fold(text(o[fieldProvider])), text(o[fieldModel]))
}

func targetName(o object) string { return address(text(o[fieldProvider]), text(o[fieldModel])) }
