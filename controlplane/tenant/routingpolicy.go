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
	minSlots           = 2
	maxSlots           = 20
	maxPromptLen       = 8000 // characters
	maxSlotTextLen     = 2000
	maxRouterInput     = 1_000_000
	defaultRouterInput = 12_000
	defaultSlot        = 1
)

// Postures of a routing policy: how cost is weighed against quality.
const (
	PostureSavings  = "savings"
	PostureBalanced = "balanced"
	PostureQuality  = "quality"
)

var postures = []string{PostureSavings, PostureBalanced, PostureQuality}

// RoutingPolicy is a name that callers use like a model's, and which picks one of several
// models for each request.
type RoutingPolicy struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	RoutingPolicyConfig
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64
	Attribution
}

// RoutingPolicyConfig is the part of a policy that an administrator sets.
type RoutingPolicyConfig struct {
	Alias       string
	Description *string
	Enabled     bool
	Posture     string
	// Slots are what it picks from, the cheapest first.
	Slots []RoutingSlot
	// Breakpoints are token counts, one between each two slots: a larger request goes to
	// the later slot or above.
	Breakpoints []int64
	// Determiner is the model that picks; nil: the size of the request picks.
	Determiner *string
	// DeterminerPrompt replaces the built-in one; nil and empty do not.
	DeterminerPrompt *string
	// RouterInputMaxChars is how much of a request the determiner sees.
	RouterInputMaxChars int
	// DefaultSlot is the index of the slot where the determiner fails.
	DefaultSlot int
}

// RoutingSlot is a model to pick.
type RoutingSlot struct {
	Alias       string  `json:"model_alias"`
	Label       *string `json:"label"`
	Description *string `json:"description"` // for the determiner
}

// RoutingPolicyPatch is a change to a policy; nil fields stay as they are.
type RoutingPolicyPatch struct {
	Alias               *string
	Description         Change[string]
	Enabled             *bool
	Posture             *string
	Slots               *[]RoutingSlot
	Breakpoints         *[]int64
	Determiner          Change[string]
	DeterminerPrompt    Change[string]
	RouterInputMaxChars *int
	DefaultSlot         *int
	ChangeNote          *string
}

// NewRoutingPolicy validates a new policy and fills in the defaults.
func NewRoutingPolicy(p RoutingPolicyPatch) (RoutingPolicyConfig, error) {
	return RoutingPolicyConfig{Enabled: true, Posture: PostureBalanced, Breakpoints: []int64{128_000, 512_000},
		RouterInputMaxChars: defaultRouterInput, DefaultSlot: defaultSlot}.Update(p)
}

// Update returns the policy with the patch applied.
func (c RoutingPolicyConfig) Update(p RoutingPolicyPatch) (RoutingPolicyConfig, error) {
	next := c
	apply(&next.Alias, p.Alias)
	p.Description.apply(&next.Description)
	apply(&next.Enabled, p.Enabled)
	apply(&next.Posture, p.Posture)
	apply(&next.Slots, p.Slots)
	apply(&next.Breakpoints, p.Breakpoints)
	p.Determiner.apply(&next.Determiner)
	p.DeterminerPrompt.apply(&next.DeterminerPrompt)
	apply(&next.RouterInputMaxChars, p.RouterInputMaxChars)
	apply(&next.DefaultSlot, p.DefaultSlot)
	if next.Determiner != nil && strings.TrimSpace(*next.Determiner) == "" {
		next.Determiner = nil
	}
	if err := next.validate(); err != nil {
		return c, err
	}
	return next, validateNote(p.ChangeNote)
}

func (c RoutingPolicyConfig) validate() error {
	if err := ValidateName("model_alias", c.Alias); err != nil {
		return err
	}
	if strings.Contains(c.Alias, "/") {
		return Invalid("model_alias", "model_alias must not contain '/'")
	}
	if err := c.validateSlots(); err != nil {
		return err
	}
	if err := c.validateBreakpoints(); err != nil {
		return err
	}
	switch {
	case c.RouterInputMaxChars < 1 || c.RouterInputMaxChars > maxRouterInput:
		return Invalid("router_input_max_chars", "router_input_max_chars must be between 1 and %d", maxRouterInput)
	case c.DefaultSlot < 0 || c.DefaultSlot >= len(c.Slots):
		return Invalid("default_slot_on_failure", "default_slot_on_failure must be between 0 and %d: it counts slots from 0", len(c.Slots)-1)
	case !slices.Contains(postures, c.Posture):
		return Invalid("posture", "unknown posture: %s", c.Posture)
	case longer(c.DeterminerPrompt, maxPromptLen):
		return Invalid("determiner_prompt", "determiner_prompt must be at most %d characters", maxPromptLen)
	case longer(c.Description, maxSlotTextLen):
		return Invalid("description", "description must be at most %d characters", maxSlotTextLen)
	case c.Determiner == nil:
		return nil
	case c.names(*c.Determiner):
		return Invalid("determiner_model_alias", "determiner_model_alias is the routing policy itself")
	}
	return ValidateName("determiner_model_alias", *c.Determiner)
}

