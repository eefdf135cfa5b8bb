package store_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func newRoutingPolicy(alias, slot string) tenant.RoutingPolicyPatch {
	return tenant.RoutingPolicyPatch{Alias: &alias, Slots: &[]tenant.RoutingSlot{{Alias: slot}, {Alias: slot}}, Breakpoints: &[]int64{1}}
}

func newRoutingRule(name string) tenant.RoutingRulePatch {
	return tenant.RoutingRulePatch{Name: &name, Description: &name, FloorSlot: tenant.Change[int]{Set: true, Value: ptr(1)}}
}

func newRateLimit(name string) tenant.RateLimitPatch {
	return tenant.RateLimitPatch{Name: &name, Aim: tenant.AimPatch{Scope: tenant.ScopePatch{Type: ptr(tenant.ScopeOrg)}},
		RequestsPerMinute: tenant.Change[int64]{Set: true, Value: ptr(int64(1))}}
}

func newBudget(name string) tenant.BudgetPatch {
	return tenant.BudgetPatch{Name: &name, Aim: tenant.AimPatch{Scope: tenant.ScopePatch{Type: ptr(tenant.ScopeOrg)}}, Period: ptr(tenant.PeriodDaily), TokenLimit: ptr(int64(1))}
}

func newPrice(pattern, cost string) tenant.PriceCreate {
	return tenant.PriceCreate{Pattern: pattern, PricePatch: tenant.PricePatch{CostsPatch: tenant.CostsPatch{Input: &cost, Output: &cost}}}
}

// controlCalls are the calls of the store for prices, limits, budgets and routing policies.
func controlCalls(ctx context.Context, db *store.DB, id uuid.UUID) map[string]func(tenant.Principal) error {
	return map[string]func(tenant.Principal) error{
		"RoutingPolicies.List": func(p tenant.Principal) error { _, err := db.RoutingPolicies().List(ctx, p); return err },
		"RoutingPolicies.Get":  func(p tenant.Principal) error { _, err := db.RoutingPolicies().Get(ctx, p, id); return err },
		"RoutingPolicies.Create": func(p tenant.Principal) error {
			_, err := db.RoutingPolicies().Create(ctx, p, newRoutingPolicy("auto", "m"))
			return err
		},
		"RoutingPolicies.Update": func(p tenant.Principal) error {
			_, err := db.RoutingPolicies().Update(ctx, p, id, tenant.RoutingPolicyPatch{})
			return err
		},
		"RoutingPolicies.Delete": func(p tenant.Principal) error { return db.RoutingPolicies().Delete(ctx, p, id) },
		"RoutingRules.List":      func(p tenant.Principal) error { _, _, err := db.RoutingRules().List(ctx, p, id); return err },
		"RoutingRules.Get":       func(p tenant.Principal) error { _, _, err := db.RoutingRules().Get(ctx, p, id); return err },
		"RoutingRules.Create": func(p tenant.Principal) error {
			_, _, err := db.RoutingRules().Create(ctx, p, id, newRoutingRule("R"))
			return err
		},
		"RoutingRules.Update": func(p tenant.Principal) error {
			_, _, err := db.RoutingRules().Update(ctx, p, id, tenant.RoutingRulePatch{})
			return err
		},
		"RoutingRules.Delete": func(p tenant.Principal) error { return db.RoutingRules().Delete(ctx, p, id) },
		"RateLimits.List":     func(p tenant.Principal) error { _, err := db.RateLimits().List(ctx, p); return err },
		"RateLimits.Status":   func(p tenant.Principal) error { _, err := db.RateLimits().Status(ctx, p); return err },
		"RateLimits.Get":      func(p tenant.Principal) error { _, err := db.RateLimits().Get(ctx, p, id); return err },
		"RateLimits.Create": func(p tenant.Principal) error {
			_, err := db.RateLimits().Create(ctx, p, newRateLimit("L"))
			return err
		},
		"RateLimits.Update": func(p tenant.Principal) error {
			_, err := db.RateLimits().Update(ctx, p, id, tenant.RateLimitPatch{})
			return err
		},
		"RateLimits.Delete": func(p tenant.Principal) error { return db.RateLimits().Delete(ctx, p, id) },
		"Budgets.List":      func(p tenant.Principal) error { _, err := db.Budgets().List(ctx, p); return err },
		"Budgets.Status":    func(p tenant.Principal) error { _, err := db.Budgets().Status(ctx, p); return err },
		"Budgets.Get":       func(p tenant.Principal) error { _, err := db.Budgets().Get(ctx, p, id); return err },
		"Budgets.Create": func(p tenant.Principal) error {
			_, err := db.Budgets().Create(ctx, p, newBudget("B"))
			return err
		},
		"Budgets.Update": func(p tenant.Principal) error {
			_, err := db.Budgets().Update(ctx, p, id, tenant.BudgetPatch{})
			return err
		},
		"Budgets.Delete":  func(p tenant.Principal) error { return db.Budgets().Delete(ctx, p, id) },
		"Prices.List":     func(p tenant.Principal) error { _, err := db.Prices().List(ctx, p); return err },
		"Prices.Archived": func(p tenant.Principal) error { _, err := db.Prices().Archived(ctx, p); return err },
		"Prices.History": func(p tenant.Principal) error {
			_, err := db.Prices().History(ctx, p, tenant.PriceRule{})
			return err
		},
		"Prices.Get": func(p tenant.Principal) error { _, err := db.Prices().Get(ctx, p, id); return err },
		"Prices.Create": func(p tenant.Principal) error {
			_, err := db.Prices().Create(ctx, p, newPrice("m", "1"))
			return err
		},
		"Prices.Update": func(p tenant.Principal) error {
			_, err := db.Prices().Update(ctx, p, id, tenant.PricePatch{})
			return err
		},
		"Prices.Delete":  func(p tenant.Principal) error { _, err := db.Prices().Delete(ctx, p, id); return err },
		"Prices.Restore": func(p tenant.Principal) error { _, err := db.Prices().Restore(ctx, p, id); return err },
		"Prices.Import":  func(p tenant.Principal) error { _, err := db.Prices().Import(ctx, p, nil, nil); return err },
		"Prices.Sync":    func(p tenant.Principal) error { _, err := db.Prices().Sync(ctx, p); return err },
		"ConfigVersion":  func(p tenant.Principal) error { _, err := db.ConfigVersion(ctx, p); return err },
	}
}
