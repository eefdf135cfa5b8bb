package tenant

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	// costPlaces is how many digits a cost may have after the point.
	costPlaces = 12
	// maxReasonLen is in characters.
	maxReasonLen = 1000
)

// How a price follows the shipped one, the admin API's sync_mode.
const (
	SyncPinned   = "pinned"
	SyncTracking = "tracking"
	SyncAuto     = "auto"
)

var syncModes = []string{SyncTracking, SyncPinned, SyncAuto}

// What made a version, the admin API's change_source.
const (
	PriceCreated   = "admin_create"
	PriceEdited    = "admin_edit"
	PriceScheduled = "admin_schedule"
	PriceImported  = "import"
	PriceSynced    = "sync_manual"
	PriceArchived  = "admin_archive"
	PriceRestored  = "admin_restore"
)

// archivedReason is the reason of the version that ends a price.
const archivedReason = "Archived by admin"

// Costs are USD per million tokens of each kind. An unset cache cost is the input cost.
type Costs struct {
	Input      Decimal
	Output     Decimal
	CacheRead  *Decimal
	CacheWrite *Decimal
}

// LongContext are the costs of the whole of a request whose prompt has at least
// Threshold tokens.
type LongContext struct {
	Threshold int64 // at least 1
	Costs
}

// PriceTerms is what a version of a price says.
type PriceTerms struct {
	Costs
	LongContext *LongContext
	SyncMode    string
}

func (c Costs) equal(o Costs) bool {
	return c.Input == o.Input && c.Output == o.Output && same(c.CacheRead, o.CacheRead) && same(c.CacheWrite, o.CacheWrite)
}

func (t PriceTerms) equal(o PriceTerms) bool { return t.SyncMode == o.SyncMode && t.priced(o) }

// priced reports whether both bill the same.
func (t PriceTerms) priced(o PriceTerms) bool {
	if (t.LongContext == nil) != (o.LongContext == nil) {
		return false
	}
	if t.LongContext != nil && (t.LongContext.Threshold != o.LongContext.Threshold || !t.LongContext.equal(o.LongContext.Costs)) {
		return false
	}
	return t.Costs.equal(o.Costs)
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// PriceRule is what a price is for: the pair names it.
type PriceRule struct {
	// Pattern is an upstream model, or the beginning of several with a * at its end.
	Pattern string
	// Provider narrows it to a family; empty: none. Where a version names one provider by
	// its id it is any word, which keeps that rule apart from others of the pattern.
	Provider string
}

// PriceVersion is one version of a rule.
type PriceVersion struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	PriceRule
	ProviderID   *uuid.UUID // the one provider it is for
	ProviderName *string    // nil too where that provider is gone
	CatalogSlug  *string
	PriceTerms
	EffectiveFrom time.Time
	Archived      bool // it ends the price
	Source        string
	Reason        *string
	CreatedBy     Actor
	CreatedAt     time.Time
	Revision      int64
}

// CostsPatch changes Costs.
type CostsPatch struct {
	Input      *string
	Output     *string
	CacheRead  Change[string]
	CacheWrite Change[string]
}

// LongContextPatch is a whole LongContext, as JSON numbers.
type LongContextPatch struct {
	Threshold int64
	CostsPatch
}

// PricePatch is what a caller says of a version; nil fields stay as they are.
type PricePatch struct {
	CostsPatch
	LongContext   Change[LongContextPatch]
	SyncMode      *string
	EffectiveFrom *time.Time
	Reason        *string
}

// PriceCreate asks for another version of a rule.
type PriceCreate struct {
	Pattern     string
	Provider    *string
	ProviderID  *uuid.UUID
	CatalogSlug *string
	PricePatch
}

