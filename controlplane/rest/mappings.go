package rest

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListModelMappings(ctx context.Context, r admin.ListModelMappingsRequestObject) (admin.ListModelMappingsResponseObject, error) {
	if valueOr(r.Params.Unhealthy, false) {
		return s.listUnhealthy(ctx, r.Params)
	}
	list, err := s.store.Mappings().List(ctx, principal(ctx), store.Page[uuid.UUID]{After: r.Params.After, Limit: r.Params.Limit})
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, mappingID, r.Params.Limit, r.Params.After, pathPrefix+"model-mappings")
	if err != nil {
		return nil, err
	}
	return mappingListing{listing[admin.ModelMapping]{each(list, s.showMapping(ctx)), next}}, nil
}

// listUnhealthy lists what the nodes hold back. Here a node that does not answer in time
// is no reason to call a target healthy: all are asked, and given their time.
func (s *server) listUnhealthy(ctx context.Context, page admin.ListModelMappingsParams) (admin.ListModelMappingsResponseObject, error) {
	reports, _, err := s.health(ctx)
	if err != nil {
		return nil, err
	}
	standings := standings{everyone: judgements(merged(recordsOf(reports))), own: judgements(merged(ownOf(reports)))}
	list, err := s.store.Mappings().Of(ctx, principal(ctx), standings.unhealthy())
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(m tenant.Mapping) bool { return standings.of(m) == nil })
	list, next, err := pageOf(list, mappingID, page.Limit, page.After, pathPrefix+"model-mappings?unhealthy=true")
	if err != nil {
		return nil, err
	}
	show := func(m tenant.Mapping) admin.ModelMapping { return showStanding(m, standings) }
	return mappingListing{listing[admin.ModelMapping]{each(list, show), next}}, nil
}

func (s *server) CreateModelMapping(ctx context.Context, r admin.CreateModelMappingRequestObject) (admin.CreateModelMappingResponseObject, error) {
	b := r.Body
	m, err := s.store.Mappings().Create(ctx, principal(ctx), b.ProviderId, tenant.MappingPatch{
		Alias: &b.ModelAlias, UpstreamModel: &b.UpstreamModel, Enabled: b.Enabled, Priority: b.Priority,
		RetryOn429Count: b.RetryOn429Count, RetryOn429MaxWaitSecs: b.RetryOn429MaxWaitSecs, BareAlias: b.BareAlias,
		EmbeddingsFailover: (*string)(b.EmbeddingsFailover),
		Source:             (*string)(b.Source), ChangeNote: b.ChangeNote,
		Timeouts: tenant.TimeoutsPatch{RequestSecs: changeIfSet(b.RequestTimeoutSecs), StreamIdleSecs: changeIfSet(b.StreamIdleTimeoutSecs)},
		Cooldown: tenant.CooldownPatch{FailureThreshold: b.CooldownFailureThreshold, WindowSecs: b.CooldownWindowSecs,
			FirstSecs: b.CooldownFirstSecs, MaxSecs: b.CooldownMaxSecs, RateLimitedSecs: b.CooldownRateLimitedSecs, OverloadedSecs: b.CooldownOverloadedSecs},
	})
	if err != nil {
		return nil, err
	}
	return admin.CreateModelMapping200JSONResponse{Body: s.showMapping(ctx)(m), Headers: admin.CreateModelMapping200ResponseHeaders{ETag: tenant.ETag(m.Revision)}}, nil
}

func (s *server) GetModelMapping(ctx context.Context, r admin.GetModelMappingRequestObject) (admin.GetModelMappingResponseObject, error) {
	m, err := s.store.Mappings().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetModelMapping200JSONResponse{Body: s.showMapping(ctx)(m), Headers: admin.GetModelMapping200ResponseHeaders{ETag: tenant.ETag(m.Revision)}}, nil
}

func (s *server) UpdateModelMapping(ctx context.Context, r admin.UpdateModelMappingRequestObject) (admin.UpdateModelMappingResponseObject, error) {
	b := r.Body
	m, err := s.store.Mappings().Update(ctx, principal(ctx), r.Id, tenant.MappingPatch{
		Alias: b.ModelAlias, UpstreamModel: b.UpstreamModel, Enabled: b.Enabled, Priority: b.Priority,
		RetryOn429Count: b.RetryOn429Count, RetryOn429MaxWaitSecs: b.RetryOn429MaxWaitSecs, BareAlias: b.BareAlias,
		EmbeddingsFailover: (*string)(b.EmbeddingsFailover),
		Source:             (*string)(b.Source), ChangeNote: b.ChangeNote,
		Timeouts: tenant.TimeoutsPatch{RequestSecs: changeOf(b.RequestTimeoutSecs), StreamIdleSecs: changeOf(b.StreamIdleTimeoutSecs)},
		Cooldown: tenant.CooldownPatch{FailureThreshold: b.CooldownFailureThreshold, WindowSecs: b.CooldownWindowSecs,
			FirstSecs: b.CooldownFirstSecs, MaxSecs: b.CooldownMaxSecs, RateLimitedSecs: b.CooldownRateLimitedSecs, OverloadedSecs: b.CooldownOverloadedSecs},
	})
	if err != nil {
		return nil, err
	}
	return admin.UpdateModelMapping200JSONResponse{Body: s.showMapping(ctx)(m), Headers: admin.UpdateModelMapping200ResponseHeaders{ETag: tenant.ETag(m.Revision)}}, nil
}

