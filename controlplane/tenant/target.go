package tenant

import (
	"strings"

	"github.com/google/uuid"
)

// Kinds of targets of a model access policy.
const (
	TargetModelAlias    = "model_alias"    // Alias: the name in the request
	TargetModel         = "model"          // Model: the upstream model, on any provider
	TargetProvider      = "provider"       // ProviderID: all it has
	TargetProviderModel = "provider_model" // ProviderID and Model
	TargetRouteGroup    = "route_group"    // GroupID: the routes in it
)

// maxTargets bounds a policy.
const maxTargets = 1000

var targetKinds = []string{TargetModelAlias, TargetModel, TargetProvider, TargetProviderModel, TargetRouteGroup}

// Target is one thing that a model access policy names. Only the kind's own fields are
// set; Alias and Model may end in *, for all that begins so.
type Target struct {
	Kind       string
	Alias      *string
	Model      *string
	ProviderID *uuid.UUID
	GroupID    *uuid.UUID
}

// own is the target with nothing but its kind's fields, or an error where one is missing.
func (t Target) own() (Target, error) {
	own := Target{Kind: t.Kind}
	var complete bool
	switch t.Kind {
	case TargetModelAlias:
		own.Alias = t.Alias
		complete = given(t.Alias)
	case TargetModel:
		own.Model = t.Model
		complete = given(t.Model)
	case TargetProvider:
		own.ProviderID = t.ProviderID
		complete = t.ProviderID != nil
	case TargetProviderModel:
		own.ProviderID, own.Model = t.ProviderID, t.Model
		complete = t.ProviderID != nil && given(t.Model)
	case TargetRouteGroup:
		own.GroupID = t.GroupID
		complete = t.GroupID != nil
	default:
		return Target{}, Invalid("targets", "invalid target kind '%s'. Must be one of: %s", t.Kind, strings.Join(targetKinds, ", "))
	}
	if !complete {
		return Target{}, Invalid("targets", "malformed target of kind '%s': missing required fields", t.Kind)
	}
	for _, pattern := range []*string{own.Alias, own.Model} {
		if err := validatePattern(pattern); err != nil {
			return Target{}, err
		}
	}
	return own, nil
}

func given(text *string) bool { return text != nil && *text != "" }

// validatePattern refuses a * that is not at the end: it would match nothing but itself.
func validatePattern(pattern *string) error {
	if pattern == nil {
		return nil
	}
	if strings.Contains(strings.TrimSuffix(*pattern, "*"), "*") {
		return Invalid("targets", "'%s': a * is allowed only at the end", *pattern)
	}
	return ValidateName("targets", *pattern)
}

// ownTargets checks a policy's targets and keeps their order.
func ownTargets(targets []Target) ([]Target, error) {
	if len(targets) > maxTargets {
		return nil, Invalid("targets", "targets must have at most %d entries", maxTargets)
	}
	own := make([]Target, len(targets))
	for i, t := range targets {
		var err error
		if own[i], err = t.own(); err != nil {
			return nil, err
		}
	}
	return own, nil
}
