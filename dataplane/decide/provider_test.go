package decide

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// compileProvider compiles a snapshot of one provider with one model.
func compileProvider(t *testing.T, p node.Provider) *Target {
	t.Helper()
	p.ID, p.Name, p.Enabled, p.Serving = uuid.New(), "p", true, true
	org, err := Compile(&node.Snapshot{Format: node.Format, OrganizationID: uuid.New(), Providers: []node.Provider{p},
		Mappings: []node.Mapping{{ID: uuid.New(), ProviderID: p.ID, Alias: "m", UpstreamModel: "m", Enabled: true}}}, NewBoard())
	if err != nil {
		t.Fatal(err)
	}
	return org.Resolve("p/m").Targets[0]
}

func TestEndpointsByFamily(t *testing.T) {
	t.Parallel()
	key := func(family, base, settings string) node.Provider {
		return node.Provider{Family: family, BaseURL: base, AuthType: "bearer_api_key", Settings: json.RawMessage(settings), Credential: &node.Sealed{}}
	}
	seat := func(family, auth, base string) node.Provider {
		return node.Provider{Family: family, BaseURL: base, AuthType: auth}
	}
	type endpoints map[llm.Dialect]string
	azure := func(base, settings string) node.Provider {
		return node.Provider{Family: "azure_openai", BaseURL: base, AuthType: "azure_api_key", Settings: json.RawMessage(settings), Credential: &node.Sealed{}}
	}
	azureV1 := func(query string) endpoints {
		const root = "https://r.openai.azure.com/openai/v1"
		return endpoints{llm.Chat: root + "/chat/completions" + query, llm.Embeddings: root + "/embeddings" + query, llm.Responses: root + "/responses" + query}
	}
	const azureRoot, dated = "https://r.openai.azure.com/openai", "?api-version=2024-10-21"
	azureDated := endpoints{llm.Chat: azureRoot + "/deployments/m/chat/completions" + dated,
		llm.Embeddings: azureRoot + "/deployments/m/embeddings" + dated, llm.Responses: azureRoot + "/responses" + dated}
	for name, c := range map[string]struct {
		provider node.Provider
		want     endpoints
	}{
		"OpenAI": {key("openai", "https://api.openai.com/v1", `{}`),
			endpoints{llm.Chat: "https://api.openai.com/v1/chat/completions", llm.Embeddings: "https://api.openai.com/v1/embeddings", llm.Responses: "https://api.openai.com/v1/responses"}},
		"OpenAIShort": {key("openai", "https://api.openai.com/", `{}`),
			endpoints{llm.Chat: "https://api.openai.com/v1/chat/completions", llm.Embeddings: "https://api.openai.com/v1/embeddings", llm.Responses: "https://api.openai.com/v1/responses"}},
		"Anthropic":   {key("anthropic", "https://api.anthropic.com", `{}`), endpoints{llm.Messages: "https://api.anthropic.com/v1/messages"}},
		"AnthropicV1": {key("anthropic", "https://api.anthropic.com/v1/", `{}`), endpoints{llm.Messages: "https://api.anthropic.com/v1/messages"}},
		"Groq": {key("groq", "https://api.groq.com", `{}`),
			endpoints{llm.Chat: "https://api.groq.com/openai/v1/chat/completions", llm.Embeddings: "https://api.groq.com/openai/v1/embeddings"}},
		"Custom": {key("custom", "https://llm.example/v1", `{}`), endpoints{llm.Chat: "https://llm.example/v1/chat/completions", llm.Embeddings: "https://llm.example/v1/embeddings"}},
		"CustomBadly": {key("custom", "https://llm.example/v1", `{"model_api_family":7}`),
			endpoints{llm.Chat: "https://llm.example/v1/chat/completions", llm.Embeddings: "https://llm.example/v1/embeddings"}},
		"CustomAnthropic": {key("custom", "https://llm.example", `{"model_api_family":"anthropic"}`), endpoints{llm.Messages: "https://llm.example/v1/messages"}},
		"CustomResponses": {key("custom", "https://llm.example/v1", `{"model_api_family":"openai_responses"}`),
			endpoints{llm.Chat: "https://llm.example/v1/chat/completions", llm.Embeddings: "https://llm.example/v1/embeddings", llm.Responses: "https://llm.example/v1/responses"}},
		"Azure":         {azure("https://r.openai.azure.com", `{}`), azureV1("")},
		"AzureSlash":    {azure("https://r.openai.azure.com/openai/", `{}`), azureV1("")},
		"AzureV1":       {azure("https://r.openai.azure.com/openai/v1", `{"api_version":"v1"}`), azureV1("")},
		"AzurePreview":  {azure("https://r.openai.azure.com/openai/v1/", `{"api_version":"preview"}`), azureV1("?api-version=preview")},
		"AzureDated":    {azure("https://r.openai.azure.com", `{"api_version":"2024-10-21"}`), azureDated},
		"AzureDatedV1":  {azure("https://r.openai.azure.com/openai/v1", `{"api_version":"2024-10-21"}`), azureDated},
		"AzureAsCopied": {azure("https://r.openai.azure.com/openai/deployments/x/chat/completions", `{"api_version":"2024-10-21"}`), azureDated},
		"Codex":         {seat("openai", "codex_oauth", "https://chatgpt.com/backend-api/codex"), endpoints{llm.Responses: "https://chatgpt.com/backend-api/codex/responses"}},
		"CodexShort":    {seat("openai", "codex_oauth", "https://chatgpt.com"), endpoints{llm.Responses: "https://chatgpt.com/backend-api/codex/responses"}},
		"ClaudeSeats":   {seat("anthropic", "claude_oauth", "https://api.anthropic.com"), endpoints{llm.Messages: "https://api.anthropic.com/v1/messages"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := compileProvider(t, c.provider)
			got := endpoints{}
			for d := range llm.Dialect(llm.Dialects) {
				if e := target.Endpoint(d); e != nil {
					got[d] = e.URL.String()
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if target.Unservable != "" {
				t.Errorf("unservable: %s", target.Unservable)
			}
		})
	}
}

func TestSeatsOfAnotherFamilyAreNotServed(t *testing.T) {
	t.Parallel()
	for auth, family := range map[string]string{"codex_oauth": "anthropic", "claude_oauth": "openai"} {
		target := compileProvider(t, node.Provider{Family: family, BaseURL: "https://chatgpt.com", AuthType: auth})
		if target.Unservable != NotSupported || target.Passthrough() {
			t.Errorf("%s of %s: got %q, passthrough %v", auth, family, target.Unservable, target.Passthrough())
		}
	}
}

func TestVendorOf(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]Vendor{
		"sk-ant-oat01-x": Claude, "sk-ant-api03-x": Claude, "sk-ant-.a.b": Claude,
		"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ1In0.c2ln-_": ChatGPT,
		"": NoVendor, "bd-x": NoVendor, "sk-proj-x": NoVendor, "a.b": NoVendor, "a.b.c.d": NoVendor, "a..c": NoVendor, ".b.c": NoVendor, "a.b.": NoVendor,
		"a.b.c=": NoVendor, "a.b c.d": NoVendor, "a.b.é": NoVendor,
	} {
		if got := VendorOf(token); got != want {
			t.Errorf("%q: got %s, want %s", token, got, want)
		}
	}
}

// A token is its vendor's only: for another one's target it is as if none had come.
func TestForeignCredentialCountsAsNone(t *testing.T) {
	t.Parallel()
	claude, chatGPT := Own{Claude, "hash"}, Own{ChatGPT, "hash"}
	for name, c := range map[string]struct {
		auth  Auth
		own   Own
		tried bool
	}{
		"ClaudeAtClaude": {ClaudeOAuth, claude, true}, "ChatGPTAtClaude": {ClaudeOAuth, chatGPT, false}, "NoneAtClaude": {ClaudeOAuth, Own{}, false},
		"ChatGPTAtCodex": {CodexOAuth, chatGPT, true}, "ClaudeAtCodex": {CodexOAuth, claude, false}, "NoneAtCodex": {CodexOAuth, Own{}, false},
		"ClaudeAtKeyed": {BearerAuth, claude, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := route(2)
			r.Targets[0].Provider.Auth, r.Targets[0].board = c.auth, NewBoard()
			r.Targets[1].Provider.Auth = BearerAuth
			run := NewRun(r, llm.Chat, 1, c.own, nil)
			target, _, ok := run.Next(now)
			if ok != c.tried || ok && target.Position != 1 {
				t.Fatalf("tried %v, want %v", ok, c.tried)
			}
			if e := run.Exhausted(); !c.tried && (e.Status != 401 || e.Code != "upstream_credential_missing") {
				t.Errorf("got %+v", e)
			}
		})
	}
}
