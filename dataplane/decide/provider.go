package decide

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Auth is how a provider's credential is sent.
type Auth uint8

// Ways to send a credential. NoAuth marks a provider this node cannot serve. The OAuth
// ones pass on the caller's own token; nothing is stored.
const (
	NoAuth Auth = iota
	BearerAuth
	XAPIKeyAuth
	AzureKeyAuth
	AWSKeys // requests are signed
	AWSRole // the same, with a role's keys or the node's own
	ClaudeOAuth
	CodexOAuth
	GoogleKeyAuth           // tokens of a service account, whose key is stored
	GoogleADCAuth           // tokens of the node's own identity
	GoogleImpersonationAuth // tokens of a service account that the node's own identity may act as
)

// Ambient reports whether the node's own identity in its cloud is used, which an operator
// has to allow: it is no organization's.
func (a Auth) Ambient() bool { return a == GoogleADCAuth || a == GoogleImpersonationAuth }

// stored reports whether there is nothing to send without a stored credential.
func (a Auth) stored() bool { return a.Vendor() == NoVendor && a != GoogleADCAuth && a != AWSRole }

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

// Signs reports whether requests are signed for a region of AWS.
func (a Auth) Signs() bool { return a == AWSKeys || a == AWSRole }

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
	Hash   string    // keyed; the credential itself is known to the gateway alone
	User   uuid.UUID // whose gateway key it came with; zero: nobody's
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
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an absolute http or https address", p.BaseURL)
	}
	if p.Family == "bedrock" {
		u = bedrockBase(u)
	}
	return u, nil
}

func authOf(p *node.Provider) Auth {
	switch p.AuthType {
	case "bearer_api_key":
		return BearerAuth
	case "x_api_key":
		return XAPIKeyAuth
	case "azure_api_key":
		return AzureKeyAuth
	case "bedrock_api_key":
		if p.Family == "bedrock" {
			return BearerAuth
		}
	case "aws_keys":
		if p.Family == "bedrock" {
			return AWSKeys
		}
	case "aws_role":
		if p.Family == "bedrock" {
			return AWSRole
		}
	case "claude_oauth":
		if p.Family == "anthropic" {
			return ClaudeOAuth
		}
	case "codex_oauth":
		if p.Family == "openai" {
			return CodexOAuth
		}
	}
	if p.Family == "vertex" {
		return googleAuths[p.AuthType]
	}
	return NoAuth
}

var googleAuths = map[string]Auth{
	"google_service_account": GoogleKeyAuth, node.AuthGoogleADC: GoogleADCAuth, node.AuthGoogleImpersonation: GoogleImpersonationAuth,
}

// crossings are the dialects that a target is asked in where it does not take the
// caller's, the best first: more providers take chat well than responses.
var crossings = [...]llm.Dialect{llm.Chat, llm.Messages, llm.Responses, llm.Converse}

// thinkingCrossings are those for OpenAI's models that think. From gpt-5.4 on they refuse
// tools in chat completions while they do, and only responses tells what they thought
// (https://platform.openai.com/docs/guides/reasoning).
var thinkingCrossings = [...]llm.Dialect{llm.Responses, llm.Chat, llm.Messages, llm.Converse}

// Dialect is what to ask the target in when the caller speaks from: that, or where the
// provider does not take it a dialect of the provider's own, into which the request is
// then translated; false: the target cannot be asked. A passthrough target gets what its
// own tool sends and nothing else.
func (t *Target) Dialect(from llm.Dialect) (to llm.Dialect, ok bool) {
	if t.Endpoint(from) != nil {
		return from, true
	}
	if t.Passthrough() || from == llm.Embeddings { // vectors are no conversation
		return llm.NoDialect, false
	}
	best := crossings
	if llm.KnownModel(t.UpstreamModel).Reasoning == llm.ByEffort {
		best = thinkingCrossings
	}
	for _, d := range best {
		if t.Endpoint(d) != nil {
			return d, true
		}
	}
	return llm.NoDialect, false
}

// Model is what is known of the target's model where a request is translated for it.
func (t *Target) Model() llm.Model { return t.at(llm.KnownModel(t.Called())) }

// Vendor is what is known of any model there, which costs no search for this one.
func (t *Target) Vendor() llm.Model { return t.at(llm.Model{}) }

func (t *Target) at(m llm.Model) llm.Model {
	host := ""
	if t.Provider.Base != nil {
		host = t.Provider.Base.Hostname()
	}
	return m.At(t.Provider.Family, host)
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
