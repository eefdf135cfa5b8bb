package node

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Snapshot is everything a node needs to serve one organization. The control
// plane writes it from one read transaction; lists are sorted by id, so that
// equal content is equal bytes.
type Snapshot struct {
	Format         int        `json:"format"`
	OrganizationID uuid.UUID  `json:"organization_id"`
	Epoch          int64      `json:"epoch"`
	Version        int64      `json:"version"`
	Providers      []Provider `json:"providers"`
	Mappings       []Mapping  `json:"mappings"`
	Keys           []Key      `json:"keys"`
	// AccessPolicies are those that are enabled and have a say in calls of models.
	AccessPolicies []AccessPolicy `json:"access_policies,omitempty"`
	RouteGroups    []RouteGroup   `json:"route_groups,omitempty"`
	// DefaultModelAccess is "allow" or "deny", for callers for whom no allowlist is;
	// empty: "allow".
	DefaultModelAccess string `json:"default_model_access,omitempty"`
}

// Newer reports whether s replaces a snapshot with the given position. Order is
// (epoch, version): an operator raises the epoch after a point-in-time restore.
func (s *Snapshot) Newer(epoch, version int64) bool {
	return s.Epoch > epoch || s.Epoch == epoch && s.Version > version
}

// Provider is one account at one vendor, or one endpoint that speaks a vendor's
// dialect.
type Provider struct {
	ID       uuid.UUID       `json:"id"`
	Name     string          `json:"name"`
	Family   string          `json:"family"`    // the admin API's model_provider
	BaseURL  string          `json:"base_url"`  // absolute http(s)
	AuthType string          `json:"auth_type"` // as the admin API names it
	Settings json.RawMessage `json:"settings,omitempty"`
	Enabled  bool            `json:"enabled"`
	// Serving is false when the connection check fails and the provider enforces it.
	Serving bool `json:"serving"`
	// Seconds; nil leaves the default to the node.
	RequestTimeoutSecs    *int    `json:"request_timeout_secs,omitempty"`
	StreamIdleTimeoutSecs *int    `json:"stream_idle_timeout_secs,omitempty"`
	Credential            *Sealed `json:"credential,omitempty"`
}

// Mapping is one target of a route: the row of the admin API's model-mappings.
type Mapping struct {
	ID            uuid.UUID `json:"id"`
	ProviderID    uuid.UUID `json:"provider_id"`
	Alias         string    `json:"alias"`
	UpstreamModel string    `json:"upstream_model"`
	Enabled       bool      `json:"enabled"`
	// BareAlias is whether the alias alone names the route; where false only
	// "<provider>/<upstream model>" does.
	BareAlias bool `json:"bare_alias"`
	// Priority orders the targets of a route, lower first; ties by CreatedAt, then ID.
	Priority  int       `json:"priority"`
	CreatedAt time.Time `json:"created_at"`

	RetryOn429Count       int  `json:"retry_on_429_count,omitempty"`         // 0 to 10
	RetryOn429MaxWaitSecs int  `json:"retry_on_429_max_wait_secs,omitempty"` // 0 to 180
	RequestTimeoutSecs    *int `json:"request_timeout_secs,omitempty"`       // 1 to 600; nil: the provider's
	StreamIdleTimeoutSecs *int `json:"stream_idle_timeout_secs,omitempty"`   // 1 to 300; nil: the provider's

	// EmbeddingsFailover is EmbeddingsAnyModel where the target may be asked for embeddings
	// though its model is not the one that the route's are of; anything else: it may not.
	EmbeddingsFailover string `json:"embeddings_failover,omitempty"`

	// Cooldown is the target's policy; nil is the default one.
	Cooldown *Cooldown `json:"cooldown,omitempty"`
}

// Values of embeddings_failover, as the admin API has them.
const (
	EmbeddingsSameModel = "same_model" // the default, which a snapshot leaves out
	EmbeddingsAnyModel  = "any_model"
)

// Cooldown is a target's cooldown policy. Seconds except FailureThreshold.
type Cooldown struct {
	FailureThreshold int `json:"failure_threshold"` // 0 to 10000; 0: never for everyone
	WindowSecs       int `json:"window_secs"`       // 1 to 3600
	FirstSecs        int `json:"first_secs"`        // 1 to 3600
	MaxSecs          int `json:"max_secs"`          // 1 to 3600
	RateLimitedSecs  int `json:"rate_limited_secs"` // 1 to 3600
	OverloadedSecs   int `json:"overloaded_secs"`   // 0 to 3600; 0: a 529 is an ordinary failure
}

// DefaultCooldown is the policy of a target that sets none.
func DefaultCooldown() Cooldown {
	return Cooldown{FailureThreshold: 10, WindowSecs: 60, FirstSecs: 30, MaxSecs: 300, RateLimitedSecs: 30, OverloadedSecs: 10}
}

// Defaults of the two timeouts, where neither target nor provider sets one.
const (
	DefaultRequestTimeoutSecs    = 120
	DefaultStreamIdleTimeoutSecs = 180
)

// Key is a gateway key, known only by its hash. Revoked keys are not in a snapshot.
type Key struct {
	ID        uuid.UUID  `json:"id"`
	Hash      Hash       `json:"hash"` // SHA-256 of the whole key text
	Name      string     `json:"name"`
	Kind      string     `json:"kind"` // user, machine, agent_session
	UserID    *uuid.UUID `json:"user_id,omitempty"`
	GroupName string     `json:"group_name,omitempty"`
	Disabled  bool       `json:"disabled,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// Groups are those the key acts as a member of, sorted: its user's, or its own one.
	Groups []string `json:"groups,omitempty"`
}

// AllGroups are the groups that the key acts as. A control plane from before Groups says
// only GroupName.
func (k *Key) AllGroups() []string {
	if len(k.Groups) == 0 && k.GroupName != "" {
		return []string{k.GroupName}
	}
	return k.Groups
}

// AccessPolicy says which models somebody may call. Its words are the admin API's. A node
// refuses a snapshot with a word that it does not know: a policy that is passed over
// lets callers in.
type AccessPolicy struct {
	ID         uuid.UUID      `json:"id"`
	Name       string         `json:"name"` // told to whom it denies something
	ScopeType  string         `json:"scope_type"`
	ScopeID    *uuid.UUID     `json:"scope_id,omitempty"`
	ScopeValue string         `json:"scope_value,omitempty"`
	Type       string         `json:"policy_type"` // allowlist, denylist
	Targets    []AccessTarget `json:"targets"`
}

// AccessTarget is one thing that a policy names; only its kind's fields are set.
type AccessTarget struct {
	Kind       string    `json:"kind"`
	Alias      string    `json:"alias,omitempty"` // may end in *
	Model      string    `json:"model,omitempty"` // may end in *
	ProviderID uuid.UUID `json:"provider_id,omitzero"`
	GroupID    uuid.UUID `json:"group_id,omitzero"`
}

// RouteGroup is a set of routes by name.
type RouteGroup struct {
	ID      uuid.UUID `json:"id"`
	Aliases []string  `json:"aliases"`
}
