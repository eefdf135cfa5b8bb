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

// takenAt is where a target is asked, by dialect.
type takenAt map[llm.Dialect]string

type endpointCase struct {
	provider node.Provider
	want     takenAt
}

func checkEndpoints(t *testing.T, cases map[string]endpointCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := compileProvider(t, c.provider)
			got := takenAt{}
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

func TestEndpointsByFamily(t *testing.T) {
	t.Parallel()
	key := func(family, base, settings string) node.Provider {
		return node.Provider{Family: family, BaseURL: base, AuthType: "bearer_api_key", Settings: json.RawMessage(settings), Credential: &node.Sealed{}}
	}
	seat := func(family, auth, base string) node.Provider {
		return node.Provider{Family: family, BaseURL: base, AuthType: auth}
	}
	chatAt := func(root string) takenAt {
		return takenAt{llm.Chat: root + "/chat/completions", llm.Embeddings: root + "/embeddings"}
	}
	vertex := func(base, location string) node.Provider {
		return node.Provider{Family: "vertex", BaseURL: base, AuthType: "google_service_account", Credential: &node.Sealed{},
			Settings: json.RawMessage(`{"project":"proj","location":"` + location + `"}`)}
	}
	vertexAt := func(root, location string) takenAt { // compileProvider's model is Google's
		return takenAt{llm.Chat: root + "/v1/projects/proj/locations/" + location + "/endpoints/openapi/chat/completions"}
	}
	checkEndpoints(t, map[string]endpointCase{
		"OpenAI": {key("openai", "https://api.openai.com/v1", `{}`),
			takenAt{llm.Chat: "https://api.openai.com/v1/chat/completions", llm.Embeddings: "https://api.openai.com/v1/embeddings", llm.Responses: "https://api.openai.com/v1/responses"}},
		"OpenAIShort": {key("openai", "https://api.openai.com/", `{}`),
			takenAt{llm.Chat: "https://api.openai.com/v1/chat/completions", llm.Embeddings: "https://api.openai.com/v1/embeddings", llm.Responses: "https://api.openai.com/v1/responses"}},
		"Anthropic":   {key("anthropic", "https://api.anthropic.com", `{}`), takenAt{llm.Messages: "https://api.anthropic.com/v1/messages"}},
		"AnthropicV1": {key("anthropic", "https://api.anthropic.com/v1/", `{}`), takenAt{llm.Messages: "https://api.anthropic.com/v1/messages"}},
		"Groq": {key("groq", "https://api.groq.com", `{}`),
			takenAt{llm.Chat: "https://api.groq.com/openai/v1/chat/completions", llm.Embeddings: "https://api.groq.com/openai/v1/embeddings"}},
		"Custom": {key("custom", "https://llm.example/v1", `{}`), takenAt{llm.Chat: "https://llm.example/v1/chat/completions", llm.Embeddings: "https://llm.example/v1/embeddings"}},
		"CustomBadly": {key("custom", "https://llm.example/v1", `{"model_api_family":7}`),
			takenAt{llm.Chat: "https://llm.example/v1/chat/completions", llm.Embeddings: "https://llm.example/v1/embeddings"}},
		"CustomAnthropic": {key("custom", "https://llm.example", `{"model_api_family":"anthropic"}`), takenAt{llm.Messages: "https://llm.example/v1/messages"}},
		"CustomResponses": {key("custom", "https://llm.example/v1", `{"model_api_family":"openai_responses"}`),
			takenAt{llm.Chat: "https://llm.example/v1/chat/completions", llm.Embeddings: "https://llm.example/v1/embeddings", llm.Responses: "https://llm.example/v1/responses"}},
		"AsCopied":          {key("custom", "https://llm.example/v1/chat/completions", `{}`), chatAt("https://llm.example/v1")},
		"AnthropicAsCopied": {key("anthropic", "https://api.anthropic.com/v1/messages", `{}`), takenAt{llm.Messages: "https://api.anthropic.com/v1/messages"}},
		"GoogleAI":          {key("google_ai", "https://generativelanguage.googleapis.com", `{}`), chatAt("https://generativelanguage.googleapis.com/v1beta/openai")},
		"GoogleAISlash":     {key("google_ai", "https://generativelanguage.googleapis.com/v1beta/openai/", `{}`), chatAt("https://generativelanguage.googleapis.com/v1beta/openai")},
		"Together":          {key("together", "https://api.together.xyz/v1", `{}`), chatAt("https://api.together.xyz/v1")},
		"Mistral":           {key("mistral", "https://api.mistral.ai", `{}`), chatAt("https://api.mistral.ai/v1")},
		"XAI":               {key("xai", "https://api.x.ai/", `{}`), chatAt("https://api.x.ai/v1")},
		"Fireworks":         {key("fireworks", "https://api.fireworks.ai", `{}`), chatAt("https://api.fireworks.ai/inference/v1")},
		"FireworksV1":       {key("fireworks", "https://api.fireworks.ai/v1", `{}`), chatAt("https://api.fireworks.ai/inference/v1")},
		"Perplexity":        {key("perplexity", "https://api.perplexity.ai", `{}`), chatAt("https://api.perplexity.ai")},
		"PerplexityV1":      {key("perplexity", "https://api.perplexity.ai/v1", `{}`), chatAt("https://api.perplexity.ai")},
		"OpenRouter":        {key("openrouter", "https://openrouter.ai", `{}`), chatAt("https://openrouter.ai/api/v1")},
		"OpenRouterCopied":  {key("openrouter", "https://openrouter.ai/api/v1/chat/completions", `{}`), chatAt("https://openrouter.ai/api/v1")},
		"DeepSeek":          {key("deepseek", "https://api.deepseek.com", `{}`), chatAt("https://api.deepseek.com/v1")},
		"Cohere":            {key("cohere", "https://api.cohere.com", `{}`), chatAt("https://api.cohere.com/compatibility/v1")},
		"CohereFull":        {key("cohere", "https://api.cohere.ai/compatibility/v1", `{}`), chatAt("https://api.cohere.ai/compatibility/v1")},
		"Vertex":            {vertex("https://us-east5-aiplatform.googleapis.com", "us-east5"), vertexAt("https://us-east5-aiplatform.googleapis.com", "us-east5")},
		"VertexV1":          {vertex("https://us-east5-aiplatform.googleapis.com/v1/", ""), vertexAt("https://us-east5-aiplatform.googleapis.com", "us-east5")},
		"VertexGlobal":      {vertex("https://aiplatform.googleapis.com/", ""), vertexAt("https://aiplatform.googleapis.com", "global")},
		"VertexMulti":       {vertex("https://aiplatform.eu.rep.googleapis.com", ""), vertexAt("https://aiplatform.eu.rep.googleapis.com", "eu")},
		"VertexCopied": {vertex("https://us-central1-aiplatform.googleapis.com/v1/projects/proj/locations/us-central1/publishers/google/models/x:generateContent", ""),
			vertexAt("https://us-central1-aiplatform.googleapis.com", "us-central1")},
		"VertexOpenAPI": {vertex("https://aiplatform.googleapis.com/v1beta1/projects/proj/locations/global/endpoints/openapi", ""), vertexAt("https://aiplatform.googleapis.com", "global")},
		"VertexPrivate": {vertex("https://psc.example/prefix/v1", "europe-west1"), vertexAt("https://psc.example/prefix", "europe-west1")},
		"Codex":         {seat("openai", "codex_oauth", "https://chatgpt.com/backend-api/codex"), takenAt{llm.Responses: "https://chatgpt.com/backend-api/codex/responses"}},
		"CodexShort":    {seat("openai", "codex_oauth", "https://chatgpt.com"), takenAt{llm.Responses: "https://chatgpt.com/backend-api/codex/responses"}},
		"ClaudeSeats":   {seat("anthropic", "claude_oauth", "https://api.anthropic.com"), takenAt{llm.Messages: "https://api.anthropic.com/v1/messages"}},
	})
}

func TestAzureEndpoints(t *testing.T) {
	t.Parallel()
	azure := func(base, settings string) node.Provider {
		return node.Provider{Family: "azure_openai", BaseURL: base, AuthType: "azure_api_key", Settings: json.RawMessage(settings), Credential: &node.Sealed{}}
	}
	azureV1 := func(query string) takenAt {
		const root = "https://r.openai.azure.com/openai/v1"
		return takenAt{llm.Chat: root + "/chat/completions" + query, llm.Embeddings: root + "/embeddings" + query, llm.Responses: root + "/responses" + query}
	}
	const azureRoot, dated = "https://r.openai.azure.com/openai", "?api-version=2024-10-21"
	azureDated := takenAt{llm.Chat: azureRoot + "/deployments/m/chat/completions" + dated,
		llm.Embeddings: azureRoot + "/deployments/m/embeddings" + dated} // from before responses
	const later = "?api-version=2025-03-01-preview"
	azureLater := takenAt{llm.Chat: azureRoot + "/deployments/m/chat/completions" + later,
		llm.Embeddings: azureRoot + "/deployments/m/embeddings" + later, llm.Responses: azureRoot + "/responses" + later}
	checkEndpoints(t, map[string]endpointCase{
		"Azure":         {azure("https://r.openai.azure.com", `{}`), azureV1("")},
		"AzureSlash":    {azure("https://r.openai.azure.com/openai/", `{}`), azureV1("")},
		"AzureV1":       {azure("https://r.openai.azure.com/openai/v1", `{"api_version":"v1"}`), azureV1("")},
		"AzurePreview":  {azure("https://r.openai.azure.com/openai/v1/", `{"api_version":"preview"}`), azureV1("?api-version=preview")},
		"AzureDated":    {azure("https://r.openai.azure.com", `{"api_version":"2024-10-21"}`), azureDated},
		"AzureLater":    {azure("https://r.openai.azure.com", `{"api_version":"2025-03-01-preview"}`), azureLater},
		"AzureDatedV1":  {azure("https://r.openai.azure.com/openai/v1", `{"api_version":"2024-10-21"}`), azureDated},
		"AzureAsCopied": {azure("https://r.openai.azure.com/openai/deployments/x/chat/completions", `{"api_version":"2024-10-21"}`), azureDated},
	})
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
	claude, chatGPT := Own{Vendor: Claude, Hash: "hash"}, Own{Vendor: ChatGPT, Hash: "hash"}
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

// People write models of Google's cloud with and without their publisher.
func TestVertexModels(t *testing.T) {
	t.Parallel()
	const place = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5"
	for written, want := range map[string]struct{ called, url, stream, count string }{
		"gemini-2.5-pro":                          {called: "google/gemini-2.5-pro", url: "/endpoints/openapi/chat/completions"},
		"google/gemini-2.5-pro":                   {called: "google/gemini-2.5-pro", url: "/endpoints/openapi/chat/completions"},
		"publishers/google/models/gemini-2.5-pro": {called: "google/gemini-2.5-pro", url: "/endpoints/openapi/chat/completions"},
		"meta/llama-4":                            {called: "meta/llama-4", url: "/endpoints/openapi/chat/completions"},
		"claude-opus-4-6": {"claude-opus-4-6", "/publishers/anthropic/models/claude-opus-4-6:rawPredict", "/publishers/anthropic/models/claude-opus-4-6:streamRawPredict",
			"/publishers/anthropic/models/count-tokens:rawPredict"},
		"anthropic/claude-haiku-4-5@20251001": {"claude-haiku-4-5@20251001", "/publishers/anthropic/models/claude-haiku-4-5@20251001:rawPredict",
			"/publishers/anthropic/models/claude-haiku-4-5@20251001:streamRawPredict", "/publishers/anthropic/models/count-tokens:rawPredict"},
		"claude/../x": {called: "claude/../x", url: "/endpoints/openapi/chat/completions"},
		"anthropic/a/../b": {"a/../b", "/publishers/anthropic/models/a%2F..%2Fb:rawPredict", "/publishers/anthropic/models/a%2F..%2Fb:streamRawPredict",
			"/publishers/anthropic/models/count-tokens:rawPredict"},
	} {
		p := &node.Provider{Family: "vertex", BaseURL: "https://us-east5-aiplatform.googleapis.com", AuthType: "google_adc", Settings: json.RawMessage(`{"project":"p"}`)}
		base, err := baseOf(p)
		if err != nil {
			t.Fatal(err)
		}
		e, called := vertexEndpoints(p, base, written)
		d := llm.Messages
		if want.stream == "" {
			d = llm.Chat
		}
		if called != want.called || e[d] == nil || e[d].URL.String() != place+want.url {
			t.Errorf("%s: called %q at %v", written, called, e[d])
			continue
		}
		if want.stream != "" && (e[d].Stream.String() != place+want.stream || e[d].Count.String() != place+want.count || e[d].Form != llm.VertexForm) {
			t.Errorf("%s: %s, %s", written, e[d].Stream, e[d].Count)
		}
	}
}

// The node's own identity is nobody's to use unless the operator says so.
func TestAmbientIsTheOperatorsToAllow(t *testing.T) {
	t.Parallel()
	for _, auth := range []string{"google_adc", "google_impersonation"} {
		for _, allowed := range []bool{false, true} {
			p := node.Provider{ID: uuid.New(), Name: "p", Enabled: true, Serving: true, Family: "vertex", BaseURL: "https://us-east5-aiplatform.googleapis.com", AuthType: auth,
				Settings: json.RawMessage(`{"project":"p"}`), Credential: &node.Sealed{}}
			board := NewBoard()
			board.Ambient = allowed
			org, err := Compile(&node.Snapshot{Format: node.Format, OrganizationID: uuid.New(), Providers: []node.Provider{p},
				Mappings: []node.Mapping{{ID: uuid.New(), ProviderID: p.ID, Alias: "m", UpstreamModel: "m", Enabled: true}}}, board)
			if err != nil {
				t.Fatal(err)
			}
			run := NewRun(org.Resolve("p/m"), llm.Chat, 1, Own{}, nil)
			if _, _, ok := run.Next(now); ok != allowed {
				t.Errorf("%s, allowed %t: tried %t", auth, allowed, ok)
			}
			if !allowed && (run.Attempts[0].Reason != "ambient_credentials_not_allowed" || run.Attempts[0].Message == "") {
				t.Errorf("%s: got %+v", auth, run.Attempts[0])
			}
		}
	}
}
