package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// live is how long a committed change may take to every connected node.
const live = 2 * time.Second

// A route that is made, reordered or switched off through the API is so on every
// node within two seconds.
func TestChangesAreLiveOnEveryNode(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	id := e.AddProvider("p", "openai", "one", "two")
	first := e.AddTarget("route", id, "one", 1, nil)
	second := e.AddTarget("route", id, "two", 2, nil)
	everywhere := func(what, model string, status int) {
		t.Helper()
		for node := range 2 {
			within(t, live, fmt.Sprintf("%s on node %d", what, node), func() bool {
				a := e.Chat(node, "route", false)
				return a.Status == status && strings.Contains(string(a.Body), model)
			})
		}
	}
	everywhere("the new route", "from one.", 200)

	e.Must(e.Admin(http.MethodPut, "/model-mappings/reorder", map[string]any{"entries": []map[string]any{{"id": second, "priority": 1}, {"id": first, "priority": 2}}}), nil)
	everywhere("the new order", "from two.", 200)

	e.Must(e.Admin(http.MethodPut, "/model-mappings/"+second, map[string]any{"enabled": false}), nil)
	everywhere("the disabled target skipped", "from one.", 200)

	e.Must(e.Admin(http.MethodPut, "/providers/"+id, map[string]any{"enabled": false}), nil)
	everywhere("the disabled provider", "provider_disabled", 502)

	e.Must(e.Admin(http.MethodPut, "/providers/"+id, map[string]any{"enabled": true}), nil)
	everywhere("the provider enabled again", "from one.", 200)

	e.Must(e.Admin(http.MethodDelete, "/model-mappings/"+first, nil), nil)
	e.Must(e.Admin(http.MethodDelete, "/model-mappings/"+second, nil), nil)
	everywhere("the route gone", "model_not_found", 404)
	within(t, live, "both nodes to say what they serve", func() bool {
		var status struct {
			Version          int64
			PublishedVersion int64 `json:"published_version"`
			LiveNodes        int   `json:"live_nodes"`
			Nodes            []struct {
				Version int64
				Live    bool
			}
		}
		e.Must(e.Admin(http.MethodGet, "/config-status", nil), &status)
		return status.LiveNodes == 2 && len(status.Nodes) == 2 && status.Nodes[0].Version == status.Version && status.PublishedVersion == status.Version
	})
}

// A key that is disabled, revoked or expired stops working on every node.
func TestKeysStopWorking(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	var key struct{ ID, Key string }
	e.Must(e.Admin(http.MethodPost, "/api-keys", map[string]any{"name": "mine"}), &key)
	status := func(node int) int {
		return e.Call(node, "/v1/models", "", map[string]string{"X-Bd-Api-Key": key.Key}).Status
	}
	everywhere := func(what string, want int) {
		t.Helper()
		for node := range 2 {
			within(t, live, what, func() bool { return status(node) == want })
		}
	}
	everywhere("the new key", 200)
	e.Must(e.Admin(http.MethodPatch, "/api-keys/"+key.ID, map[string]any{"disabled": true}), nil)
	everywhere("the disabled key", 401)
	e.Must(e.Admin(http.MethodPatch, "/api-keys/"+key.ID, map[string]any{"disabled": false}), nil)
	everywhere("the key enabled again", 200)
	e.Must(e.Admin(http.MethodDelete, "/api-keys/"+key.ID, nil), nil)
	everywhere("the revoked key", 401)
}

