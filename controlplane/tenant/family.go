package tenant

import "github.com/spillway-gateway/spillway/api/node"

// Family is a vendor, or whose dialect an endpoint speaks: the admin API's
// model_provider.
type Family struct {
	Slug string
	// DefaultBaseURL is empty where it depends on the account.
	DefaultBaseURL string
	DefaultModels  []string
	// AuthType is the default one.
	AuthType string
	// passthrough is the type that oauth_passthrough stands for; empty: none.
	passthrough string
	// cloud are the only types of a family that signs requests in its own way; nil:
	// any type that sends a key.
	cloud []string
}

// Authentication types, as the admin API names them.
const (
	AuthBearerAPIKey         = "bearer_api_key"
	AuthXAPIKey              = "x_api_key"
	AuthAzureAPIKey          = "azure_api_key"
	AuthBedrockAPIKey        = "bedrock_api_key"
	AuthAWSRole              = "aws_role"
	AuthAWSKeys              = "aws_keys"
	AuthGoogleADC            = node.AuthGoogleADC
	AuthGoogleServiceAccount = "google_service_account"
	AuthGoogleImpersonation  = node.AuthGoogleImpersonation
	AuthClaudeOAuth          = node.AuthClaudeOAuth
	AuthCodexOAuth           = node.AuthCodexOAuth

	// Only on input; they stand for a type of the family.
	authAPIKey           = "api_key"
	authOAuthPassthrough = "oauth_passthrough"
)

// secretKind is what a provider of an authentication type stores.
type secretKind int

const (
	secretUnknown    secretKind = iota
	secretNone                  // the caller's own token is passed through
	secretKey                   // api_key, required
	secretStructured            // credentials, required
	secretAmbient               // the node's own identity; credentials may add to it
)

var secretKinds = map[string]secretKind{
	AuthBearerAPIKey: secretKey, AuthXAPIKey: secretKey, AuthAzureAPIKey: secretKey, AuthBedrockAPIKey: secretKey,
	AuthAWSKeys: secretStructured, AuthGoogleServiceAccount: secretStructured, AuthGoogleImpersonation: secretStructured,
	AuthAWSRole: secretAmbient, AuthGoogleADC: secretAmbient,
	AuthClaudeOAuth: secretNone, AuthCodexOAuth: secretNone,
}

// families in the order of the catalog. Base addresses are those of each vendor's
// API reference; models are a starting point and no limit.
var families = []Family{
	{Slug: "openai", DefaultBaseURL: "https://api.openai.com/v1", AuthType: AuthBearerAPIKey, passthrough: AuthCodexOAuth,
		DefaultModels: []string{"gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-4.1", "gpt-4o", "text-embedding-3-large", "text-embedding-3-small"}},
	{Slug: "anthropic", DefaultBaseURL: "https://api.anthropic.com", AuthType: AuthXAPIKey, passthrough: AuthClaudeOAuth,
		DefaultModels: []string{"claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"}},
	{Slug: "azure_openai", AuthType: AuthAzureAPIKey},
	{Slug: "google_ai", DefaultBaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", AuthType: AuthBearerAPIKey,
		DefaultModels: []string{"gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"}},
	{Slug: "bedrock", AuthType: AuthAWSRole, cloud: []string{AuthAWSRole, AuthAWSKeys, AuthBedrockAPIKey}},
	{Slug: "vertex", AuthType: AuthGoogleADC, cloud: []string{AuthGoogleADC, AuthGoogleServiceAccount, AuthGoogleImpersonation}},
	{Slug: "groq", DefaultBaseURL: "https://api.groq.com/openai/v1", AuthType: AuthBearerAPIKey,
		DefaultModels: []string{"llama-3.3-70b-versatile", "llama-3.1-8b-instant"}},
	{Slug: "together", DefaultBaseURL: "https://api.together.xyz/v1", AuthType: AuthBearerAPIKey,
		DefaultModels: []string{"meta-llama/Llama-3.3-70B-Instruct-Turbo"}},
	{Slug: "mistral", DefaultBaseURL: "https://api.mistral.ai/v1", AuthType: AuthBearerAPIKey,
		DefaultModels: []string{"mistral-large-latest", "mistral-small-latest", "codestral-latest"}},
	{Slug: "cohere", DefaultBaseURL: "https://api.cohere.ai/compatibility/v1", AuthType: AuthBearerAPIKey,
		DefaultModels: []string{"command-r-08-2024", "command-r7b-12-2024"}},
	{Slug: "xai", DefaultBaseURL: "https://api.x.ai/v1", AuthType: AuthBearerAPIKey,
		DefaultModels: []string{"grok-4", "grok-3-mini"}},
	{Slug: "fireworks", DefaultBaseURL: "https://api.fireworks.ai/inference/v1", AuthType: AuthBearerAPIKey,
		DefaultModels: []string{"accounts/fireworks/models/llama-v3p3-70b-instruct"}},
	{Slug: "perplexity", DefaultBaseURL: "https://api.perplexity.ai", AuthType: AuthBearerAPIKey,
		DefaultModels: []string{"sonar", "sonar-pro"}},
	{Slug: "openrouter", DefaultBaseURL: "https://openrouter.ai/api/v1", AuthType: AuthBearerAPIKey,
		DefaultModels: []string{"openrouter/auto"}},
	{Slug: "deepseek", DefaultBaseURL: "https://api.deepseek.com/v1", AuthType: AuthBearerAPIKey,
		DefaultModels: []string{"deepseek-chat", "deepseek-reasoner"}},
	{Slug: "custom", AuthType: AuthBearerAPIKey},
}

// Catalog returns what is known of every family. The slices are shared: read only.
func Catalog() []Family { return families }

func familyOf(slug string) (Family, error) {
	for _, f := range families {
		if f.Slug == slug {
			return f, nil
		}
	}
	return Family{}, Invalid("model_provider", "unknown model provider: %s", slug)
}

// resolveAuth turns the input forms into a type that is stored, and refuses one
// that no endpoint of the family takes.
func (f Family) resolveAuth(input string) (string, error) {
	auth := input
	switch input {
	case authAPIKey:
		auth = f.AuthType
	case authOAuthPassthrough:
		auth = f.passthrough
	}
	if auth != "" && secretKinds[auth] == secretUnknown {
		return "", Invalid("auth_type", "unknown auth_type: %s", input)
	}
	if !f.allows(auth) {
		return "", Invalid("auth_type", "auth_type '%s' is not supported for model provider '%s'", input, f.Slug)
	}
	return auth, nil
}

func (f Family) allows(auth string) bool {
	if f.cloud != nil {
		for _, a := range f.cloud {
			if a == auth {
				return true
			}
		}
		return false
	}
	switch secretKinds[auth] {
	case secretKey:
		return auth != AuthBedrockAPIKey
	case secretNone:
		return auth == f.passthrough
	}
	return false
}
