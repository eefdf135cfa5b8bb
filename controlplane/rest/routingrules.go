package rest

import (
	"context"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListRoutingRules(ctx context.Context, r admin.ListRoutingRulesRequestObject) (admin.ListRoutingRulesResponseObject, error) {
	list, conflicts, err := s.store.RoutingRules().List(ctx, principal(ctx), r.Params.PolicyId)
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, ruleID, r.Params.Limit, r.Params.After, pathPrefix+"routing-rules?policy_id="+r.Params.PolicyId.String())
	if err != nil {
		return nil, err
	}
	return admin.ListRoutingRules200JSONResponse{Body: admin.RoutingRuleList{Rules: mapAll(list, showRoutingRule), Conflicts: mapAll(conflicts, showConflict)},
		Headers: admin.ListRoutingRules200ResponseHeaders{Link: next}}, nil
}

func (s *server) CreateRoutingRule(ctx context.Context, r admin.CreateRoutingRuleRequestObject) (admin.CreateRoutingRuleResponseObject, error) {
	b := r.Body
	rule, conflicts, err := s.store.RoutingRules().Create(ctx, principal(ctx), r.Params.PolicyId, tenant.RoutingRulePatch{Name: &b.Name, Description: &b.Description,
		FloorSlot: changeIfSet(b.FloorSlot), DenySlots: changeIfSet(b.DenySlots), Enabled: b.Enabled, ChangeNote: b.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.CreateRoutingRule201JSONResponse{Body: showRule(rule, conflicts), Headers: admin.CreateRoutingRule201ResponseHeaders{ETag: tenant.ETag(rule.Revision)}}, nil
}

func (s *server) GetRoutingRule(ctx context.Context, r admin.GetRoutingRuleRequestObject) (admin.GetRoutingRuleResponseObject, error) {
	rule, conflicts, err := s.store.RoutingRules().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetRoutingRule200JSONResponse{Body: showRule(rule, conflicts), Headers: admin.GetRoutingRule200ResponseHeaders{ETag: tenant.ETag(rule.Revision)}}, nil
}

func (s *server) UpdateRoutingRule(ctx context.Context, r admin.UpdateRoutingRuleRequestObject) (admin.UpdateRoutingRuleResponseObject, error) {
	b := r.Body
	rule, conflicts, err := s.store.RoutingRules().Update(ctx, principal(ctx), r.Id, tenant.RoutingRulePatch{Name: b.Name, Description: b.Description,
		FloorSlot: changeOf(b.FloorSlot), DenySlots: changeOf(b.DenySlots), Enabled: b.Enabled, ChangeNote: b.ChangeNote})
	if err != nil {
		return nil, err
	}
	return admin.UpdateRoutingRule200JSONResponse{Body: showRule(rule, conflicts), Headers: admin.UpdateRoutingRule200ResponseHeaders{ETag: tenant.ETag(rule.Revision)}}, nil
}

func (s *server) DeleteRoutingRule(ctx context.Context, r admin.DeleteRoutingRuleRequestObject) (admin.DeleteRoutingRuleResponseObject, error) {
	if err := s.store.RoutingRules().Delete(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.DeleteRoutingRule204Response{}, nil
}

// showRule is a rule by itself, with what is in conflict on its policy.
func showRule(r tenant.RoutingRule, conflicts []tenant.RuleConflict) admin.RoutingRule {
	out := showRoutingRule(r)
	out.Conflicts = new(mapAll(conflicts, showConflict))
	return out
}

func showConflict(c tenant.RuleConflict) admin.RoutingRuleConflict {
	return admin.RoutingRuleConflict{Rule: c.Rule, ConflictsWith: c.ConflictsWith, Detail: c.Detail}
}

func showRoutingRule(r tenant.RoutingRule) admin.RoutingRule {
	by, mod := r.CreatedBy, r.ModifiedBy
	return admin.RoutingRule{
		Id: r.ID, OrgId: r.OrganizationID, PolicyId: r.PolicyID, Name: r.Name, Description: r.Description, FloorSlot: orNull(r.FloorSlot),
		DenySlots: append([]int{}, r.DenySlots...), Enabled: r.Enabled, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
		CreatedByUserId: orNull(by.UserID), CreatedByEmail: orNull(by.Email), CreatedByName: orNull(by.Name),
		LastModifiedByUserId: orNull(mod.UserID), LastModifiedByEmail: orNull(mod.Email), LastModifiedByName: orNull(mod.Name),
		LastModifiedAt: timeOrNull(r.ModifiedAt), LastChangeNote: orNull(r.ChangeNote), ChangeNote: orNull(r.ChangeNote),
	}
}
