package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/oapi-codegen/nullable"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/client"
)

// table prints rows in aligned columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) *table { return &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

// row prints one row. What could move a terminal's cursor is left out of the cells.
func (t *table) row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, plainText(cell(c)))
	}
	fmt.Fprintln(t.w)
}

func (t *table) flush() error { return t.w.Flush() }

func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

// cell is a value as a person reads it: "-" where there is none.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05")
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []string:
		v = append([]string(nil), v...)
		if len(v) == 0 {
			return "-"
		}
		return strings.Join(v, ", ")
	case string:
		if v == "" {
			return "-"
		}
		return v
	}
	return fmt.Sprint(v)
}

// or is a nullable value for a cell.
func or[T any](n nullable.Nullable[T]) any {
	v, err := n.Get()
	if err != nil {
		return nil
	}
	return v
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprint(n, " ", thing, "s")
}

// listed is a listing as it came and decoded.
type listed[T any] struct {
	raw   []json.RawMessage
	items []T
}

// all reads a whole listing.
func all[T, P any](ctx context.Context, call func(context.Context, *P, ...admin.RequestEditorFn) (*http.Response, error), params *P) (l listed[T], err error) {
	if l.raw, err = client.Collect(client.List[json.RawMessage](ctx, call, params)); err != nil {
		return l, err
	}
	if l.raw == nil {
		l.raw = []json.RawMessage{} // an empty list in JSON, not null
	}
	return l, l.decode()
}

func (l *listed[T]) decode() error {
	for _, raw := range l.raw {
		var item T
		if err := json.Unmarshal(raw, &item); err != nil {
			return fmt.Errorf("reading the listing: %w", err)
		}
		l.items = append(l.items, item)
	}
	return nil
}

// pick is the one item of a listing that a person means: by its id, or by its name where
// only one has it.
func (l listed[T]) pick(what, wanted string, id func(T) string, names ...func(T) string) (found T, raw json.RawMessage, err error) {
	var ids []string
	for i, item := range l.items {
		if strings.EqualFold(id(item), wanted) {
			return item, l.raw[i], nil
		}
		for _, name := range names {
			if name(item) == wanted {
				found, raw, ids = item, l.raw[i], append(ids, id(item))
				break
			}
		}
	}
	switch len(ids) {
	case 0:
		return found, nil, fmt.Errorf("there is no %s %q", what, wanted)
	case 1:
		return found, raw, nil
	}
	return found, nil, fmt.Errorf("%d %ss are named %q: give the id, one of %s", len(ids), what, wanted, strings.Join(ids, ", "))
}
