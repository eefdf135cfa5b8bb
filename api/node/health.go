package node

import "github.com/google/uuid"

// HealthKind is what a node saw of a target.
type HealthKind string

// Kinds of health event.
const (
	HealthFailure      HealthKind = "failure"       // 5xx, timeout, connection, rejected stored credential
	HealthRateLimited  HealthKind = "rate_limited"  // 429 after the configured retries
	HealthOverloaded   HealthKind = "overloaded"    // 529
	HealthUsageLimit   HealthKind = "usage_limit"   // the account's quota is used up
	HealthAuthRejected HealthKind = "auth_rejected" // a caller's own credential was rejected
	HealthProbeOK      HealthKind = "probe_ok"      // success while recovering
	HealthReset        HealthKind = "reset"         // an operator ended the cooldown
)

// HealthEvent is one entry of the ordered log that every node folds. Its time is
// the bus's receive time, never a node's wall clock.
type HealthEvent struct {
	ID            uuid.UUID  `json:"id"`
	Node          string     `json:"node"`
	Kind          HealthKind `json:"kind"`
	ProviderID    uuid.UUID  `json:"provider_id"`
	UpstreamModel string     `json:"upstream_model"`
	// Credential names a caller's own credential by a keyed hash, where the event is
	// about that and nobody else; empty: it is about the target for everyone.
	Credential string `json:"credential,omitempty"`
	// UserID is whose gateway key the caller's own credential came with, so that this
	// person can be told; nil: nobody's, or the event is about everyone.
	UserID *uuid.UUID `json:"user_id,omitempty"`
	// Count is how many equal events of one short moment this one stands for; 0 is 1.
	Count int `json:"count,omitempty"`
	// Reason is the classifier's word for what happened ("timeout", "server_error").
	Reason string `json:"reason,omitempty"`
	// RetryAfterMillis is what the provider asked for; nil: it asked for nothing.
	RetryAfterMillis *int64 `json:"retry_after_ms,omitempty"`
	// AgeMillis is how long before this was sent it happened: a node that was cut off
	// tells of it late.
	AgeMillis int64 `json:"age_ms,omitempty"`
	// SeenMillisAgo is how long before this was sent a log that is lost by now had taken it
	// in; 0: it is told for the first time.
	SeenMillisAgo int64 `json:"seen_ms_ago,omitempty"`
	// BeganMillisAgo is how long before this was sent the reporting request began. By
	// it every policy tells a probe from a late report, whatever cooldowns it has seen.
	BeganMillisAgo int64 `json:"began_ms_ago,omitempty"`
}

// HealthAsk asks for the health records of one organization.
type HealthAsk struct {
	OrganizationID uuid.UUID `json:"organization_id"`
	// Activity asks for what the node itself did in the last hour, too.
	Activity bool `json:"activity,omitempty"`
	// UserID asks for what is known of this person's own credentials, too.
	UserID *uuid.UUID `json:"user_id,omitempty"`
}

// HealthReport is one node's answer: every record of the organization that has a
// history. Nodes agree on all of it but what is under way on each.
type HealthReport struct {
	Node string `json:"node"`
	// Epoch and Version are those of the configuration that the node serves; both 0 where
	// it serves none of the organization's, or is too old to say.
	Epoch   int64 `json:"epoch,omitempty"`
	Version int64 `json:"version,omitempty"`
	// Partial is set while the node still reads what stood on the bus when it joined:
	// it may not know of every cooldown yet.
	Partial bool           `json:"partial,omitempty"`
	Records []RecordHealth `json:"records"`
	// Own are the records of the credentials that the person who was asked for brought along:
	// those that are not healthy, one for each model of a provider, judged by the policies
	// of the targets.
	Own []RecordHealth `json:"own,omitempty"`
	// Build is the version of the node's program, UptimeMillis how long it has run, and
	// Activity the minutes of the last hour with a request; all only where they were asked for.
	Build        string           `json:"build,omitempty"`
	UptimeMillis int64            `json:"uptime_ms,omitempty"`
	Activity     []ActivityMinute `json:"activity,omitempty"`
}

// ActivityMinute is what became of an organization's requests on one node, by the
// installation's time. Requests that were refused before their route was walked are not
// in it.
type ActivityMinute struct {
	Minute    int64 `json:"minute"`    // since 1970-01-01T00:00Z
	Requests  int64 `json:"requests"`  // that ended in it
	Failovers int64 `json:"failovers"` // targets that they tried in vain
	Rescued   int64 `json:"rescued"`   // of them: served after a target was tried in vain
	Failed    int64 `json:"failed"`    // of them: served by no target, or broken off
}

// WithoutHistory returns the report without the transitions of its records, for
// where it would be too long to send.
func (r HealthReport) WithoutHistory() HealthReport {
	r.Records, r.Own = withoutHistory(r.Records), withoutHistory(r.Own)
	return r
}

func withoutHistory(list []RecordHealth) []RecordHealth {
	records := make([]RecordHealth, len(list))
	for i, record := range list {
		record.Transitions = nil
		policies := make([]PolicyHealth, len(record.Policies))
		for j, p := range record.Policies {
			p.Transitions = nil
			policies[j] = p
		}
		record.Policies = policies
		records[i] = record
	}
	return records
}

// States of a RecordHealth.
const (
	StateHealthy  = "healthy"
	StateHalfOpen = "half_open" // the cooldown has passed; probes go through
	StateEjected  = "ejected"   // cooling down
)

// RecordHealth is one health record, first of all as the strictest policy in use on
// it judges it.
type RecordHealth struct {
	ProviderID    uuid.UUID `json:"provider_id"`
	UpstreamModel string    `json:"upstream_model"`
	Judgement
	// Policies is what each policy in use on the record says: one entry for each
	// policy that a target of the organization has, in no order.
	Policies []PolicyHealth `json:"policies,omitempty"`
}

// PolicyHealth is a record as one policy judges it.
type PolicyHealth struct {
	Policy Cooldown `json:"policy"`
	Judgement
}

// Judgement is what a policy makes of a record.
type Judgement struct {
	State          string       `json:"state"`
	Reason         string       `json:"reason,omitempty"` // while not healthy
	Failures       int          `json:"failures"`         // in the window, while healthy
	Multiplier     int          `json:"multiplier"`       // of the first cooldown; doubles on each failed recovery
	RemainingMilli int64        `json:"remaining_ms"`     // of the cooldown
	Probes         int          `json:"probes"`           // under way on this node
	Transitions    []Transition `json:"transitions,omitempty"`
}

// Transition is a change of a record's state, newest last.
type Transition struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Reason      string `json:"reason,omitempty"`
	WindowMilli int64  `json:"window_ms"` // of the cooldown that began
	AgeMilli    int64  `json:"age_ms"`
}
