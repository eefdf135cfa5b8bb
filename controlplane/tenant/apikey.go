package tenant

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// Kinds of gateway keys.
const (
	KeyKindUser    = "user"
	KeyKindMachine = "machine"
)

const (
	maxScopes    = 100
	maxGraceSecs = 7 * 24 * 60 * 60
)

// APIKey is a gateway key without its secret.
type APIKey struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	KeyConfig
	Prefix     string // the first 8 characters of the secret
	CreatedAt  time.Time
	RevokedAt  *time.Time
	DisabledAt *time.Time
	DisabledBy *uuid.UUID // a user or service account; nil: not disabled, or nobody knows
	LastUsedAt *time.Time
	Attribution
	Revision int64
}

// EnabledBy reports whether a user may enable their own key: what an administrator
// disabled stays so.
func (k APIKey) EnabledBy(user uuid.UUID) bool {
	return k.DisabledAt == nil || k.DisabledBy != nil && *k.DisabledBy == user
}

// KeyConfig is the part of a key that is set on creation.
type KeyConfig struct {
	Name      string
	Kind      string
	UserID    *uuid.UUID
	UserEmail *string
	GroupName *string
	Scopes    []string
	ExpiresAt *time.Time
}

// KeyCreate is a new key. Its kind follows from whose it is.
type KeyCreate struct {
	Name       string
	UserID     *uuid.UUID
	UserEmail  *string
	GroupName  *string
	Scopes     []string
	ExpiresAt  *time.Time
	ChangeNote *string
}

// New validates a new key and fills in the defaults.
func (c KeyCreate) New(now time.Time) (KeyConfig, error) {
	k := KeyConfig{Name: c.Name, Kind: KeyKindMachine, UserID: c.UserID, UserEmail: c.UserEmail, GroupName: c.GroupName,
		Scopes: c.Scopes, ExpiresAt: c.ExpiresAt}
	if k.UserID != nil {
		k.Kind = KeyKindUser
	}
	if k.Scopes == nil {
		k.Scopes = []string{}
	}
	if err := k.validate(now); err != nil {
		return KeyConfig{}, err
	}
	return k, validateNote(c.ChangeNote)
}

func (k KeyConfig) validate(now time.Time) error {
	if err := ValidateName("name", k.Name); err != nil {
		return err
	}
	if k.UserID != nil && k.GroupName != nil {
		return Invalid("group_name", "user_id and group_name are mutually exclusive")
	}
	if k.GroupName != nil {
		if err := ValidateName("group_name", *k.GroupName); err != nil {
			return err
		}
	}
	if k.UserEmail != nil && (len(*k.UserEmail) > maxNameLen || !strings.Contains(*k.UserEmail, "@")) {
		return Invalid("user_email", "user_email must be an email address")
	}
	if len(k.Scopes) > maxScopes {
		return Invalid("scopes", "scopes must have at most %d entries", maxScopes)
	}
	for _, scope := range k.Scopes {
		if err := ValidateName("scopes", scope); err != nil {
			return err
		}
	}
	if k.ExpiresAt != nil && !k.ExpiresAt.After(now) {
		return Invalid("expires_at", "expires_at must be in the future")
	}
	return nil
}

// KeyUpdate disables a key, or enables it again.
type KeyUpdate struct {
	Disabled   bool
	ChangeNote *string
}

// Validate refuses an update that cannot be stored.
func (u KeyUpdate) Validate() error { return validateNote(u.ChangeNote) }

// KeyRotate replaces the secret of a key.
type KeyRotate struct {
	GraceSecs  int // how long the old secret works on
	ChangeNote *string
}

// Validate refuses a rotation that is not allowed.
func (r KeyRotate) Validate() error {
	if err := between("grace_secs", r.GraceSecs, 0, maxGraceSecs); err != nil {
		return err
	}
	return validateNote(r.ChangeNote)
}
