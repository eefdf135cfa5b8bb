package decide

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Endpoints is where a provider takes calls, by dialect; nil where it does not take
// them.
type Endpoints [llm.Dialects]*url.URL

// Auth is how a provider's credential is sent.
type Auth uint8

// Ways to send a credential. NoAuth marks a provider this node cannot serve. The OAuth
// ones pass on the caller's own token; nothing is stored.
const (
	NoAuth Auth = iota
	BearerAuth
	XAPIKeyAuth
	ClaudeOAuth
	CodexOAuth
)

// Vendor is whose subscription a caller's own credential is of.
type Vendor uint8

// Vendors with subscriptions that are passed through.
const (
	NoVendor Vendor = iota
	Claude
	ChatGPT
)

// String names the vendor as people do.
func (v Vendor) String() string {
	switch v {
	case Claude:
		return "Claude"
	case ChatGPT:
		return "ChatGPT"
	}
	return "none"
}

// Vendor is whose credentials are passed on, or NoVendor where the provider's is stored.
func (a Auth) Vendor() Vendor {
	switch a {
	case ClaudeOAuth:
		return Claude
	case CodexOAuth:
		return ChatGPT
	}
	return NoVendor
}

// VendorOf says by its form whose token a bearer token is: Anthropic's begin with
// "sk-ant-", ChatGPT's are JWTs. A token of another form is nobody's, and goes nowhere.
func VendorOf(token string) Vendor {
	switch {
	case strings.HasPrefix(token, "sk-ant-"):
		return Claude
	case isJWT(token):
		return ChatGPT
	}
	return NoVendor
}

// isJWT reports whether the token has the form of a signed JWT (RFC 7519): three parts
// of base64url. Whether it is a good one is its vendor's business.
func isJWT(token string) bool {
	parts := 0
	for part := range strings.SplitSeq(token, ".") {
		parts++
		if part == "" || strings.IndexFunc(part, notBase64URL) >= 0 {
			return false
		}
	}
	return parts == 3
}

func notBase64URL(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_'
}

// Own is a caller's own upstream credential as decisions know it. The zero value is
// none.
type Own struct {
	Vendor Vendor
	Hash   string // keyed; the credential itself is known to the gateway alone
}

// For is the hash of the credential where it is of the target's vendor, else empty: a
// foreign one counts as none.
func (o Own) For(t *Target) string {
	if o.Vendor == NoVendor || o.Vendor != t.Provider.Auth.Vendor() {
		return ""
	}
	return o.Hash
}

func baseOf(p *node.Provider) (*url.URL, error) {
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("base_url: %q is not an absolute http or https address", p.BaseURL)
	}
	return u, nil
}

func authOf(p *node.Provider) Auth {
	switch p.AuthType {
	case "bearer_api_key":
		return BearerAuth
	case "x_api_key":
		return XAPIKeyAuth
	case "claude_oauth":
		if p.Family == "anthropic" {
			return ClaudeOAuth
		}
	case "codex_oauth":
		if p.Family == "openai" {
			return CodexOAuth
		}
	}
	return NoAuth
}

// endpointsOf are the addresses under the base, as people write it.
func endpointsOf(p *node.Provider, base *url.URL) (e Endpoints) {
	written := strings.TrimRight(base.Path, "/")
	path := written
	if prefix, known := knownPaths[base.Hostname()]; known && (path == "" || path == "/v1") {
		path = prefix
	}
	for _, d := range dialectsOf(p) {
		u := *base
		u.RawPath, u.Fragment = "", ""
		switch d {
		case llm.Chat:
			u.Path = path + "/chat/completions"
		case llm.Responses:
			u.Path = path + "/responses"
		case llm.Embeddings:
			u.Path = path + "/embeddings"
		case llm.Messages:
			// People write Anthropic's address with and without "/v1".
			u.Path = strings.TrimSuffix(written, "/v1") + "/v1/messages"
		}
		e[d] = &u
	}
	return e
}

// knownPaths are the paths of well-known hosts, for addresses written without
// them. Each is from the vendor's own API reference, ChatGPT's from its own tool.
var knownPaths = map[string]string{
	"api.openai.com":                    "/v1",
	"chatgpt.com":                       "/backend-api/codex",
	"api.groq.com":                      "/openai/v1",
	"api.together.xyz":                  "/v1",
	"api.mistral.ai":                    "/v1",
	"api.x.ai":                          "/v1",
	"api.fireworks.ai":                  "/inference/v1",
	"openrouter.ai":                     "/api/v1",
	"api.deepseek.com":                  "/v1",
	"api.cohere.ai":                     "/compatibility/v1",
	"api.perplexity.ai":                 "",
	"generativelanguage.googleapis.com": "/v1beta/openai",
}

// dialectsOf are the dialects that a provider takes. A ChatGPT plan has no chat
// completions. Who is compatible with OpenAI's chat is taken to be so with its embeddings:
// which models a vendor has is the vendor's to say, and its 404 harms nobody.
func dialectsOf(p *node.Provider) []llm.Dialect {
	switch p.Family {
	case "anthropic":
		return []llm.Dialect{llm.Messages}
	case "azure_openai", "bedrock", "vertex":
		return nil // their own addressing and signing come with their codecs
	case "openai":
		if p.AuthType == "codex_oauth" {
			return []llm.Dialect{llm.Responses}
		}
		return []llm.Dialect{llm.Chat, llm.Responses, llm.Embeddings}
	case "custom":
		switch modelAPIFamily(p.Settings) {
		case "anthropic":
			return []llm.Dialect{llm.Messages}
		case "openai_responses":
			return []llm.Dialect{llm.Chat, llm.Responses, llm.Embeddings}
		}
	}
	return []llm.Dialect{llm.Chat, llm.Embeddings}
}

// crossings are the dialects that a target is asked in where it does not take the
// caller's, the best first: more providers take chat well than responses.
var crossings = [...]llm.Dialect{llm.Chat, llm.Messages, llm.Responses}

// Dialect is what to ask the target in when the caller speaks from: that, or where the
// provider does not take it a dialect of the provider's own, into which the request is
// then translated; false: the target cannot be asked. A passthrough target gets what its
// own tool sends and nothing else.
func (t *Target) Dialect(from llm.Dialect) (to llm.Dialect, ok bool) {
	if t.Provider.Endpoints[from] != nil {
		return from, true
	}
	if t.Passthrough() || from == llm.Embeddings { // vectors are no conversation
		return llm.NoDialect, false
	}
	for _, d := range crossings {
		if t.Provider.Endpoints[d] != nil {
			return d, true
		}
	}
	return llm.NoDialect, false
}

// Model is what is known of the target's model where a request is translated for it.
func (t *Target) Model() llm.Model {
	host := ""
	if t.Provider.Base != nil {
		host = t.Provider.Base.Hostname()
	}
	return llm.KnownModel(t.UpstreamModel).At(t.Provider.Family, host)
}

// modelAPIFamily is which API a custom endpoint has.
func modelAPIFamily(settings json.RawMessage) string {
	var s struct {
		Family string `json:"model_api_family"`
	}
	if json.Unmarshal(settings, &s) != nil {
		return ""
	}
	return s.Family
}
