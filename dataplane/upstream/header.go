package upstream

import (
	"net/http"
	"slices"
	"strings"

	"github.com/spillway-gateway/spillway/dataplane/llm"
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
	if v := out["Anthropic-Beta"]; v != nil {
		if v = withoutOAuth(v); len(v) == 0 {
			delete(out, "Anthropic-Beta")
		} else {
			out["Anthropic-Beta"] = v
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

// CrossingHeader is RequestHeader for a provider that is asked in another dialect than
// the caller's: nothing that the caller's tool says to its own vendor goes along, and
// the body is the gateway's.
func CrossingHeader(in http.Header, to llm.Dialect) http.Header {
	out := RequestHeader(in)
	for name := range out {
		if ofVendor(name) {
			delete(out, name)
		}
	}
	out["Content-Type"] = []string{"application/json"}
	if to == llm.Messages {
		out["Anthropic-Version"] = []string{"2023-06-01"} // the only one there is
	}
	return out
}

// ofVendor reports whether a header is between one vendor and its own clients.
func ofVendor(name string) bool {
	return strings.HasPrefix(name, "Anthropic-") || strings.HasPrefix(name, "Openai-")
}

// FormedHeader is a header for a body in a cloud's form: the version and the betas stand in
// the body, but for the betas given.
func FormedHeader(header http.Header, betas []string) http.Header {
	delete(header, "Anthropic-Version")
	delete(header, "Anthropic-Beta")
	if len(betas) > 0 {
		header["Anthropic-Beta"] = []string{strings.Join(betas, ",")}
	}
	return header
}

// Betas are what a caller asks for in its anthropic-beta header, one in each, but those that
// go with its own subscription.
func Betas(in http.Header) (out []string) {
	for _, v := range withoutOAuth(in["Anthropic-Beta"]) {
		for beta := range strings.SplitSeq(v, ",") {
			if beta = strings.TrimSpace(beta); beta != "" {
				out = append(out, beta)
			}
		}
	}
	return out
}

// withoutOAuth leaves out the betas that go with a caller's own subscription token:
// with a stored key the vendor refuses them.
func withoutOAuth(values []string) (out []string) {
	for _, v := range values {
		if !strings.Contains(v, "oauth-") {
			out = append(out, v)
			continue
		}
		var kept []string
		for beta := range strings.SplitSeq(v, ",") {
			if beta = strings.TrimSpace(beta); !strings.HasPrefix(beta, "oauth-") && beta != "" {
				kept = append(kept, beta)
			}
		}
		if len(kept) > 0 {
			out = append(out, strings.Join(kept, ","))
		}
	}
	return out
}

// What never goes upstream, whosever credential it is: the gateway's own headers,
// what belongs to the connection (RFC 9110 section 7.6.1), and what tells of the
// network in between. Accept-Encoding stays too, since the answer is read here, and
// Content-Encoding, since the body was.
var withheld = map[string]bool{
	"Accept-Encoding": true, "Authorization": true, "Connection": true, "Content-Encoding": true, "Content-Length": true, "Cookie": true, "Expect": true, "Forwarded": true,
	"Host": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Via": true, "X-Api-Key": true, "X-Real-Ip": true,
}

// PassthroughHeader is the caller's header as its vendor should see it: a tool on its
// own subscription says who it is in an open list of headers, and the vendor looks.
func PassthroughHeader(in http.Header) http.Header {
	out := make(http.Header, len(in)+1)
	for name, v := range in {
		meant := name
		if strings.IndexByte(name, '_') >= 0 { // servers exist that take one for the other
			meant = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
		}
		if !withheld[meant] && !strings.HasPrefix(meant, "X-Bd-") && !strings.HasPrefix(meant, "X-Forwarded-") && !named(in["Connection"], name) {
			out[name] = v
		}
	}
	if out["User-Agent"] == nil {
		out["User-Agent"] = []string{""}
	}
	return out
}

// named reports whether a Connection header names another header as its own.
func named(connection []string, name string) bool {
	for _, v := range connection {
		for option := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(option), name) {
				return true
			}
		}
	}
	return false
}

// Headers of a provider's answer that reach the caller. The operator's account
// (openai-organization, anthropic-organization-id), cookies and the provider's
// infrastructure are nobody's business.
var answerHeaders = map[string]bool{
	"Content-Type": true, "Request-Id": true, "X-Request-Id": true, "Retry-After": true, "Retry-After-Ms": true,
	"X-Should-Retry": true, "Openai-Processing-Ms": true, "Openai-Version": true, "Openai-Model": true,
}

// Headers by which a vendor talks to its own tool on a subscription: how much of the
// plan is used, and what the tool is to send with its next request.
var subscriptionHeaders = []string{"Anthropic-Ratelimit-Unified-", "X-Codex-", "X-Models-Etag", "X-Reasoning-Included", "X-Oai-Request-Id"}

func ofSubscription(name string) bool {
	return slices.ContainsFunc(subscriptionHeaders, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// AnswerHeader copies the headers of a provider's answer that go to the caller. What
// tells of a subscription goes only to whose subscription it is.
func AnswerHeader(dst, src http.Header, passthrough bool) {
	for name, v := range src {
		if ofSubscription(name) {
			if passthrough {
				dst[name] = v
			}
			continue
		}
		if answerHeaders[name] || strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Anthropic-Ratelimit-") {
			dst[name] = v
		}
	}
}

// CrossedHeader is AnswerHeader for an answer that was translated, which comes with a
// content type of its own: what one vendor tells its own clients stays here. Rate limits
// are the exception, since callers wait by them.
func CrossedHeader(dst, src http.Header, contentType string) {
	AnswerHeader(dst, src, false)
	for name := range dst {
		if ofVendor(name) && !strings.HasPrefix(name, "Anthropic-Ratelimit-") {
			delete(dst, name)
		}
	}
	dst["Content-Type"] = []string{contentType}
}
