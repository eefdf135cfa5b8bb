package decide

import (
	"slices"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Caller is who a gateway key belongs to.
type Caller struct {
	Org *Org
	Key *Key
}

// Route finds the route for what the caller wrote in "model", or refuses it. Some of the
// route's targets may still be denied to the caller: a Run skips them.
func (c Caller) Route(model string, dialect llm.Dialect) (*Route, *Refusal) {
	route := c.Org.Resolve(model)
	if route == nil {
		return nil, UnknownModel(model)
	}
	if by, closed := c.Key.Access.Closes(route); closed {
		return nil, AccessDenied(model, by, dialect)
	}
	return route, nil
}

// Models lists what the caller may put in "model", by name: what has a target that the
// configuration lets serve and the caller may use.
func (c Caller) Models() []Model {
	if c.Key.Access == nil {
		return c.Org.models
	}
	out := make([]Model, 0, len(c.Org.models))
	for _, m := range c.Org.models {
		route := c.Org.routes[m.ID]
		if slices.ContainsFunc(route.Targets, func(t *Target) bool { return t.Unservable == "" && c.Key.Access.allows(route, t) }) {
			out = append(out, m)
		}
	}
	return out
}

// Caller is the holder of a key by its id; false: the organization has none that is not
// revoked.
func (o *Org) Caller(id uuid.UUID) (Caller, bool) {
	for _, k := range o.keys {
		if k.ID == id {
			return Caller{o, k}, true
		}
	}
	return Caller{}, false
}

// Anyone is the holder of a key that is no user's and no group's, and that no policy names.
func (o *Org) Anyone() Caller { return o.as(&node.Key{}) }

// User is a user as the holder of any key of theirs, but for what is for one key alone.
func (o *Org) User(id uuid.UUID, groups []string) Caller {
	return o.as(&node.Key{UserID: &id, Groups: groups})
}

func (o *Org) as(k *node.Key) Caller {
	return Caller{o, &Key{UserID: k.UserID, Access: o.access.of(k)}}
}