// Another organization's key cannot use a route, and its administrator cannot tell
// that a row exists.
func TestOrganizationsAreApart(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	id := e.AddProvider("p", "openai", "secret-model")
	mapping := e.AddTarget("secret-route", id, "secret-model", 1, nil)
	e.Live()
	other := e.NewOrg("other")
	other.Live()
	for _, model := range []string{"secret-route", "p/secret-model", "demo"} {
		if a := other.Chat(0, model, false); a.Status != 404 {
			t.Errorf("another organization's key got %d for %s: %s", a.Status, model, a.Body)
		}
	}
	if a := other.Call(0, "/v1/models", "", nil); strings.Contains(string(a.Body), "secret") || strings.Contains(string(a.Body), "demo") {
		t.Errorf("another organization's models are listed: %s", a.Body)
	}
	for _, path := range []string{"/providers/" + id, "/model-mappings/" + mapping} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			var body any
			if method == http.MethodPut {
				body = map[string]any{"enabled": false}
			}
			random := path[:strings.LastIndex(path, "/")+1] + uuid.NewString()
			got, want := other.Admin(method, path, body), other.Admin(method, random, body)
			if got.Status != 404 || strings.ReplaceAll(string(got.Body), path[strings.LastIndex(path, "/")+1:], "ID") != strings.ReplaceAll(string(want.Body), random[strings.LastIndex(random, "/")+1:], "ID") {
				t.Errorf("%s %s: got %d %s, want what a random id gets: %d %s", method, path, got.Status, got.Body, want.Status, want.Body)
			}
		}
	}
	if a := e.Chat(0, "secret-route", false); a.Status != 200 {
		t.Errorf("the route's own organization got %d", a.Status)
	}
}

// What is judged is what is forwarded: the body goes upstream byte for byte but
// for the model, and only headers that may.
func TestRequestGoesUpstreamAsItCame(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	id := e.AddProvider("p", "openai", "upstream-model")
	e.AddTarget("route", id, "upstream-model", 1, nil)
	e.Live()
	body := "{ \"messages\" : [ {\"role\":\"user\",\"content\":\"h\\u00e9llo\"} ],\n\t\"unknown_field\": {\"x\": 1.50}, \"model\":\"route\" ,\"temperature\":1e0}"
	a := e.Call(0, "/api/llm-gateway/v1/chat/completions", body, map[string]string{
		"X-Bd-Api-Key": "", "Authorization": "Bearer " + e.APIKey, "Cookie": "session=1", "X-Forwarded-For": "10.0.0.1", "X-Custom": "x", "User-Agent": "my-tool/1",
	})
	if a.Status != 200 {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	got := e.Provider.Calls()[0]
	if want := strings.Replace(body, `"route"`, `"upstream-model"`, 1); string(got.Body) != want {
		t.Errorf("got body  %s\nwant      %s", got.Body, want)
	}
	if got.Header.Get("Authorization") != "Bearer upstream-secret-of-p" || got.Header.Get("User-Agent") != "my-tool/1" {
		t.Errorf("got headers %v", got.Header)
	}
	allowed := []string{"Authorization", "User-Agent", "Content-Type", "Content-Length", "Accept", "Accept-Encoding"}
	for name := range got.Header {
		if !slices.Contains(allowed, name) {
			t.Errorf("header %s was sent upstream", name)
		}
	}
}

func TestRefusalsOfTheGatewaysOwn(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	good := `{"model":"demo","messages":[]}`
	for name, c := range map[string]struct {
		path, body string
		header     map[string]string
		status     int
		code       string
	}{
		"NoKey":             {"/v1/chat/completions", good, map[string]string{"X-Bd-Api-Key": ""}, 401, "invalid_api_key"},
		"MistypedKey":       {"/v1/chat/completions", good, map[string]string{"X-Bd-Api-Key": e.APIKey[:len(e.APIKey)-1] + "x"}, 401, "invalid_api_key"},
		"NotOurKey":         {"/v1/chat/completions", good, map[string]string{"X-Bd-Api-Key": "", "Authorization": "Bearer sk-something"}, 401, "invalid_api_key"},
		"TwinKey":           {"/v1/chat/completions", good, map[string]string{"X_Bd_Api_Key": e.APIKey}, 400, "ambiguous_header"},
		"TwinOfACredential": {"/v1/messages", good, map[string]string{"x-api_key": "sk-x"}, 400, "invalid_request_error"},
		"UnknownModel":      {"/v1/chat/completions", `{"model":"nope"}`, nil, 404, "model_not_found"},
		"TwoModels":         {"/v1/chat/completions", `{"model":"demo","MODEL":"other"}`, nil, 400, "invalid_body"},
		"NotJSON":           {"/v1/chat/completions", `model=demo`, nil, 400, "invalid_body"},
		"Compressed":        {"/v1/chat/completions", good, map[string]string{"Content-Encoding": "br"}, 415, "unsupported_encoding"},
		"UnknownEndpoint":   {"/v1/nothing", good, nil, 404, "unknown_endpoint"},
		"WrongMethod":       {"/v1/chat/completions", "", nil, 405, "method_not_allowed"},
		"MessagesBadModel":  {"/v1/messages", `{"model":"nope"}`, nil, 404, "not_found_error"},
		"ResponsesNoKey":    {"/v1/responses", good, map[string]string{"X-Bd-Api-Key": ""}, 401, "invalid_api_key"},
		"EmbeddingsNoKey":   {"/v1/embeddings", good, map[string]string{"X-Bd-Api-Key": ""}, 401, "invalid_api_key"},
		"CountNoKey":        {"/v1/messages/count_tokens", good, map[string]string{"X-Bd-Api-Key": ""}, 401, "authentication_error"},
		"ModelsWrongMethod": {"/v1/models", good, nil, 405, "method_not_allowed"},
	} {
		a := e.Call(0, c.path, c.body, c.header)
		if a.Status != c.status || !strings.Contains(string(a.Body), c.code) || a.Header.Get("X-Bd-Error-Origin") != "gateway" {
			t.Errorf("%s: got %d, origin %q: %s", name, a.Status, a.Header.Get("X-Bd-Error-Origin"), a.Body)
		}
		if id := a.Header.Get("X-Bd-Request-Id"); id == "" || a.Header.Get("Request-Id") != id || a.Header.Get("X-Request-Id") != id {
			t.Errorf("%s: the answer's ids are missing: %v", name, a.Header)
		}
		if retry := a.Header.Get("X-Should-Retry"); (c.status == 401) != (retry == "false") {
			t.Errorf("%s: x-should-retry %q", name, retry)
		}
	}
	if seen := e.Provider.Calls(); len(seen) != 0 {
		t.Errorf("a refused request reached a provider: %+v", seen)
	}
}

func TestOpenEndpoints(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, c := range []struct{ method, path string }{{"GET", "/healthz"}, {"GET", "/readyz"}, {"HEAD", "/"}, {"GET", "/api/hello"}, {"HEAD", "/api/hello"}} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, e.Info.BaseURL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%s %s: status %d", c.method, c.path, resp.StatusCode)
		}
	}
}

