package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// maxPage is the most models that Anthropic's list gives at once.
const maxPage = 1000

// modelPage is the page of an Anthropic model list that a query asks for, and whether
// there are more in the direction it reads. Without a limit it is all there are, since
// not every tool that lists models turns pages. A cursor is a place in the order of
// names: a model that is gone since the last page does not end the listing.
// https://docs.anthropic.com/en/api/models-list
func modelPage(models []decide.Model, query url.Values) (page []decide.Model, more bool, _ *llm.Error) {
	limit := len(models)
	if v := query.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > maxPage {
			return nil, false, badPage("limit", "limit must be a number from 1 to "+strconv.Itoa(maxPage))
		}
		limit = n
	}
	after, before := query.Get("after_id"), query.Get("before_id")
	if after != "" && before != "" {
		return nil, false, badPage("before_id", "after_id and before_id cannot be given together")
	}
	if before != "" {
		end, _ := placeOf(models, before)
		start := max(0, end-limit)
		return models[start:end], start > 0, nil
	}
	start, found := 0, false
	if after != "" {
		if start, found = placeOf(models, after); found {
			start++
		}
	}
	end := min(len(models), start+limit)
	return models[start:end], end < len(models), nil
}

func placeOf(models []decide.Model, id string) (int, bool) {
	return slices.BinarySearchFunc(models, id, func(m decide.Model, id string) int { return strings.Compare(m.ID, id) })
}

func badPage(param, text string) *llm.Error {
	return &llm.Error{Status: http.StatusBadRequest, Code: "invalid_page", Param: param, Message: text}
}
