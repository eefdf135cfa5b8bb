package rest

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/oapi-codegen/nullable"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListAuditEvents(ctx context.Context, r admin.ListAuditEventsRequestObject) (admin.ListAuditEventsResponseObject, error) {
	q := tenant.AuditQuery{ResourceID: r.Params.ResourceId, ActorID: r.Params.ActorId, Operation: r.Params.Operation, After: r.Params.After}
	limit := tenant.AuditPageLen
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	if limit < 1 || limit > maxPageLen {
		return nil, tenant.Invalid("limit", "limit must be between 1 and %d", maxPageLen)
	}
	q.Limit = limit + 1 // one more says that there is another page
	list, err := s.store.AuditEvents().List(ctx, principal(ctx), q)
	if err != nil {
		return nil, err
	}
	var next *string
	if len(list) > limit {
		list = list[:limit]
		next = new("<" + pathPrefix + "audit-events?" + auditQuery(r.Params, limit, list[limit-1]).Encode() + `>; rel="next"`)
	}
	return admin.ListAuditEvents200JSONResponse{Body: mapAll(list, showAuditEvent), Headers: admin.ListAuditEvents200ResponseHeaders{Link: next}}, nil
}

// auditQuery asks for what comes after the last event of a page.
func auditQuery(p admin.ListAuditEventsParams, limit int, last tenant.AuditEvent) url.Values {
	q := url.Values{"limit": {strconv.Itoa(limit)}, "after": {last.ID.String()}}
	if p.ResourceId != nil {
		q.Set("resource_id", p.ResourceId.String())
	}
	if p.ActorId != nil {
		q.Set("actor_id", p.ActorId.String())
	}
	if p.Operation != nil {
		q.Set("operation", *p.Operation)
	}
	return q
}

func showAuditEvent(e tenant.AuditEvent) admin.AuditEvent {
	return admin.AuditEvent{Id: e.ID, At: e.At.UTC(), Version: e.Version, Operation: e.Operation, ActorKind: admin.AuditEventActorKind(e.ActorKind),
		ActorId: orNull(e.ActorID), ActorName: e.ActorName, ResourceId: orNull(e.ResourceID), ChangeNote: orNull(e.ChangeNote),
		Changes: mapAll(e.Changes, showAuditChange)}
}

func showAuditChange(c tenant.AuditChange) admin.AuditChange {
	return admin.AuditChange{Kind: c.Kind, ResourceId: c.ResourceID, Action: admin.AuditChangeAction(c.Action), Before: rawOrNull(c.Before), After: rawOrNull(c.After)}
}

// rawOrNull is orNull for a JSON value; null is null.
func rawOrNull(text json.RawMessage) nullable.Nullable[json.RawMessage] {
	if len(text) == 0 || string(text) == "null" {
		return nullable.NewNullNullable[json.RawMessage]()
	}
	return nullable.NewNullableWithValue(text)
}
