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
