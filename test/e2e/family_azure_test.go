package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// addAzure makes a provider on the scripted Azure; version is its api_version.
func addAzure(t *testing.T, e *env.Env, name, version string, models ...string) (id string) {
	t.Helper()
	var p struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/providers", map[string]any{"name": name, "model_provider": "azure_openai", "base_url": e.ProviderURL, "api_key": "upstream-secret-of-" + name,
		"models": models, "settings": map[string]any{"api_version": version}}), &p)
	return p.ID
}

// Deployments answer on every surface, at the v1 API and at a dated one, with the key where
// Azure wants it and nowhere else.
func TestAzureAnswers(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for name, version := range map[string]string{"v1": "v1", "preview": "preview", "dated": "2024-10-21", "later": "2025-04-01-preview"} {
		e.AddTarget(name, addAzure(t, e, "azure-"+name, version, "gpt-"+name), "gpt-"+name, 1, nil)
	}
	e.Live()
	for name, path := range map[string]string{"v1": "/openai/v1/", "preview": "/openai/v1/", "dated": "/openai/deployments/gpt-dated/", "later": "/openai/deployments/gpt-later/"} {
		onEverySurface(t, e, name, "gpt-"+name, func(_ bool, r provider.Request) {
			if r.Header.Get("Api-Key") != "upstream-secret-of-azure-"+name || !strings.HasPrefix(r.Path, path) && r.Path != "/openai/responses" {
				t.Errorf("%s asked at %s with %q", name, r.Path, r.Header.Get("Api-Key"))
			}
		})
		if a := e.Call(0, "/v1/embeddings", fmt.Sprintf(`{"model":%q,"input":"x"}`, name), nil); a.Status != 200 {
			t.Errorf("%s embeddings: status %d: %s", name, a.Status, a.Body)
		}
	}
}

// Azure's errors are understood, whatever they lack of OpenAI's, and what its filter says
// of a prompt comes through whole.
func TestAzureFails(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	second := e.AddProvider("openai", "openai", "gpt-second")
	for name, b := range map[string]provider.Behavior{
		"key": {Status: 401}, "network": {Status: 403}, "missing": {Status: 404}, "rate": {Status: 429}, "busy": {Status: 503}, "broken": {Status: 500},
		"first": {ErrorType: "503"}, "early": {ErrorType: "503", ErrorEventAfter: -1},
	} {
		id := addAzure(t, e, "azure-"+name, "2024-10-21", "gpt-"+name)
		e.AddTarget(name, id, "gpt-"+name, 1, map[string]any{"cooldown_failure_threshold": 0})
		e.AddTarget(name, second, "gpt-second", 2, nil)
		e.Provider.Script("gpt-"+name, b)
	}
	filtered := addAzure(t, e, "azure-filter", "2024-10-21", "gpt-filter")
	e.AddTarget("filter", filtered, "gpt-filter", 1, nil)
	e.AddTarget("filter", second, "gpt-second", 2, nil)
	e.Provider.Script("gpt-filter", provider.Behavior{Status: 400, Kind: "content_filter"})
	e.Live()
	for _, name := range []string{"key", "network", "missing", "rate", "busy", "broken", "first", "early"} {
		for _, family := range []string{"openai", "anthropic"} {
			for _, stream := range []bool{false, true} {
				if a := call(e, 0, family, name, stream); a.Status != 200 || a.Header.Get("X-Bd-Provider-Route-Attempt") != "2" {
					t.Errorf("%s as %s, streamed %t: status %d: %s", name, family, stream, a.Status, a.Body)
				}
			}
		}
	}
	for family, want := range map[string]string{
		"openai": `"innererror":{"code":"ResponsibleAIPolicyViolation"`, "anthropic": `{"type":"error","error":{"type":"invalid_request_error","message":"The response was filtered`,
	} {
		if a := call(e, 0, family, "filter", false); a.Status != 400 || !strings.Contains(string(a.Body), want) {
			t.Errorf("%s: status %d: %s", family, a.Status, a.Body)
		}
	}
}
