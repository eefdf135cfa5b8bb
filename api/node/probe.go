package node

import "github.com/google/uuid"

// ProbeAsk asks one node to check a provider's connection.
type ProbeAsk struct {
	OrganizationID uuid.UUID `json:"organization_id"`
	ProviderID     uuid.UUID `json:"provider_id"`
	// Version is the oldest configuration that the check may be made with: an older one
	// has another credential or address.
	Version int64 `json:"version"`
	// Provider is one that is not stored, in place of ProviderID.
	Provider *Provider `json:"provider,omitempty"`
}

// ProbeOutcome is what a check found.
type ProbeOutcome string

// Outcomes of a check.
const (
	ProbeOK           ProbeOutcome = "ok"           // the provider took the credential
	ProbeRejected     ProbeOutcome = "rejected"     // it refused it
	ProbeUnreachable  ProbeOutcome = "unreachable"  // it did not answer
	ProbeInconclusive ProbeOutcome = "inconclusive" // its answer says nothing of the credential
	ProbeUnsupported  ProbeOutcome = "unsupported"  // this build cannot check a provider of the kind
	// ProbeBehind is a node that did not have the configuration in time; somebody else,
	// or the same node later, has to be asked.
	ProbeBehind ProbeOutcome = "behind"
)

// ProbeReport is the answer. It holds no part of the credential, of the provider's answer
// or of its address.
type ProbeReport struct {
	Node    string       `json:"node"`
	Version int64        `json:"version"` // of the configuration that was checked
	Outcome ProbeOutcome `json:"outcome"`
	// Detail is what was found, for a person; empty when all is well.
	Detail string `json:"detail,omitempty"`
}
