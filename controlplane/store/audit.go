package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// auditEvent is one row of who changed what.
type auditEvent struct {
	version   int64
	operation string
	resource  *uuid.UUID
	actor     auditActor
	note      *string
}

type auditActor struct {
	kind string
	id   *uuid.UUID
	name string
}

// commandLine acts through the program itself, which whoever starts it may do.
var commandLine = auditActor{kind: "command_line", name: "command line"}

func actorOf(p tenant.Principal) auditActor {
	id, kind := p.Subject(), "service_account"
	if p.UserID != uuid.Nil {
		kind = "user"
	}
	return auditActor{kind: kind, id: &id, name: p.Name}
}

func (e auditEvent) insert(ctx context.Context, tx pgx.Tx, org uuid.UUID) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO audit_events (org_id, id, version, operation, resource_id, actor_kind, actor_id, actor_name, change_note)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		org, newID(), e.version, e.operation, e.resource, e.actor.kind, e.actor.id, e.actor.name, e.note)
	return err
}

// AuditEvents are who changed what in an organization.
type AuditEvents struct{ db *DB }

// AuditEvents returns the audit trail.
func (d *DB) AuditEvents() AuditEvents { return AuditEvents{d} }

// List returns a page of events, the newest first.
func (s AuditEvents) List(ctx context.Context, by tenant.Principal, q tenant.AuditQuery) (list []tenant.AuditEvent, err error) {
	err = s.db.read(ctx, by, tenant.ListAuditEvents, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, scanAuditEvent, `
			SELECT e.id, e.at, e.version, e.operation, e.actor_kind, e.actor_id, e.actor_name, e.resource_id, e.change_note,
			       (SELECT coalesce(jsonb_agg(jsonb_build_object('kind', c.kind, 'resource_id', c.resource_id, 'action', c.action,
			                                                     'before', c.before, 'after', c.after) ORDER BY c.ordinal), '[]')
			        FROM audit_changes c WHERE c.org_id = e.org_id AND c.version = e.version)
			FROM audit_events e
			WHERE ($1::uuid IS NULL OR e.id < $1) AND ($2::uuid IS NULL OR e.actor_id = $2) AND ($3::text IS NULL OR e.operation = $3)
			  AND ($4::uuid IS NULL OR e.resource_id = $4
			       OR EXISTS (SELECT FROM audit_changes c WHERE c.org_id = e.org_id AND c.version = e.version AND c.resource_id = $4))
			ORDER BY e.id DESC LIMIT $5`, q.After, q.ActorID, q.Operation, q.ResourceID, q.Limit)
		return err
	})
	return list, err
}

func scanAuditEvent(row pgx.CollectableRow) (e tenant.AuditEvent, err error) {
	err = row.Scan(&e.ID, &e.At, &e.Version, &e.Operation, &e.ActorKind, &e.ActorID, &e.ActorName, &e.ResourceID, &e.ChangeNote, &e.Changes)
	return e, err
}