// New validates a version. Where it takes effect, and what it does to the rule, is for
// PriceHistory.Append to say.
func (c PriceCreate) New() (PriceVersion, error) {
	v := PriceVersion{PriceRule: PriceRule{Pattern: c.Pattern}, ProviderID: c.ProviderID, CatalogSlug: c.CatalogSlug, Reason: c.Reason,
		PriceTerms: PriceTerms{SyncMode: SyncPinned}}
	if err := validateModelPattern("model_pattern", c.Pattern); err != nil {
		return v, err
	}
	if err := optionalName("model_provider", c.Provider); err != nil {
		return v, err
	}
	if err := optionalName("catalog_slug", c.CatalogSlug); err != nil {
		return v, err
	}
	switch {
	case c.Provider != nil:
		v.Provider = *c.Provider
	case c.CatalogSlug != nil:
		v.Provider = *c.CatalogSlug
	}
	if err := v.PriceTerms.apply(c.PricePatch); err != nil {
		return v, err
	}
	if v.Input == "" || v.Output == "" {
		return v, Invalid("input_cost_per_million_tokens", "the input and the output cost are required")
	}
	return v, nil
}

// Reschedule is a change of a version that is not in force yet.
func (v PriceVersion) Reschedule(p PricePatch, now time.Time) (PriceVersion, error) {
	if !v.EffectiveFrom.After(now) {
		return v, &Error{Kind: KindInvalid, Code: "version_immutable",
			Message: "Past pricing versions are immutable. Create a new version (POST /admin/model-pricing) to change the current price."}
	}
	if p.EffectiveFrom != nil {
		v.EffectiveFrom = stamp(*p.EffectiveFrom)
		if !v.EffectiveFrom.After(now) {
			return v, Invalid("effective_from", "effective_from of a scheduled version must stay in the future: create a version to change the price now")
		}
	}
	if p.Reason != nil {
		v.Reason = p.Reason
	}
	err := v.PriceTerms.apply(p)
	return v, err
}

func (t *PriceTerms) apply(p PricePatch) (err error) {
	if err := t.Costs.apply("", p.CostsPatch); err != nil {
		return err
	}
	if p.LongContext.Set {
		if t.LongContext, err = newLongContext(p.LongContext.Value); err != nil {
			return err
		}
	}
	apply(&t.SyncMode, p.SyncMode)
	if !slices.Contains(syncModes, t.SyncMode) {
		return &Error{Kind: KindUnprocessable, Code: "invalid_type", Param: "sync_mode",
			Message: "sync_mode: unknown variant `" + t.SyncMode + "`, expected one of `" + strings.Join(syncModes, "`, `") + "`"}
	}
	return validateReason(p.Reason)
}

func newLongContext(p *LongContextPatch) (*LongContext, error) {
	if p == nil {
		return nil, nil
	}
	if p.Threshold < 1 {
		return nil, Invalid("long_context.threshold_prompt_tokens", "threshold_prompt_tokens must be at least 1")
	}
	l := &LongContext{Threshold: p.Threshold}
	return l, l.Costs.apply("long_context.", p.CostsPatch)
}

func (c *Costs) apply(within string, p CostsPatch) error {
	required := func(into *Decimal, field string, number *string) error {
		if number == nil {
			return nil
		}
		d, err := ParseDecimal(within+field, *number, costPlaces)
		*into = d
		return err
	}
	optional := func(into **Decimal, field string, change Change[string]) error {
		if !change.Set || change.Value == nil {
			if change.Set {
				*into = nil
			}
			return nil
		}
		*into = new(Decimal)
		return required(*into, field, change.Value)
	}
	for _, err := range []error{
		required(&c.Input, "input_cost_per_million_tokens", p.Input), required(&c.Output, "output_cost_per_million_tokens", p.Output),
		optional(&c.CacheRead, "cache_read_cost_per_million_tokens", p.CacheRead), optional(&c.CacheWrite, "cache_write_cost_per_million_tokens", p.CacheWrite),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// validateModelPattern refuses a * that is not at the end: it would match nothing but
// itself.
func validateModelPattern(field, pattern string) error {
	if strings.Contains(strings.TrimSuffix(pattern, "*"), "*") {
		return Invalid(field, "'%s': a * is allowed only at the end", pattern)
	}
	return ValidateName(field, pattern)
}

func validateReason(reason *string) error {
	if reason != nil && len([]rune(*reason)) > maxReasonLen {
		return Invalid("change_reason", "change_reason must be at most %d characters", maxReasonLen)
	}
	return nil
}

// stamp is a time as the database keeps it.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
