package store

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// RoutingPolicies are the routing policies of an organization.
type RoutingPolicies struct{ db *DB }

// RoutingPolicies returns the routing policies.
func (d *DB) RoutingPolicies() RoutingPolicies { return RoutingPolicies{d} }

var routingPolicies = table[tenant.RoutingPolicy]{
	name: "routing_policies",
	query: `SELECT id, org_id, model_alias, description, enabled, posture, slots, context_breakpoints, determiner_model_alias, determiner_prompt,
		router_input_max_chars, default_slot_on_failure, ` + attribution + ` FROM routing_policies`,
	scan:     scanRoutingPolicy,
	missing:  tenant.RoutingPolicyNotFound,
	revision: func(p tenant.RoutingPolicy) int64 { return p.Revision },
}

func scanRoutingPolicy(row pgx.CollectableRow) (p tenant.RoutingPolicy, err error) {
	err = row.Scan(attributed([]any{&p.ID, &p.OrganizationID, &p.Alias, &p.Description, &p.Enabled, &p.Posture, &p.Slots, &p.Breakpoints, &p.Determiner,
		&p.DeterminerPrompt, &p.RouterInputMaxChars, &p.DefaultSlot}, &p.CreatedAt, &p.UpdatedAt, &p.Attribution, &p.Revision)...)
	return p, err
}

// List returns every policy.
func (s RoutingPolicies) List(ctx context.Context, by tenant.Principal) ([]tenant.RoutingPolicy, error) {
	return routingPolicies.list(ctx, s.db, by, tenant.ListRoutingPolicies)
}

// Get returns one policy.
func (s RoutingPolicies) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (tenant.RoutingPolicy, error) {
	return routingPolicies.read(ctx, s.db, by, tenant.GetRoutingPolicy, id)
}

// Create stores a policy.
func (s RoutingPolicies) Create(ctx context.Context, by tenant.Principal, in tenant.RoutingPolicyPatch) (tenant.RoutingPolicy, error) {
	return routingPolicies.create(ctx, s.db, by, tenant.CreateRoutingPolicy, in.ChangeNote, func(c *change, id uuid.UUID) error {
		p, err := tenant.NewRoutingPolicy(in)
		if err != nil {
			return err
		}
		args, err := routingPolicyArgs(ctx, c, tenant.RoutingPolicyConfig{}, p)
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, `
			INSERT INTO routing_policies (`+createdBy+`, model_alias, description, enabled, posture, slots, context_breakpoints, determiner_model_alias,
				determiner_prompt, router_input_max_chars, default_slot_on_failure)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`, c.authored(id, in.ChangeNote, args...)...)
		return err
	})
}

// Update changes a policy.
func (s RoutingPolicies) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.RoutingPolicyPatch) (tenant.RoutingPolicy, error) {
	return routingPolicies.update(ctx, s.db, by, tenant.UpdateRoutingPolicy, id, patch.ChangeNote, func(c *change, before tenant.RoutingPolicy) error {
		p, err := before.Update(patch)
		if err != nil {
			return err
		}
		args, err := routingPolicyArgs(ctx, c, before.RoutingPolicyConfig, p)
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, `
			UPDATE routing_policies SET `+modifiedBy+`, model_alias = $7, description = $8, enabled = $9, posture = $10, slots = $11,
				context_breakpoints = $12, determiner_model_alias = $13, determiner_prompt = $14, router_input_max_chars = $15, default_slot_on_failure = $16
			WHERE org_id = $1 AND id = $2`, c.authored(id, patch.ChangeNote, args...)...)
		return err
	})
}

// routingPolicyArgs are the values of a policy whose names are as they must be.
func routingPolicyArgs(ctx context.Context, c *change, before, p tenant.RoutingPolicyConfig) ([]any, error) {
	for _, target := range p.NewTargets(before) {
		if err := requireRoutes(ctx, c, target); err != nil {
			return nil, err
		}
	}
	if !strings.EqualFold(before.Alias, p.Alias) {
		if err := requireNoRoute(ctx, c, p.Alias); err != nil {
			return nil, err
		}
	}
	slots, err := json.Marshal(p.Slots)
	return []any{p.Alias, p.Description, p.Enabled, p.Posture, string(slots), p.Breakpoints, p.Determiner, p.DeterminerPrompt, p.RouterInputMaxChars,
		p.DefaultSlot}, err
}

