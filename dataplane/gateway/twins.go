package gateway

import (
	"net/http"
	"strings"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// twin finds a header that is written with underscores in place of hyphens, where that
// matters: one of the gateway's, a credential, or a length. Servers that read variables of
// their environment take the two for the same, and an open list of headers would pass the
// key on under the other name. Elsewhere it does not: Codex sends session_id.
func twin(h http.Header) *llm.Error {
	for name := range h {
		if strings.IndexByte(name, '_') < 0 {
			continue
		}
		switch meant := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")); {
		case strings.HasPrefix(meant, "X-Bd-"), meant == "X-Api-Key", meant == "Content-Length", meant == "Transfer-Encoding":
			return &llm.Error{Status: http.StatusBadRequest, Code: "ambiguous_header", Message: "the header " + strings.ToLower(meant) + " is written with hyphens"}
		}
	}
	return nil
}
