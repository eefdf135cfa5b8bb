package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/test/provider"
)

func TestProviderDefaults(t *testing.T) {
	t.Parallel()
	a := setup(t)
	created := a.call(t, "POST", providersPath, openAI("OpenAI EU")).want(t, 200)
	got := created.object(t)
	for _, generated := range []string{"id", "created_at", "updated_at", "secret_path"} {
		if got[generated] == nil || got[generated] == "" {
			t.Errorf("%s is missing", generated)
		}
		delete(got, generated)
	}
	want := fields{
		"org_id": a.org.String(), "name": "OpenAI EU", "model_provider": "openai", "base_url": "https://api.openai.com/v1",
		"auth_type": "bearer_api_key", "settings": fields{}, "enabled": true, "enforce_health_check": true, "health_status": "unverified",
		"request_timeout_secs": nil, "stream_idle_timeout_secs": nil, "connection_id": nil, "catalog_id": nil, "change_note": nil,
		"model_sync_mode": "off", "billing_mode": "per_token", "billing_reason": nil, "billing_note": nil,
		"created_by_user_id": nil, "created_by_email": nil, "created_by_name": "Acme automation",
		"last_modified_by_user_id": nil, "last_modified_by_email": nil, "last_modified_by_name": nil, "last_modified_at": nil,
		"last_change_note": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	read := a.call(t, "GET", providersPath+"/"+created.id(t), nil).want(t, 200)
	if diff := cmp.Diff(string(created.body), string(read.body)); diff != "" {
		t.Errorf("read after create:\n%s", diff)
	}
	listed := a.call(t, "GET", providersPath, nil).want(t, 200).list(t)
	if diff := cmp.Diff([]map[string]any{created.object(t)}, listed); diff != "" {
		t.Errorf("listed:\n%s", diff)
	}
}

func TestProviderListEmpty(t *testing.T) {
	t.Parallel()
	a := setup(t)
	if got := strings.TrimSpace(string(a.call(t, "GET", providersPath, nil).want(t, 200).body)); got != "[]" {
		t.Errorf("got %s, want []", got)
	}
}

// homes are the addresses of those whose credential may go nowhere else.
var homes = map[string]string{
	"claude_oauth": "https://api.anthropic.com", "codex_oauth": "https://chatgpt.com/backend-api/codex", "google_adc": vertexHome,
	"google_impersonation": vertexHome, "google_service_account": vertexHome,
	"aws_role": bedrockHome, "aws_keys": bedrockHome,
}

const (
	vertexHome  = "https://us-east5-aiplatform.googleapis.com"
	bedrockHome = "https://bedrock-runtime.us-east-1.amazonaws.com"
)

func TestProviderAuthTypes(t *testing.T) {
	t.Parallel()
	a := setup(t)
	key, structured := fields{"api_key": "k"}, fields{"credentials": fields{"a": "b"}}
	awsKeys := fields{"credentials": fields{"access_key_id": "k", "secret_access_key": "s"}}
	target := fields{"credentials": fields{"target_principal": "a@p.iam.gserviceaccount.com"}}
	account := fields{"credentials": provider.New(provider.Config{}).GoogleServiceAccount("a@p.iam.gserviceaccount.com")}
	cases := []struct {
		family, input, want string
		secret              fields
		message             string
	}{
		{family: "openai", want: "bearer_api_key", secret: key},
		{family: "anthropic", want: "x_api_key", secret: key},
		{family: "azure_openai", want: "azure_api_key", secret: key},
		{family: "bedrock", want: "aws_role"},
		{family: "vertex", want: "google_adc"},
		{family: "custom", want: "bearer_api_key", secret: key},
		{family: "deepseek", input: "api_key", want: "bearer_api_key", secret: key},
		{family: "anthropic", input: "api_key", want: "x_api_key", secret: key},
		{family: "anthropic", input: "oauth_passthrough", want: "claude_oauth"},
		{family: "openai", input: "oauth_passthrough", want: "codex_oauth"},
		{family: "bedrock", input: "aws_keys", want: "aws_keys", secret: awsKeys},
		{family: "bedrock", input: "bedrock_api_key", want: "bedrock_api_key", secret: key},
		{family: "vertex", input: "google_service_account", want: "google_service_account", secret: account},
		{family: "vertex", input: "google_impersonation", want: "google_impersonation", secret: target},
		{family: "custom", input: "x_api_key", want: "x_api_key", secret: key},

		{family: "groq", input: "oauth_passthrough", message: "auth_type 'oauth_passthrough' is not supported for model provider 'groq'"},
		{family: "openai", input: "codex_oauth", want: "codex_oauth"},
		{family: "custom", input: "codex_oauth", message: "auth_type 'codex_oauth' is not supported for model provider 'custom'"},
		{family: "anthropic", input: "codex_oauth", message: "auth_type 'codex_oauth' is not supported for model provider 'anthropic'"},
		{family: "openai", input: "claude_oauth", message: "auth_type 'claude_oauth' is not supported for model provider 'openai'"},
		{family: "openai", input: "codex_oauth", secret: key, message: "api_key is not used with auth_type 'codex_oauth'"},
		{family: "openai", input: "codex_oauth", secret: structured, message: "credentials are not used with auth_type 'codex_oauth'"},
		{family: "openai", input: "aws_keys", secret: structured, message: "auth_type 'aws_keys' is not supported for model provider 'openai'"},
		{family: "openai", input: "telepathy", message: "unknown auth_type: telepathy"},
		{family: "nobody", message: "unknown model provider: nobody"},
		{family: "openai", message: "api_key is required for API-key auth providers"},
		{family: "bedrock", input: "aws_keys", message: "credentials are required for auth_type 'aws_keys'"},
		{family: "bedrock", input: "aws_keys", secret: structured, message: "credentials.access_key_id is required for auth_type 'aws_keys'"},
		{family: "anthropic", input: "claude_oauth", secret: key, message: "api_key is not used with auth_type 'claude_oauth'"},
		{family: "openai", secret: structured, message: "credentials are not used with auth_type 'bearer_api_key'"},
		{family: "openai", secret: fields{"api_key": "two words"}, message: "api_key must be printable ASCII without spaces"},
		{family: "openai", secret: fields{"api_key": ""}, message: "api_key must be printable ASCII without spaces"},
	}
	for i, c := range cases {
		body := with(fields{"name": uuid.NewString(), "model_provider": c.family, "base_url": "https://llm.example"}, c.secret)
		if c.input != "" {
			body["auth_type"] = c.input
		}
		for _, auth := range []string{c.want, c.input} {
			if homes[auth] != "" {
				body["base_url"] = homes[auth]
			}
		}
		if c.family == "vertex" {
			body["settings"] = fields{"project": "p"}
		}
		r := a.call(t, "POST", providersPath, body)
		if c.message != "" {
			r.wantError(t, 400, "invalid_request_error", c.message)
			continue
		}
		if got := r.want(t, 200).field(t, "auth_type"); got != c.want {
			t.Errorf("case %d: got %v, want %s", i, got, c.want)
		}
		if got := r.field(t, "secret_path"); (got != "") != (c.secret != nil) {
			t.Errorf("case %d: secret_path is %v", i, got)
		}
	}
}

func TestProviderRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	valid := openAI("P")
	cases := []struct {
		change  fields
		status  int
		message string
	}{
		{fields{"name": ""}, 400, "name must not be blank"},
		{fields{"name": " P"}, 400, "name must not start or end with a space"},
		{fields{"name": "a/b"}, 400, "name must not contain '/'"},
		{fields{"name": "a\tb"}, 400, "name must not contain control characters"},
		{fields{"name": strings.Repeat("é", 256)}, 400, "name must be at most 255 characters"},
		{fields{"base_url": "api.openai.com/v1"}, 400, "base_url must be an absolute http or https URL"},
		{fields{"base_url": "ftp://api.openai.com"}, 400, "base_url must be an absolute http or https URL"},
		{fields{"base_url": "https:///v1"}, 400, "base_url must be an absolute http or https URL"},
		{fields{"base_url": "https://:443/v1"}, 400, "base_url must be an absolute http or https URL"},
		{fields{"base_url": "https://u:p@api.openai.com"}, 400, "base_url must not contain a user name or password"},
		{fields{"base_url": "https://api.openai.com/#x"}, 400, "base_url must not contain a fragment"},
		{fields{"base_url": "https://api.openai.com/#"}, 400, "base_url must not contain a fragment"},
		{fields{"base_url": "https://api.openai.com/?x=1"}, 400, "base_url must not contain a query"},
		{fields{"settings": []string{}}, 400, "settings must be a JSON object"},
		{fields{"settings": "x"}, 400, "settings must be a JSON object"},
		{fields{"model_provider": "custom", "settings": fields{"model_api_family": "antropic"}}, 400, "settings.model_api_family must be 'openai', 'openai_responses' or 'anthropic'"},
		{fields{"model_provider": "custom", "settings": fields{"model_api_family": 7}}, 400, "settings.model_api_family must be a string"},
		{fields{"request_timeout_secs": 0}, 400, "request_timeout_secs must be between 1 and 600"},
		{fields{"request_timeout_secs": 601}, 400, "request_timeout_secs must be between 1 and 600"},
		{fields{"stream_idle_timeout_secs": 301}, 400, "stream_idle_timeout_secs must be between 1 and 300"},
		{fields{"models": []string{"gpt-5", ""}}, 400, "models: model_alias must not be blank"},
		{fields{"change_note": strings.Repeat("x", 1001)}, 400, "change_note must be at most 1000 characters"},
		{fields{"catalog_id": uuid.NewString()}, 400, "unknown field `catalog_id`"},
		{fields{"connection_id": "x"}, 422, "connection_id: UUID parsing failed"},
		{fields{"model_sync_mode": 1}, 422, "model_sync_mode: invalid type: number, expected a string"},
		{fields{"billing_note": 1}, 422, "billing_note: invalid type: number, expected a string"},
		{fields{"credentials": "x"}, 422, "credentials: invalid type: string, expected an object"},
		{fields{"name": nil}, 422, "missing field `name`"},
		{fields{"base_url": nil}, 422, "missing field `base_url`"},
		{fields{"model_provider": nil}, 422, "missing field `model_provider`"},
	}
	for _, c := range cases {
		a.call(t, "POST", providersPath, with(valid, c.change)).wantError(t, c.status, "invalid_request_error", c.message)
	}
	if got := a.call(t, "GET", providersPath, nil).want(t, 200).list(t); len(got) != 0 {
		t.Errorf("a refused provider was stored: %v", got)
	}
	if got := a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t); len(got) != 0 {
		t.Errorf("a refused provider's model was stored: %v", got)
	}
}

