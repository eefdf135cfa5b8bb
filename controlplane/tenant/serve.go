package tenant

import (
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/spillway-gateway/spillway/api/node"
)

// baseURLForms are what a base_url looks like where it depends on the account.
var baseURLForms = map[string]string{
	"azure_openai": "https://{resource}.openai.azure.com",
	"bedrock":      "https://bedrock-runtime.{region}.amazonaws.com",
	"vertex":       "https://{location}-aiplatform.googleapis.com",
	"custom":       "https://{host}/v1",
}

// familyChecks refuse what no node could serve: what a family needs to know beside address
// and credential, in the form that nodes read.
var familyChecks = map[string]func(c ProviderConfig, base *url.URL) error{
	"azure_openai": checkAzure,
	"bedrock":      checkBedrock,
	"vertex":       checkVertex,
}

// credentialChecks are what credentials must hold, by authentication type.
var credentialChecks = map[string]func(json.RawMessage) error{
	AuthAWSKeys:              func(c json.RawMessage) error { return checkAWS(AuthAWSKeys, c) },
	AuthAWSRole:              func(c json.RawMessage) error { return checkAWS(AuthAWSRole, c) },
	AuthGoogleServiceAccount: func(c json.RawMessage) error { _, err := node.ReadServiceAccount(c); return err },
	AuthGoogleImpersonation:  func(c json.RawMessage) error { _, err := node.ReadImpersonation(c); return err },
	AuthGoogleADC: func(json.RawMessage) error {
		return &node.CredentialError{Text: "are not used with auth_type 'google_adc': the node's own identity is"}
	},
}

// checkCredentials refuses a credential that a node could not use.
func checkCredentials(auth string, credentials json.RawMessage) error {
	check := credentialChecks[auth]
	if check == nil {
		return nil
	}
	err := check(credentials)
	var wrong *node.CredentialError
	if errors.As(err, &wrong) {
		field := strings.TrimSuffix("credentials."+wrong.Field, ".")
		return Invalid(field, "%s %s", field, wrong.Text)
	}
	return err
}

// validateServing refuses what no node could serve.
func (c ProviderConfig) validateServing() error {
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		return Invalid("base_url", "base_url must be an absolute http or https URL")
	}
	if err := c.checkVendorHost(base); err != nil {
		return err
	}
	if check := familyChecks[c.Family]; check != nil {
		return check(c, base)
	}
	return nil
}

// vendorHosts are how to write the only hosts that may get what is no organization's own.
var vendorHosts = map[string]string{
	AuthClaudeOAuth:         "https://api.anthropic.com",
	AuthCodexOAuth:          "https://chatgpt.com/backend-api/codex",
	AuthGoogleADC:           "https://{location}-aiplatform.googleapis.com",
	AuthGoogleImpersonation: "https://{location}-aiplatform.googleapis.com",
}

// checkVendorHost keeps people's own tokens and the nodes' own identity at their vendor. An
// IP address is for nodes to judge: their operator may have allowed its network.
func (c ProviderConfig) checkVendorHost(base *url.URL) error {
	if node.VendorHost(c.AuthType, base) {
		return nil
	}
	if _, err := netip.ParseAddr(base.Hostname()); err == nil {
		return nil
	}
	return Invalid("base_url", "base_url must be %s with auth_type '%s': what it sends goes to its vendor and to no other host", vendorHosts[c.AuthType], c.AuthType)
}

// azureVersions are the forms of an api-version.
// https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
var azureVersions = regexp.MustCompile(`^(v1|preview|latest|20[0-9]{2}-[0-9]{2}-[0-9]{2}(-preview)?)$`)

func checkAzure(c ProviderConfig, _ *url.URL) error {
	version, err := c.setting("api_version")
	if err == nil && version != "" && !azureVersions.MatchString(version) {
		err = Invalid("settings.api_version", "settings.api_version must be 'v1', 'preview', 'latest' or a date such as '2024-10-21'")
	}
	return err
}

var (
	googleProject  = regexp.MustCompile(`^([a-z][a-z0-9.-]*:)?[a-z0-9-]{1,63}$`) // an id or a number
	googleLocation = regexp.MustCompile(`^[a-z]+(-[a-z]+[0-9]+)?$`)
)

// checkVertex wants to know project and location, from settings or base_url.
func checkVertex(c ProviderConfig, base *url.URL) error {
	for _, name := range []string{"project", "location"} {
		if _, err := c.setting(name); err != nil {
			return err
		}
	}
	place := node.VertexPlaceOf(base, c.Settings)
	switch {
	case place.Project == "":
		return Invalid("settings.project", "settings.project is required, unless base_url names it: the id of the Google Cloud project")
	case !googleProject.MatchString(place.Project):
		return Invalid("settings.project", "settings.project must be the id of a Google Cloud project")
	case place.Location == "":
		return Invalid("settings.location", "settings.location is required, unless base_url names it: 'global', 'us', 'eu' or a region such as 'us-east5'")
	case !googleLocation.MatchString(place.Location):
		return Invalid("settings.location", "settings.location must be 'global', 'us', 'eu' or a region such as 'us-east5'")
	}
	host := strings.ToLower(base.Hostname())
	if google := strings.HasSuffix(host, "aiplatform.googleapis.com") || strings.HasSuffix(host, ".rep.googleapis.com"); google && host != node.VertexHost(place.Location) {
		return Invalid("base_url", "base_url must be https://%s for the location '%s'", node.VertexHost(place.Location), place.Location)
	}
	return nil
}

// setting is a setting that is a text, or empty.
func (c ProviderConfig) setting(name string) (string, error) {
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(c.Settings, &settings); err != nil || settings[name] == nil {
		return "", nil // validate has found it to be an object
	}
	var text *string
	if err := json.Unmarshal(settings[name], &text); err != nil || text == nil {
		return "", Invalid("settings."+name, "settings.%s must be a string", name)
	}
	return *text, nil
}
