package tenant

// What holds for a caller for whom no allowlist is.
const (
	AccessAllow = "allow"
	AccessDeny  = "deny"
)

// Governance is what an organization demands of its configuration as a whole.
type Governance struct {
	// RequirePricing refuses an enabled mapping whose model has no price.
	RequirePricing bool
	// DefaultAccess is AccessAllow or AccessDeny.
	DefaultAccess string
	// RequireRoutingPolicy refuses requests whose model is no routing policy.
	RequireRoutingPolicy bool
	// Who changed it last, and why; nobody created it.
	Attribution
	Revision int64 // 0: never set
}

// DefaultGovernance is that of an organization that has set nothing.
func DefaultGovernance() Governance { return Governance{DefaultAccess: AccessAllow} }

// GovernancePatch changes a Governance; nil fields stay as they are.
type GovernancePatch struct {
	RequirePricing       *bool
	DefaultAccess        *string
	RequireRoutingPolicy *bool
	ChangeNote           *string
}

// Update returns g with the patch applied.
func (g Governance) Update(p GovernancePatch) (Governance, error) {
	apply(&g.RequirePricing, p.RequirePricing)
	apply(&g.DefaultAccess, p.DefaultAccess)
	apply(&g.RequireRoutingPolicy, p.RequireRoutingPolicy)
	if err := validateNote(p.ChangeNote); err != nil {
		return g, err
	}
	return g, oneOf("default_model_access", g.DefaultAccess, []string{AccessAllow, AccessDeny})
}
