package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// A credential that the vendor revoked takes its provider out of service on every node,
// and a new one brings it back without anybody asking for a check.
func TestRevokedCredential(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	id := e.AddProvider("p", "openai", "m")
	var health struct {
		Status string `json:"health_status"`
		Detail string `json:"health_detail"`
	}
	becomes := func(status string) {
		t.Helper()
		within(t, 30*time.Second, "the provider "+status, func() bool {
			health.Status, health.Detail = "", ""
			e.Must(e.Admin(http.MethodGet, "/providers/"+id, nil), &health)
			return health.Status == status
		})
		e.Live()
	}
	everywhere := func(status int) {
		t.Helper()
		for node := range 2 {
			if a := e.Chat(node, "p/m", false); a.Status != status {
				t.Errorf("node %d: status %d, want %d: %s", node, a.Status, status, a.Body)
			}
		}
	}
	becomes("healthy") // by the check after creation
	everywhere(200)

	revoked := provider.Behavior{Status: 401}
	e.Provider.ScriptKey("/v1/models", "upstream-secret-of-p", revoked)
	e.Provider.ScriptKey("m", "upstream-secret-of-p", revoked)
	var found struct {
		Outcome string `json:"outcome"`
		Detail  string `json:"detail"`
	}
	e.Must(e.Admin(http.MethodPost, "/providers/"+id+"/probe", nil), &found)
	if found.Outcome != "rejected" || found.Detail != "the provider refused the credential (401)" {
		t.Errorf("the check found %+v", found)
	}
	becomes("unhealthy")
	e.Provider.Reset()
	e.Provider.ScriptKey("/v1/models", "upstream-secret-of-p", revoked)
	everywhere(502)
	if asked := e.Provider.Calls(); len(asked) != 0 {
		t.Errorf("a provider that does not serve was asked: %v", asked[0].Path)
	}
	e.Must(e.Admin(http.MethodPut, "/providers/"+id, map[string]any{"enforce_health_check": false}), nil)
	e.Live()
	everywhere(200)
	e.Must(e.Admin(http.MethodPut, "/providers/"+id, map[string]any{"enforce_health_check": true}), nil)
	e.Live()
	everywhere(502)

	e.Must(e.Admin(http.MethodPut, "/providers/"+id, map[string]any{"api_key": "rotated"}), nil)
	e.Live()
	everywhere(200) // nobody has found anything wrong with this one
	becomes("healthy")
	everywhere(200)
}

// A connection is checked by a node before it is stored, and nothing of it stays.
func TestConnectionBeforeItIsStored(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	body := map[string]any{"name": "q", "model_provider": "openai", "base_url": e.ProviderURL + "/v1", "api_key": "not-yet"}
	e.Provider.ScriptKey("/v1/models", "not-yet", provider.Behavior{Status: 401}, provider.Behavior{})
	for _, want := range []bool{false, true} {
		var found struct {
			Valid  bool
			Detail string
		}
		e.Must(e.Admin(http.MethodPost, "/providers/validate", body), &found)
		if found.Valid != want || (found.Detail == "") != want {
			t.Errorf("got %+v, want %t", found, want)
		}
	}
	if list := e.Admin(http.MethodGet, "/providers", nil); strings.Contains(string(list.Body), `"q"`) {
		t.Errorf("it is stored: %s", list.Body)
	}
}

// Whoever leaves loses their keys on every node at once, and gets them back with the
// account alone if it was only disabled.
func TestPeopleAndTheirKeys(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	e.AddProvider("p", "openai", "m")
	var user struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/users", map[string]any{"email": "dana@acme.example", "name": "Dana"}), &user)
	var key struct{ Key string }
	e.Must(e.Admin(http.MethodPost, "/api-keys", map[string]any{"name": "laptop", "user_id": user.ID}), &key)
	everywhere := func(what string, status int) {
		t.Helper()
		for node := range 2 {
			within(t, live, fmt.Sprintf("%s on node %d", what, node), func() bool {
				return e.Call(node, "/v1/chat/completions", `{"model":"p/m","messages":[{"role":"user","content":"Hello"}]}`, map[string]string{"X-Bd-Api-Key": key.Key}).Status == status
			})
		}
	}
	everywhere("the key works", 200)
	e.Must(e.Admin(http.MethodPut, "/users/"+user.ID, map[string]any{"enabled": false}), nil)
	everywhere("the disabled user's key refused", 401)
	e.Must(e.Admin(http.MethodPut, "/users/"+user.ID, map[string]any{"enabled": true}), nil)
	everywhere("the enabled user's key", 200)
	e.Must(e.Admin(http.MethodDelete, "/users/"+user.ID, nil), nil)
	everywhere("the deleted user's key refused", 401)
}

// The administrator of `spillway dev` can sign in to what it runs.
func TestDevAdministratorSignsIn(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	if ask := asAdministrator(t, e); ask("/admin/users", nil) != 200 {
		t.Error("the session of who signed in is not taken")
	}
}

// asAdministrator signs in with the account of `spillway dev`, and returns how to read with its
// session: what is below /api/llm-gateway, into out where that is not nil.
func asAdministrator(t *testing.T, e *env.Env) (ask func(path string, out any) (status int)) {
	t.Helper()
	resp, err := http.Post(e.Info.BaseURL+"/auth/login", "application/json",
		strings.NewReader(fmt.Sprintf(`{"email":%q,"password":%q}`, e.Info.AdminEmail, e.Info.AdminPassword)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || len(resp.Cookies()) != 1 {
		t.Fatalf("status %d, cookies %v", resp.StatusCode, resp.Cookies())
	}
	return func(path string, out any) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.Info.BaseURL+"/api/llm-gateway"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.AddCookie(resp.Cookies()[0])
		got, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		if out != nil {
			if err := json.NewDecoder(got.Body).Decode(out); err != nil {
				t.Fatal(err)
			}
		}
		return got.StatusCode
	}
}
