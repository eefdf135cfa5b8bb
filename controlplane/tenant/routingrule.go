package tenant

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	maxRuleNameLen = 120 // characters
	maxRuleTextLen = 2000
)

// RoutingRule bounds what a routing policy picks for a kind of request.
type RoutingRule struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	PolicyID       uuid.UUID
	RoutingRuleConfig
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64
	Attribution
}

// RoutingRuleConfig is the part of a rule that an administrator sets. Slots are indices
// into the policy's; one that the policy does not have counts for nothing.
type RoutingRuleConfig struct {
	Name string
	// Description is the kind of request in plain words, for the determiner.
	Description string
	FloorSlot   *int  // no lower one
	DenySlots   []int // none of these; sorted, each once
	Enabled     bool
}

// RoutingRulePatch is a change to a rule; nil fields stay as they are.
type RoutingRulePatch struct {
	Name        *string
	Description *string
	FloorSlot   Change[int]
	DenySlots   Change[[]int]
	Enabled     *bool
	ChangeNote  *string
}

// NewRoutingRule validates a new rule and fills in the defaults.
func NewRoutingRule(p RoutingRulePatch) (RoutingRuleConfig, error) {
	return RoutingRuleConfig{DenySlots: []int{}, Enabled: true}.Update(p)
}

// Update returns the rule with the patch applied. What does not make a rule is refused as
// what does not fit its type.
func (c RoutingRuleConfig) Update(p RoutingRulePatch) (RoutingRuleConfig, error) {
	next := c
	if p.Name != nil {
		next.Name = strings.TrimSpace(*p.Name)
	}
	if p.Description != nil {
		next.Description = strings.TrimSpace(*p.Description)
	}
	p.FloorSlot.apply(&next.FloorSlot)
	if p.DenySlots.Set {
		next.DenySlots = []int{}
		if p.DenySlots.Value != nil {
			next.DenySlots = append(next.DenySlots, *p.DenySlots.Value...)
		}
		slices.Sort(next.DenySlots)
		next.DenySlots = slices.Compact(next.DenySlots)
	}
	apply(&next.Enabled, p.Enabled)
	if err := next.validate(); err != nil {
		return c, err
	}
	return next, validateNote(p.ChangeNote)
}

func (c RoutingRuleConfig) validate() error {
	switch {
	case c.Name == "":
		return noRule("name", "name must not be blank")
	case utf8.RuneCountInString(c.Name) > maxRuleNameLen:
		return noRule("name", fmt.Sprintf("name must be at most %d characters", maxRuleNameLen))
	case c.Description == "":
		return noRule("description", "description must not be blank: it is what requests are matched by")
	case utf8.RuneCountInString(c.Description) > maxRuleTextLen:
		return noRule("description", fmt.Sprintf("description must be at most %d characters", maxRuleTextLen))
	case c.FloorSlot != nil && *c.FloorSlot < 0:
		return noRule("floor_slot", "floor_slot must not be negative")
	case len(c.DenySlots) > 0 && c.DenySlots[0] < 0:
		return noRule("deny_slots", "deny_slots must not be negative")
	case c.FloorSlot == nil && len(c.DenySlots) == 0:
		return noRule("floor_slot", "floor_slot or deny_slots is required: a rule with neither changes nothing")
	}
	return nil
}

func noRule(param, message string) error {
	return &Error{Kind: KindUnprocessable, Code: "invalid_rule", Param: param, Message: message}
}

// RoutingRuleNotFound is like ProviderNotFound.
func RoutingRuleNotFound(id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Message: "routing rule '" + id.String() + "' not found"}
}

// RoutingRuleExists is for a second rule of a name on one policy.
func RoutingRuleExists() error {
	return noRule("name", "A rule with this name already exists on this routing policy.")
}

// RuleConflict says that two rules, or one and itself, cannot both hold. It is advice: both
// are stored, and where both match a request the ban wins.
type RuleConflict struct {
	Rule          string
	ConflictsWith string
	Detail        string
}

// RuleConflicts finds the enabled rules that leave no slot, over a policy with so many.
func RuleConflicts(rules []RoutingRule, slots int) []RuleConflict {
	list := []RuleConflict{}
	for _, r := range rules {
		if r.bans(r, slots) {
			list = append(list, RuleConflict{r.Name, r.Name, fmt.Sprintf("its floor (%d) leaves only slots that it bans: it can never hold", *r.FloorSlot)})
		}
	}
	for _, r := range rules {
		for _, o := range rules {
			if o.ID != r.ID && o.bans(r, slots) {
				list = append(list, RuleConflict{r.Name, o.Name, fmt.Sprintf("its floor (%d) leaves only slots that '%s' bans: where both match a request, the ban wins",
					*r.FloorSlot, o.Name)})
			}
		}
	}
	return list
}

// bans reports whether r bans every slot that o, by its floor, leaves.
func (r RoutingRule) bans(o RoutingRule, slots int) bool {
	if !r.Enabled || !o.Enabled || o.FloorSlot == nil || *o.FloorSlot >= slots {
		return false
	}
	for slot := *o.FloorSlot; slot < slots; slot++ {
		if !slices.Contains(r.DenySlots, slot) {
			return false
		}
	}
	return true
}
