package rest

import (
	"encoding/json"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// orNull is a value that is null when there is none.
func orNull[T any](value *T) nullable.Nullable[T] {
	if value == nil {
		return nullable.NewNullNullable[T]()
	}
	return nullable.NewNullableWithValue(*value)
}

// timeOrNull is like orNull, in UTC.
func timeOrNull(t *time.Time) nullable.Nullable[time.Time] {
	if t == nil {
		return nullable.NewNullNullable[time.Time]()
	}
	return nullable.NewNullableWithValue(t.UTC())
}

// changeOf keeps the three states of a field: absent, null, value.
func changeOf[T any](n nullable.Nullable[T]) tenant.Change[T] {
	switch {
	case !n.IsSpecified():
		return tenant.Change[T]{}
	case n.IsNull():
		return tenant.Change[T]{Set: true}
	}
	value := n.MustGet()
	return tenant.Change[T]{Set: true, Value: &value}
}

// changeOfWord is changeOf for a word of an enumeration.
func changeOfWord[T ~string](n nullable.Nullable[T]) tenant.Change[string] {
	c := changeOf(n)
	if c.Value == nil {
		return tenant.Change[string]{Set: c.Set}
	}
	return tenant.Change[string]{Set: true, Value: new(string(*c.Value))}
}

// changeIfSet is for a creation, where null and absent are the same.
func changeIfSet[T any](value *T) tenant.Change[T] {
	return tenant.Change[T]{Set: value != nil, Value: value}
}

func secretOf(text *string) *tenant.Secret {
	if text == nil {
		return nil
	}
	s := tenant.NewSecret(*text)
	return &s
}

func secretOfJSON(text *json.RawMessage) *tenant.Secret {
	if text == nil {
		return nil
	}
	s := tenant.NewSecret(string(*text))
	return &s
}

func mapAll[From, To any](list []From, convert func(From) To) []To {
	out := make([]To, len(list)) // never nil: an empty listing is [], not null
	for i, item := range list {
		out[i] = convert(item)
	}
	return out
}
