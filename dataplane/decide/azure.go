package decide

import (
	"net/url"
	"strings"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// azureResponses is the month of the first dated api_version that has responses.
// https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses
const azureResponses = "2025-03"

// azureEndpoints are where Azure OpenAI takes calls to a deployment, whose name stands
// for the model. Without an api_version, or with one of the v1 API's own ("v1", "preview",
// "latest"), that is the v1 API, where the body names the deployment; with a dated one it
// is the address of the deployment.
// https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
// https://learn.microsoft.com/azure/ai-foundry/openai/reference
func azureEndpoints(p *node.Provider, base *url.URL, deployment string) Endpoints {
	root, query, dated := azureAddress(p, base)
	named := root
	if dated != "" {
		named += "/deployments/" + url.PathEscape(deployment)
	}
	e := Endpoints{
		llm.Chat:       {URL: queried(onHostEscaped(base, named+"/chat/completions"), query)},
		llm.Embeddings: {URL: queried(onHostEscaped(base, named+"/embeddings"), query)},
	}
	if dated == "" || dated >= azureResponses {
		e[llm.Responses] = &Endpoint{URL: queried(onHost(base, root+"/responses"), query)} // the body names it
	}
	return e
}

// azureAddress is where an API version has its calls, and the query that says which; dated
// is empty for the v1 API.
func azureAddress(p *node.Provider, base *url.URL) (root, query, dated string) {
	root = azureRoot(base.Path)
	switch version := settingsOf(p).APIVersion; version {
	case "", "v1":
		return root, "", ""
	case "preview", "latest":
		return root, "api-version=" + version, ""
	default:
		return strings.TrimSuffix(root, "/v1"), "api-version=" + url.QueryEscape(version), version
	}
}

// azureRoot is the path of the v1 API, whatever of it people wrote: the resource alone,
// with "/openai" or "/openai/v1", or the address of a deployment as Azure's portal shows it.
func azureRoot(path string) string {
	path, _, _ = strings.Cut(path, "/openai/deployments/")
	path = strings.TrimRight(path, "/")
	path = strings.TrimSuffix(path, "/v1")
	return strings.TrimSuffix(path, "/openai") + "/openai/v1"
}

// onHostEscaped is onHost for a path whose names are escaped already.
func onHostEscaped(base *url.URL, escaped string) *url.URL {
	u := onHost(base, escaped)
	if path, err := url.PathUnescape(escaped); err == nil {
		u.Path, u.RawPath = path, escaped
	}
	return u
}

func queried(u *url.URL, query string) *url.URL {
	u.RawQuery = query
	return u
}
