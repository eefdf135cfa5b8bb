package tenant

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// AuditEvent is one change of an organization's configuration.
type AuditEvent struct {
	ID        uuid.UUID
	At        time.Time
	Version   int64 // of the configuration; the change made it
	Operation string
	ActorKind string // user, service_account, command_line
	ActorID   *uuid.UUID
	ActorName string
	// ResourceID is what the operation was called for; nil where that is several.
	ResourceID *uuid.UUID
	ChangeNote *string
	Changes    []AuditChange
}

// AuditChange is what an operation did to one row.
type AuditChange struct {
	Kind       string    `json:"kind"` // the table
	ResourceID uuid.UUID `json:"resource_id"`
	Action     string    `json:"action"` // create, update, delete
	// Before and After are JSON objects or null; of an update only the fields that changed.
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// AuditQuery says which events are wanted. Zero fields want all.
type AuditQuery struct {
	ResourceID *uuid.UUID
	ActorID    *uuid.UUID
	Operation  *string
	// After is the event that the page before ended with.
	After *uuid.UUID
	Limit int
}

// AuditPageLen is how many events a page has where the caller does not say.
const AuditPageLen = 100