// renameSlots carries a route's new name into the policies that pick the old one, or ask
// it to pick, and returns them.
func renameSlots(ctx context.Context, c *change, from, to string, note *string) (list []tenant.Named, err error) {
	policies, err := collect(ctx, c, routingPolicies.scan, routingPolicies.query+` WHERE determiner_model_alias = $1 OR slots @> $2 ORDER BY id`,
		from, []map[string]string{{"model_alias": from}})
	if err != nil {
		return nil, err
	}
	for _, p := range policies {
		p.Rename(from, to)
		if err := updateSlots(ctx, c, p, note); err != nil {
			return nil, err
		}
		list = append(list, tenant.Named{ID: p.ID, Name: p.Alias})
	}
	return list, nil
}

// requireRoutes refuses a name that no enabled target answers to: neither a route's nor
// "<provider>/<upstream model>".
func requireRoutes(ctx context.Context, tx pgx.Tx, target string) error {
	provider, model, _ := strings.Cut(target, "/")
	var found bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM model_mappings m JOIN providers p ON p.org_id = m.org_id AND p.id = m.provider_id
			WHERE m.enabled AND p.enabled
			  AND EXISTS (SELECT FROM model_mappings e
			              WHERE e.org_id = m.org_id AND e.provider_id = m.provider_id AND e.upstream_model = m.upstream_model
			                AND e.model_alias = m.upstream_model AND e.enabled)
			  AND (m.bare_alias AND m.model_alias = $1 OR m.model_alias = m.upstream_model AND m.upstream_model = $3 AND p.address_name = $2))`,
		target, tenant.AddressName(provider), model).Scan(&found)
	if err == nil && !found {
		err = tenant.SlotWithoutRoutes(target)
	}
	return err
}

// requireNoRoute refuses a route's name, whether the route is enabled or not.
func requireNoRoute(ctx context.Context, tx pgx.Tx, alias string) error {
	var found bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM model_mappings WHERE bare_alias AND lower(model_alias) = lower($1))`, alias).Scan(&found)
	if err == nil && found {
		err = tenant.AliasIsARoute(alias)
	}
	return err
}

