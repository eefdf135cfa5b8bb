package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"github.com/spillway-gateway/spillway/api/admin"
)

// pageLen is how many items a page of a listing has, where the caller does not say.
const pageLen = 500

// List iterates over a whole listing, page by page. call is the operation, such as
// c.ListProviders, and params are its parameters, whose Limit is the length of a page and
// no limit of the iteration; nil for none. T is the type of the items.
//
// The iteration ends with the first error, which comes with a zero T. A listing that is
// changed meanwhile is not a snapshot: what stays is listed once, what comes and goes may
// be listed or not.
func List[T, P any](ctx context.Context, call func(context.Context, *P, ...admin.RequestEditorFn) (*http.Response, error), params *P) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		for next := ""; ; {
			resp, err := call(ctx, params, turnTo(next))
			if err != nil {
				yield(zero, err)
				return
			}
			var page []T
			err = json.NewDecoder(resp.Body).Decode(&page)
			_ = resp.Body.Close()
			if err != nil {
				yield(zero, fmt.Errorf("reading the listing: %w", err))
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
			if next = nextPage(resp.Header); next == "" {
				return
			}
		}
	}
}

// Collect reads an iteration to its end, or to its first error.
func Collect[T any](seq iter.Seq2[T, error]) (all []T, err error) {
	for item, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// turnTo makes a request for a listing one for the page whose query is given; "" is the
// first.
func turnTo(query string) admin.RequestEditorFn {
	return func(_ context.Context, req *http.Request) error {
		if query != "" {
			req.URL.RawQuery = query
			return nil
		}
		if q := req.URL.Query(); !q.Has("limit") {
			q.Set("limit", strconv.Itoa(pageLen))
			req.URL.RawQuery = q.Encode()
		}
		return nil
	}
}

// link is one link of a Link header (RFC 8288, section 3), as the API writes it.
var link = regexp.MustCompile(`<([^>]*)>\s*;\s*rel="next"`)

// nextPage returns the query of the next page, or "" on the last. Of the address only the
// query is taken: a listing never leads elsewhere, and not to another host.
func nextPage(h http.Header) string {
	found := link.FindStringSubmatch(h.Get("Link"))
	if found == nil {
		return ""
	}
	u, err := url.Parse(found[1])
	if err != nil {
		return ""
	}
	return u.RawQuery
}
