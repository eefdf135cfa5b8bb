package tenant

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// Sources of a mapping.
const (
	SourceCatalog = "catalog"
	SourceCustom  = "custom"
)

// Upstream is a model on a provider: what a target's health and its price belong to,
// whatever routes it is in.
type Upstream struct {
	ProviderID uuid.UUID
	Model      string
}

// Mapping is a model that is enabled on a provider (1:1), or a target of a route.
type Mapping struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	ProviderID     uuid.UUID
	MappingConfig
	Around    Surroundings
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64
	Attribution
}

// Upstream returns what the mapping stands for.
func (m Mapping) Upstream() Upstream { return Upstream{m.ProviderID, m.UpstreamModel} }

// MappingConfig is the part of a mapping that an administrator sets.
type MappingConfig struct {
	Alias                 string
	UpstreamModel         string
	Enabled               bool
	Priority              int
	RetryOn429Count       int
	RetryOn429MaxWaitSecs int
	EmbeddingsFailover    string // node.EmbeddingsSameModel or node.EmbeddingsAnyModel
	BareAlias             bool
	Timeouts              Timeouts
	Cooldown              node.Cooldown
	Source                string
}

// Surroundings is what a mapping's answer shows of other rows.
type Surroundings struct {
	ProviderName     string
	ProviderAuthType string
	ProviderEnabled  bool
	ProviderServing  bool // Provider.Serving
	ProviderTimeouts Timeouts
	ProviderFamily   string
	// ProviderBillingMode is the provider's Billing.Mode.
	ProviderBillingMode string
	// Pricing is the price of the upstream model on the provider.
	Pricing Pricing
	// ModelEnabled is whether the model's 1:1 enablement exists and is enabled.
	ModelEnabled bool
}

// MappingPatch is a change to a mapping; nil fields stay as they are.
type MappingPatch struct {
	Alias                 *string
	UpstreamModel         *string
	Enabled               *bool
	Priority              *int
	RetryOn429Count       *int
	RetryOn429MaxWaitSecs *int
	EmbeddingsFailover    *string
	BareAlias             *bool
	Timeouts              TimeoutsPatch
	Cooldown              CooldownPatch
	Source                *string
	ChangeNote            *string
}

// Priority is one entry of a reordering.
type Priority struct {
	ID       uuid.UUID
	Priority int
}

// Enablement reports whether the mapping is 1:1: it enables the model on its
// provider, instead of routing a name to it.
func (c MappingConfig) Enablement() bool { return c.Alias == c.UpstreamModel }

// OfRoute reports whether the mapping is a target of the route of its alias: an enablement
// that its alias alone does not name is none.
func (c MappingConfig) OfRoute() bool { return !c.Enablement() || c.BareAlias }

// NewMapping validates a new mapping and fills in the defaults.
func NewMapping(p MappingPatch) (MappingConfig, error) {
	return MappingConfig{}.Fold(p)
}

// Fold is a second creation of the 1:1 enablement c: everything but the two
// timeouts goes back to its default unless the patch sets it.
func (c MappingConfig) Fold(p MappingPatch) (MappingConfig, error) {
	next := MappingConfig{Enabled: true, EmbeddingsFailover: node.EmbeddingsSameModel, Timeouts: c.Timeouts, Cooldown: node.DefaultCooldown()}
	apply(&next.Alias, p.Alias)
	apply(&next.UpstreamModel, p.UpstreamModel)
	next.BareAlias, next.Source = true, SourceCustom
	if next.Enablement() {
		next.BareAlias, next.Source = false, SourceCatalog
	}
	return next.Update(p)
}

// Update returns the mapping with the patch applied.
func (c MappingConfig) Update(p MappingPatch) (MappingConfig, error) {
	next := c
	apply(&next.Alias, p.Alias)
	apply(&next.UpstreamModel, p.UpstreamModel)
	apply(&next.Enabled, p.Enabled)
	apply(&next.Priority, p.Priority)
	apply(&next.RetryOn429Count, p.RetryOn429Count)
	apply(&next.RetryOn429MaxWaitSecs, p.RetryOn429MaxWaitSecs)
	apply(&next.EmbeddingsFailover, p.EmbeddingsFailover)
	apply(&next.BareAlias, p.BareAlias)
	apply(&next.Source, p.Source)
	next.Timeouts.apply(p.Timeouts)
	p.Cooldown.apply(&next.Cooldown)
	if err := next.validate(); err != nil {
		return c, err
	}
	return next, validateNote(p.ChangeNote)
}

