package tenant

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Connection is a credential that several providers share. Its secret is sealed once, and
// to one host.
type Connection struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	ConnectionConfig
	// KeyLast4 is the end of the API key, to recognise it by; nil: there is none, or it is
	// too short to show any of.
	KeyLast4  *string
	Stored    bool // whether a secret is
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64
	Attribution
}

// ConnectionConfig is the part of a connection that an administrator sets.
type ConnectionConfig struct {
	Name     string
	Family   string
	BaseURL  string
	AuthType string
	Settings json.RawMessage // a JSON object; nothing reads it
}

// ConnectionPatch is a change to a connection; nil fields stay as they are.
type ConnectionPatch struct {
	Name        *string
	BaseURL     *string
	AuthType    *string
	APIKey      *Secret
	Credentials *Secret
	Settings    json.RawMessage
	ChangeNote  *string
}

// ConnectionCreate is a new connection.
type ConnectionCreate struct {
	Family string
	ConnectionPatch
}

// New validates a new connection and fills in the defaults.
func (c ConnectionCreate) New() (ConnectionConfig, CredentialChange, error) {
	family, err := familyOf(c.Family)
	if err != nil {
		return ConnectionConfig{}, CredentialChange{}, err
	}
	return ConnectionConfig{Family: family.Slug, AuthType: family.AuthType, Settings: json.RawMessage(`{}`)}.Update(c.ConnectionPatch, false, 0)
}

// Update returns the connection with the patch applied, and what becomes of its secret.
// stored is whether it has one, users how many providers use it: what those rely on does
// not change under them. The rules of a secret are a provider's.
func (c ConnectionConfig) Update(p ConnectionPatch, stored bool, users int) (ConnectionConfig, CredentialChange, error) {
	if err := c.shareable(p.AuthType); err != nil {
		return c, CredentialChange{}, err
	}
	next, change, err := c.alone().Update(ProviderPatch{Name: p.Name, BaseURL: p.BaseURL, AuthType: p.AuthType, APIKey: p.APIKey,
		Credentials: p.Credentials, Settings: p.Settings, ChangeNote: p.ChangeNote}, Held{Stored: stored})
	if err != nil {
		return c, CredentialChange{}, err
	}
	if users > 0 && (next.AuthType != c.AuthType || origin(next.BaseURL) != origin(c.BaseURL)) {
		return c, CredentialChange{}, ConnectionInUse(users, "its host and auth_type cannot change")
	}
	return ConnectionConfig{Name: next.Name, Family: next.Family, BaseURL: next.BaseURL, AuthType: next.AuthType, Settings: next.Settings}, change, nil
}

// shareable refuses types of authentication that have nothing to share, before anything is
// said of what a provider of such a type would need.
func (c ConnectionConfig) shareable(input *string) error {
	family, err := familyOf(c.Family)
	if input == nil || err != nil {
		return err
	}
	auth, err := family.resolveAuth(*input)
	if err == nil && !Probed(auth) {
		return Invalid("auth_type", "auth_type '%s' has no credential to share", auth)
	}
	return err
}

// alone is the connection as a provider would be that is nothing else.
func (c ConnectionConfig) alone() ProviderConfig {
	return ProviderConfig{Name: c.Name, Family: c.Family, BaseURL: c.BaseURL, AuthType: c.AuthType, Settings: c.Settings,
		ModelSyncMode: ModelSyncOff, Billing: Billing{Mode: BillingPerToken}}
}

// Host is the only host that the secret may be sent to.
func (c ConnectionConfig) Host() string { return origin(c.BaseURL).host }

// Last4 is what is kept of an API key to recognise it by.
func Last4(key string) *string {
	const shortest = 12 // of less, four characters would be too much
	if len(key) < shortest {
		return nil
	}
	return new(key[len(key)-4:])
}

// fits refuses a provider that cannot use the connection: the secret would be sent in
// another way, or elsewhere, than it was stored for.
func (c Connection) fits(p ProviderConfig, patch ProviderPatch) error {
	from, to := origin(c.BaseURL), origin(p.BaseURL)
	switch {
	case patch.APIKey != nil:
		return Invalid("api_key", "api_key and connection_id are mutually exclusive: detach the connection first")
	case patch.Credentials != nil:
		return Invalid("credentials", "credentials and connection_id are mutually exclusive: detach the connection first")
	case p.Family != c.Family:
		return Invalid("connection_id", "the connection is for model provider '%s'", c.Family)
	case p.AuthType != c.AuthType:
		return Invalid("auth_type", "auth_type must be '%s', as the connection has it", c.AuthType)
	case !to.safeAfter(from):
		return Invalid("base_url", "base_url must be on the connection's host, %s, and use https where it does", from.host)
	}
	return nil
}
