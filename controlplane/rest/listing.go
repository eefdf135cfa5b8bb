package rest

import (
	"bufio"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/spillway-gateway/spillway/api/admin"
)

// listing is an answer that is written item by item as its items are made. Ten thousand
// routes are 14 MB: as one value with one buffer they cost more in garbage than in work.
type listing[T any] struct {
	items iter.Seq[T]
	next  *string // Link
}

func (l listing[T]) write(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	if l.next != nil {
		w.Header().Set("Link", *l.next)
	}
	w.WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(w, 64<<10)
	items := json.NewEncoder(out)
	before := byte('[')
	for item := range l.items {
		if err := out.WriteByte(before); err != nil {
			return err
		}
		if err := items.Encode(item); err != nil {
			return err
		}
		before = ','
	}
	if before == '[' {
		_ = out.WriteByte('[') // an error of it is what Flush returns
	}
	_, _ = out.WriteString("]\n")
	return out.Flush()
}

type routeListing struct{ listing[admin.Route] }

func (l routeListing) VisitListRoutesResponse(w http.ResponseWriter) error { return l.write(w) }

type mappingListing struct{ listing[admin.ModelMapping] }

func (l mappingListing) VisitListModelMappingsResponse(w http.ResponseWriter) error {
	return l.write(w)
}

// each converts the items of a listing as they are asked for.
func each[From, To any](list []From, convert func(From) To) iter.Seq[To] {
	return func(yield func(To) bool) {
		for _, item := range list {
			if !yield(convert(item)) {
				return
			}
		}
	}
}
