package tenant

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// maxRouteTargets bounds a new route.
const maxRouteTargets = 100

// Route is a client-facing model name and its targets: the mappings of the alias, but for
// an enablement that its alias alone does not name.
type Route struct {
	Alias   string
	Targets []Mapping // at least one, in order
	Groups  []Named
}

// ETag changes with every target that comes, changes or goes: revisions only rise, so that
// with the same highest one there can only be fewer targets than before.
func (r Route) ETag() string {
	highest := int64(0)
	for _, m := range r.Targets {
		highest = max(highest, m.Revision)
	}
	return fmt.Sprintf(`"%d.%d"`, highest, len(r.Targets))
}

// RouteCreate is a new route.
type RouteCreate struct {
	Alias string
	RouteTargets
}

// RouteTargets are targets that come to a route together.
type RouteTargets struct {
	Targets []RouteTarget // in order
	// EnableModels enables the targets' models on their providers where they are not.
	EnableModels bool
	ChangeNote   *string
}

// RouteTarget is one of them. What its place and the route decide is not set.
type RouteTarget struct {
	ProviderID uuid.UUID
	MappingPatch
}

// RouteChange is what a route's new name, or its end, did beside the route.
type RouteChange struct {
	Targets int // mappings of the route
	// Kept are those of them that enable a model: they stay, without the route's name.
	Kept     int
	Groups   []Named
	Policies []Named // a renamed route is named anew in them; a deleted one is named still
	// Of a renamed route only: what counts it, and what picks it, by its new name now.
	RateLimits      []Named
	Budgets         []Named
	RoutingPolicies []Named
}

// Mappings are the targets as mappings of a route, after those that it has, or why one
// cannot be.
func (c RouteTargets) Mappings(of Route) ([]MappingPatch, error) {
	if len(c.Targets) == 0 {
		return nil, Invalid("targets", "at least one target is required")
	}
	if len(c.Targets) > maxRouteTargets {
		return nil, Invalid("targets", "targets must have at most %d entries", maxRouteTargets)
	}
	if err := ValidateName("model_alias", of.Alias); err != nil {
		return nil, err
	}
	first := 0
	for _, t := range of.Targets {
		first = max(first, t.Priority+1)
	}
	out := make([]MappingPatch, len(c.Targets))
	for i, t := range c.Targets {
		out[i] = t.MappingPatch
		out[i].Alias, out[i].BareAlias, out[i].Priority, out[i].ChangeNote = &of.Alias, new(true), new(first+i), c.ChangeNote
		if _, err := NewMapping(out[i]); err != nil {
			return nil, InTarget(i, err)
		}
	}
	return out, nil
}

// Copy is the mapping as a target of another route.
func (c MappingConfig) Copy(alias string) MappingConfig {
	c.Alias, c.BareAlias, c.Source = alias, true, SourceCustom
	return c
}

// InTarget says that an error is about a target of a route.
func InTarget(i int, err error) error {
	var e *Error
	if errors.As(err, &e) {
		in := *e
		if in.Param == "model_alias" { // a target has none: it is the model that is there already
			in.Param = "upstream_model"
		}
		in.Param = fmt.Sprintf("targets[%d].%s", i, in.Param)
		return &in
	}
	return err
}

// RouteNotFound is for the name of the request itself.
func RouteNotFound(alias string) error {
	return &Error{Kind: KindNotFound, Message: "route '" + alias + "' not found"}
}

// NotOneRoute is for an ETag that cannot be that of all that a call changes.
func NotOneRoute() error {
	return Invalid("If-Match", "If-Match needs entries that are all of one route")
}

// RouteExists is for a name that another route has.
func RouteExists() error {
	return &Error{Kind: KindConflict, Code: "route_exists", Param: "model_alias", Message: "A route with this name already exists."}
}
