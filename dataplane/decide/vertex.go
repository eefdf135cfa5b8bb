package decide

import (
	"net/url"
	"strings"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// vertexEndpoints are where Google's cloud takes calls to a model, and what bodies call
// it. Anthropic's models have addresses of their own and take Anthropic's messages; all
// others are asked at the one compatible address, whose body names model and publisher.
// None without project and location.
// https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude
// https://cloud.google.com/vertex-ai/generative-ai/docs/start/openai
func vertexEndpoints(p *node.Provider, base *url.URL, upstreamModel string) (e Endpoints, model string) {
	place := node.VertexPlaceOf(base, p.Settings)
	if place.Project == "" || place.Location == "" {
		return e, ""
	}
	root := place.Root + "/v1/projects/" + url.PathEscape(place.Project) + "/locations/" + url.PathEscape(place.Location)
	publisher, model := vertexModel(upstreamModel)
	if publisher != "anthropic" {
		e[llm.Chat] = &Endpoint{URL: onHostEscaped(base, root+"/endpoints/openapi/chat/completions")}
		return e, publisher + "/" + model
	}
	models := root + "/publishers/anthropic/models/"
	e[llm.Messages] = &Endpoint{
		URL:    onHostEscaped(base, models+url.PathEscape(model)+":rawPredict"),
		Stream: onHostEscaped(base, models+url.PathEscape(model)+":streamRawPredict"),
		Count:  onHostEscaped(base, models+"count-tokens:rawPredict"),
		Form:   llm.VertexForm,
	}
	return e, model
}

// vertexModel takes apart what people write: "claude-sonnet-4-5@20250929",
// "google/gemini-2.5-pro", "gemini-2.5-pro", or either as a resource
// ("publishers/google/models/gemini-2.5-pro"). Without a publisher a Claude is Anthropic's
// and all else Google's.
func vertexModel(written string) (publisher, model string) {
	if resource, found := strings.CutPrefix(written, "publishers/"); found {
		written = strings.Replace(resource, "/models/", "/", 1)
	}
	if publisher, model, found := strings.Cut(written, "/"); found {
		return publisher, model
	}
	if strings.HasPrefix(strings.ToLower(written), "claude") {
		return "anthropic", written
	}
	return "google", written
}