func (s *server) DeleteModelMapping(ctx context.Context, r admin.DeleteModelMappingRequestObject) (admin.DeleteModelMappingResponseObject, error) {
	if err := s.store.Mappings().Delete(ctx, principal(ctx), r.Id); err != nil {
		return nil, err
	}
	return admin.DeleteModelMapping200JSONResponse{DeletedJSONResponse: admin.DeletedJSONResponse{Deleted: true}}, nil
}

func (s *server) ReorderModelMappings(ctx context.Context, r admin.ReorderModelMappingsRequestObject) (admin.ReorderModelMappingsResponseObject, error) {
	entries := mapAll(r.Body.Entries, func(e admin.ModelMappingPriority) tenant.Priority {
		return tenant.Priority{ID: e.Id, Priority: e.Priority}
	})
	if err := s.store.Mappings().Reorder(ctx, principal(ctx), entries); err != nil {
		return nil, err
	}
	return admin.ReorderModelMappings200JSONResponse{Ok: true}, nil
}

// showMapping returns what shows rows with what the nodes make of them at the moment:
// they are asked once, when there is a row to show.
func (s *server) showMapping(ctx context.Context) func(tenant.Mapping) admin.ModelMapping {
	standings := sync.OnceValue(func() standings { return s.standings(ctx) })
	return func(m tenant.Mapping) admin.ModelMapping { return showStanding(m, standings()) }
}

func showStanding(m tenant.Mapping, by standings) admin.ModelMapping {
	out := showMapping(m)
	out.RouteHealthStatus = by.of(m)
	return out
}

func showMapping(m tenant.Mapping) admin.ModelMapping {
	requestSecs, streamIdleSecs := m.EffectiveTimeouts()
	out := admin.ModelMapping{
		Id: m.ID, OrgId: m.OrganizationID, ProviderId: m.ProviderID, ProviderName: m.Around.ProviderName,
		ProviderAuthType: admin.AuthType(m.Around.ProviderAuthType), ModelAlias: m.Alias, UpstreamModel: m.UpstreamModel,
		Enabled: m.Enabled, Priority: m.Priority, RetryOn429Count: m.RetryOn429Count, RetryOn429MaxWaitSecs: m.RetryOn429MaxWaitSecs,
		EmbeddingsFailover: admin.EmbeddingsFailover(m.EmbeddingsFailover),
		EffectiveBehavior:  m.EffectiveBehavior(), CooldownFailureThreshold: m.Cooldown.FailureThreshold, CooldownWindowSecs: m.Cooldown.WindowSecs,
		CooldownFirstSecs: m.Cooldown.FirstSecs, CooldownMaxSecs: m.Cooldown.MaxSecs,
		CooldownRateLimitedSecs: m.Cooldown.RateLimitedSecs, CooldownOverloadedSecs: m.Cooldown.OverloadedSecs,
		BareAlias: m.BareAlias, RequestTimeoutSecs: requestSecs, StreamIdleTimeoutSecs: streamIdleSecs,
		Source: admin.MappingSource(m.Source), ServingStatus: orNull[admin.ServingStatus](nil),
		BudgetStatus: orNull[map[string]any](nil), StaleStatus: orNull[string](nil), EffectivePricing: showPricing(m.Around.Pricing),
		CreatedAt: m.CreatedAt.UTC(), UpdatedAt: m.UpdatedAt.UTC(),
		CreatedByUserId: orNull(m.CreatedBy.UserID), CreatedByEmail: orNull(m.CreatedBy.Email), CreatedByName: orNull(m.CreatedBy.Name),
		LastModifiedByUserId: orNull(m.ModifiedBy.UserID), LastModifiedByEmail: orNull(m.ModifiedBy.Email),
		LastModifiedByName: orNull(m.ModifiedBy.Name), LastModifiedAt: timeOrNull(m.ModifiedAt), LastChangeNote: orNull(m.ChangeNote),
	}
	if reason := admin.ServingStatus(m.ServingStatus()); reason != "" {
		out.ServingStatus = orNull(&reason)
	}
	return out
}
