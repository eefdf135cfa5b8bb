package tenant_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

const runtime = "https://bedrock-runtime.us-east-1.amazonaws.com"

// awsProvider is a provider of AWS's. Empty: the default, or none.
func awsProvider(auth, base, settings, credentials string) tenant.ProviderCreate {
	in := tenant.ProviderCreate{Family: "bedrock", ProviderPatch: tenant.ProviderPatch{Name: ptr("aws"), BaseURL: &base}}
	if auth != "" {
		in.AuthType = &auth
	}
	if settings != "" {
		in.Settings = json.RawMessage(settings)
	}
	switch {
	case auth == tenant.AuthBedrockAPIKey:
		in.APIKey = ptr(tenant.NewSecret("k"))
	case credentials != "":
		in.Credentials = ptr(tenant.NewSecret(credentials))
	}
	return in
}

const (
	goodKeys = `{"access_key_id":"AKIDEXAMPLE","secret_access_key":"secret/with+signs="}`
	goodRole = `{"role_arn":"arn:aws:iam::123456789012:role/team/spillway"}`
)

// What is accepted a node can serve: it compiles to a target that is asked somewhere.
func TestBedrockAccepted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ auth, base, settings, credentials, host string }{
		"Role":          {"", runtime, "", goodRole, ""},
		"RoleExternal":  {"", runtime, "", `{"role_arn":"arn:aws-us-gov:iam::123456789012:role/r","external_id":"a:b"}`, ""},
		"Ambient":       {"", runtime, "", "", ""},
		"Keys":          {"aws_keys", runtime, "", goodKeys, ""},
		"KeysSession":   {"aws_keys", runtime, "", `{"access_key_id":"A","secret_access_key":"s","session_token":"t//=="}`, ""},
		"Bearer":        {"bedrock_api_key", runtime, "", "", ""},
		"Slash":         {"aws_keys", runtime + "/", "", goodKeys, ""},
		"AsCopied":      {"aws_keys", runtime + "/model/anthropic.claude-3-haiku-20240307-v1:0/invoke", "", goodKeys, ""},
		"RegionAgreed":  {"aws_keys", runtime, `{"region":"us-east-1"}`, goodKeys, ""},
		"Confused":      {"aws_keys", "https://bedrock.us-east-1.amazonaws.com", "", goodKeys, "bedrock-runtime.us-east-1.amazonaws.com"},
		"FIPS":          {"aws_keys", "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "", goodKeys, ""},
		"China":         {"aws_keys", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "", goodKeys, ""},
		"VPC":           {"aws_keys", "https://vpce-1-a.bedrock-runtime.eu-west-1.vpce.amazonaws.com", "", goodKeys, ""},
		"Proxy":         {"aws_keys", "https://llm.example/aws", `{"region":"eu-west-1"}`, goodKeys, "llm.example"},
		"ProxyBearer":   {"bedrock_api_key", "https://llm.example/aws", "", "", ""},
		"APIFamily":     {"aws_keys", runtime, `{"model_api_family":"anthropic"}`, goodKeys, ""},
		"OtherSettings": {"aws_keys", runtime, `{"team":"x"}`, goodKeys, ""},
	} {
		cfg, change, err := awsProvider(c.auth, c.base, c.settings, c.credentials).New(nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.host != "" && cfg.Host() != c.host {
			t.Errorf("%s: sealed to %s, want %s", name, cfg.Host(), c.host)
		}
		target := compiled(t, cfg, change)
		if target.Unservable != "" {
			t.Errorf("%s: %s", name, target.Unservable)
		}
		if target.Provider.Base.Host != cfg.Host() {
			t.Errorf("%s: asked at %s, but sealed to %s", name, target.Provider.Base.Host, cfg.Host())
		}
	}
}

// compiled is the provider's target as a node has it that lends its own identity.
func compiled(t *testing.T, cfg tenant.ProviderConfig, change tenant.CredentialChange) *decide.Target {
	t.Helper()
	p := node.Provider{ID: uuid.New(), Name: cfg.Name, Family: cfg.Family, BaseURL: cfg.BaseURL, AuthType: cfg.AuthType, Settings: cfg.Settings, Enabled: true, Serving: true}
	if change.Replace != nil {
		p.Credential = &node.Sealed{Host: cfg.Host()}
	}
	board := decide.NewBoard()
	board.Ambient = true
	org, err := decide.Compile(&node.Snapshot{Format: node.Format, OrganizationID: uuid.New(), Providers: []node.Provider{p},
		Mappings: []node.Mapping{{ID: uuid.New(), ProviderID: p.ID, Alias: "m", UpstreamModel: "m", Enabled: true, CreatedAt: time.Unix(1, 0)}}}, board)
	if err != nil {
		t.Fatal(err)
	}
	return org.Resolve(cfg.AddressName() + "/m").Targets[0]
}

func TestBedrockRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ auth, base, settings, credentials, field string }{
		"NoRegion":          {"aws_keys", "https://llm.example", "", goodKeys, "settings.region"},
		"NoRegionRole":      {"", "https://llm.example", "", goodRole, "settings.region"},
		"NotARegion":        {"aws_keys", "https://llm.example", `{"region":"us-east-1.evil.example"}`, goodKeys, "settings.region"},
		"RegionNotText":     {"aws_keys", "https://llm.example", `{"region":1}`, goodKeys, "settings.region"},
		"RegionDiffers":     {"aws_keys", runtime, `{"region":"eu-west-1"}`, goodKeys, "settings.region"},
		"BearerDiffers":     {"bedrock_api_key", runtime, `{"region":"eu-west-1"}`, "", "settings.region"},
		"Mantle":            {"bedrock_api_key", "https://bedrock-mantle.us-east-1.api.aws/anthropic", "", "", "base_url"},
		"Storage":           {"aws_keys", "https://s3.us-east-1.amazonaws.com", "", goodKeys, "base_url"},
		"APIFamily":         {"aws_keys", runtime, `{"model_api_family":"openai"}`, goodKeys, "settings.model_api_family"},
		"APIFamilyNotText":  {"aws_keys", runtime, `{"model_api_family":1}`, goodKeys, "settings.model_api_family"},
		"KeysWithoutID":     {"aws_keys", runtime, "", `{"secret_access_key":"s"}`, "credentials.access_key_id"},
		"KeysWithoutSecret": {"aws_keys", runtime, "", `{"access_key_id":"k"}`, "credentials.secret_access_key"},
		"KeysNull":          {"aws_keys", runtime, "", `{"access_key_id":null,"secret_access_key":"s"}`, "credentials.access_key_id"},
		"KeysSpace":         {"aws_keys", runtime, "", `{"access_key_id":"k","secret_access_key":"s "}`, "credentials.secret_access_key"},
		"KeysTypo":          {"aws_keys", runtime, "", `{"access_key_id":"k","secret_access_key":"s","sessiontoken":"t"}`, "credentials"},
		"KeysOfARole":       {"aws_keys", runtime, "", goodRole, "credentials.access_key_id"},
		"RoleWithoutARN":    {"", runtime, "", `{"external_id":"x"}`, "credentials.role_arn"},
		"RoleEmpty":         {"", runtime, "", `{}`, "credentials.role_arn"},
		"RoleOfAUser":       {"", runtime, "", `{"role_arn":"arn:aws:iam::123456789012:user/u"}`, "credentials.role_arn"},
		"RoleLine":          {"", runtime, "", `{"role_arn":"arn:aws:iam::123456789012:role/r\n"}`, "credentials.role_arn"},
		"ExternalID":        {"", runtime, "", `{"role_arn":"arn:aws:iam::123456789012:role/r","external_id":"a b"}`, "credentials.external_id"},
		"ExternalIDEmpty":   {"", runtime, "", `{"role_arn":"arn:aws:iam::123456789012:role/r","external_id":""}`, "credentials.external_id"},
	} {
		_, _, err := awsProvider(c.auth, c.base, c.settings, c.credentials).New(nil)
		var refused *tenant.Error
		if !errors.As(err, &refused) || refused.Param != c.field {
			t.Errorf("%s: got %v, want a refusal of %s", name, err, c.field)
		}
	}
}

// A provider that moves between the address that manages models and the one that serves
// them keeps no credential that is sealed to another host than it is asked at.
func TestBedrockSealFollowsTheServingHost(t *testing.T) {
	t.Parallel()
	cfg, _, err := awsProvider("aws_keys", runtime, "", goodKeys).New(nil)
	if err != nil {
		t.Fatal(err)
	}
	next, change, err := cfg.Update(tenant.ProviderPatch{BaseURL: ptr("https://bedrock.us-east-1.amazonaws.com")}, tenant.Held{Stored: true})
	if err == nil && (next.Host() != cfg.Host() || change.Remove) {
		t.Errorf("kept, but sealed to %s and asked at %s", cfg.Host(), next.Host())
	}
}
