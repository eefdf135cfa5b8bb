package gateway

import (
	"net/http"
	"strings"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// twin finds a header that is one of the gateway's or a credential but for underscores
// in place of hyphens. Servers that read variables of their environment take the two for
// the same, and an open list of headers would pass the key on under the other name.
func twin(h http.Header) *llm.Error {
	for name := range h {
		if strings.IndexByte(name, '_') < 0 {
			continue
		}
		meant := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		if strings.HasPrefix(meant, "x-bd-") || meant == "x-api-key" || meant == "authorization" {
			return &llm.Error{Status: http.StatusBadRequest, Code: "ambiguous_header", Message: "the header " + meant + " is written with hyphens"}
		}
	}
	return nil
}
