package tenant

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Kinds of scopes, the admin API's scope_type. The first takes no key, the UUID-keyed
// ones a scope_id, the name-keyed ones a scope_value. A scope that could take a key and
// has none is broad: it is every user, every key and so on.
const (
	ScopeOrg = "org"

	ScopeTeam      = "team"
	ScopeUser      = "user"
	ScopeProject   = "project"
	ScopeAPIKey    = "api_key"
	ScopeMCPServer = "mcp_server"
	ScopeAgent     = "agent"

	ScopeRole  = "role"
	ScopeGroup = "group"
)

// scopeTypes are in the order in which the refusal of another one lists them.
var scopeTypes = []string{ScopeOrg, ScopeTeam, ScopeUser, ScopeProject, ScopeAPIKey, ScopeMCPServer, ScopeAgent, ScopeRole, ScopeGroup}

// Scope is whom a policy, a limit or a budget is for.
type Scope struct {
	Type  string
	ID    *uuid.UUID // of a UUID-keyed type
	Value *string    // of a name-keyed type
}

// ScopePatch changes a Scope.
type ScopePatch struct {
	Type  *string
	ID    Change[uuid.UUID]
	Value Change[string]
}

// keyedByName reports which key the type takes; neither for org.
func (s Scope) keyedByName() bool { return s.Type == ScopeRole || s.Type == ScopeGroup }

func (s Scope) keyedByID() bool { return s.Type != ScopeOrg && !s.keyedByName() }

// apply keeps the answer equal to what was sent. A patch that names another type takes
// the key that it does not name away: it was a key of the type before.
func (s *Scope) apply(p ScopePatch) {
	if p.Type != nil && *p.Type != s.Type {
		*s = Scope{Type: *p.Type}
	}
	p.ID.apply(&s.ID)
	p.Value.apply(&s.Value)
}

// validate refuses a key that the type does not take: it would be silently ignored, and
// the scope be wider than it looks. What the key names need not exist.
func (s Scope) validate() error {
	switch {
	case !slices.Contains(scopeTypes, s.Type):
		return Invalid("scope_type", "invalid scope_type '%s'. Must be one of: %s", s.Type, strings.Join(scopeTypes, ", "))
	case s.ID != nil && !s.keyedByID():
		return Invalid("scope_id", "scope_id is not used with scope_type '%s'", s.Type)
	case s.Value != nil && !s.keyedByName():
		return Invalid("scope_value", "scope_value is not used with scope_type '%s'", s.Type)
	case s.Value != nil:
		return ValidateName("scope_value", *s.Value)
	}
	return nil
}

// Kinds of traffic, the admin API's traffic_type.
const (
	TrafficAll = "all"
	TrafficLLM = "llm"
	TrafficMCP = "mcp"
)

var trafficTypes = []string{TrafficAll, TrafficLLM, TrafficMCP}

func validateTraffic(traffic string) error { return oneOf("traffic_type", traffic, trafficTypes) }
