package tenant

import (
	"strings"

	"github.com/google/uuid"
)

// Where a price comes from, the admin API's source of effective_pricing.
const (
	PricingOfProvider = "org_instance"     // the organization's, for this provider
	PricingOfFamily   = "org_catalog"      // the organization's, for the provider's family
	PricingOfModel    = "org_generic"      // the organization's, for the model anywhere
	PricingDefault    = "barndoor_default" // shipped
	PricingNone       = "none"
	PricingNotMetered = "not_metered"
)

// Pricing is the price that a target bills by.
type Pricing struct {
	Source string
	// RuleID is the version or the shipped price; nil where there is none.
	RuleID *uuid.UUID
	Terms  *PriceTerms
}

// Priced reports whether use of the target has a price, or needs none.
func (p Pricing) Priced() bool { return p.Source != PricingNone }

// PriceBook answers which price a target bills by.
type PriceBook struct{ byKey map[priceKey]priceEntry }

// priceKey is a pattern within what it is for.
type priceKey struct {
	source  string
	whom    string // the provider's id or family; empty: any
	pattern string
}

type priceEntry struct {
	id    uuid.UUID
	terms PriceTerms
}

// NewPriceBook is over the versions in force. Those that end a price count for nothing.
func NewPriceBook(inForce []PriceVersion) PriceBook {
	b := PriceBook{make(map[priceKey]priceEntry, len(inForce)+len(PriceDefaults()))}
	for _, v := range inForce {
		if v.Archived {
			continue
		}
		key := priceKey{PricingOfModel, "", v.Pattern}
		switch {
		case v.ProviderID != nil:
			key.source, key.whom = PricingOfProvider, v.ProviderID.String()
		case v.Provider != "":
			key.source, key.whom = PricingOfFamily, v.Provider
		}
		// Two rules of one provider may have the same pattern: the later word is meant.
		if had, twice := b.byKey[key]; !twice || had.id.String() < v.ID.String() {
			b.byKey[key] = priceEntry{v.ID, v.PriceTerms}
		}
	}
	for _, d := range PriceDefaults() {
		b.byKey[priceKey{PricingDefault, d.Provider, d.Pattern}] = priceEntry{d.ID, d.PriceTerms}
	}
	return b
}

// For resolves the price of an upstream model on a provider: the provider's own, its
// family's, the model's anywhere, the shipped one. Within each the exact name comes
// first, then the longest beginning.
func (b PriceBook) For(provider uuid.UUID, family, billingMode, model string) Pricing {
	if billingMode == BillingNotMetered {
		return Pricing{Source: PricingNotMetered}
	}
	for _, tier := range []priceKey{{source: PricingOfProvider, whom: provider.String()}, {source: PricingOfFamily, whom: family},
		{source: PricingOfModel}, {source: PricingDefault, whom: family}} {
		if e, found := b.match(tier, model); found {
			return Pricing{Source: tier.source, RuleID: &e.id, Terms: &e.terms}
		}
	}
	return Pricing{Source: PricingNone}
}

func (b PriceBook) match(tier priceKey, model string) (priceEntry, bool) {
	tier.pattern = model
	if e, found := b.byKey[tier]; found && !strings.HasSuffix(model, "*") {
		return e, true
	}
	for end := len(model); end >= 0; end-- {
		tier.pattern = model[:end] + "*"
		if e, found := b.byKey[tier]; found {
			return e, true
		}
	}
	return priceEntry{}, false
}
