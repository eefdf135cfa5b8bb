package rest

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

const maxPageLen = 1000

// pageOf cuts a listing, which is in the order of its ids, and returns the Link
// header of the next page, or nil on the last. Only routes and mappings, of which there
// are thousands, are cut in the database as well (store.Page): the rest of an
// organization's configuration is small.
func pageOf[T any](list []T, id func(T) uuid.UUID, limit *int, after *uuid.UUID, path string) ([]T, *string, error) {
	if after != nil {
		for len(list) > 0 && !isAfter(id(list[0]), *after) {
			list = list[1:]
		}
	}
	return pageBy(list, func(item T) string { return id(item).String() }, limit, path)
}

// pageBy is the first page of a listing; path may have a query of its own.
func pageBy[T any](list []T, key func(T) string, limit *int, path string) ([]T, *string, error) {
	if limit == nil {
		return list, nil, nil
	}
	if *limit < 1 || *limit > maxPageLen {
		return nil, nil, tenant.Invalid("limit", "limit must be between 1 and %d", maxPageLen)
	}
	if len(list) <= *limit {
		return list, nil, nil
	}
	list = list[:*limit]
	query := url.Values{"limit": {strconv.Itoa(*limit)}, "after": {key(list[*limit-1])}}
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return list, new("<" + path + mark + query.Encode() + `>; rel="next"`), nil
}

// isAfter orders ids as Postgres does.
func isAfter(id, other uuid.UUID) bool { return bytes.Compare(id[:], other[:]) > 0 }

func providerID(p tenant.Provider) uuid.UUID     { return p.ID }
func mappingID(m tenant.Mapping) uuid.UUID       { return m.ID }
func apiKeyID(k tenant.APIKey) uuid.UUID         { return k.ID }
func userID(u tenant.User) uuid.UUID             { return u.ID }
func connectionID(c tenant.Connection) uuid.UUID { return c.ID }
func groupID(g tenant.Group) uuid.UUID           { return g.ID }
func sessionID(s tenant.Session) uuid.UUID       { return s.ID }

func ruleID(r tenant.RoutingRule) uuid.UUID      { return r.ID }
func priceEntryID(e tenant.PriceEntry) uuid.UUID { return e.ID }
