package rest

import (
	"context"
	"time"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func (s *server) ListNodes(ctx context.Context, _ admin.ListNodesRequestObject) (admin.ListNodesResponseObject, error) {
	v, err := s.store.ConfigVersion(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	org := principal(ctx).OrganizationID
	reports, silent, err := s.fleet.Nodes(ctx, org)
	if err != nil {
		s.log.Warn("the nodes are not known", "error", err)
		return nil, tenant.Unavailable()
	}
	answers, now := map[string]node.HealthReport{}, time.Now()
	for _, r := range reports {
		answers[r.Node] = r
	}
	out := admin.ListNodes200JSONResponse{}
	for _, at := range nodesAt(v, reports, silent, s.refusals(org)) {
		n := admin.Node{Node: at.Node, Answered: at.Answered, Epoch: at.Epoch, Version: at.Version, Live: at.Live, Refused: at.Refused,
			Build: textOrNull(""), StartedAt: orNull[time.Time](nil), Activity: []admin.NodeActivity{}}
		if r, answered := answers[at.Node]; answered && r.UptimeMillis > 0 { // 0: a node too old to say
			began := now.Add(-time.Duration(r.UptimeMillis) * time.Millisecond).UTC().Truncate(time.Second)
			n.Build, n.StartedAt, n.Joining = textOrNull(r.Build), orNull(&began), r.Partial
			for _, m := range r.Activity {
				n.Activity = append(n.Activity, admin.NodeActivity{Minute: time.Unix(m.Minute*60, 0).UTC(), Requests: m.Requests, Failovers: m.Failovers,
					Rescued: m.Rescued, Failed: m.Failed})
			}
		}
		out = append(out, n)
	}
	return out, nil
}