func (c RoutingPolicyConfig) validateSlots() error {
	switch {
	case len(c.Slots) < minSlots:
		return Invalid("slots", "slots must have at least %d entries", minSlots)
	case len(c.Slots) > maxSlots:
		return Invalid("slots", "slots must have at most %d entries", maxSlots)
	}
	for i, s := range c.Slots {
		switch {
		case strings.TrimSpace(s.Alias) == "":
			return Invalid(slotPath(i, "model_alias"), "model_alias of slot %d must not be blank", i)
		case c.names(s.Alias):
			return Invalid(slotPath(i, "model_alias"), "slot %d is the routing policy itself", i)
		case longer(s.Description, maxSlotTextLen):
			return Invalid(slotPath(i, "description"), "description of slot %d must be at most %d characters", i, maxSlotTextLen)
		case longer(s.Label, maxNameLen):
			return Invalid(slotPath(i, "label"), "label of slot %d must be at most %d characters", i, maxNameLen)
		}
		if err := ValidateName(slotPath(i, "model_alias"), s.Alias); err != nil {
			return err
		}
	}
	return nil
}

func (c RoutingPolicyConfig) validateBreakpoints() error {
	if len(c.Breakpoints) != len(c.Slots)-1 {
		return Invalid("context_breakpoints", "context_breakpoints must have %d entries, one less than slots", len(c.Slots)-1)
	}
	for i, b := range c.Breakpoints {
		switch {
		case b <= 0:
			return Invalid("context_breakpoints", "context_breakpoints must be greater than 0")
		case i > 0 && c.Breakpoints[i-1] >= b:
			return Invalid("context_breakpoints", "context_breakpoints must increase")
		}
	}
	return nil
}

// names reports whether a target would lead back to the policy itself.
func (c RoutingPolicyConfig) names(target string) bool {
	if provider, model, scoped := strings.Cut(target, "/"); scoped && provider != "" && model != "" {
		target = model
	}
	return strings.EqualFold(target, c.Alias)
}

// NewTargets are the slots' aliases that were not there before, each once: what stood in a
// policy may have gone dark since, and the policy can be changed all the same.
func (c RoutingPolicyConfig) NewTargets(before RoutingPolicyConfig) (list []string) {
	for _, s := range c.Slots {
		had := slices.ContainsFunc(before.Slots, func(o RoutingSlot) bool { return o.Alias == s.Alias })
		if !had && !slices.Contains(list, s.Alias) {
			list = append(list, s.Alias)
		}
	}
	return list
}

// Rename carries a route's new name into the policy.
func (c *RoutingPolicyConfig) Rename(from, to string) {
	for i := range c.Slots {
		if c.Slots[i].Alias == from {
			c.Slots[i].Alias = to
		}
	}
	if c.Determiner != nil && *c.Determiner == from {
		c.Determiner = &to
	}
}

func slotPath(i int, field string) string { return fmt.Sprintf("slots[%d].%s", i, field) }

func longer(text *string, most int) bool { return text != nil && utf8.RuneCountInString(*text) > most }

// RoutingPolicyNotFound is like ProviderNotFound.
func RoutingPolicyNotFound(id uuid.UUID) error {
	return &Error{Kind: KindNotFound, Message: "routing policy '" + id.String() + "' not found"}
}

// RoutingPolicyExists is for a second policy of an alias.
func RoutingPolicyExists() error {
	return &Error{Kind: KindConflict, Code: "name_taken", Param: "model_alias", Message: "A routing policy with this model_alias already exists."}
}

// SlotWithoutRoutes is for a slot that nothing answers.
func SlotWithoutRoutes(target string) error {
	return Invalid("slots", "nothing answers to '%s': enable a route or a model of this name first", target)
}

// AliasIsAPolicy is for a route by the name of a routing policy.
func AliasIsAPolicy(alias string) error {
	return &Error{Kind: KindConflict, Code: "name_taken", Param: "model_alias", Message: "'" + alias + "' is a routing policy already: a route needs a name of its own"}
}

// AliasIsARoute is for a policy by the name of a route.
func AliasIsARoute(alias string) error {
	return &Error{Kind: KindConflict, Code: "name_taken", Param: "model_alias", Message: "'" + alias + "' is a route already: a routing policy needs a name of its own"}
}
