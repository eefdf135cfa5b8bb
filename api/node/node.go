// Package node is what the two planes say to each other: the configuration
// snapshot of one organization, acknowledgements, health events, the subjects
// they travel on, and the envelope that signs a snapshot. It is pure: no clock
// and no I/O, and both planes build and read every message through it.
//
// # Format history
//
//   - 1 (2026-11-29): first format.
//     2026-11-30: a health event says how old it is, and when a lost log had it; probe slots;
//     a health report says which configuration the node serves; checks of a provider's connection;
//     a health report says what the node did, where it is asked; uses of keys.
//     2026-11-30: model access policies, groups of routes and of keys. A node from before does
//     not check them: all are to be renewed before the first policy is written.
//     2026-11-30: a health event about a caller's own credential says whose it is, and a health
//     report tells a person of theirs, where it is asked.
//
// A field may be added without a new number: readers ignore fields they do not
// know. Removing one, or changing what one means, needs a new number, and nodes
// must read both for one release.
package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Format is the number of the wire format this build writes.
const Format = 1

// shards is how many subjects organizations are spread over, so that a node or
// a later beacon can name a part of them.
const shards = 64

// Names of the JetStream streams and their subjects.
const (
	// ConfigStream keeps the last snapshot of every organization.
	ConfigStream   = "CFG"
	ConfigSubjects = "cfg.v1.*.*"
	// HealthStream keeps health events of the last HealthMaxAge, in memory.
	HealthStream   = "HEALTH"
	HealthSubjects = "health.v1.*.*"
	// ProbeStream keeps one message for each probe slot that is taken, in memory. A slot
	// is taken by a publish that expects none on its subject, held for the message's
	// time to live, and given back by deleting the message.
	ProbeStream   = "PROBES"
	ProbeSubjects = "probe.v1.*.*.*"
	// AckSubjects is plain publish and subscribe: a JSON list of Acks that a node
	// says after it took or refused a snapshot, and of all it serves when asked.
	AckSubjects = "ack.v1.*"
	// AskHealthSubject asks every node for the health records of one organization; the
	// request is a HealthAsk, each answer a HealthReport.
	AskHealthSubject = "ask.v1.health"
	// AskProbeSubject asks one node, the first of ProbeQueue to take it, to check a
	// provider's connection; the request is a ProbeAsk, the answer a ProbeReport.
	AskProbeSubject = "ask.v1.probe"
	ProbeQueue      = "probe"
	// KeyUseSubject is where nodes tell the last uses of gateway keys, a JSON list of
	// KeyUses; the first of KeyUseQueue's control planes to take it answers when they are kept.
	KeyUseSubject = "use.v1.keys"
	KeyUseQueue   = "key-use"
	// AskSubject makes every node say its Acks again; a control plane that has just
	// begun to listen asks, since it cannot know what it missed.
	AskSubject = "ask.v1.acks"
)

// HealthMaxAge is how long the log of health events reaches back. A node that joins
// learns from it, so it must span the longest window a policy can have (an hour) many
// times over: how long the next cooldown is depends on those before it.
const HealthMaxAge = 24 * time.Hour

// Shard returns the shard of an organization, "00" to "63".
func Shard(org uuid.UUID) string {
	h := fnv.New32a()
	h.Write(org[:])
	return fmt.Sprintf("%02d", h.Sum32()%shards)
}

// ConfigSubject is where the snapshot of org is published.
func ConfigSubject(org uuid.UUID) string {
	return "cfg.v1." + Shard(org) + "." + org.String()
}

// HealthSubject is where health events of org are published.
func HealthSubject(org uuid.UUID) string {
	return "health.v1." + Shard(org) + "." + org.String()
}

// ProbeSubject is one probe slot of a health record, slot counted from 0. Neither the
// model nor a caller's credential stands in it, only a hash.
func ProbeSubject(org, provider uuid.UUID, upstreamModel, credential string, slot int) string {
	h := sha256.New()
	h.Write(provider[:])
	h.Write([]byte(credential + "\x00" + upstreamModel))
	return fmt.Sprintf("probe.v1.%s.%s.%d", org, hex.EncodeToString(h.Sum(nil)[:16]), slot)
}

// OrganizationOf reads the organization of a configuration or health subject. It
// is what the bus's permissions were checked against, so it wins over a body.
func OrganizationOf(subject string) (uuid.UUID, error) {
	return uuid.Parse(subject[strings.LastIndexByte(subject, '.')+1:])
}

// AckSubject is where the named node acknowledges snapshots.
func AckSubject(node string) string { return "ack.v1." + node }

// KeyUse is the last use of a gateway key on one node.
type KeyUse struct {
	OrganizationID uuid.UUID `json:"organization_id"`
	KeyID          uuid.UUID `json:"key_id"`
	AgeMillis      int64     `json:"age_ms"` // how long before this was sent
}

// Ack says that a node serves a version, or why it refused it.
type Ack struct {
	Node           string    `json:"node"`
	OrganizationID uuid.UUID `json:"organization_id"`
	Epoch          int64     `json:"epoch"`
	Version        int64     `json:"version"`
	// Code is empty when the version is live on the node, else a short word for
	// the refusal ("bad_signature", "bad_document", "does_not_compile").
	Code string `json:"code,omitempty"`
	// Message says what was wrong, Field where in the document.
	Message string `json:"message,omitempty"`
	Field   string `json:"field,omitempty"`
}
