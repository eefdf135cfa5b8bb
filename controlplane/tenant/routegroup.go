package tenant

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Limits of a route group: members, and characters of its description.
const (
	maxMembers     = 10000
	maxDescription = 1000
)

// RouteGroup is a named set of routes, which a model access policy targets as one. By
// itself it grants nothing.
type RouteGroup struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	RouteGroupConfig
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64
	Attribution
}

// RouteGroupConfig is the part of a group that an administrator sets.
type RouteGroupConfig struct {
	Name        string
	Description *string
	// Aliases are names of routes, each once, in the order they were given. A route need
	// not exist yet.
	Aliases []string
}

// RouteGroupPatch is a change to a group; nil fields stay as they are.
type RouteGroupPatch struct {
	Name        *string
	Description Change[string]
	Aliases     *[]string // replaces the members
	ChangeNote  *string
}

// NewRouteGroup validates a new group.
func NewRouteGroup(p RouteGroupPatch) (RouteGroupConfig, error) {
	return RouteGroupConfig{Aliases: []string{}}.Update(p)
}

// Update returns the group with the patch applied.
func (c RouteGroupConfig) Update(p RouteGroupPatch) (RouteGroupConfig, error) {
	next := c
	apply(&next.Name, p.Name)
	p.Description.apply(&next.Description)
	if p.Aliases != nil {
		next.Aliases = []string{}
		next.Aliases = next.with(*p.Aliases)
	}
	if err := next.validate(); err != nil {
		return c, err
	}
	return next, validateNote(p.ChangeNote)
}

// Add returns the group with more members. One that it has stays where it is.
func (c RouteGroupConfig) Add(aliases []string, note *string) (RouteGroupConfig, error) {
	if len(aliases) == 0 {
		return c, Invalid("model_aliases", "at least one model alias is required")
	}
	members := c.with(aliases)
	return c.Update(RouteGroupPatch{Aliases: &members, ChangeNote: note})
}

// Remove returns the group without a member; false: it has none of the name.
func (c RouteGroupConfig) Remove(alias string) (RouteGroupConfig, bool) {
	i := slices.Index(c.Aliases, alias)
	if i < 0 {
		return c, false
	}
	c.Aliases = slices.Delete(slices.Clone(c.Aliases), i, i+1)
	return c, true
}

// Rename carries a member's new name into the group.
func (c RouteGroupConfig) Rename(from, to string) (RouteGroupConfig, bool) {
	i := slices.Index(c.Aliases, from)
	if i < 0 {
		return c, false
	}
	renamed := slices.Clone(c.Aliases)
	renamed[i] = to
	c.Aliases = RouteGroupConfig{}.with(renamed) // which may have had the new name already
	return c, true
}

// with is the members and more, each once.
func (c RouteGroupConfig) with(aliases []string) []string {
	out := slices.Clone(c.Aliases)
	seen := make(map[string]bool, len(out)+len(aliases))
	for _, alias := range out {
		seen[alias] = true
	}
	for _, alias := range aliases {
		if !seen[alias] {
			seen[alias] = true
			out = append(out, alias)
		}
	}
	return out
}

func (c RouteGroupConfig) validate() error {
	if err := ValidateName("name", c.Name); err != nil {
		return err
	}
	if c.Description != nil && utf8.RuneCountInString(*c.Description) > maxDescription {
		return Invalid("description", "description must be at most %d characters", maxDescription)
	}
	if len(c.Aliases) > maxMembers {
		return Invalid("model_aliases", "model_aliases must have at most %d entries", maxMembers)
	}
	for _, alias := range c.Aliases {
		if err := ValidateName("model_aliases", alias); err != nil {
			return err
		}
	}
	return nil
}

// RouteGroupNotFound is like ProviderNotFound.
func RouteGroupNotFound(id uuid.UUID) error { return notFound("model route group", id) }

// UnknownRouteGroup is for a group that a body refers to.
func UnknownRouteGroup(id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Param: "targets", Message: "model route group " + id.String() + " not found"}
}

// NoSuchMember is for a member that a group does not have.
func NoSuchMember(id uuid.UUID, alias string) error {
	return &Error{Kind: KindNotFound, Message: "model route group {id: " + id.String() + "} has no member '" + alias + "'"}
}

// RouteGroupNameTaken is for a name that another group has.
func RouteGroupNameTaken() error {
	return &Error{Kind: KindConflict, Code: "name_taken", Param: "name", Message: "A route group with this name already exists."}
}

// RouteGroupInUse is for a group that policies target.
func RouteGroupInUse(policies []Named) error {
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = p.Name
	}
	return &Error{Kind: KindConflict, Code: "group_in_use", Message: "The route group is targeted by model access policies: " + strings.Join(names, ", ") +
		". Change them first, or delete with force=true: they keep the target, which then matches nothing."}
}

// Named is a resource as another one's answer shows it.
type Named struct {
	ID   uuid.UUID
	Name string
}
