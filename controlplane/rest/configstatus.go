package rest

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
)

// acts are the controls that hold callers to what is configured.
func acts() admin.ConfigActs {
	return admin.ConfigActs{ModelAccess: true, RequirePricingForMappings: true}
}

func (s *server) GetConfigStatus(ctx context.Context, _ admin.GetConfigStatusRequestObject) (admin.GetConfigStatusResponseObject, error) {
	v, err := s.store.ConfigVersion(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	out := admin.ConfigStatus{Epoch: v.Epoch, Version: v.Version, PublishedVersion: v.Published, Acts: acts(), Nodes: []admin.ConfigNode{}}
	org := principal(ctx).OrganizationID
	reports, silent, err := s.fleet.Health(ctx, org, uuid.Nil)
	if err != nil { // what the nodes serve is not known; all else is
		s.log.Warn("the nodes' configuration is not known", "error", err)
		return admin.GetConfigStatus200JSONResponse(out), nil
	}
	out.Reachable = true
	out.Nodes = nodesAt(v, reports, silent, s.refusals(org))
	for _, n := range out.Nodes {
		if n.Live {
			out.LiveNodes++
		}
	}
	return admin.GetConfigStatus200JSONResponse(out), nil
}

// refusals are the nodes' refusals that are their last word.
func (s *server) refusals(organization uuid.UUID) map[string]node.Ack {
	out := map[string]node.Ack{}
	for _, ack := range s.fleet.Acks(organization) {
		if ack.Code != "" {
			out[ack.Node] = ack
		}
	}
	return out
}

// nodesAt is every node that answered with what it serves, and every silent one, by name.
func nodesAt(v store.ConfigVersion, reports []node.HealthReport, silent []string, refused map[string]node.Ack) []admin.ConfigNode {
	list := []admin.ConfigNode{}
	add := func(n admin.ConfigNode) {
		n.Refused = orNull[admin.ConfigRefusal](nil)
		if ack, some := refused[n.Node]; some {
			n.Refused = orNull(&admin.ConfigRefusal{Version: ack.Version, Code: ack.Code, Message: ack.Message, Field: textOrNull(ack.Field)})
		}
		list = append(list, n)
	}
	for _, r := range reports {
		n := admin.ConfigNode{Node: r.Node, Answered: true, Epoch: orNull[int64](nil), Version: orNull[int64](nil)}
		if r.Version > 0 {
			n.Epoch, n.Version = orNull(&r.Epoch), orNull(&r.Version)
			n.Live = r.Epoch == v.Epoch && r.Version >= v.Version // a write may have come between
		}
		add(n)
	}
	for _, name := range silent {
		add(admin.ConfigNode{Node: name, Epoch: orNull[int64](nil), Version: orNull[int64](nil)})
	}
	slices.SortFunc(list, func(a, b admin.ConfigNode) int { return strings.Compare(a.Node, b.Node) })
	return list
}
