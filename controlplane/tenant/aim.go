package tenant

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Aim is whom and what a limit or a budget is for.
type Aim struct {
	Scope Scope
	// MemberOfGroup narrows a broad user scope to a group's members, each with an
	// allowance of its own; a group scope is one allowance for all of them.
	MemberOfGroup *string
	TrafficType   string
	Narrowing     Narrowing
}

// Narrowing is the part of the traffic that is counted; nothing set is all of it. Only
// one of a provider (or one upstream model on it), a client's alias and an MCP server may
// be set.
type Narrowing struct {
	ProviderID    *uuid.UUID
	UpstreamModel *string
	ModelAlias    *string
	MCPServerID   *uuid.UUID
}

// AimPatch changes an Aim.
type AimPatch struct {
	Scope         ScopePatch
	MemberOfGroup Change[string]
	TrafficType   *string
	Narrowing     NarrowingPatch
}

// NarrowingPatch changes a Narrowing.
type NarrowingPatch struct {
	ProviderID    Change[uuid.UUID]
	UpstreamModel Change[string]
	ModelAlias    Change[string]
	MCPServerID   Change[uuid.UUID]
}

func (a *Aim) apply(p AimPatch) {
	a.Scope.apply(p.Scope)
	p.MemberOfGroup.apply(&a.MemberOfGroup)
	if a.MemberOfGroup != nil {
		if group := strings.TrimSpace(*a.MemberOfGroup); group == "" {
			a.MemberOfGroup = nil
		} else {
			a.MemberOfGroup = &group
		}
	}
	apply(&a.TrafficType, p.TrafficType)
	n := &a.Narrowing
	p.Narrowing.ProviderID.apply(&n.ProviderID)
	p.Narrowing.UpstreamModel.apply(&n.UpstreamModel)
	p.Narrowing.ModelAlias.apply(&n.ModelAlias)
	p.Narrowing.MCPServerID.apply(&n.MCPServerID)
}

func (a Aim) validate() error {
	if err := a.Scope.validate(); err != nil {
		return err
	}
	if err := a.validateGroup(); err != nil {
		return err
	}
	if err := validateTraffic(a.TrafficType); err != nil {
		return err
	}
	return a.Narrowing.validate(a.TrafficType)
}

func (a Aim) validateGroup() error {
	const field = "member_of_group"
	switch {
	case a.MemberOfGroup == nil:
		return nil
	case a.Scope.Type != ScopeUser:
		return Invalid(field, "member_of_group is used only with scope_type 'user'")
	case a.Scope.ID != nil:
		return Invalid(field, "member_of_group is not used with scope_id")
	}
	return ValidateName(field, *a.MemberOfGroup)
}

// validate refuses what could never match anything: it would be silently ignored.
func (n Narrowing) validate(traffic string) error {
	model := n.ProviderID != nil || n.UpstreamModel != nil || n.ModelAlias != nil
	switch {
	case n.ModelAlias != nil && (n.ProviderID != nil || n.UpstreamModel != nil):
		return Invalid("target_model_alias", "target_model_alias is not used with target_provider_id or target_upstream_model")
	case n.UpstreamModel != nil && n.ProviderID == nil:
		return Invalid("target_upstream_model", "target_upstream_model needs target_provider_id")
	case n.MCPServerID != nil && model:
		return Invalid("target_mcp_server_id", "target_mcp_server_id is not used with another target")
	case model && traffic == TrafficMCP:
		return Invalid("traffic_type", "a model target needs traffic_type 'llm' or 'all'")
	case n.MCPServerID != nil && traffic == TrafficLLM:
		return Invalid("traffic_type", "target_mcp_server_id needs traffic_type 'mcp' or 'all'")
	}
	if err := optionalName("target_upstream_model", n.UpstreamModel); err != nil {
		return err
	}
	return optionalName("target_model_alias", n.ModelAlias)
}

// legacyScopes said what is limited, and not whom.
var legacyScopes = []string{"llm_provider", "model"}

func refuseLegacyScope(scope string) error {
	if slices.Contains(legacyScopes, scope) {
		return Invalid("scope_type", "scope_type '%s' is not supported: name what is limited with target_* (target_provider_id, target_upstream_model, target_model_alias)", scope)
	}
	return nil
}

// everyUser reports whether the scope is every user, each by themselves.
func (s Scope) everyUser() bool { return s.Type == ScopeUser && s.ID == nil && s.Value == nil }
