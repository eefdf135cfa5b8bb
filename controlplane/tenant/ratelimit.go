package tenant

import (
	"time"

	"github.com/google/uuid"
)

// RateLimit bounds what somebody may ask in any 60 seconds.
type RateLimit struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	RateLimitConfig
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64
	Attribution
}

// RateLimitConfig is the part of a limit that an administrator sets. At least one of the
// two numbers is set.
type RateLimitConfig struct {
	Name              string
	Aim               Aim
	RequestsPerMinute *int64
	TokensPerMinute   *int64
	Enabled           bool
}

// RateLimitPatch is a change to a limit; nil fields stay as they are.
type RateLimitPatch struct {
	Name              *string
	Aim               AimPatch
	RequestsPerMinute Change[int64]
	TokensPerMinute   Change[int64]
	Enabled           *bool
	ChangeNote        *string
}

// NewRateLimit validates a new limit and fills in the defaults.
func NewRateLimit(p RateLimitPatch) (RateLimitConfig, error) {
	c := RateLimitConfig{Aim: Aim{TrafficType: TrafficAll}, Enabled: true}
	if p.RequestsPerMinute.Value == nil && p.TokensPerMinute.Value == nil {
		return c, Invalid("requests_per_minute", "at least one of requests_per_minute or tokens_per_minute is required")
	}
	return c.Update(p)
}

// Update returns the limit with the patch applied.
func (c RateLimitConfig) Update(p RateLimitPatch) (RateLimitConfig, error) {
	next := c
	apply(&next.Name, p.Name)
	next.Aim.apply(p.Aim)
	p.RequestsPerMinute.apply(&next.RequestsPerMinute)
	p.TokensPerMinute.apply(&next.TokensPerMinute)
	apply(&next.Enabled, p.Enabled)
	if err := next.validate(); err != nil {
		return c, err
	}
	// The members' counters are the scope's: with another scope they would be nobody's.
	if group := c.Aim.MemberOfGroup; group != nil && !next.Aim.Scope.everyUser() {
		return c, Invalid("scope_type", "the scope of a limit for each member of '%s' cannot be changed", *group)
	}
	if err := next.Aim.validate(); err != nil {
		return c, err
	}
	return next, validateNote(p.ChangeNote)
}

func (c RateLimitConfig) validate() error {
	if err := ValidateName("name", c.Name); err != nil {
		return err
	}
	if err := refuseLegacyScope(c.Aim.Scope.Type); err != nil {
		return err
	}
	switch {
	case c.RequestsPerMinute != nil && *c.RequestsPerMinute < 0:
		return Invalid("requests_per_minute", "requests_per_minute cannot be negative")
	case c.TokensPerMinute != nil && *c.TokensPerMinute < 0:
		return Invalid("tokens_per_minute", "tokens_per_minute cannot be negative")
	case c.RequestsPerMinute == nil && c.TokensPerMinute == nil:
		return Invalid("requests_per_minute", "at least one of requests_per_minute or tokens_per_minute must be set")
	}
	return nil
}

// RateLimitNotFound is like ProviderNotFound.
func RateLimitNotFound(id uuid.UUID) error { return notFound("rate limit policy", id) }

// NoRateLimitToUpdate is RateLimitNotFound for an update, which names no id.
func NoRateLimitToUpdate(uuid.UUID) error {
	return &Error{Kind: KindNotFound, Message: "rate limit policy not found"}
}

// RateLimitExists is for a second limit of the same aim.
func RateLimitExists() error {
	return &Error{Kind: KindConflict, Code: "rate_limit_exists", Message: "A policy with this scope and traffic type already exists."}
}