// requireNoPolicy refuses a routing policy's name for a mapping that comes to be called by
// it: callers would reach the one and not the other. A mapping that has the name already
// can be changed all the same.
func requireNoPolicy(ctx context.Context, tx pgx.Tx, id uuid.UUID, m tenant.MappingConfig) error {
	if !m.BareAlias {
		return nil
	}
	var taken bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM routing_policies WHERE lower(model_alias) = lower($2))
		   AND NOT EXISTS (SELECT FROM model_mappings WHERE id = $1 AND bare_alias AND lower(model_alias) = lower($2))`, id, m.Alias).Scan(&taken)
	if err == nil && taken {
		err = tenant.AliasIsAPolicy(m.Alias)
	}
	return err
}

// Delete removes a policy and its rules.
func (s RoutingPolicies) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return routingPolicies.remove(ctx, s.db, by, tenant.DeleteRoutingPolicy, id)
}

// RoutingRules are the rules of an organization's routing policies.
type RoutingRules struct{ db *DB }

// RoutingRules returns the routing rules.
func (d *DB) RoutingRules() RoutingRules { return RoutingRules{d} }

var routingRules = table[tenant.RoutingRule]{
	name:     "routing_rules",
	query:    `SELECT id, org_id, policy_id, name, description, floor_slot, deny_slots, enabled, ` + attribution + ` FROM routing_rules`,
	scan:     scanRoutingRule,
	missing:  tenant.RoutingRuleNotFound,
	revision: func(r tenant.RoutingRule) int64 { return r.Revision },
}

func scanRoutingRule(row pgx.CollectableRow) (r tenant.RoutingRule, err error) {
	err = row.Scan(attributed([]any{&r.ID, &r.OrganizationID, &r.PolicyID, &r.Name, &r.Description, &r.FloorSlot, &r.DenySlots, &r.Enabled},
		&r.CreatedAt, &r.UpdatedAt, &r.Attribution, &r.Revision)...)
	return r, err
}

// rulesOf reads a policy's rules with what is in conflict among them.
func rulesOf(ctx context.Context, tx pgx.Tx, policy uuid.UUID) ([]tenant.RoutingRule, []tenant.RuleConflict, error) {
	p, err := routingPolicies.get(ctx, tx, policy)
	if err != nil {
		return nil, nil, err
	}
	rules, err := collect(ctx, tx, routingRules.scan, routingRules.query+` WHERE policy_id = $1 ORDER BY id`, policy)
	return rules, tenant.RuleConflicts(rules, len(p.Slots)), err
}

// List returns the rules of a policy, and their conflicts.
func (s RoutingRules) List(ctx context.Context, by tenant.Principal, policy uuid.UUID) (list []tenant.RoutingRule, conflicts []tenant.RuleConflict, err error) {
	err = s.db.read(ctx, by, tenant.ListRoutingRules, func(tx pgx.Tx) error {
		list, conflicts, err = rulesOf(ctx, tx, policy)
		return err
	})
	return list, conflicts, err
}

// Get returns one rule, and the conflicts on its policy.
func (s RoutingRules) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (r tenant.RoutingRule, conflicts []tenant.RuleConflict, err error) {
	err = s.db.read(ctx, by, tenant.GetRoutingRule, func(tx pgx.Tx) error {
		if r, err = routingRules.get(ctx, tx, id); err != nil {
			return err
		}
		_, conflicts, err = rulesOf(ctx, tx, r.PolicyID)
		return err
	})
	return r, conflicts, err
}

// Create adds a rule to a policy.
func (s RoutingRules) Create(ctx context.Context, by tenant.Principal, policy uuid.UUID, in tenant.RoutingRulePatch) (r tenant.RoutingRule, conflicts []tenant.RuleConflict, err error) {
	err = s.db.write(ctx, by, tenant.CreateRoutingRule, func(c *change) error {
		if _, err := routingPolicies.get(ctx, c, policy); err != nil {
			return err
		}
		cfg, err := tenant.NewRoutingRule(in)
		if err != nil {
			return err
		}
		id := newID()
		_, err = c.Exec(ctx, `
			INSERT INTO routing_rules (`+createdBy+`, policy_id, name, description, floor_slot, deny_slots, enabled)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			c.authored(id, in.ChangeNote, policy, cfg.Name, cfg.Description, cfg.FloorSlot, cfg.DenySlots, cfg.Enabled)...)
		if err != nil {
			return err
		}
		r, conflicts, err = c.changedRule(ctx, id, in.ChangeNote)
		return err
	})
	return r, conflicts, err
}

// Update changes a rule.
func (s RoutingRules) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.RoutingRulePatch) (r tenant.RoutingRule, conflicts []tenant.RuleConflict, err error) {
	err = s.db.write(ctx, by, tenant.UpdateRoutingRule, func(c *change) error {
		before, err := routingRules.matched(ctx, c, id)
		if err != nil {
			return err
		}
		cfg, err := before.Update(patch)
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, `
			UPDATE routing_rules SET `+modifiedBy+`, name = $7, description = $8, floor_slot = $9, deny_slots = $10, enabled = $11
			WHERE org_id = $1 AND id = $2`, c.authored(id, patch.ChangeNote, cfg.Name, cfg.Description, cfg.FloorSlot, cfg.DenySlots, cfg.Enabled)...)
		if err != nil {
			return err
		}
		r, conflicts, err = c.changedRule(ctx, id, patch.ChangeNote)
		return err
	})
	return r, conflicts, err
}

// changedRule is what a write left.
func (c *change) changedRule(ctx context.Context, id uuid.UUID, note *string) (tenant.RoutingRule, []tenant.RuleConflict, error) {
	c.changed(id, note)
	r, err := routingRules.get(ctx, c, id)
	if err != nil {
		return r, nil, err
	}
	_, conflicts, err := rulesOf(ctx, c, r.PolicyID)
	return r, conflicts, err
}

// Delete removes a rule.
func (s RoutingRules) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return routingRules.remove(ctx, s.db, by, tenant.DeleteRoutingRule, id)
}
