package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// snapshotAccess reads what says who may call which models. Policies that are off or for
// other traffic, and groups that no policy targets, are nothing to a node.
func snapshotAccess(ctx context.Context, tx pgx.Tx, s *node.Snapshot, which part) error {
	governance, err := getGovernance(ctx, tx)
	if err != nil {
		return err
	}
	if governance.DefaultAccess != tenant.AccessAllow {
		s.DefaultModelAccess = governance.DefaultAccess
	}
	policies, err := collect(ctx, tx, scanAccess, selectAccess+` WHERE enabled AND traffic_type IN ('all', 'llm')`+which.where+` ORDER BY id`, which.args...)
	if err != nil {
		return err
	}
	var groups []uuid.UUID
	for _, p := range policies {
		s.AccessPolicies = append(s.AccessPolicies, accessEntry(p))
		groups = append(groups, p.Groups()...)
	}
	if len(groups) == 0 {
		return nil
	}
	s.RouteGroups, err = collect(ctx, tx, func(row pgx.CollectableRow) (g node.RouteGroup, err error) {
		err = row.Scan(&g.ID, &g.Aliases)
		return g, err
	}, `SELECT id, model_aliases FROM model_route_groups WHERE id = ANY ($1) ORDER BY id`, groups)
	return err
}

func accessEntry(p tenant.AccessPolicy) node.AccessPolicy {
	e := node.AccessPolicy{ID: p.ID, Name: p.Name, ScopeType: p.Scope.Type, ScopeID: p.Scope.ID, ScopeValue: orZero(p.Scope.Value), Type: p.PolicyType}
	for _, t := range p.Targets {
		e.Targets = append(e.Targets, node.AccessTarget{Kind: t.Kind, Alias: orZero(t.Alias), Model: orZero(t.Model),
			ProviderID: orZero(t.ProviderID), GroupID: orZero(t.GroupID)})
	}
	return e
}

func orZero[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}
