package rest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

const connectionsPath = adminPath + "connections"

func connection(name string) fields {
	return fields{"name": name, "model_provider": "openai", "base_url": "https://api.openai.com/v1", "api_key": "sk-canary-shared-3f9a"}
}

// sharing makes a connection and a provider that uses it.
func (a *api) sharing(t *testing.T) (connectionPath, providerPath string) {
	t.Helper()
	c := a.call(t, "POST", connectionsPath, connection("C")).want(t, 200).id(t)
	p := a.call(t, "POST", providersPath, with(openAI("P"), fields{"api_key": nil, "connection_id": c})).want(t, 200)
	if p.field(t, "connection_id") != c || p.field(t, "secret_path") != "connections/"+c {
		t.Errorf("the provider: %s", p.body)
	}
	return connectionsPath + "/" + c, providersPath + "/" + p.id(t)
}

// sealed is the secret that a node opens for the only provider, and its seal.
func (a *api) sealed(t *testing.T) (string, *node.Sealed) {
	t.Helper()
	s, err := a.db.Store.Snapshot(t.Context(), a.org)
	if err != nil {
		t.Fatal(err)
	}
	seal := s.Providers[0].Credential
	if seal == nil {
		return "", nil
	}
	plain, err := openSeal(a, seal)
	if err != nil {
		t.Fatal(err)
	}
	var c node.Credential
	if err := json.Unmarshal(plain, &c); err != nil {
		t.Fatal(err)
	}
	return c.APIKey, seal
}

func TestConnectionSequence(t *testing.T) {
	t.Parallel()
	a := setup(t)
	created := a.call(t, "POST", connectionsPath, connection("C")).want(t, 200)
	want := fields{"id": created.id(t), "org_id": a.org.String(), "name": "C", "model_provider": "openai", "base_url": "https://api.openai.com/v1",
		"auth_type": "bearer_api_key", "settings": map[string]any{}, "key_last4": "3f9a", "stores_key_material": true}
	a.sequence(t, connectionsPath, created, want, []fields{
		{"name": "D"}, {"base_url": "https://api.openai.com/v2"}, {"settings": map[string]any{"region": "eu"}}, {"auth_type": "x_api_key"},
		{"change_note": "why"}, {},
	})
	rotated := a.call(t, "POST", connectionsPath, with(connection("E"), fields{"api_key": "short"})).want(t, 200)
	if rotated.field(t, "key_last4") != nil || rotated.field(t, "stores_key_material") != true {
		t.Errorf("of a short key: %s", rotated.body)
	}
	role := a.call(t, "POST", connectionsPath, fields{"name": "AWS", "model_provider": "bedrock", "base_url": "https://bedrock-runtime.us-east-1.amazonaws.com",
		"settings": nil, "change_note": "n", "auth_type": nil}).want(t, 200)
	for name, value := range (fields{"auth_type": "aws_role", "key_last4": nil, "stores_key_material": false, "last_change_note": "n", "change_note": "n"}) {
		if role.field(t, name) != value {
			t.Errorf("%s is %v, want %v", name, role.field(t, name), value)
		}
	}
	path := connectionsPath + "/" + role.id(t)
	keys := a.call(t, "PUT", path, fields{"auth_type": "aws_keys", "credentials": fields{"access_key_id": "AKIAEXAMPLE", "secret_access_key": "canary"}}).want(t, 200)
	if keys.field(t, "stores_key_material") != true || keys.field(t, "key_last4") != nil {
		t.Errorf("with keys: %s", keys.body)
	}
	if back := a.call(t, "PUT", path, fields{"auth_type": "aws_role"}).want(t, 200); back.field(t, "stores_key_material") != false {
		t.Errorf("the keys stay: %s", back.body)
	}
	if kept := a.answers.String() + a.log.String() + dump(t, a.db.SuperuserURL); strings.Contains(kept, "canary-shared") {
		t.Error("the secret is kept or answered")
	}
}

func TestConnectionRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	existing := a.call(t, "POST", connectionsPath, connection("Taken")).want(t, 200)
	for _, c := range []struct {
		change  fields
		status  int
		message string
	}{
		{fields{"name": ""}, 400, "name must not be blank"},
		{fields{"model_provider": "acme"}, 400, "unknown model provider: acme"},
		{fields{"base_url": "ftp://x"}, 400, "base_url must be an absolute http or https URL"},
		{fields{"auth_type": "aws_role"}, 400, "auth_type 'aws_role' is not supported for model provider 'openai'"},
		{fields{"auth_type": "codex_oauth", "api_key": nil}, 400, "auth_type 'codex_oauth' has no credential to share"},
		{fields{"api_key": nil}, 400, "api_key is required for API-key auth providers"},
		{fields{"api_key": "a b"}, 400, "api_key must be printable ASCII without spaces"},
		{fields{"settings": []int{1}}, 400, "settings must be a JSON object"},
		{fields{"enabled": true}, 400, "unknown field `enabled`"},
		{fields{"name": 1}, 422, "name: invalid type: number, expected a string"},
		{fields{"base_url": nil}, 422, "missing field `base_url`"},
	} {
		a.call(t, "POST", connectionsPath, with(connection("C"), c.change)).wantError(t, c.status, "invalid_request_error", c.message)
	}
	a.call(t, "POST", connectionsPath, connection("tAKEN")).wantError(t, 409, "conflict_error", "A connection with this name already exists.")
	path := connectionsPath + "/" + existing.id(t)
	a.call(t, "PUT", path, fields{"model_provider": "openai"}).wantError(t, 400, "invalid_request_error", "unknown field `model_provider`")
	a.call(t, "PUT", path, fields{"base_url": "https://evil.example/v1"}).wantError(t, 400, "invalid_request_error",
		"base_url leads to another host or drops https: the stored credential is bound to api.openai.com, send the credential again in the same request")
	a.call(t, "PUT", path, fields{"base_url": "https://proxy.example/v1", "api_key": "sk-for-the-proxy"}).want(t, 200)
	stranger := uuid.NewString()
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		a.call(t, method, connectionsPath+"/"+stranger, map[string]any{"GET": nil, "DELETE": nil, "PUT": "{}"}[method]).
			wantError(t, 404, "not_found_error", "connection {id: "+stranger+"} not found")
	}
	seen := a.call(t, "GET", path, nil).header.Get("ETag")
	changed := a.with(t, "If-Match", seen, "PUT", path, `{"name":"New"}`).want(t, 200).header.Get("ETag")
	a.with(t, "If-Match", seen, "PUT", path, `{"name":"Newer"}`).want(t, 412)
	a.with(t, "If-Match", seen, "DELETE", path, "").want(t, 412)
	a.with(t, "If-Match", changed, "DELETE", path, "").want(t, 200)
}

