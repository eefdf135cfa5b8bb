package upstream

import (
	"net/http"
	"strings"
)

// Headers of a caller that reach a provider with a stored credential. All others
// stay here: an allow-list cannot leak what nobody thought of (the gateway key, a
// caller's own token, cookies, hop-by-hop headers).
var requestHeaders = []string{
	"Accept", "Accept-Language", "Anthropic-Beta", "Anthropic-Version", "Content-Type",
	"Idempotency-Key", "Openai-Beta", "User-Agent", "X-Client-Request-Id",
}

// RequestHeader picks the headers of a caller's request that go upstream.
func RequestHeader(in http.Header) http.Header {
	out := make(http.Header, len(requestHeaders)+1)
	for _, name := range requestHeaders {
		if v := in[name]; v != nil {
			out[name] = v
		}
	}
	if out["User-Agent"] == nil {
		out["User-Agent"] = []string{""} // else net/http names itself
	}
	if out["Content-Type"] == nil {
		out["Content-Type"] = []string{"application/json"}
	}
	return out
}

// Headers of a provider's answer that reach the caller. The operator's account
// (openai-organization, anthropic-organization-id), cookies and the provider's
// infrastructure are nobody's business.
var answerHeaders = map[string]bool{
	"Content-Type": true, "Request-Id": true, "X-Request-Id": true, "Retry-After": true, "Retry-After-Ms": true,
	"X-Should-Retry": true, "Openai-Processing-Ms": true, "Openai-Version": true, "Openai-Model": true,
}

// AnswerHeader copies the headers of a provider's answer that go to the caller.
func AnswerHeader(dst, src http.Header) {
	for name, v := range src {
		if answerHeaders[name] || strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Anthropic-Ratelimit-") {
			dst[name] = v
		}
	}
}
