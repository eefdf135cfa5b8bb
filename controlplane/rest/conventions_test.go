package rest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// unconventional are the operations that lack what all others have, and why.
var unconventional = map[string]string{
	"getProviderCatalog":       "is the product's own, and short",
	"listModelPricingDefaults": "is the product's own, and short",
	"listRateLimitStatus":      "is of counters, not of resources",
	"listBudgetStatus":         "is of counters, not of resources",
	"listNodes":                "is of processes, not of resources",

	"classifyResult":       "changes nothing",
	"explainRequest":       "changes nothing",
	"validateAwsRole":      "changes nothing",
	"validateGoogleVertex": "changes nothing",
	"validateProvider":     "changes nothing",
	"probeProvider":        "changes nothing that was configured",
	"login":                "makes another session each time",
	"logout":               "can be made again",
	"createToken":          "is RFC 6749's, and makes another token each time",

	"endUserSessions": "ends all that there are",
	"endOwnSession":   "ends what never changes",
	"changePassword":  "has the password itself as its condition",
}

// TestConventions: what the contract says of all operations is in the document for each. What
// a status or a header does is TestContract's.
func TestConventions(t *testing.T) {
	t.Parallel()
	created, used := map[string]int{"createRoutingRule": 201, "deleteRoutingRule": 204}, map[string]bool{}
	for _, c := range contractOperations(t) {
		good := c.statuses()[len(c.statuses())-1]
		if want, ok := created[c.id]; good != 200 && (!ok || good != want) {
			t.Errorf("%s answers %d", c.id, good)
		}
		if miss := c.missing(good); len(miss) > 0 && unconventional[c.id] == "" {
			t.Errorf("%s has no %s", c.id, strings.Join(miss, ", "))
		} else if len(miss) > 0 {
			used[c.id] = true
		}
	}
	for id := range unconventional {
		if !used[id] {
			t.Errorf("%s lacks nothing", id)
		}
	}
}

// missing is what the conventions ask of an operation and the document does not say.
func (c contractOperation) missing(good int) (miss []string) {
	response := c.Responses.Status(good).Value
	need := func(what string, there bool) {
		if !there {
			miss = append(miss, what)
		}
	}
	switch c.method {
	case http.MethodGet:
		content := response.Content.Get("application/json")
		listing := content != nil && content.Schema.Value.Type.Is("array")
		need("pages", !listing || c.limited && response.Headers["Link"] != nil)
		need("ETag", !strings.HasSuffix(c.path, "}") || response.Headers["ETag"] != nil)
	case http.MethodPost:
		need("Idempotency-Key", c.idempotent)
	default:
		need("If-Match", c.ifMatch)
		need("412", slices.Contains(c.statuses(), http.StatusPreconditionFailed))
	}
	return miss
}

// TestEveryResourceIsReadById: what can be changed or deleted by its id can be read by it.
func TestEveryResourceIsReadById(t *testing.T) {
	t.Parallel()
	byAnotherAddress := map[string]string{"/api/llm-gateway/admin/model-pricing/{id}": "/api/llm-gateway/admin/model-pricing/version/{id}"}
	sessions := "/api/llm-gateway/user/sessions/{id}" // the listing is all there is to one
	for path, item := range theDocument().Paths.Map() {
		if !strings.HasSuffix(path, "/{id}") || item.Get != nil || path == sessions {
			continue
		}
		if other := theDocument().Paths.Value(byAnotherAddress[path]); other == nil || other.Get == nil {
			t.Errorf("nothing reads %s", path)
		}
	}
}
