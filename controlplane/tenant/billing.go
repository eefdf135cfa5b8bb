package tenant

import "unicode/utf8"

// maxBillingNoteLen is in characters.
const maxBillingNoteLen = 200

// Billing modes.
const (
	BillingPerToken   = "per_token"
	BillingNotMetered = "not_metered"
)

var (
	billingModes   = []string{BillingPerToken, BillingNotMetered}
	billingReasons = []string{"subscription", "local", "external", "other"}
)

// Billing is whether the use of a provider has a price by the token, and why not.
type Billing struct {
	Mode string
	// Reason is set when not metered; else it is kept as sent and means nothing.
	Reason *string
	Note   *string
}

// BillingPatch changes Billing.
type BillingPatch struct {
	Mode   *string
	Reason Change[string]
	Note   Change[string]
}

// apply keeps the answer equal to what was sent. A patch that names per_token takes
// the reason and the note that it does not name away: they told why the provider was
// not metered, and an automation that no longer holds them leaves them out.
func (b *Billing) apply(p BillingPatch) {
	if p.Mode != nil {
		b.Mode = *p.Mode
		if b.Mode == BillingPerToken {
			b.Reason, b.Note = nil, nil
		}
	}
	p.Reason.apply(&b.Reason)
	p.Note.apply(&b.Note)
}

func (b Billing) validate() error {
	if err := oneOf("billing_mode", b.Mode, billingModes); err != nil {
		return err
	}
	if b.Reason != nil {
		if err := oneOf("billing_reason", *b.Reason, billingReasons); err != nil {
			return err
		}
	}
	switch {
	case b.Mode == BillingNotMetered && b.Reason == nil:
		return Invalid("billing_reason", "billing_reason is required when billing_mode is '%s': %s", b.Mode, quoted(billingReasons))
	case b.Note != nil && utf8.RuneCountInString(*b.Note) > maxBillingNoteLen:
		return Invalid("billing_note", "billing_note must be at most %d characters", maxBillingNoteLen)
	}
	return nil
}
