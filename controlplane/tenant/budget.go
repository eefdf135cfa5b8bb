package tenant

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

const (
	// limitPlaces is how many digits a cost limit may have after the point.
	limitPlaces = 4
	// maxThresholds bounds the alerts of a budget.
	maxThresholds = 100
	currencyUSD   = "USD"
)

// Values of a budget.
const (
	PeriodDaily   = "daily"
	PeriodWeekly  = "weekly" // from Monday
	PeriodMonthly = "monthly"

	ExhaustBlock    = "block"
	ExhaustThrottle = "throttle" // one request at a time
	ExhaustWarn     = "warn"
)

var (
	budgetPeriods  = []string{PeriodDaily, PeriodWeekly, PeriodMonthly}
	exhaustActions = []string{ExhaustBlock, ExhaustThrottle, ExhaustWarn}
)

// Budget bounds what somebody may use in a calendar period, in UTC.
type Budget struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	BudgetConfig
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64
	Attribution
}

// BudgetConfig is the part of a budget that an administrator sets.
type BudgetConfig struct {
	Name            string
	Aim             Aim
	Period          string
	TokenLimit      int64    // 0: none
	CostLimit       *Decimal // nil: none
	Currency        string
	AlertThresholds []int // percentages, in the order given
	ActionOnExhaust string
	Enabled         bool
}

// BudgetPatch is a change to a budget; nil fields stay as they are. Of the aim only the
// kind of traffic can change.
type BudgetPatch struct {
	Name            *string
	Aim             AimPatch
	Period          *string
	TokenLimit      *int64
	CostLimit       Change[string]
	Currency        *string
	AlertThresholds *[]int
	ActionOnExhaust *string
	Enabled         *bool
	ChangeNote      *string
}

// NewBudget validates a new budget and fills in the defaults.
func NewBudget(p BudgetPatch) (BudgetConfig, error) {
	return BudgetConfig{Aim: Aim{TrafficType: TrafficAll}, Currency: currencyUSD, AlertThresholds: []int{80, 90},
		ActionOnExhaust: ExhaustBlock, Enabled: true}.Update(p)
}

// Update returns the budget with the patch applied.
func (c BudgetConfig) Update(p BudgetPatch) (BudgetConfig, error) {
	next := c
	apply(&next.Name, p.Name)
	next.Aim.apply(p.Aim)
	apply(&next.Period, p.Period)
	apply(&next.TokenLimit, p.TokenLimit)
	apply(&next.Currency, p.Currency)
	apply(&next.AlertThresholds, p.AlertThresholds)
	apply(&next.ActionOnExhaust, p.ActionOnExhaust)
	apply(&next.Enabled, p.Enabled)
	if err := next.applyCost(p.CostLimit); err != nil {
		return c, err
	}
	if err := next.validate(); err != nil {
		return c, err
	}
	return next, validateNote(p.ChangeNote)
}

func (c *BudgetConfig) applyCost(change Change[string]) error {
	if !change.Set {
		return nil
	}
	c.CostLimit = nil
	if change.Value == nil {
		return nil
	}
	limit, err := ParseDecimal("cost_limit", *change.Value, limitPlaces)
	if err == nil && limit == "0" {
		err = Invalid("cost_limit", "cost_limit must be greater than 0")
	}
	c.CostLimit = &limit
	return err
}

func (c BudgetConfig) validate() error {
	if err := ValidateName("name", c.Name); err != nil {
		return err
	}
	switch {
	case c.TokenLimit < 0:
		return Invalid("token_limit", "token_limit must be non-negative")
	case c.TokenLimit == 0 && c.CostLimit == nil:
		return Invalid("token_limit", "At least one limit is required: token_limit or cost_limit")
	case !slices.Contains(budgetPeriods, c.Period):
		return Invalid("period", "invalid period: %s", c.Period)
	case c.Currency != currencyUSD:
		return Invalid("currency", "currency must be '%s'", currencyUSD)
	case len(c.AlertThresholds) > maxThresholds:
		return Invalid("alert_thresholds", "alert_thresholds must have at most %d entries", maxThresholds)
	}
	for _, percent := range c.AlertThresholds {
		if err := between("alert_thresholds", percent, 0, 100); err != nil {
			return err
		}
	}
	if err := oneOf("action_on_exhaust", c.ActionOnExhaust, exhaustActions); err != nil {
		return err
	}
	return c.Aim.validate()
}

// BudgetNotFound is like ProviderNotFound.
func BudgetNotFound(id uuid.UUID) error { return notFound("token budget", id) }

// BudgetExists is for a second budget of the same aim and period.
func BudgetExists() error {
	return &Error{Kind: KindConflict, Code: "budget_exists", Message: "A budget with this scope, target, traffic type, and period already exists. " +
		"Edit the existing one, or vary the scope, target, traffic type, or period."}
}
