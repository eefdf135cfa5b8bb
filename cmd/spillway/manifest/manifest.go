// Package manifest is an organization's configuration as a file. It reads the file, says
// how the organization differs from it, makes the changes, and writes the file of an
// organization that there is.
//
// What a file may say of each kind of resource is taken from the description of the admin
// API, so a field that the API gains can be written in a file. Resources are known by
// their names, and so are those that they refer to. Only what a file names is touched; a
// field that it leaves out has its default.
package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/spillway-gateway/spillway/openapi"
)

// object is a resource, or a part of one, with the names of its fields as the file has
// them. Its values are string, bool, int64, json.Number (a number that is no whole one),
// nil, []any and object.
type object = map[string]any

// kind is a kind of resource in the file.
type kind struct {
	key    string // what its list is called in the file
	noun   string // for people
	schema string // of its creation in the API's description; its update is named alike
	// renamed are the fields that the API knows by another name; where an id became a
	// name, names says of which kind.
	renamed map[string]string
	names   map[string]string
	// hidden are fields of the API that the file does not have.
	hidden []string
	// single kinds are there once, and have no name.
	single bool

	fields []field // sorted by what a reader looks for first
}

// field is a field of a kind in the file.
type field struct {
	name      string
	api       string
	refers    string // the kind that it names one of, or ""
	schema    *openapi3.Schema
	fallback  any  // what it is where the file leaves it out
	required  bool // the file may not leave it out
	immutable bool // it cannot be changed
}

// Keys of the kinds.
const (
	keyConnections = "connections"
	keyProviders   = "providers"
	keyModels      = "models"
	keyRoutes      = "routes"
	keyGroups      = "route_groups"
	keyAccess      = "model_access"
	keyRateLimits  = "rate_limits"
	keyBudgets     = "budgets"
	keyGovernance  = "governance"
)

// Names of fields that are more than a value.
const (
	fieldName        = "name"
	fieldProvider    = "provider"
	fieldModel       = "upstream_model"
	fieldTargets     = "targets"
	fieldAPIKey      = "api_key"
	fieldCredentials = "credentials"
	fieldEnabled     = "enabled"
	fieldBareAlias   = "bare_alias"
	fieldAuthType    = "auth_type"
)

// table is every kind, in the order in which they build on each other.
var table = sync.OnceValues(func() ([]*kind, error) {
	spec, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	if err != nil {
		return nil, fmt.Errorf("reading the API description: %w", err)
	}
	mapping := []string{"model_alias", "priority"}
	target := map[string]string{"target_provider": "target_provider_id"}
	list := []*kind{
		{key: keyConnections, noun: "connection", schema: "Connection"},
		{key: keyProviders, noun: "provider", schema: "Provider", renamed: map[string]string{"connection": "connection_id"}, names: map[string]string{"connection": keyConnections}, hidden: []string{"models"}},
		{key: keyModels, noun: "model", schema: "ModelMapping", renamed: map[string]string{fieldProvider: "provider_id"}, names: map[string]string{fieldProvider: keyProviders}, hidden: mapping},
		{key: keyRoutes, noun: "route", schema: "ModelMapping", renamed: map[string]string{fieldProvider: "provider_id"}, names: map[string]string{fieldProvider: keyProviders}, hidden: append(mapping, "source")},
		{key: keyGroups, noun: "route group", schema: "ModelRouteGroup", renamed: map[string]string{"routes": "model_aliases"}},
		{key: keyAccess, noun: "model access policy", schema: "ModelAccessPolicy"},
		{key: keyRateLimits, noun: "rate limit", schema: "RateLimit", renamed: target, names: map[string]string{"target_provider": keyProviders}},
		{key: keyBudgets, noun: "budget", schema: "Budget", renamed: target, names: map[string]string{"target_provider": keyProviders}},
		{key: keyGovernance, noun: "governance", schema: "GovernanceConfig", single: true},
	}
	for _, k := range list {
		if err := k.load(spec.Components.Schemas); err != nil {
			return nil, err
		}
	}
	return list, nil
})

// load takes the kind's fields from the schemas of its creation and its update.
func (k *kind) load(schemas openapi3.Schemas) error {
	update := schemas[k.schema+"Update"]
	create := schemas[k.schema+"Create"]
	if k.single {
		create = update
	}
	if create == nil || update == nil {
		return fmt.Errorf("the API description has no %sCreate and %sUpdate", k.schema, k.schema)
	}
	fileName := map[string]string{}
	for in, api := range k.renamed {
		fileName[api] = in
	}
	for api, ref := range create.Value.Properties {
		if api == "change_note" || slices.Contains(k.hidden, api) || ref.Value.WriteOnly {
			continue
		}
		f := field{name: api, api: api, schema: flat(ref.Value), required: slices.Contains(create.Value.Required, api) && !k.single}
		if in, ok := fileName[api]; ok {
			f.name, f.refers = in, k.names[in]
		}
		f.fallback = f.schema.Default
		if f.fallback != nil {
			f.fallback = plain(f.fallback)
		}
		_, mutable := update.Value.Properties[api]
		f.immutable = !mutable
		k.fields = append(k.fields, f)
	}
	slices.SortFunc(k.fields, func(a, b field) int {
		return strings.Compare(sortKey(a), sortKey(b))
	})
	return k.defaults()
}

// defaults are those that the description tells in words only.
func (k *kind) defaults() error {
	words := map[string]any{}
	switch k.key {
	case keyConnections, keyProviders:
		words["settings"] = object{}
	case keyModels:
		words[fieldBareAlias], words["source"] = false, "catalog"
	case keyRoutes:
		words[fieldBareAlias] = true
	case keyGovernance:
		words = object{"require_pricing_for_mappings": false, "default_model_access": "allow", "require_routing_policy": false}
	}
	for i := range k.fields {
		if v, ok := words[k.fields[i].name]; ok {
			k.fields[i].fallback = v
			delete(words, k.fields[i].name)
		}
	}
	if len(words) > 0 {
		return fmt.Errorf("the API description has no field %q of a %s", slices.Sorted(maps.Keys(words)), k.noun)
	}
	return nil
}

// flat is a schema with what it takes from the one it is made of.
func flat(s *openapi3.Schema) *openapi3.Schema {
	if len(s.AllOf) != 1 {
		return s
	}
	out := *s.AllOf[0].Value
	if s.Default != nil {
		out.Default = s.Default
	}
	return &out
}

// sortKey puts names first, then what a resource refers to, then the rest by name.
func sortKey(f field) string {
	switch {
	case f.name == fieldName:
		return "0"
	case f.name == fieldProvider:
		return "1"
	case f.required:
		return "2" + f.name
	}
	return "3" + f.name
}

// nouns is the noun for several.
func (k *kind) nouns() string {
	if stem, ok := strings.CutSuffix(k.noun, "y"); ok {
		return stem + "ies"
	}
	return k.noun + "s"
}

func (k *kind) field(name string) (field, bool) {
	i := slices.IndexFunc(k.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return k.fields[i], true
}

// secret reports whether resources of the kind have a credential.
func (k *kind) secret() bool { return k.key == keyProviders || k.key == keyConnections }

// fold is the form in which names are the same. Providers are also addressed in it.
func (k *kind) fold(name string) string {
	switch k.key {
	case keyProviders:
		return strings.ToLower(strings.ReplaceAll(name, " ", "-"))
	case keyGroups, keyConnections:
		return strings.ToLower(name)
	}
	return name
}

func kindOf(key string) *kind {
	list, err := table()
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(list, func(k *kind) bool { return k.key == key })
	if i < 0 {
		return nil
	}
	return list[i]
}