func (c MappingConfig) validate() error {
	if err := ValidateName("model_alias", c.Alias); err != nil {
		return err
	}
	if err := ValidateName("upstream_model", c.UpstreamModel); err != nil {
		return err
	}
	if err := between("retry_on_429_count", c.RetryOn429Count, 0, 10); err != nil {
		return err
	}
	if err := between("retry_on_429_max_wait_secs", c.RetryOn429MaxWaitSecs, 0, 180); err != nil {
		return err
	}
	if err := oneOf("embeddings_failover", c.EmbeddingsFailover, []string{node.EmbeddingsSameModel, node.EmbeddingsAnyModel}); err != nil {
		return err
	}
	if err := oneOf("source", c.Source, []string{SourceCatalog, SourceCustom}); err != nil {
		return err
	}
	if err := c.Timeouts.validate(); err != nil {
		return err
	}
	return validateCooldown(c.Cooldown)
}

// NeedsEnablement reports whether moving from c to next needs the 1:1 enablement
// of next's model. A target whose model was disabled later may still be edited and
// renamed.
func (c MappingConfig) NeedsEnablement(next MappingConfig) bool {
	return !next.Enablement() && (c.Enablement() || c.UpstreamModel != next.UpstreamModel)
}

// EffectiveBehavior says in one sentence what the two retry fields do.
func (c MappingConfig) EffectiveBehavior() string {
	tries, each := "1 more time", ""
	switch {
	case c.RetryOn429Count == 0:
		return "On a rate limit, fails over at once."
	case c.RetryOn429Count > 1:
		tries, each = fmt.Sprintf("up to %d more times", c.RetryOn429Count), " each time"
	}
	wait := "about 1 s"
	if c.RetryOn429MaxWaitSecs > 0 {
		wait = fmt.Sprintf("what the provider asks, at most %d s", c.RetryOn429MaxWaitSecs)
	}
	return "On a rate limit, tries this target " + tries + ", waiting " + wait + each + ", then fails over."
}

// EffectiveTimeouts are the seconds that apply: the mapping's own, else the
// provider's, else the default.
func (m Mapping) EffectiveTimeouts() (requestSecs, streamIdleSecs int) {
	return firstOf(m.Timeouts.RequestSecs, m.Around.ProviderTimeouts.RequestSecs, node.DefaultRequestTimeoutSecs),
		firstOf(m.Timeouts.StreamIdleSecs, m.Around.ProviderTimeouts.StreamIdleSecs, node.DefaultStreamIdleTimeoutSecs)
}

func firstOf(own, provider *int, otherwise int) int {
	switch {
	case own != nil:
		return *own
	case provider != nil:
		return *provider
	}
	return otherwise
}

// Reasons why a target cannot serve.
const (
	ServingDisabled              = "disabled"
	ServingProviderDisabled      = "provider_disabled"
	ServingProviderModelDisabled = "provider_model_disabled"
	ServingProviderNotServing    = "provider_not_serving"
)

// ServingStatus is the first reason why the target cannot serve, or "".
func (m Mapping) ServingStatus() string {
	switch {
	case !m.Enabled:
		return ServingDisabled
	case !m.Around.ProviderEnabled:
		return ServingProviderDisabled
	case !m.Around.ModelEnabled:
		return ServingProviderModelDisabled
	case !m.Around.ProviderServing:
		return ServingProviderNotServing
	}
	return ""
}

// ValidateReorder refuses an id that is named twice: which of its priorities is
// meant cannot be known.
func ValidateReorder(entries []Priority) error {
	seen := make(map[uuid.UUID]bool, len(entries))
	for _, e := range entries {
		if seen[e.ID] {
			return Invalid("entries", "model mapping %s is named twice", e.ID)
		}
		seen[e.ID] = true
	}
	return nil
}
