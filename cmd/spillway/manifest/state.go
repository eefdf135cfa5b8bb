package manifest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/client"
)

// readTries is how often an organization is read that is changed while it is read.
const readTries = 5

// row is a resource as it is stored.
type row struct {
	kind   *kind
	id     uuid.UUID
	raw    object // as the API has it
	fields object // as the file would have it
}

func (r *row) name() string { return nameOf(r.kind, r.fields) }

// alias and model are a model mapping's.
func (r *row) alias() string { return text(r.raw["model_alias"]) }
func (r *row) model() string { return text(r.raw[fieldModel]) }

// enablement reports whether a model mapping enables a model, under its own name.
func (r *row) enablement() bool { return r.alias() == r.model() }

// state is an organization as it is at one version.
type state struct {
	c       *client.Client
	ops     map[string]operations
	version int64
	// rows are the resources by the key of their kind; of the routes, their targets.
	rows map[string][]*row
	// byKey finds them, and byRoute the targets of a route, in order.
	byKey   map[kindKey][]*row
	byRoute map[string][]*row
	// defaultAuth is the auth_type of each model_provider.
	defaultAuth map[string]string
	// names are those of the resources that others refer to, by kind and id, and ids the
	// other way round, by kind and key.
	names map[string]map[uuid.UUID]string
	ids   map[string]map[string]uuid.UUID
	// etags are the revisions of the resources that are to be changed, as they were last
	// read or made. A model mapping may be a model's row and a route's.
	etags map[uuid.UUID]string
}

// readState reads the organization, again where it is changed meanwhile.
func readState(ctx context.Context, c *client.Client) (*state, error) {
	for range readTries {
		before, err := newestVersion(ctx, c)
		if err != nil {
			return nil, err
		}
		s := &state{c: c, ops: operationsOf(c), version: before, etags: map[uuid.UUID]string{}}
		if err := s.read(ctx); err != nil {
			return nil, err
		}
		after, err := newestVersion(ctx, c)
		if err != nil {
			return nil, err
		}
		if before == after {
			return s, nil
		}
	}
	return nil, errors.New("the organization is changed all the time: try again later")
}

// newestVersion is the version of the organization's configuration. Every change of it is
// in the audit log, with the version that it made.
func newestVersion(ctx context.Context, c *client.Client) (int64, error) {
	resp, err := c.ListAuditEventsWithResponse(ctx, &admin.ListAuditEventsParams{Limit: new(1)})
	if err != nil || len(*resp.JSON200) == 0 {
		return 0, err
	}
	return (*resp.JSON200)[0].Version, nil
}

func (s *state) read(ctx context.Context) error {
	kinds, err := table()
	if err != nil {
		return err
	}
	catalog, err := s.c.GetProviderCatalogWithResponse(ctx)
	if err != nil {
		return err
	}
	s.defaultAuth = map[string]string{}
	for _, e := range *catalog.JSON200 {
		s.defaultAuth[string(e.Slug)] = string(e.AuthType)
	}
	s.byKey, s.byRoute = map[kindKey][]*row{}, map[string][]*row{}
	s.rows, s.names, s.ids = map[string][]*row{}, map[string]map[uuid.UUID]string{}, map[string]map[string]uuid.UUID{}
	for _, k := range kinds {
		if k.key == keyRoutes {
			continue // are read with the models
		}
		list, err := s.ops[k.key].list(ctx)
		if err != nil {
			return fmt.Errorf("reading the %s: %w", k.nouns(), err)
		}
		for _, raw := range list {
			v, err := decode(raw)
			o, ok := v.(object)
			if err != nil || !ok {
				return fmt.Errorf("reading the %s: the answer is no list of objects", k.nouns())
			}
			if err := s.add(k, o); err != nil {
				return fmt.Errorf("reading the %s: %w", k.nouns(), err)
			}
		}
	}
	slices.SortStableFunc(s.rows[keyRoutes], inOrder)
	for _, k := range kinds {
		for _, r := range s.rows[k.key] {
			if k.key == keyRoutes {
				s.byRoute[r.alias()] = append(s.byRoute[r.alias()], r)
				continue
			}
			id := kindKey{k.key, keyOf(k, r.fields)}
			s.byKey[id] = append(s.byKey[id], r)
		}
	}
	return nil
}

// inOrder is the order of a route's targets, as nodes try them.
func inOrder(a, b *row) int {
	return cmp.Or(cmp.Compare(a.alias(), b.alias()), cmp.Compare(whole(a.raw["priority"]), whole(b.raw["priority"])),
		a.created().Compare(b.created()), cmp.Compare(a.id.String(), b.id.String()))
}

