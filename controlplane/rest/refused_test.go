package rest_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/test/provider"
)

// What the control plane takes, nodes can ask: every family with every way to send a
// credential that it allows. Bedrock's have a table of their own.
func TestWhatIsAcceptedIsServed(t *testing.T) {
	t.Parallel()
	key := tenant.NewSecret("k")
	account := tenant.NewSecret(string(provider.New(provider.Config{}).GoogleServiceAccount("a@p.iam.gserviceaccount.com")))
	target := tenant.NewSecret(`{"target_principal":"a@p.iam.gserviceaccount.com"}`)
	auths := map[string]tenant.ProviderPatch{
		"bearer_api_key": {APIKey: &key}, "x_api_key": {APIKey: &key}, "azure_api_key": {APIKey: &key}, "google_service_account": {Credentials: &account},
		"google_impersonation": {Credentials: &target}, "google_adc": {}, "claude_oauth": {}, "codex_oauth": {},
	}
	accepted := 0
	for _, f := range tenant.Catalog() {
		if f.Slug == "bedrock" {
			continue
		}
		for auth, patch := range auths {
			base := f.DefaultBaseURL
			if base == "" {
				base = "https://llm.example"
			}
			if home := homes[auth]; home != "" {
				base = home
			}
			patch.Name, patch.BaseURL, patch.AuthType, patch.Settings = &f.Slug, &base, &auth, json.RawMessage(`{"project":"p"}`)
			cfg, _, err := tenant.ProviderCreate{Family: f.Slug, ProviderPatch: patch}.New(nil)
			if err != nil {
				continue
			}
			accepted++
			for _, model := range []string{"m", "claude-opus-4-6", "a/b", "accounts/x/models/y"} {
				p := &node.Provider{Family: cfg.Family, BaseURL: cfg.BaseURL, AuthType: cfg.AuthType, Settings: cfg.Settings}
				if field := decide.Unserved(p, model); field != "" {
					t.Errorf("%s with %s: %s cannot be asked: %s", f.Slug, auth, model, field)
				}
			}
		}
	}
	if accepted < 40 {
		t.Errorf("only %d were accepted: the table is wrong", accepted)
	}
}

// What no node could ask is refused where it comes up, naming the field.
func TestUnservableIsRefused(t *testing.T) {
	t.Parallel()
	a := setupAlone(t) // with a judge of its own
	a.db.Store.JudgeWith(store.Judge{Serves: func(p *node.Provider, model string) error {
		if model == "dark" || p.BaseURL == "https://dark.example" {
			return tenant.Unservable("settings", p.Family, model)
		}
		return nil
	}})
	const why = "settings: no node could ask the model provider 'openai' for the model 'dark' with this"
	a.call(t, "POST", providersPath, with(openAI("Dark"), fields{"models": []string{"light", "dark"}})).wantError(t, 400, "invalid_request_error", why)
	id := a.provider(t, "P", "light")
	dark := fields{"provider_id": id, "model_alias": "dark", "upstream_model": "dark"}
	a.call(t, "POST", mappingsPath, dark).wantError(t, 400, "invalid_request_error", "provider_id: the provider's "+why)
	light := a.call(t, "POST", mappingsPath, fields{"provider_id": id, "model_alias": "r", "upstream_model": "light"}).want(t, http.StatusOK).id(t)
	a.call(t, "PUT", mappingsPath+"/"+light, fields{"upstream_model": "dark"}).wantError(t, 400, "invalid_request_error", "provider_id: the provider's "+why)
	a.call(t, "PUT", providersPath+"/"+id, fields{"base_url": "https://dark.example", "api_key": "k"}).
		wantError(t, 400, "invalid_request_error", "settings: no node could ask the model provider 'openai' for the model 'light' with this")
	a.call(t, "PUT", providersPath+"/"+id, fields{"name": "Q"}).want(t, http.StatusOK)
}