func TestProviderNameTaken(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.call(t, "POST", providersPath, openAI("Open AI")).want(t, 200)
	const message = "A provider with this name already exists."
	for _, name := range []string{"Open AI", "OPEN ai", "open-ai"} {
		a.call(t, "POST", providersPath, openAI(name)).wantError(t, 409, "conflict_error", message)
	}
	second := a.call(t, "POST", providersPath, openAI("Second")).want(t, 200).id(t)
	a.call(t, "PUT", providersPath+"/"+second, fields{"name": "open ai"}).wantError(t, 409, "conflict_error", message)
	a.call(t, "PUT", providersPath+"/"+second, fields{"name": "SECOND"}).want(t, 200) // its own name
	a.as(t, "Other", tenant.RoleAdmin).call(t, "POST", providersPath, openAI("Open AI")).want(t, 200)
}

func TestProviderModels(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := a.provider(t, "OpenAI", "gpt-5", "gpt-5-mini", "gpt-5")
	listed := a.call(t, "GET", providersPath+"/"+id+"/model-mappings", nil).want(t, 200).list(t)
	var got []string
	for _, m := range listed {
		got = append(got, m["upstream_model"].(string))
		if m["model_alias"] != m["upstream_model"] || m["bare_alias"] != false || m["source"] != "catalog" || m["serving_status"] != nil {
			t.Errorf("not a plain enablement: %v", m)
		}
	}
	if diff := cmp.Diff([]string{"gpt-5", "gpt-5-mini"}, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

func TestProviderUpdate(t *testing.T) {
	t.Parallel()
	a := setup(t)
	created := a.call(t, "POST", providersPath, with(openAI("P"), fields{"request_timeout_secs": 30, "stream_idle_timeout_secs": 40,
		"settings": fields{"organization": "o"}, "change_note": "first"})).want(t, 200)
	path := providersPath + "/" + created.id(t)
	for _, name := range []string{"last_change_note", "change_note"} {
		if got := created.field(t, name); got != "first" {
			t.Errorf("got %s %v, want first", name, got)
		}
	}

	unchanged := []string{"name", "base_url", "auth_type", "settings", "enabled", "enforce_health_check", "request_timeout_secs",
		"stream_idle_timeout_secs", "secret_path", "model_sync_mode", "billing_mode", "billing_reason", "billing_note", "created_at"}
	r := a.call(t, "PUT", path, fields{}).want(t, 200)
	for _, name := range unchanged {
		if diff := cmp.Diff(created.field(t, name), r.field(t, name)); diff != "" {
			t.Errorf("an empty update changed %s:\n%s", name, diff)
		}
	}
	if r.field(t, "last_change_note") != nil || r.field(t, "last_modified_at") == nil || r.field(t, "last_modified_by_name") != "Acme automation" {
		t.Errorf("attribution of an update: %s", r.body)
	}

	r = a.call(t, "PUT", path, `{"request_timeout_secs":null,"enabled":null,"name":null,"settings":null,"change_note":"why"}`).want(t, 200)
	if r.field(t, "request_timeout_secs") != nil || r.field(t, "stream_idle_timeout_secs") != 40.0 {
		t.Errorf("null clears the one timeout: %s", r.body)
	}
	if r.field(t, "enabled") != true || r.field(t, "name") != "P" || r.field(t, "last_change_note") != "why" {
		t.Errorf("null in a field that cannot be cleared is no change: %s", r.body)
	}

	r = a.call(t, "PUT", path, fields{"enabled": false, "enforce_health_check": false, "settings": fields{}, "name": "Q"}).want(t, 200)
	if r.field(t, "enabled") != false || r.field(t, "enforce_health_check") != false || r.field(t, "name") != "Q" {
		t.Errorf("update: %s", r.body)
	}
	read := a.call(t, "GET", path, nil).want(t, 200)
	if diff := cmp.Diff(string(r.body), string(read.body)); diff != "" {
		t.Errorf("read after update:\n%s", diff)
	}
	a.call(t, "PUT", path, fields{"model_provider": "groq"}).wantError(t, 400, "invalid_request_error", "unknown field `model_provider`")
	a.call(t, "PUT", path, fields{"request_timeout_secs": 601}).wantError(t, 400, "invalid_request_error", "request_timeout_secs must be between 1 and 600")
}

func TestProviderCredentialStaysWithItsHost(t *testing.T) {
	t.Parallel()
	a := setup(t)
	path := providersPath + "/" + a.provider(t, "P")
	moved := func(base string) fields { return fields{"base_url": base} }
	const refusal = "base_url leads to another host or drops https: the stored credential is bound to api.openai.com, send the credential again in the same request"

	a.call(t, "PUT", path, moved("https://api.openai.com/v2/")).want(t, 200)
	a.call(t, "PUT", path, moved("https://API.openai.com/v1")).want(t, 200)
	for _, base := range []string{"https://evil.example/v1", "https://api.openai.com:8443/v1", "http://api.openai.com/v1", "https://api.openai.com.evil.example"} {
		a.call(t, "PUT", path, moved(base)).wantError(t, 400, "invalid_request_error", refusal)
	}
	a.call(t, "PUT", path, with(moved("https://evil.example"), fields{"auth_type": "x_api_key"})).wantError(t, 400, "invalid_request_error", refusal)
	a.call(t, "PUT", path, with(moved("https://llm.example"), fields{"api_key": "new"})).want(t, 200)

	s, err := a.db.Store.Snapshot(t.Context(), a.org)
	if err != nil {
		t.Fatal(err)
	}
	if seal := s.Providers[0].Credential; seal.Host != "llm.example" || seal.Version != 2 {
		t.Errorf("got seal for %s version %d, want llm.example version 2", seal.Host, seal.Version)
	}
}

func TestProviderAuthTypeChange(t *testing.T) {
	t.Parallel()
	a := setup(t)
	created := a.call(t, "POST", providersPath, openAI("P")).want(t, 200)
	path := providersPath + "/" + created.id(t)

	kept := a.call(t, "PUT", path, fields{"auth_type": "x_api_key"}).want(t, 200)
	if kept.field(t, "secret_path") != created.field(t, "secret_path") {
		t.Error("another header for the same key must keep it")
	}
	a.call(t, "PUT", path, fields{"auth_type": "oauth_passthrough"}).wantError(t, 400, "invalid_request_error",
		"base_url must be https://chatgpt.com/backend-api/codex with auth_type 'codex_oauth': what it sends goes to its vendor and to no other host")
	gone := a.call(t, "PUT", path, fields{"auth_type": "oauth_passthrough", "base_url": homes["codex_oauth"]}).want(t, 200)
	if gone.field(t, "auth_type") != "codex_oauth" || gone.field(t, "secret_path") != "" {
		t.Errorf("passthrough stores nothing: %s", gone.body)
	}
	a.call(t, "PUT", path, fields{"base_url": "https://chatgpt.com"}).want(t, 200)
	a.call(t, "PUT", path, fields{"auth_type": "api_key"}).wantError(t, 400, "invalid_request_error", "api_key is required for API-key auth providers")
	a.call(t, "PUT", path, fields{"auth_type": "api_key", "api_key": "k"}).want(t, 200)
}

// TestProviderHealth: the two details are there once there is something to tell, and
// gone when a change makes it untrue.
func TestProviderHealth(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := a.provider(t, "P")
	path := providersPath + "/" + id
	tag, err := storetest.Connect(t, a.db.SuperuserURL).Exec(t.Context(), `UPDATE providers
		SET health_status = 'unhealthy', health_detail = '401 from the model list', health_checked_at = '2027-01-31T12:00:00Z' WHERE id = $1`, id)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%d rows, %v", tag.RowsAffected(), err)
	}
	found := fields{"health_status": "unhealthy", "health_detail": "401 from the model list", "health_checked_at": "2027-01-31T12:00:00Z"}
	health := func(r answer) fields {
		got := fields{}
		for name, value := range r.want(t, 200).object(t) {
			if strings.HasPrefix(name, "health_") {
				got[name] = value
			}
		}
		return got
	}
	if diff := cmp.Diff(found, health(a.call(t, "GET", path, nil))); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	kept := fields{"enforce_health_check": false, "billing_mode": "not_metered", "billing_reason": "local", "model_sync_mode": "full"}
	if diff := cmp.Diff(found, health(a.call(t, "PUT", path, kept))); diff != "" {
		t.Errorf("after a change that is not of the connection (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(fields{"health_status": "unverified"}, health(a.call(t, "PUT", path, fields{"api_key": "new"}))); diff != "" {
		t.Errorf("after a new key (-want +got):\n%s", diff)
	}
}

func TestProviderDelete(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := a.provider(t, "P", "gpt-5")
	r := a.call(t, "DELETE", providersPath+"/"+id, nil).want(t, 200)
	if diff := cmp.Diff(fields{"deleted": true}, r.object(t)); diff != "" {
		t.Error(diff)
	}
	if got := a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t); len(got) != 0 {
		t.Errorf("mappings are left: %v", got)
	}
	s, err := a.db.Store.Snapshot(t.Context(), a.org)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Providers)+len(s.Mappings) != 0 {
		t.Errorf("the snapshot still has them: %+v", s)
	}
	for _, method := range []string{"GET", "DELETE"} {
		a.call(t, method, providersPath+"/"+id, nil).wantError(t, 404, "not_found_error", "provider {id: "+id+"} not found")
	}
	a.call(t, "PUT", providersPath+"/"+id, fields{}).wantError(t, 404, "not_found_error", "provider {id: "+id+"} not found")
	a.call(t, "GET", providersPath+"/"+id+"/model-mappings", nil).wantError(t, 404, "not_found_error", "provider {id: "+id+"} not found")
}

func TestProviderCatalog(t *testing.T) {
	t.Parallel()
	a := setup(t)
	entries := a.call(t, "GET", adminPath+"provider-catalog", nil).want(t, http.StatusOK).list(t)
	if len(entries) != 16 {
		t.Errorf("got %d entries, want one for each of 16 vendors", len(entries))
	}
	for _, e := range entries {
		body := fields{"name": e["slug"], "model_provider": e["slug"], "base_url": "https://llm.example", "auth_type": e["auth_type"], "models": e["default_models"]}
		if strings.HasSuffix(e["auth_type"].(string), "api_key") {
			body["api_key"] = "k"
		}
		if e["default_base_url"] != nil {
			body["base_url"] = e["default_base_url"]
		}
		switch e["slug"] {
		case "bedrock":
			body["base_url"] = bedrockHome
		case "vertex":
			body["base_url"], body["settings"] = vertexHome, fields{"project": "p"}
		}
		a.call(t, "POST", providersPath, body).want(t, 200)
	}
}
