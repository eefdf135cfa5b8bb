package manifest

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Pos is a place in a file.
type Pos struct {
	File         string
	Line, Column int
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Problem is something wrong with a file, and where.
type Problem struct {
	Pos
	Message string
}

func (p *Problem) Error() string { return p.Pos.String() + ": " + p.Message }

// File is what one or several files say.
type File struct {
	// Names are the files' own, for change notes.
	Names   []string
	named   map[string]bool // the kinds that the file has a list of, an empty one too
	entries []*entry        // in the order of the kinds, and within a kind of the file
	byKey   map[kindKey]*entry
}

// kindKey is what a resource is found by: the key of its kind, and its own.
type kindKey struct{ kind, key string }

// entry is a resource in the file.
type entry struct {
	kind    *kind
	pos     Pos
	at      map[string]Pos // of its fields
	given   object         // the fields that the file names
	secret  *secretRef
	targets []*entry // of a route
}

// name is what people know the resource by.
func (e *entry) name() string { return nameOf(e.kind, e.given) }

func nameOf(k *kind, o object) string {
	if k.key == keyModels {
		return address(text(o[fieldProvider]), text(o[fieldModel]))
	}
	return text(o[fieldName])
}

// address names a model of a provider, as callers may.
func address(provider, model string) string { return provider + "/" + model }

// key is the name in the form in which it is compared.
func (e *entry) key() string { return keyOf(e.kind, e.given) }

func keyOf(k *kind, o object) string {
	if k.key == keyModels {
		return address(kindOf(keyProviders).fold(text(o[fieldProvider])), text(o[fieldModel]))
	}
	return k.fold(text(o[fieldName]))
}

// place is where a field of the entry stands, or else the entry.
func (e *entry) place(field string) Pos {
	if p, ok := e.at[field]; ok {
		return p
	}
	return e.pos
}

func (e *entry) problem(field, format string, args ...any) error {
	return &Problem{e.place(field), fmt.Sprintf(format, args...)}
}

// Read reads a file. dir is what the files that it names are relative to. The error is of
// *Problem, or of several joined.
func Read(name, dir string, content []byte) (*File, error) {
	kinds, err := table()
	if err != nil {
		return nil, err
	}
	r := &reader{file: name, dir: dir}
	top := r.parse(content)
	f := &File{Names: []string{filepath.Base(name)}, named: map[string]bool{}}
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	if top == nil {
		return f, nil
	}
	lists := map[string]*yaml.Node{}
	for _, p := range r.pairs(top) {
		if kindOf(p.key.Value) == nil {
			r.fail(p.key, "unknown field %q: use %s", p.key.Value, strings.Join(keys(kinds), ", "))
		}
		lists[p.key.Value] = p.value
	}
	for _, k := range kinds {
		if node := lists[k.key]; node != nil {
			f.named[k.key] = true
			f.entries = append(f.entries, r.entries(k, node)...)
		}
	}
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f, nil
}

func keys(kinds []*kind) (out []string) {
	for _, k := range kinds {
		out = append(out, k.key)
	}
	return out
}

// Join puts what several files say into one. A resource may be in one of them only.
func Join(files ...*File) (*File, error) {
	kinds, err := table()
	if err != nil {
		return nil, err
	}
	out := &File{named: map[string]bool{}}
	for _, k := range kinds {
		for _, f := range files {
			out.named[k.key] = out.named[k.key] || f.named[k.key]
			for _, e := range f.entries {
				if e.kind == k {
					out.entries = append(out.entries, e)
				}
			}
		}
	}
	for _, f := range files {
		out.Names = append(out.Names, f.Names...)
	}
	return out, out.check()
}

// check refuses a resource that is there twice, and makes the others findable.
func (f *File) check() error {
	var errs []error
	f.byKey = map[kindKey]*entry{}
	for _, e := range f.entries {
		id := kindKey{e.kind.key, e.key()}
		if first := f.byKey[id]; first != nil {
			errs = append(errs, e.problem(fieldName, "the %s %q is already at %s", e.kind.noun, e.name(), first.pos))
			continue
		}
		f.byKey[id] = e
	}
	return errors.Join(errs...)
}

// of are the entries of a kind.
func (f *File) of(key string) (out []*entry) {
	for _, e := range f.entries {
		if e.kind.key == key {
			out = append(out, e)
		}
	}
	return out
}

// find is the entry of a kind with the key, or nil.
func (f *File) find(kind, key string) *entry { return f.byKey[kindKey{kind, key}] }