// Stopped and started again, everything is still there.
func TestRestartKeepsEverything(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	id := e.AddProvider("p", "openai", "m")
	e.AddTarget("kept", id, "m", 1, nil)
	e.Live()
	e.Stop()
	again := env.Start(t, e.Options)
	if again.Info.APIKey != e.Info.APIKey || again.Info.ClientSecret != e.Info.ClientSecret || again.Info.OrganizationID != e.Info.OrganizationID {
		t.Error("a second start made other credentials")
	}
	if a := again.Chat(0, "kept", false); a.Status != 200 {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
	if a := again.Chat(0, "demo", false); a.Status != 200 {
		t.Errorf("demo: status %d: %s", a.Status, a.Body)
	}
}

// No secret that passes through the system is in its log.
func TestNoSecretInTheLog(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	first, second := pair(e, "secretive", "openai", nil)
	e.Live()
	e.Provider.Script(first, provider.Behavior{Status: 401})
	e.Provider.Script(second, provider.Behavior{Reset: true})
	e.Chat(0, "secretive", false)
	e.Call(0, "/v1/chat/completions", `{"model":"demo"}`, map[string]string{"Authorization": "Bearer sk-ant-oat-canary"})
	logs := e.Logs()
	for _, secret := range []string{e.APIKey, e.Info.ClientSecret, e.Token, "upstream-secret-of", "sk-ant-oat-canary"} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log holds a secret: %.12s...", secret)
		}
	}
	if !strings.Contains(logs, "target failed") {
		t.Error("the log does not tell of the failure at all")
	}
}