// Each family says which setting it misses, and how it is to be written.
func TestSettingsOfFamilies(t *testing.T) {
	t.Parallel()
	a := setup(t)
	vertex := fields{"name": "V", "model_provider": "vertex", "base_url": vertexHome, "auth_type": "google_adc", "settings": fields{"project": "p"}}
	azure := with(openAI("A"), fields{"model_provider": "azure_openai", "base_url": "https://r.openai.azure.com"})
	account := map[string]any{}
	if err := json.Unmarshal(provider.New(provider.Config{}).GoogleServiceAccount("a@p.iam.gserviceaccount.com"), &account); err != nil {
		t.Fatal(err)
	}
	key := func(change fields) fields {
		return with(vertex, fields{"auth_type": "google_service_account", "credentials": with(account, change)})
	}
	for _, c := range []struct {
		body    fields
		message string
	}{
		{with(vertex, fields{"settings": fields{}}), "settings.project is required, unless base_url names it: the id of the Google Cloud project"},
		{with(vertex, fields{"settings": fields{"project": 7}}), "settings.project must be a string"},
		{with(vertex, fields{"settings": fields{"project": "a/b"}}), "settings.project must be the id of a Google Cloud project"},
		{with(vertex, fields{"auth_type": "google_service_account", "credentials": account, "base_url": "https://psc.example"}),
			"settings.location is required, unless base_url names it: 'global', 'us', 'eu' or a region such as 'us-east5'"},
		{with(vertex, fields{"settings": fields{"project": "p", "location": "../x"}}), "settings.location must be 'global', 'us', 'eu' or a region such as 'us-east5'"},
		{with(vertex, fields{"settings": fields{"project": "p", "location": "us"}}), "base_url must be https://aiplatform.us.rep.googleapis.com for the location 'us'"},
		{with(vertex, fields{"base_url": "https://evil.example"}),
			"base_url must be https://{location}-aiplatform.googleapis.com with auth_type 'google_adc': what it sends goes to its vendor and to no other host"},
		{with(vertex, fields{"base_url": "http://us-east5-aiplatform.googleapis.com"}),
			"base_url must be https://{location}-aiplatform.googleapis.com with auth_type 'google_adc': what it sends goes to its vendor and to no other host"},
		{with(vertex, fields{"base_url": ""}), "base_url is required: https://{location}-aiplatform.googleapis.com"},
		{with(vertex, fields{"credentials": fields{"a": "b"}}), "credentials are not used with auth_type 'google_adc': the node's own identity is"},
		{with(vertex, fields{"auth_type": "google_impersonation"}), "credentials are required for auth_type 'google_impersonation'"},
		{with(vertex, fields{"auth_type": "google_impersonation", "credentials": fields{"target_principal": "a/b"}}),
			"credentials.target_principal must be the email address of the service account to act as"},
		{key(fields{"type": "external_account"}), "credentials.type must be 'service_account': a credential of another type names addresses of its own, which are not asked"},
		{key(fields{"token_uri": "https://evil.example/token"}), "credentials.token_uri must be Google's, 'https://oauth2.googleapis.com/token'"},
		{key(fields{"universe_domain": "evil.example"}), "credentials.universe_domain must be 'googleapis.com'"},
		{key(fields{"private_key": "canary"}), "credentials.private_key must be a private key in PEM, its line ends kept"},
		{key(fields{"client_email": "x"}), "credentials.client_email must be a service account's email address"},
		{with(vertex, fields{"auth_type": "google_service_account", "credentials": fields{"service_account_json": with(account, fields{"type": "x"})}}),
			"credentials.service_account_json.type must be 'service_account'"},
		{with(azure, fields{"settings": fields{"api_version": "latest-and-greatest"}}), "settings.api_version must be 'v1', 'preview', 'latest' or a date such as '2024-10-21'"},
		{with(azure, fields{"settings": fields{"api_version": 2024}}), "settings.api_version must be a string"},
	} {
		a.call(t, "POST", providersPath, c.body).wantError(t, 400, "invalid_request_error", c.message)
	}
	text, err := json.Marshal(account)
	if err != nil {
		t.Fatal(err)
	}
	for _, credentials := range []fields{account, {"service_account_json": account}, {"service_account_json": string(text)}} {
		a.call(t, "POST", providersPath, with(vertex, fields{"name": credentialName(credentials), "auth_type": "google_service_account", "credentials": credentials})).want(t, http.StatusOK)
	}
}

// credentialName is a name for a provider with the credentials.
func credentialName(c fields) string {
	switch c["service_account_json"].(type) {
	case nil:
		return "As it is"
	case string:
		return "As text"
	}
	return "As an object"
}
