package store

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// AccessPolicies are the model access policies of an organization.
type AccessPolicies struct{ db *DB }

// AccessPolicies returns the model access policies.
func (d *DB) AccessPolicies() AccessPolicies { return AccessPolicies{d} }

// target is a tenant.Target as it is stored.
type target struct {
	Kind       string     `json:"kind"`
	Alias      *string    `json:"alias,omitempty"`
	Model      *string    `json:"model,omitempty"`
	ProviderID *uuid.UUID `json:"provider_id,omitempty"`
	GroupID    *uuid.UUID `json:"group_id,omitempty"`
}

const selectAccess = `SELECT id, org_id, name, scope_type, scope_id, scope_value, policy_type, targets, traffic_type, enabled, ` + attribution + `
	FROM model_access_policies`

func scanAccess(row pgx.CollectableRow) (a tenant.AccessPolicy, err error) {
	var raw []byte
	err = row.Scan(attributed([]any{&a.ID, &a.OrganizationID, &a.Name, &a.Scope.Type, &a.Scope.ID, &a.Scope.Value, &a.PolicyType, &raw,
		&a.TrafficType, &a.Enabled}, &a.CreatedAt, &a.UpdatedAt, &a.Attribution, &a.Revision)...)
	if err != nil {
		return a, err
	}
	var stored []target
	err = json.Unmarshal(raw, &stored)
	for _, t := range stored {
		a.Targets = append(a.Targets, tenant.Target(t))
	}
	return a, err
}

func getAccess(ctx context.Context, tx pgx.Tx, id uuid.UUID) (tenant.AccessPolicy, error) {
	a, err := collectOne(ctx, tx, scanAccess, selectAccess+` WHERE id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, tenant.AccessNotFound(id)
	}
	return a, err
}

// List returns every policy.
func (s AccessPolicies) List(ctx context.Context, by tenant.Principal) (list []tenant.AccessPolicy, err error) {
	err = s.db.read(ctx, by, tenant.ListModelAccess, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, scanAccess, selectAccess+` ORDER BY id`)
		return err
	})
	return list, err
}

// Get returns one policy.
func (s AccessPolicies) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (a tenant.AccessPolicy, err error) {
	err = s.db.read(ctx, by, tenant.GetModelAccess, func(tx pgx.Tx) error {
		a, err = getAccess(ctx, tx, id)
		return err
	})
	return a, err
}

// Create stores a policy.
func (s AccessPolicies) Create(ctx context.Context, by tenant.Principal, in tenant.AccessPatch) (a tenant.AccessPolicy, err error) {
	err = s.db.write(ctx, by, tenant.CreateModelAccess, func(c *change) error {
		cfg, err := tenant.NewAccess(in)
		if err != nil {
			return err
		}
		if err := requireGroups(ctx, c, nil, cfg.Groups()); err != nil {
			return err
		}
		id := newID()
		targets, err := storedTargets(cfg.Targets)
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, `
			INSERT INTO model_access_policies (`+createdBy+`, name, scope_type, scope_id, scope_value, policy_type, targets, traffic_type, enabled)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
			c.authored(id, in.ChangeNote, cfg.Name, cfg.Scope.Type, cfg.Scope.ID, cfg.Scope.Value, cfg.PolicyType, targets, cfg.TrafficType, cfg.Enabled)...)
		if err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		a, err = getAccess(ctx, c, id)
		return err
	})
	return a, err
}

// Update changes a policy.
func (s AccessPolicies) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.AccessPatch) (a tenant.AccessPolicy, err error) {
	err = s.db.write(ctx, by, tenant.UpdateModelAccess, func(c *change) error {
		before, err := getAccess(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		next, err := before.Update(patch)
		if err != nil {
			return err
		}
		if err := requireGroups(ctx, c, before.Groups(), next.Groups()); err != nil {
			return err
		}
		if err := updateAccess(ctx, c, id, next, patch.ChangeNote); err != nil {
			return err
		}
		c.changed(id, patch.ChangeNote)
		a, err = getAccess(ctx, c, id)
		return err
	})
	return a, err
}

func updateAccess(ctx context.Context, c *change, id uuid.UUID, a tenant.AccessConfig, note *string) error {
	targets, err := storedTargets(a.Targets)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, `
		UPDATE model_access_policies SET `+modifiedBy+`, name = $7, scope_type = $8, scope_id = $9, scope_value = $10, policy_type = $11,
			targets = $12, traffic_type = $13, enabled = $14 WHERE org_id = $1 AND id = $2`,
		c.authored(id, note, a.Name, a.Scope.Type, a.Scope.ID, a.Scope.Value, a.PolicyType, targets, a.TrafficType, a.Enabled)...)
	return err
}

func storedTargets(targets []tenant.Target) (string, error) {
	list := make([]target, len(targets))
	for i, t := range targets {
		list[i] = target(t)
	}
	raw, err := json.Marshal(list)
	return string(raw), err
}

// Delete removes a policy.
func (s AccessPolicies) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return s.db.write(ctx, by, tenant.DeleteModelAccess, func(c *change) error {
		before, err := getAccess(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `DELETE FROM model_access_policies WHERE id = $1`, id); err != nil {
			return err
		}
		c.changed(id, nil)
		return nil
	})
}

// requireGroups refuses a policy that comes to name a group that is not there: it would
// silently match nothing. One that it named before may be gone since (see
// RouteGroups.Delete), and the policy can be changed all the same.
func requireGroups(ctx context.Context, tx pgx.Tx, had, has []uuid.UUID) error {
	known, err := collect(ctx, tx, pgx.RowTo[uuid.UUID], `SELECT id FROM model_route_groups WHERE id = ANY ($1)`, has)
	if err != nil {
		return err
	}
	if missing, ok := firstMissing(has, append(known, had...)); ok {
		return tenant.UnknownRouteGroup(missing)
	}
	return nil
}
