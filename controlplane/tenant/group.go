package tenant

import (
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	maxPeople         = 10_000
	maxDescriptionLen = 1000
)

// Group is people by a name. Policies and gateway keys name it, so the name never
// changes: a renamed group would silently leave what names it.
type Group struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Name           string
	Description    *string
	Members        []Member // by email
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Revision       int64
	Attribution
}

// Member is a person in a group.
type Member struct {
	UserID uuid.UUID `json:"user_id"`
	Email  string    `json:"email"`
	Name   string    `json:"name"`
}

// GroupCreate is a new group.
type GroupCreate struct {
	Name string
	GroupPatch
}

// GroupPatch is a change to a group; nil fields stay as they are.
type GroupPatch struct {
	Description Change[string]
	UserIDs     *[]uuid.UUID // the members, all of them
	ChangeNote  *string
}

// Validate refuses a group that cannot be stored.
func (c GroupCreate) Validate() error {
	if err := ValidateName("name", c.Name); err != nil {
		return err
	}
	return c.GroupPatch.Validate()
}

// Validate refuses a change that cannot be stored.
func (p GroupPatch) Validate() error {
	if d := p.Description.Value; d != nil && utf8.RuneCountInString(*d) > maxDescriptionLen {
		return Invalid("description", "description must be at most %d characters", maxDescriptionLen)
	}
	if p.UserIDs != nil && len(*p.UserIDs) > maxPeople {
		return Invalid("user_ids", "user_ids must have at most %d entries", maxPeople)
	}
	return validateNote(p.ChangeNote)
}

// MembersAdd puts people into a group, beside who is in it.
type MembersAdd struct {
	UserIDs    []uuid.UUID
	ChangeNote *string
}

// Validate refuses an addition of nobody, or of too many.
func (a MembersAdd) Validate() error {
	if len(a.UserIDs) == 0 {
		return Invalid("user_ids", "user_ids cannot be empty")
	}
	return GroupPatch{UserIDs: &a.UserIDs, ChangeNote: a.ChangeNote}.Validate()
}
