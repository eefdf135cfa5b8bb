package store

import "github.com/spillway-gateway/spillway/controlplane/tenant"

// provenance are the columns of a resource that say when it was made and changed, and by
// whom, in the order of provenanceOf.
const provenance = `created_at, updated_at, revision, created_by_user_id, created_by_email, created_by_name,
	last_modified_by_user_id, last_modified_by_email, last_modified_by_name, last_modified_at, last_change_note`

// modified sets the columns of an update that says who made it; the parameters are $2 to
// $5: modifiedBy.
const modified = `updated_at = now(), last_modified_at = now(), last_modified_by_user_id = $2, last_modified_by_email = $3,
	last_modified_by_name = $4, last_change_note = $5`

// modifiedBy are the parameters of modified.
func (c *change) modifiedBy(note *string) []any {
	by := c.by.Actor()
	return []any{by.UserID, by.Email, by.Name, note}
}

func attributionOf(a *tenant.Attribution) []any {
	return []any{&a.CreatedBy.UserID, &a.CreatedBy.Email, &a.CreatedBy.Name,
		&a.ModifiedBy.UserID, &a.ModifiedBy.Email, &a.ModifiedBy.Name, &a.ModifiedAt, &a.ChangeNote}
}
