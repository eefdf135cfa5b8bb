package tenant

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Kinds of model access policies.
const (
	PolicyAllowlist = "allowlist" // whom it is for may call what it names, and else only what another one allows
	PolicyDenylist  = "denylist"  // whom it is for may not call what it names, whatever else allows it
)

var policyTypes = []string{PolicyAllowlist, PolicyDenylist}

// AccessPolicy says which models somebody may call.
type AccessPolicy struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	AccessConfig
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64
	Attribution
}

// AccessConfig is the part of a policy that an administrator sets.
type AccessConfig struct {
	Name        string
	Scope       Scope
	PolicyType  string
	Targets     []Target
	TrafficType string // a policy of another kind than all and llm has no say here
	Enabled     bool
}

// AccessPatch is a change to a policy; nil fields stay as they are.
type AccessPatch struct {
	Name        *string
	Scope       ScopePatch
	PolicyType  *string
	Targets     *[]Target
	TrafficType *string
	Enabled     *bool
	ChangeNote  *string
}

// NewAccess validates a new policy and fills in the defaults.
func NewAccess(p AccessPatch) (AccessConfig, error) {
	if p.Targets == nil || len(*p.Targets) == 0 {
		return AccessConfig{}, Invalid("targets", "at least one target is required")
	}
	return AccessConfig{TrafficType: TrafficLLM, Enabled: true}.Update(p)
}

// Update returns the policy with the patch applied.
func (c AccessConfig) Update(p AccessPatch) (AccessConfig, error) {
	next := c
	apply(&next.Name, p.Name)
	next.Scope.apply(p.Scope)
	apply(&next.PolicyType, p.PolicyType)
	apply(&next.TrafficType, p.TrafficType)
	apply(&next.Enabled, p.Enabled)
	if err := next.validate(); err != nil {
		return c, err
	}
	if p.Targets != nil {
		if len(*p.Targets) == 0 {
			return c, Invalid("targets", "targets cannot be empty when provided")
		}
		var err error
		if next.Targets, err = ownTargets(*p.Targets); err != nil {
			return c, err
		}
	}
	return next, validateNote(p.ChangeNote)
}

func (c AccessConfig) validate() error {
	if err := ValidateName("name", c.Name); err != nil {
		return err
	}
	if err := c.Scope.validate(); err != nil {
		return err
	}
	if !slices.Contains(policyTypes, c.PolicyType) {
		return Invalid("policy_type", "policy_type must be 'allowlist' or 'denylist'")
	}
	return validateTraffic(c.TrafficType)
}

// Groups are the route groups that the targets name, each once.
func (c AccessConfig) Groups() []uuid.UUID {
	var out []uuid.UUID
	for _, t := range c.Targets {
		if t.GroupID != nil && !slices.Contains(out, *t.GroupID) {
			out = append(out, *t.GroupID)
		}
	}
	return out
}

// Rename carries a route's new name into the targets that have the old one, and reports
// whether there was one. A pattern stays as it is: it was never about one route. Where the
// old name is still a model's own on the provider, a provider_model speaks of both.
func (c *AccessConfig) Rename(r Route, to string) bool {
	renamed := false
	var targets []Target
	for _, t := range c.Targets {
		next := t
		switch {
		case t.Kind == TargetModelAlias && *t.Alias == r.Alias:
			next.Alias = &to
		case t.Kind == TargetProviderModel && *t.Model == r.Alias && r.on(*t.ProviderID):
			next.Model = &to
			if r.enables(*t.ProviderID) {
				targets = append(targets, t)
			}
		default:
			targets = append(targets, t)
			continue
		}
		targets, renamed = append(targets, next), true
	}
	c.Targets = targets
	return renamed
}

func (r Route) on(provider uuid.UUID) bool {
	return slices.ContainsFunc(r.Targets, func(m Mapping) bool { return m.ProviderID == provider })
}

// enables reports whether a target of the route is the enablement of the model of its name.
func (r Route) enables(provider uuid.UUID) bool {
	return slices.ContainsFunc(r.Targets, func(m Mapping) bool { return m.ProviderID == provider && m.Enablement() })
}

// AccessNotFound is like ProviderNotFound.
func AccessNotFound(id uuid.UUID) error { return notFound("model access policy", id) }
