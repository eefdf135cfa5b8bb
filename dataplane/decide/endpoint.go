package decide

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Endpoint is where and how a target takes calls of one dialect.
type Endpoint struct {
	URL *url.URL
	// Stream is where a streamed answer is asked for; nil: at URL, by what the body says.
	Stream *url.URL
	// Count is where the tokens of a request for a message are counted; nil: nowhere.
	Count *url.URL
	// Form is how a body differs from what the dialect's own vendor takes.
	Form llm.Form
}

// Endpoints are a target's, by dialect; nil where it does not take the dialect.
type Endpoints [llm.Dialects]*Endpoint

// Endpoint is where the target takes calls in a dialect, or nil.
func (t *Target) Endpoint(d llm.Dialect) *Endpoint { return t.takes()[d] }

func (t *Target) takes() *Endpoints {
	if t.endpoints != nil {
		return t.endpoints
	}
	return &t.Provider.Endpoints
}

// endpointsOf are the endpoints under the base, as people write it. Families whose
// addresses name the model have none here: see endpointsOfModel.
func endpointsOf(p *node.Provider, base *url.URL) (e Endpoints) {
	written := strings.TrimRight(base.Path, "/")
	for _, call := range calls {
		written = strings.TrimSuffix(written, call) // the whole address, as documentation shows it
	}
	path := written
	if prefix, known := knownPaths[base.Hostname()]; known && (path == "" || path == "/v1") {
		path = prefix
	}
	for _, d := range dialectsOf(p) {
		switch d {
		case llm.Chat:
			e[d] = &Endpoint{URL: onHost(base, path+"/chat/completions")}
		case llm.Responses:
			e[d] = &Endpoint{URL: onHost(base, path+"/responses")}
		case llm.Embeddings:
			e[d] = &Endpoint{URL: onHost(base, path+"/embeddings")}
		case llm.Messages:
			// People write Anthropic's address with and without "/v1".
			address := strings.TrimSuffix(strings.TrimSuffix(written, "/messages"), "/v1") + "/v1/messages"
			e[d] = &Endpoint{URL: onHost(base, address), Count: onHost(base, address+"/count_tokens")}
		}
	}
	return e
}

// calls are the ends of addresses that are a call's and not the API's.
var calls = []string{"/chat/completions", "/embeddings", "/responses"}

// endpointsOfModel are the endpoints of one model, where the family's addresses name it
// (false: they do not), and what bodies call it.
func endpointsOfModel(p *node.Provider, base *url.URL, model string) (e Endpoints, called string, named bool) {
	switch p.Family {
	case "azure_openai":
		return azureEndpoints(p, base, model), model, true
	case "bedrock":
		return bedrockEndpoints(p, base, model), model, true
	case "vertex":
		e, called = vertexEndpoints(p, base, model)
		return e, called, true
	}
	return e, model, false
}

// onHost is a path on the base's host. A character of the path that has a meaning in
// addresses is escaped.
func onHost(base *url.URL, path string) *url.URL {
	return &url.URL{Scheme: base.Scheme, Host: base.Host, Path: path}
}

// knownPaths are the paths of well-known hosts, for addresses written without
// them. Each is from the vendor's own API reference, ChatGPT's from its own tool.
var knownPaths = map[string]string{
	"api.openai.com":                    "/v1",
	"chatgpt.com":                       "/backend-api/codex",
	"api.groq.com":                      "/openai/v1",
	"api.together.xyz":                  "/v1",
	"api.together.ai":                   "/v1",
	"api.mistral.ai":                    "/v1",
	"api.x.ai":                          "/v1",
	"api.fireworks.ai":                  "/inference/v1",
	"openrouter.ai":                     "/api/v1",
	"api.deepseek.com":                  "/v1",
	"api.cohere.ai":                     "/compatibility/v1",
	"api.cohere.com":                    "/compatibility/v1",
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
		return nil // their addresses name the model: see endpointsOfModel
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

// settings are what of a provider's settings says how it is called.
type settings struct {
	APIVersion string `json:"api_version"`
	Region     string `json:"region"`
}

// settingsOf reads what it can: the admin API refuses what is wrong.
func settingsOf(p *node.Provider) (s settings) {
	_ = json.Unmarshal(p.Settings, &s)
	return s
}
