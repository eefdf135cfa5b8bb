package store

import (
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// The columns by which a row says who made and changed it, as reads, inserts and updates
// name them. They are scanned into attributed, and written with authored, after whose
// six arguments come the statement's own.
const (
	attribution = `created_at, updated_at, created_by_user_id, created_by_email, created_by_name,
	       last_modified_by_user_id, last_modified_by_email, last_modified_by_name, last_modified_at, last_change_note, revision`
	// createdBy is for INSERT INTO t (createdBy, ...) VALUES ($1, $2, $3, $4, $5, $6, ...).
	createdBy = `org_id, id, created_by_user_id, created_by_email, created_by_name, last_change_note`
	// modifiedBy is for UPDATE t SET modifiedBy, ... WHERE org_id = $1 AND id = $2.
	modifiedBy = `updated_at = now(), ` + lastModifiedBy
	// lastModifiedBy is modifiedBy for a table that does not note when a row was written.
	lastModifiedBy = `last_modified_at = now(), last_modified_by_user_id = $3, last_modified_by_email = $4,
		last_modified_by_name = $5, last_change_note = $6`
)

// authored are the arguments of createdBy and modifiedBy, and those after them.
func (c *change) authored(id uuid.UUID, note *string, more ...any) []any {
	by := c.by.Actor()
	return append([]any{c.by.OrganizationID, id, by.UserID, by.Email, by.Name, note}, more...)
}

// attributed is where the columns of attribution go, after those before them.
func attributed(before []any, created, updated any, a *tenant.Attribution, revision *int64) []any {
	return append(before, created, updated, &a.CreatedBy.UserID, &a.CreatedBy.Email, &a.CreatedBy.Name,
		&a.ModifiedBy.UserID, &a.ModifiedBy.Email, &a.ModifiedBy.Name, &a.ModifiedAt, &a.ChangeNote, revision)
}
