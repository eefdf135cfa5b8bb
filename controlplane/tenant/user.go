package tenant

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Length of a password, in characters. There are no rules of composition: they make
// passwords no harder to guess, and people write them down.
const (
	minPasswordLen = 12
	maxPasswordLen = 256
)

// User is a person with an account. What it is signed in to with is known only as a
// hash, and only to package store and identity.
type User struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	UserConfig
	HasPassword  bool
	Groups       []string // names, sorted
	LastSignInAt *time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Revision     int64
	Attribution
}

// UserConfig is the part of an account that an administrator sets.
type UserConfig struct {
	Email   string
	Name    string
	Role    Role
	Enabled bool
}

// UserPatch is a change to an account; nil fields stay as they are.
type UserPatch struct {
	Email      *string
	Name       *string
	Role       *Role
	Enabled    *bool
	Password   Change[Secret]
	ChangeNote *string
}

// userRoles are the roles of people; an owner is a machine of the command line's.
var userRoles = []string{string(RoleAdmin), string(RoleMember)}

// NewUser validates a new account and fills in the defaults.
func NewUser(p UserPatch) (UserConfig, error) {
	return UserConfig{Role: RoleMember, Enabled: true}.Update(p)
}

// Update returns the account with the patch applied.
func (u UserConfig) Update(p UserPatch) (UserConfig, error) {
	apply(&u.Email, p.Email)
	apply(&u.Name, p.Name)
	apply(&u.Role, p.Role)
	apply(&u.Enabled, p.Enabled)
	if err := u.validate(); err != nil {
		return UserConfig{}, err
	}
	if p.Password.Value != nil {
		if err := ValidatePassword("password", *p.Password.Value); err != nil {
			return UserConfig{}, err
		}
	}
	return u, validateNote(p.ChangeNote)
}

func (u UserConfig) validate() error {
	if err := validateEmail("email", u.Email); err != nil {
		return err
	}
	if err := ValidateName("name", u.Name); err != nil {
		return err
	}
	return oneOf("role", string(u.Role), userRoles)
}

// Administers reports whether the account can administer the organization.
func (u UserConfig) Administers() bool { return u.Enabled && u.Role == RoleAdmin }

// validateEmail refuses what cannot be an address. Whether mail arrives there is not for
// a pattern to say.
func validateEmail(field, email string) error {
	if err := ValidateName(field, email); err != nil {
		return err
	}
	local, domain, found := strings.Cut(email, "@")
	if !found || local == "" || domain == "" || strings.ContainsAny(email, " \t<>,;\"") || strings.Contains(domain, "@") {
		return Invalid(field, "%s must be an email address", field)
	}
	return nil
}

// ValidatePassword refuses a password that is too short to be safe, or too long to be
// hashed at leisure.
func ValidatePassword(field string, password Secret) error {
	if n := utf8.RuneCountInString(password.Reveal()); n < minPasswordLen || n > maxPasswordLen {
		return Invalid(field, "%s must have %d to %d characters", field, minPasswordLen, maxPasswordLen)
	}
	return nil
}

// Principal is the person as a caller, by a session of theirs.
func (u User) Principal(session uuid.UUID) Principal {
	return Principal{OrganizationID: u.OrganizationID, UserID: u.ID, SessionID: session, Email: u.Email, Name: u.Name, Role: u.Role}
}

// Session is one browser that a person is signed in with.
type Session struct {
	ID     uuid.UUID
	UserID uuid.UUID
	// Client is what the browser called itself.
	Client     string
	CreatedAt  time.Time
	LastSeenAt time.Time // to the minute
	ExpiresAt  time.Time // whatever happens
}

// How long a session lasts: without a request, and at most.
const (
	SessionIdle = 12 * time.Hour
	SessionLife = 7 * 24 * time.Hour
)

// maxClientLen is how much of what a browser calls itself is kept.
const maxClientLen = 255

// ClientName is what is kept of a browser's name for itself: text that can be shown.
func ClientName(userAgent string) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, userAgent)
	return name[:min(len(name), maxClientLen)]
}
