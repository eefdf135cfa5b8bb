package rest

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListBudgets(ctx context.Context, r admin.ListBudgetsRequestObject) (admin.ListBudgetsResponseObject, error) {
	list, err := s.store.Budgets().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, budgetID, r.Params.Limit, r.Params.After, pathPrefix+"budgets")
	if err != nil {
		return nil, err
	}
	return admin.ListBudgets200JSONResponse{Body: mapAll(list, showBudget), Headers: admin.ListBudgets200ResponseHeaders{Link: next}}, nil
}

func budgetID(b tenant.Budget) uuid.UUID { return b.ID }

func (s *server) ListBudgetStatus(ctx context.Context, _ admin.ListBudgetStatusRequestObject) (admin.ListBudgetStatusResponseObject, error) {
	list, err := s.store.Budgets().Status(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	return admin.ListBudgetStatus200JSONResponse(mapAll(list, func(b tenant.Budget) admin.BudgetStatus {
		return admin.BudgetStatus{Budget: showBudget(b), CostUsed: json.Number("0")}
	})), nil
}

func (s *server) CreateBudget(ctx context.Context, r admin.CreateBudgetRequestObject) (admin.CreateBudgetResponseObject, error) {
	b := r.Body
	out, err := s.store.Budgets().Create(ctx, principal(ctx), tenant.BudgetPatch{
		Name: &b.Name, Period: (*string)(&b.Period), TokenLimit: b.TokenLimit, CostLimit: changeIfSet((*string)(b.CostLimit)), Currency: b.Currency,
		AlertThresholds: b.AlertThresholds, ActionOnExhaust: (*string)(b.ActionOnExhaust), Enabled: b.Enabled, ChangeNote: b.ChangeNote,
		Aim: newAim(b.ScopeType, b.ScopeId, b.ScopeValue, b.MemberOfGroup, b.TrafficType,
			newTarget{b.TargetProviderId, b.TargetUpstreamModel, b.TargetModelAlias, b.TargetMcpServerId}),
	})
	if err != nil {
		return nil, err
	}
	return admin.CreateBudget200JSONResponse{Body: showBudget(out), Headers: admin.CreateBudget200ResponseHeaders{ETag: tenant.ETag(out.Revision)}}, nil
}

func (s *server) GetBudget(ctx context.Context, r admin.GetBudgetRequestObject) (admin.GetBudgetResponseObject, error) {
	b, err := s.store.Budgets().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetBudget200JSONResponse{Body: showBudget(b), Headers: admin.GetBudget200ResponseHeaders{ETag: tenant.ETag(b.Revision)}}, nil
}

func (s *server) UpdateBudget(ctx context.Context, r admin.UpdateBudgetRequestObject) (admin.UpdateBudgetResponseObject, error) {
	b := r.Body
	out, err := s.store.Budgets().Update(ctx, principal(ctx), r.Id, tenant.BudgetPatch{
		Name: b.Name, Period: (*string)(b.Period), TokenLimit: b.TokenLimit, CostLimit: changeOfWord(b.CostLimit), AlertThresholds: b.AlertThresholds,
		ActionOnExhaust: (*string)(b.ActionOnExhaust), Enabled: b.Enabled, ChangeNote: b.ChangeNote,
		Aim: tenant.AimPatch{TrafficType: (*string)(b.TrafficType)},
	})
	if err != nil {
		return nil, err
	}
	return admin.UpdateBudget200JSONResponse{Body: showBudget(out), Headers: admin.UpdateBudget200ResponseHeaders{ETag: tenant.ETag(out.Revision)}}, nil
}

func (s *server) DeleteBudget(ctx context.Context, r admin.DeleteBudgetRequestObject) (admin.DeleteBudgetResponseObject, error) {
	if err := s.store.Budgets().Delete(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.DeleteBudget200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func showBudget(b tenant.Budget) admin.Budget {
	by, mod, scope, n := b.CreatedBy, b.ModifiedBy, b.Aim.Scope, b.Aim.Narrowing
	return admin.Budget{
		Id: b.ID, OrgId: b.OrganizationID, Name: b.Name, ScopeType: admin.ScopeType(scope.Type), ScopeId: orNull(scope.ID), ScopeValue: orNull(scope.Value),
		MemberOfGroup: orNull(b.Aim.MemberOfGroup), TrafficType: admin.TrafficType(b.Aim.TrafficType), TargetProviderId: orNull(n.ProviderID),
		TargetUpstreamModel: orNull(n.UpstreamModel), TargetModelAlias: orNull(n.ModelAlias), TargetMcpServerId: orNull(n.MCPServerID),
		Period: admin.BudgetPeriod(b.Period), TokenLimit: b.TokenLimit, CostLimit: numberOrNull(b.CostLimit), Currency: b.Currency,
		AlertThresholds: append([]int{}, b.AlertThresholds...), ActionOnExhaust: admin.BudgetAction(b.ActionOnExhaust), Enabled: b.Enabled,
		CreatedAt: b.CreatedAt.UTC(), UpdatedAt: b.UpdatedAt.UTC(), CreatedByUserId: orNull(by.UserID), CreatedByEmail: orNull(by.Email),
		CreatedByName: orNull(by.Name), LastModifiedByUserId: orNull(mod.UserID), LastModifiedByEmail: orNull(mod.Email),
		LastModifiedByName: orNull(mod.Name), LastModifiedAt: timeOrNull(b.ModifiedAt), LastChangeNote: orNull(b.ChangeNote), ChangeNote: orNull(b.ChangeNote),
	}
}
