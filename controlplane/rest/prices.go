package rest

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListModelPricing(ctx context.Context, r admin.ListModelPricingRequestObject) (admin.ListModelPricingResponseObject, error) {
	list, err := s.store.Prices().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, priceEntryID, r.Params.Limit, r.Params.After, pathPrefix+"model-pricing")
	if err != nil {
		return nil, err
	}
	return admin.ListModelPricing200JSONResponse{Body: mapAll(list, showPriceEntry), Headers: admin.ListModelPricing200ResponseHeaders{Link: next}}, nil
}

func (s *server) ListArchivedModelPricing(ctx context.Context, r admin.ListArchivedModelPricingRequestObject) (admin.ListArchivedModelPricingResponseObject, error) {
	list, err := s.store.Prices().Archived(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	list, next, err := pageOf(list, priceEntryID, r.Params.Limit, r.Params.After, pathPrefix+"model-pricing/archived")
	if err != nil {
		return nil, err
	}
	return admin.ListArchivedModelPricing200JSONResponse{Body: mapAll(list, showPriceEntry), Headers: admin.ListArchivedModelPricing200ResponseHeaders{Link: next}}, nil
}

func (s *server) ListModelPricingHistory(ctx context.Context, r admin.ListModelPricingHistoryRequestObject) (admin.ListModelPricingHistoryResponseObject, error) {
	rule := tenant.PriceRule{Pattern: r.Params.ModelPattern}
	if r.Params.ModelProvider != nil {
		rule.Provider = *r.Params.ModelProvider
	}
	list, err := s.store.Prices().History(ctx, principal(ctx), rule)
	if err != nil {
		return nil, err
	}
	if after := r.Params.After; after != nil { // the newest come first, so that no order of ids tells what is after it
		i := slices.IndexFunc(list, func(v tenant.PriceVersion) bool { return v.ID == *after })
		if i < 0 {
			return nil, tenant.Invalid("after", "after: the rule has no version %s", *after)
		}
		list = list[i+1:]
	}
	query := url.Values{"model_pattern": {rule.Pattern}}
	if r.Params.ModelProvider != nil {
		query.Set("model_provider", rule.Provider)
	}
	list, next, err := pageBy(list, func(v tenant.PriceVersion) string { return v.ID.String() }, r.Params.Limit, pathPrefix+"model-pricing/history?"+query.Encode())
	if err != nil {
		return nil, err
	}
	return admin.ListModelPricingHistory200JSONResponse{Body: mapAll(list, showPrice), Headers: admin.ListModelPricingHistory200ResponseHeaders{Link: next}}, nil
}

func (s *server) CreateModelPricing(ctx context.Context, r admin.CreateModelPricingRequestObject) (admin.CreateModelPricingResponseObject, error) {
	b := r.Body
	in := tenant.PriceCreate{Pattern: b.ModelPattern, Provider: b.ModelProvider, ProviderID: b.ProviderId, CatalogSlug: b.CatalogSlug,
		PricePatch: tenant.PricePatch{
			CostsPatch: tenant.CostsPatch{Input: (*string)(&b.InputCostPerMillionTokens), Output: (*string)(&b.OutputCostPerMillionTokens),
				CacheRead: changeIfSet((*string)(b.CacheReadCostPerMillionTokens)), CacheWrite: changeIfSet((*string)(b.CacheWriteCostPerMillionTokens))},
			SyncMode: (*string)(b.SyncMode), EffectiveFrom: b.EffectiveFrom, Reason: b.ChangeReason}}
	if b.LongContext != nil {
		in.LongContext = longContextOf(nullable.NewNullableWithValue(*b.LongContext))
	}
	v, err := s.store.Prices().Create(ctx, principal(ctx), in)
	if err != nil {
		return nil, err
	}
	return admin.CreateModelPricing200JSONResponse{Body: showPrice(v), Headers: admin.CreateModelPricing200ResponseHeaders{ETag: tenant.ETag(v.Revision)}}, nil
}

func (s *server) GetModelPricingVersion(ctx context.Context, r admin.GetModelPricingVersionRequestObject) (admin.GetModelPricingVersionResponseObject, error) {
	v, err := s.store.Prices().Get(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.GetModelPricingVersion200JSONResponse{Body: showPrice(v), Headers: admin.GetModelPricingVersion200ResponseHeaders{ETag: tenant.ETag(v.Revision)}}, nil
}

func (s *server) UpdateModelPricing(ctx context.Context, r admin.UpdateModelPricingRequestObject) (admin.UpdateModelPricingResponseObject, error) {
	b := r.Body
	v, err := s.store.Prices().Update(ctx, principal(ctx), r.Id, tenant.PricePatch{
		CostsPatch: tenant.CostsPatch{Input: (*string)(b.InputCostPerMillionTokens), Output: (*string)(b.OutputCostPerMillionTokens),
			CacheRead: changeOfWord(b.CacheReadCostPerMillionTokens), CacheWrite: changeOfWord(b.CacheWriteCostPerMillionTokens)},
		LongContext: longContextOf(b.LongContext), SyncMode: (*string)(b.SyncMode), EffectiveFrom: b.EffectiveFrom, Reason: b.ChangeReason,
	})
	if err != nil {
		return nil, err
	}
	return admin.UpdateModelPricing200JSONResponse{Body: showPrice(v), Headers: admin.UpdateModelPricing200ResponseHeaders{ETag: tenant.ETag(v.Revision)}}, nil
}

func (s *server) DeleteModelPricing(ctx context.Context, r admin.DeleteModelPricingRequestObject) (admin.DeleteModelPricingResponseObject, error) {
	done, err := s.store.Prices().Delete(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.DeleteModelPricing200JSONResponse{Deleted: true, Mode: admin.ModelPricingDeletedMode(done.Mode),
		CancelledScheduled: done.Cancelled, Archived: done.Archived}, nil
}

func (s *server) RestoreModelPricing(ctx context.Context, r admin.RestoreModelPricingRequestObject) (admin.RestoreModelPricingResponseObject, error) {
	v, err := s.store.Prices().Restore(ctx, principal(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return admin.RestoreModelPricing200JSONResponse{Body: showPrice(v), Headers: admin.RestoreModelPricing200ResponseHeaders{ETag: tenant.ETag(v.Revision)}}, nil
}

func (s *server) ListModelPricingDefaults(context.Context, admin.ListModelPricingDefaultsRequestObject) (admin.ListModelPricingDefaultsResponseObject, error) {
	return admin.ListModelPricingDefaults200JSONResponse(mapAll(tenant.PriceDefaults(), showPriceDefault)), nil
}

func (s *server) ImportModelPricingDefaults(ctx context.Context, r admin.ImportModelPricingDefaultsRequestObject) (admin.ImportModelPricingDefaultsResponseObject, error) {
	var ids []uuid.UUID
	if r.Body.Ids != nil {
		ids = append([]uuid.UUID{}, *r.Body.Ids...) // none is not all
	}
	n, err := s.store.Prices().Import(ctx, principal(ctx), ids, (*string)(r.Body.SyncMode))
	if err != nil {
		return nil, err
	}
	return admin.ImportModelPricingDefaults200JSONResponse{Imported: n}, nil
}

func (s *server) SyncModelPricingDefaults(ctx context.Context, _ admin.SyncModelPricingDefaultsRequestObject) (admin.SyncModelPricingDefaultsResponseObject, error) {
	n, err := s.store.Prices().Sync(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	return admin.SyncModelPricingDefaults200JSONResponse{Synced: n}, nil
}

func longContextOf(n nullable.Nullable[admin.LongContextPricing]) tenant.Change[tenant.LongContextPatch] {
	c := changeOf(n)
	if c.Value == nil {
		return tenant.Change[tenant.LongContextPatch]{Set: c.Set}
	}
	l := c.Value
	return tenant.Change[tenant.LongContextPatch]{Set: true, Value: &tenant.LongContextPatch{Threshold: l.ThresholdPromptTokens,
		CostsPatch: tenant.CostsPatch{Input: (*string)(&l.InputCostPerMillionTokens), Output: (*string)(&l.OutputCostPerMillionTokens),
			CacheRead: changeOfWord(l.CacheReadCostPerMillionTokens), CacheWrite: changeOfWord(l.CacheWriteCostPerMillionTokens)}}}
}

func showPriceEntry(e tenant.PriceEntry) admin.ModelPricing {
	out := showPrice(e.PriceVersion)
	out.VersionCount, out.ScheduledCount, out.NextScheduledEffectiveFrom = &e.Versions, &e.Scheduled, e.NextScheduled
	return out
}

func showPrice(v tenant.PriceVersion) admin.ModelPricing {
	return admin.ModelPricing{
		Id: v.ID, OrgId: v.OrganizationID, ModelPattern: v.Pattern, ModelProvider: textOrNull(v.Provider), ProviderId: orNull(v.ProviderID),
		ProviderName: orNull(v.ProviderName), CatalogSlug: orNull(v.CatalogSlug),
		InputCostPerMillionTokens: json.Number(v.Input), OutputCostPerMillionTokens: json.Number(v.Output),
		CacheReadCostPerMillionTokens: numberOrNull(v.CacheRead), CacheWriteCostPerMillionTokens: numberOrNull(v.CacheWrite),
		LongContext: showLongContext(v.LongContext), SyncMode: admin.PricingSyncMode(v.SyncMode), EffectiveFrom: v.EffectiveFrom.UTC(),
		IsArchived: v.Archived, ChangeSource: admin.PricingChangeSource(v.Source), ChangeReason: orNull(v.Reason), CreatedAt: v.CreatedAt.UTC(),
		CreatedByUserId: orNull(v.CreatedBy.UserID), CreatedByEmail: orNull(v.CreatedBy.Email), CreatedByName: orNull(v.CreatedBy.Name),
	}
}

func showPriceDefault(d tenant.PriceDefault) admin.ModelPricingDefault {
	return admin.ModelPricingDefault{
		Id: d.ID, ModelPattern: d.Pattern, ModelProvider: d.Provider, Source: d.SourceURL, AsOf: d.AsOf, LongContext: showLongContext(d.LongContext),
		InputCostPerMillionTokens: json.Number(d.Input), OutputCostPerMillionTokens: json.Number(d.Output),
		CacheReadCostPerMillionTokens: numberOrNull(d.CacheRead), CacheWriteCostPerMillionTokens: numberOrNull(d.CacheWrite),
	}
}

func showLongContext(l *tenant.LongContext) nullable.Nullable[admin.LongContextPricing] {
	if l == nil {
		return nullable.NewNullNullable[admin.LongContextPricing]()
	}
	return nullable.NewNullableWithValue(admin.LongContextPricing{ThresholdPromptTokens: l.Threshold,
		InputCostPerMillionTokens: json.Number(l.Input), OutputCostPerMillionTokens: json.Number(l.Output),
		CacheReadCostPerMillionTokens: numberOrNull(l.CacheRead), CacheWriteCostPerMillionTokens: numberOrNull(l.CacheWrite)})
}

// showPricing is what use of a mapping costs.
func showPricing(p tenant.Pricing) admin.EffectivePricing {
	out := admin.EffectivePricing{Source: admin.PricingSource(p.Source), PricingRuleId: orNull(p.RuleID)}
	var input, output, cacheRead, cacheWrite *tenant.Decimal
	if p.Terms != nil {
		input, output, cacheRead, cacheWrite = &p.Terms.Input, &p.Terms.Output, p.Terms.CacheRead, p.Terms.CacheWrite
	}
	out.InputCostPerMillionTokens, out.OutputCostPerMillionTokens = numberOrNull(input), numberOrNull(output)
	out.CacheReadCostPerMillionTokens, out.CacheWriteCostPerMillionTokens = numberOrNull(cacheRead), numberOrNull(cacheWrite)
	return out
}

func numberOrNull(d *tenant.Decimal) nullable.Nullable[json.Number] { return orNull((*json.Number)(d)) }

// textOrNull is null for empty text.
func textOrNull(text string) nullable.Nullable[string] {
	if text == "" {
		return nullable.NewNullNullable[string]()
	}
	return nullable.NewNullableWithValue(text)
}