// One secret serves every provider that names it, and its rotation reaches all of them.
func TestConnectionReachesItsProviders(t *testing.T) {
	t.Parallel()
	a := setup(t)
	c, p := a.sharing(t)
	secret, seal := a.sealed(t)
	if secret != "sk-canary-shared-3f9a" || seal.Host != "api.openai.com" || seal.Version != 1 {
		t.Errorf("got %q, %+v", secret, seal)
	}
	rotated := a.call(t, "PUT", c, fields{"api_key": "sk-canary-rotated-77aa"}).want(t, 200)
	if secret, seal = a.sealed(t); secret != "sk-canary-rotated-77aa" || seal.Version != 2 || rotated.field(t, "key_last4") != "77aa" {
		t.Errorf("after the rotation: %q, version %d, %s", secret, seal.Version, rotated.body)
	}
	const inUse = "the connection is used by 1 provider(s): "
	a.call(t, "DELETE", c, nil).wantError(t, 409, "conflict_error", inUse+"detach them first")
	a.call(t, "PUT", c, fields{"base_url": "https://proxy.example/v1", "api_key": "sk-x"}).wantError(t, 409, "conflict_error", inUse+"its host and auth_type cannot change")
	a.call(t, "PUT", c, fields{"auth_type": "x_api_key"}).wantError(t, 409, "conflict_error", inUse+"its host and auth_type cannot change")
	a.call(t, "PUT", c, fields{"name": "Renamed", "base_url": "https://api.openai.com/v9"}).want(t, 200)

	// The provider stays where the secret may go, and sends it as it was meant.
	for _, refused := range []struct {
		change  fields
		message string
	}{
		{fields{"base_url": "https://evil.example/v1"}, "base_url must be on the connection's host, api.openai.com, and use https where it does"},
		{fields{"base_url": "http://api.openai.com/v1"}, "base_url must be on the connection's host, api.openai.com, and use https where it does"},
		{fields{"auth_type": "x_api_key"}, "auth_type must be 'bearer_api_key', as the connection has it"},
		{fields{"api_key": "sk-own"}, "api_key and connection_id are mutually exclusive: detach the connection first"},
		{fields{"connection_id": strings.TrimPrefix(c, connectionsPath+"/"), "credentials": fields{}}, "credentials and connection_id are mutually exclusive: detach the connection first"},
	} {
		a.call(t, "PUT", p, refused.change).wantError(t, 400, "invalid_request_error", refused.message)
	}
	a.call(t, "PUT", p, fields{"name": "Q", "base_url": "https://api.openai.com/v2"}).want(t, 200)
	a.call(t, "PUT", p, `{"connection_id":null}`).wantError(t, 400, "invalid_request_error", "api_key is required for API-key auth providers")
	detached := a.call(t, "PUT", p, `{"connection_id":null,"api_key":"sk-own"}`).want(t, 200)
	if secret, _ = a.sealed(t); secret != "sk-own" || detached.field(t, "connection_id") != nil {
		t.Errorf("detached: %q, %s", secret, detached.body)
	}
	attached := a.call(t, "PUT", p, fields{"connection_id": strings.TrimPrefix(c, connectionsPath+"/")}).want(t, 200)
	if secret, _ = a.sealed(t); secret != "sk-canary-rotated-77aa" || attached.field(t, "connection_id") == nil {
		t.Errorf("attached: %q, %s", secret, attached.body)
	}
	if strings.Contains(dump(t, a.db.SuperuserURL), "provider_credentials/"+strings.TrimPrefix(p, providersPath+"/")) {
		t.Error("the provider's own credential stays")
	}
	read := a.call(t, "GET", p, nil).want(t, 200)
	if diff := cmp.Diff(string(attached.body), string(read.body)); diff != "" {
		t.Errorf("read after it:\n%s", diff)
	}
	a.call(t, "DELETE", p, nil).want(t, 200)
	a.call(t, "DELETE", c, nil).want(t, 200)
	a.call(t, "DELETE", c, nil).want(t, 404)
}

// A provider takes how it authenticates from the connection, and must otherwise match it.
func TestConnectionMustFit(t *testing.T) {
	t.Parallel()
	a := setup(t)
	c := a.call(t, "POST", connectionsPath, with(connection("C"), fields{"auth_type": "x_api_key"})).want(t, 200).id(t)
	shared := with(openAI("P"), fields{"api_key": nil, "connection_id": c})
	p := a.call(t, "POST", providersPath, shared).want(t, 200)
	if got := p.field(t, "auth_type"); got != "x_api_key" {
		t.Errorf("auth_type %v", got)
	}
	for _, refused := range []struct {
		change  fields
		message string
	}{
		{fields{"api_key": "sk-own"}, "api_key and connection_id are mutually exclusive: detach the connection first"},
		{fields{"model_provider": "groq"}, "the connection is for model provider 'openai'"},
		{fields{"auth_type": "bearer_api_key"}, "auth_type must be 'x_api_key', as the connection has it"},
		{fields{"base_url": "https://api.openai.com.evil.example"}, "base_url must be on the connection's host, api.openai.com, and use https where it does"},
	} {
		a.call(t, "POST", providersPath, with(shared, with(fields{"name": "Q"}, refused.change))).wantError(t, 400, "invalid_request_error", refused.message)
	}
}

// A rotated connection makes what was found about its providers untrue.
func TestConnectionRotationForgetsHealth(t *testing.T) {
	t.Parallel()
	nodes := new(fleet)
	a := setupFleet(t, setup(t).db, nodes)
	c, p := a.sharing(t)
	nodes.finds(node.ProbeRejected, "refused")
	a.call(t, "POST", p+"/probe", nil).want(t, 200)
	a.call(t, "PUT", c, fields{"name": "Renamed"}).want(t, 200)
	if got := a.call(t, "GET", p, nil).field(t, "health_status"); got != "unhealthy" {
		t.Errorf("after a new name: %v", got)
	}
	before := a.call(t, "GET", p, nil).header.Get("ETag")
	a.call(t, "PUT", c, fields{"api_key": "sk-canary-rotated-77aa"}).want(t, 200)
	if got := a.call(t, "GET", p, nil); got.field(t, "health_status") != "unverified" || got.header.Get("ETag") != before {
		t.Errorf("after the rotation: %s, ETag %s, before %s", got.body, got.header.Get("ETag"), before)
	}
}