func (r *row) created() time.Time {
	t, _ := time.Parse(time.RFC3339Nano, text(r.raw["created_at"]))
	return t
}

// add keeps a resource that the API has shown.
func (s *state) add(k *kind, raw object) (err error) {
	r := &row{kind: k, raw: raw}
	if !k.single {
		if r.id, err = uuid.Parse(text(raw["id"])); err != nil {
			return err
		}
	}
	if k.key != keyModels {
		r.fields = s.toFile(k, raw)
		s.rows[k.key] = append(s.rows[k.key], r)
		s.remember(k, r.name(), r.id)
		return nil
	}
	if r.enablement() {
		r.fields = s.toFile(k, raw)
		s.rows[k.key] = append(s.rows[k.key], r)
	}
	if !r.enablement() || raw[fieldBareAlias] == true {
		target := *r
		target.kind = kindOf(keyRoutes)
		target.fields = s.toFile(target.kind, raw)
		s.rows[keyRoutes] = append(s.rows[keyRoutes], &target)
	}
	return nil
}

// remember notes the id that a name stands for.
func (s *state) remember(k *kind, name string, id uuid.UUID) {
	if s.names[k.key] == nil {
		s.names[k.key], s.ids[k.key] = map[uuid.UUID]string{}, map[string]uuid.UUID{}
	}
	s.names[k.key][id], s.ids[k.key][k.fold(name)] = name, id
}

// find is the row of a kind with the key, or nil. Where several have it, there is no
// telling which is meant.
func (s *state) find(kind, key string) (*row, error) {
	found := s.byKey[kindKey{kind, key}]
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("there are several %s named %q: give them different names, since a file knows them by it", found[0].kind.nouns(), found[0].name())
}

// route are the targets of a route, in order.
func (s *state) route(name string) []*row { return s.byRoute[name] }

// routes are the names of all routes.
func (s *state) routes() []string { return slices.Sorted(maps.Keys(s.byRoute)) }

// toFile is a resource with the fields of the file: names in place of ids.
func (s *state) toFile(k *kind, raw object) object {
	out := object{}
	for _, f := range k.fields {
		v := raw[f.api]
		switch {
		case f.refers != "" && v != nil:
			v = s.nameOr(f.refers, v)
		case k.key == keyAccess && f.name == fieldTargets:
			v = s.accessToFile(v)
		}
		out[f.name] = v
	}
	return out
}

// nameOr is the name of the resource with an id, or the id where there is none.
func (s *state) nameOr(kind string, id any) any {
	parsed, err := uuid.Parse(text(id))
	if name, ok := s.names[kind][parsed]; ok && err == nil {
		return name
	}
	return id
}

func (s *state) accessToFile(v any) any {
	list, _ := v.([]any)
	out := []any{}
	for _, item := range list {
		target := object{}
		for name, v := range item.(object) {
			switch {
			case name == "provider_id" && s.nameOr(keyProviders, v) != v:
				name, v = fieldProvider, s.nameOr(keyProviders, v)
			case name == "group_id" && s.nameOr(keyGroups, v) != v:
				name, v = "group", s.nameOr(keyGroups, v)
			}
			target[name] = v
		}
		out = append(out, target)
	}
	return out
}

// toAPI is some fields of the file as the API has them.
func (s *state) toAPI(k *kind, fields object) (object, error) {
	out := object{}
	for _, f := range k.fields {
		v, ok := fields[f.name]
		if !ok {
			continue
		}
		var err error
		switch {
		case f.refers != "" && v != nil:
			v, err = s.idOf(f.refers, text(v))
		case k.key == keyAccess && f.name == fieldTargets:
			v, err = s.accessToAPI(v)
		}
		if err != nil {
			return nil, err
		}
		out[f.api] = v
	}
	return out, nil
}

// idOf is the id of a named resource, one that was made just now too.
func (s *state) idOf(kind, name string) (any, error) {
	k := kindOf(kind)
	if id, ok := s.ids[kind][k.fold(name)]; ok {
		return id.String(), nil
	}
	if uuid.Validate(name) == nil { // of what is gone: see dangling
		return name, nil
	}
	return nil, fmt.Errorf("there is no %s %q", k.noun, name)
}

func (s *state) accessToAPI(v any) (any, error) {
	list, _ := v.([]any)
	out := []any{}
	for _, item := range list {
		target := object{}
		for name, v := range item.(object) {
			if kind := accessFields[name]; kind != "" {
				id, err := s.idOf(kind, text(v))
				if err != nil {
					return nil, err
				}
				name, v = name+"_id", id
			}
			target[name] = v
		}
		out = append(out, target)
	}
	return out, nil
}
