package tenant

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

const (
	maxBaseURLLen  = 2048
	maxSettingsLen = 64 << 10
	maxModels      = 1000
)

// ModelSyncOff is the default of ProviderConfig.ModelSyncMode.
const ModelSyncOff = "off"

var modelSyncModes = []string{ModelSyncOff, "additive", "full"}

// Provider is one account at one vendor, or one endpoint that speaks a vendor's
// dialect.
type Provider struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	ProviderConfig
	Health Health
	// CredentialID names the sealed credential; nil when none is stored.
	CredentialID *uuid.UUID
	// ConnectionID names the shared credential in place of it; nil: none.
	ConnectionID *uuid.UUID
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Revision     int64
	Attribution
}

// ProviderConfig is the part of a provider that an administrator sets.
type ProviderConfig struct {
	Name               string
	Family             string
	BaseURL            string
	AuthType           string
	Settings           json.RawMessage // a JSON object
	Enabled            bool
	EnforceHealthCheck bool
	Timeouts           Timeouts
	// ModelSyncMode is how the mappings follow the vendor's list of models; it is only
	// kept so far.
	ModelSyncMode string
	Billing       Billing
}

// Serving is whether the connection check lets the provider serve.
func (p Provider) Serving() bool {
	return !p.EnforceHealthCheck || p.Health.Status != HealthUnhealthy
}

// ProviderPatch is a change to a provider; nil fields stay as they are.
type ProviderPatch struct {
	Name               *string
	BaseURL            *string
	AuthType           *string // also the input forms api_key and oauth_passthrough
	APIKey             *Secret
	Credentials        *Secret // a JSON object
	ConnectionID       Change[uuid.UUID]
	Settings           json.RawMessage
	Enabled            *bool
	EnforceHealthCheck *bool
	Timeouts           TimeoutsPatch
	ModelSyncMode      *string
	Billing            BillingPatch
	ChangeNote         *string
}

// ProviderCreate is a new provider.
type ProviderCreate struct {
	Family string
	ProviderPatch
	// Models become 1:1 mappings.
	Models []string
}

// CredentialChange is what becomes of the stored credential.
type CredentialChange struct {
	// Remove says that nothing stays stored; Replace, that this is stored. Neither:
	// it stays as it is.
	Remove  bool
	Replace *node.Credential
}

// Held is what a provider has to authenticate with: a credential of its own, or, once the
// change is made, a connection.
type Held struct {
	Stored     bool
	Connection *Connection
}

// New validates a new provider and fills in the defaults. connection is the one that it
// names, or nil.
func (c ProviderCreate) New(connection *Connection) (ProviderConfig, CredentialChange, error) {
	family, err := familyOf(c.Family)
	if err != nil {
		return ProviderConfig{}, CredentialChange{}, err
	}
	if len(c.Models) > maxModels {
		return ProviderConfig{}, CredentialChange{}, Invalid("models", "models must have at most %d entries", maxModels)
	}
	blank := ProviderConfig{Family: family.Slug, AuthType: family.AuthType, Settings: json.RawMessage(`{}`), Enabled: true,
		EnforceHealthCheck: true, ModelSyncMode: ModelSyncOff, Billing: Billing{Mode: BillingPerToken}}
	return blank.Update(c.ProviderPatch, Held{Connection: connection})
}

// Update returns the provider with the patch applied, and what becomes of its
// own credential.
func (c ProviderConfig) Update(p ProviderPatch, held Held) (ProviderConfig, CredentialChange, error) {
	next := c
	apply(&next.Name, p.Name)
	apply(&next.BaseURL, p.BaseURL)
	apply(&next.Enabled, p.Enabled)
	apply(&next.EnforceHealthCheck, p.EnforceHealthCheck)
	next.Timeouts.apply(p.Timeouts)
	apply(&next.ModelSyncMode, p.ModelSyncMode)
	next.Billing.apply(p.Billing)
	if p.Settings != nil {
		next.Settings = p.Settings
	}
	if held.Connection != nil && p.ConnectionID.Set && p.AuthType == nil {
		next.AuthType = held.Connection.AuthType
	}
	if p.AuthType != nil {
		family, err := familyOf(c.Family)
		if err != nil {
			return c, CredentialChange{}, err
		}
		if next.AuthType, err = family.resolveAuth(*p.AuthType); err != nil {
			return c, CredentialChange{}, err
		}
	}
	if err := next.validate(); err != nil {
		return c, CredentialChange{}, err
	}
	if err := validateNote(p.ChangeNote); err != nil {
		return c, CredentialChange{}, err
	}
	if held.Connection != nil {
		if err := held.Connection.fits(next, p); err != nil {
			return c, CredentialChange{}, err
		}
		return next, CredentialChange{Remove: held.Stored}, nil
	}
	change, err := c.credentialChange(next, p, held.Stored)
	if err != nil {
		return c, CredentialChange{}, err
	}
	return next, change, nil
}

func (c ProviderConfig) validate() error {
	if err := ValidateName("name", c.Name); err != nil {
		return err
	}
	if strings.Contains(c.Name, "/") {
		// "<provider>/<model>" is split at the first one.
		return Invalid("name", "name must not contain '/'")
	}
	if form := baseURLForms[c.Family]; c.BaseURL == "" && form != "" {
		return Invalid("base_url", "base_url is required: %s", form)
	}
	if err := validateBaseURL(c.BaseURL); err != nil {
		return err
	}
	if !isObject(c.Settings) {
		return Invalid("settings", "settings must be a JSON object")
	}
	if len(c.Settings) > maxSettingsLen {
		return Invalid("settings", "settings must be at most %d bytes", maxSettingsLen)
	}
	if err := c.validateAPIFamily(); err != nil {
		return err
	}
	if err := c.validateServing(); err != nil {
		return err
	}
	if err := oneOf("model_sync_mode", c.ModelSyncMode, modelSyncModes); err != nil {
		return err
	}
	if err := c.Billing.validate(); err != nil {
		return err
	}
	return c.Timeouts.validate()
}

// modelAPIFamilies are the APIs that a custom endpoint may have.
var modelAPIFamilies = []string{"openai", "openai_responses", "anthropic"}

// validateAPIFamily refuses what a node would take for the default: a typing error there
// shows only in answers that never come.
func (c ProviderConfig) validateAPIFamily() error {
	var settings struct {
		Family *json.RawMessage `json:"model_api_family"`
	}
	if c.Family != "custom" || json.Unmarshal(c.Settings, &settings) != nil || settings.Family == nil {
		return nil
	}
	var family string
	if json.Unmarshal(*settings.Family, &family) != nil {
		return Invalid("settings.model_api_family", "settings.model_api_family must be a string")
	}
	return oneOf("settings.model_api_family", family, modelAPIFamilies)
}

// credentialChange decides what becomes of the stored credential when c becomes
// next. A stored secret never follows a provider to another host, or from https to
// http: whoever may edit a provider could read it there.
func (c ProviderConfig) credentialChange(next ProviderConfig, p ProviderPatch, stored bool) (CredentialChange, error) {
	kind := secretKinds[next.AuthType]
	replace, err := newCredential(next.AuthType, p)
	switch {
	case err != nil:
		return CredentialChange{}, err
	case replace != nil:
		return CredentialChange{Replace: replace}, nil
	case stored && kind == secretKinds[c.AuthType] && (kind != secretStructured || next.AuthType == c.AuthType):
		if from, to := origin(c.BaseURL), origin(next.BaseURL); !to.safeAfter(from) {
			return CredentialChange{}, Invalid("base_url",
				"base_url leads to another host or drops https: the stored credential is bound to %s, send the credential again in the same request", from.host)
		}
		return CredentialChange{}, nil
	case kind == secretKey:
		return CredentialChange{}, Invalid("api_key", "api_key is required for API-key auth providers")
	case kind == secretStructured:
		return CredentialChange{}, Invalid("credentials", "credentials are required for auth_type '%s'", next.AuthType)
	}
	return CredentialChange{Remove: stored}, nil
}

// newCredential returns the secret that the patch brings, or nil.
func newCredential(auth string, p ProviderPatch) (*node.Credential, error) {
	if p.APIKey != nil {
		switch {
		case secretKinds[auth] != secretKey:
			return nil, Invalid("api_key", "api_key is not used with auth_type '%s'", auth)
		case !headerValue(p.APIKey.Reveal()):
			return nil, Invalid("api_key", "api_key must be printable ASCII without spaces")
		}
	}
	if p.Credentials != nil {
		switch kind := secretKinds[auth]; {
		case kind != secretStructured && kind != secretAmbient:
			return nil, Invalid("credentials", "credentials are not used with auth_type '%s'", auth)
		case !isObject([]byte(p.Credentials.Reveal())):
			return nil, Invalid("credentials", "credentials must be a JSON object")
		}
		if err := checkCredentials(auth, json.RawMessage(p.Credentials.Reveal())); err != nil {
			return nil, err
		}
		return &node.Credential{Structured: json.RawMessage(p.Credentials.Reveal())}, nil
	}
	if p.APIKey == nil {
		return nil, nil
	}
	return &node.Credential{APIKey: p.APIKey.Reveal()}, nil
}

// headerValue reports whether text can be sent as a header: anything else would
// fail on every request, far from here.
func headerValue(text string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func isObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

func validateBaseURL(text string) error {
	if len(text) > maxBaseURLLen {
		return Invalid("base_url", "base_url must be at most %d bytes", maxBaseURLLen)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return Invalid("base_url", "base_url must be an absolute http or https URL")
	case u.User != nil:
		return Invalid("base_url", "base_url must not contain a user name or password")
	case u.RawQuery != "" || u.ForceQuery:
		return Invalid("base_url", "base_url must not contain a query")
	case strings.Contains(text, "#"):
		return Invalid("base_url", "base_url must not contain a fragment")
	case !utf8.ValidString(u.Host):
		return Invalid("base_url", "base_url must be an absolute http or https URL")
	}
	return nil
}

// origin is where a base URL leads.
type urlOrigin struct{ scheme, host string }

func origin(baseURL string) urlOrigin {
	u, err := url.Parse(baseURL)
	if err != nil {
		return urlOrigin{}
	}
	return urlOrigin{u.Scheme, strings.ToLower(u.Host)}
}

func (o urlOrigin) safeAfter(before urlOrigin) bool {
	return o.host == before.host && (o.scheme == before.scheme || o.scheme == "https")
}

// Host is the only host a credential of the provider may be sent to: host or
// host:port of the base URL, in lower case.
func (c ProviderConfig) Host() string {
	host := origin(c.BaseURL).host
	if c.Family == "bedrock" {
		host, _ = node.BedrockHost(host)
	}
	return host
}

// AddressName is the provider's name as "<provider>/<model>" is compared: without
// case, a space like a dash. Two providers of an organization never share it.
func (c ProviderConfig) AddressName() string { return AddressName(c.Name) }

// AddressName is any spelling of a provider's name as it is compared.
func AddressName(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }
