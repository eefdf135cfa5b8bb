package rest

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// Fleet reaches the nodes of the data plane. Its errors mean that it is out of
// reach just now.
type Fleet interface {
	// Health returns what the nodes know of an organization's targets, and the names
	// of those that did not answer in time. user is whose own credentials they tell of,
	// too; zero: nobody's.
	Health(ctx context.Context, organization, user uuid.UUID) (reports []node.HealthReport, silent []string, err error)
	// Glance is Health in a hurry: what the first node to answer knows, or nil when none
	// answers at once.
	Glance(ctx context.Context, organization, user uuid.UUID) (*node.HealthReport, error)
	// Nodes is Health with what each node did in the last hour.
	Nodes(ctx context.Context, organization uuid.UUID) (reports []node.HealthReport, silent []string, err error)
	// Watch tells of changes of an organization until stop is called. changed has a value
	// when take returns topics ("config", "health", "nodes"), and is closed when there will be none.
	Watch(organization uuid.UUID) (changed <-chan struct{}, take func() []string, stop func())
	// Acks are the last words of the nodes on an organization's configuration: the version
	// that each took, or why it refused one.
	Acks(organization uuid.UUID) []node.Ack
	// ResetHealth ends a cooldown on every node.
	ResetHealth(ctx context.Context, organization, provider uuid.UUID, upstreamModel string) error
	// Probe has one node check a provider's connection.
	Probe(ctx context.Context, ask node.ProbeAsk) (node.ProbeReport, error)
}

// nobody is the fleet of a control plane that is not connected to one.
type nobody struct{}

func (nobody) Health(context.Context, uuid.UUID, uuid.UUID) ([]node.HealthReport, []string, error) {
	return nil, nil, tenant.Unavailable()
}

func (nobody) Glance(context.Context, uuid.UUID, uuid.UUID) (*node.HealthReport, error) {
	return nil, tenant.Unavailable()
}

func (nobody) Nodes(context.Context, uuid.UUID) ([]node.HealthReport, []string, error) {
	return nil, nil, tenant.Unavailable()
}

func (nobody) Watch(uuid.UUID) (changed <-chan struct{}, take func() []string, stop func()) {
	none := make(chan struct{})
	close(none)
	return none, func() []string { return nil }, func() {}
}

func (nobody) Acks(uuid.UUID) []node.Ack { return nil }

func (nobody) ResetHealth(context.Context, uuid.UUID, uuid.UUID, string) error {
	return tenant.Unavailable()
}

func (nobody) Probe(context.Context, node.ProbeAsk) (node.ProbeReport, error) {
	return node.ProbeReport{}, tenant.Unavailable()
}

func (s *server) ListRouteHealth(ctx context.Context, _ admin.ListRouteHealthRequestObject) (admin.ListRouteHealthResponseObject, error) {
	providers, err := s.store.Providers().List(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	reports, silent, err := s.health(ctx)
	if err != nil {
		return nil, err
	}
	byID := map[uuid.UUID]tenant.Provider{}
	for _, p := range providers {
		byID[p.ID] = p
	}
	out := admin.RouteHealthList{Routes: []admin.RouteHealth{}}
	out.Nodes.Silent, out.Nodes.Answered = append([]string{}, silent...), []string{}
	for _, r := range reports {
		out.Nodes.Answered = append(out.Nodes.Answered, r.Node)
	}
	slices.Sort(out.Nodes.Answered)
	for _, r := range merged(recordsOf(reports)) {
		if p, exists := byID[r.ProviderID]; exists { // a deleted provider's record ends with its log
			out.Routes = append(out.Routes, showHealth(r, p))
		}
	}
	return admin.ListRouteHealth200JSONResponse(out), nil
}

func (s *server) ResetRouteHealth(ctx context.Context, r admin.ResetRouteHealthRequestObject) (admin.ResetRouteHealthResponseObject, error) {
	by, model := principal(ctx), r.Body.UpstreamModel
	if err := s.store.Providers().NoteHealthReset(ctx, by, r.ProviderId, model); err != nil {
		return nil, err
	}
	reports, _, err := s.health(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.fleet.ResetHealth(ctx, by.OrganizationID, r.ProviderId, model); err != nil {
		s.log.Warn("health not reset", "error", err)
		return nil, tenant.Unavailable()
	}
	out := admin.RouteHealthResetResult{ProviderId: r.ProviderId, UpstreamModel: model, SharedStateCleared: true}
	for _, record := range merged(recordsOf(reports)) {
		if record.ProviderID == r.ProviderId && record.UpstreamModel == model {
			out.WasEjected = record.State != node.StateHealthy
		}
	}
	return admin.ResetRouteHealth200JSONResponse(out), nil
}

func (s *server) health(ctx context.Context) ([]node.HealthReport, []string, error) {
	reports, silent, err := s.fleet.Health(ctx, principal(ctx).OrganizationID, principal(ctx).UserID)
	if err != nil {
		s.log.Warn("health not known", "error", err)
		return nil, nil, tenant.Unavailable()
	}
	return reports, silent, nil
}

// recordsOf are what each node tells of everyone, ownOf what of the person that asked.
func recordsOf(reports []node.HealthReport) (lists [][]node.RecordHealth) {
	for _, r := range reports {
		lists = append(lists, r.Records)
	}
	return lists
}

func ownOf(reports []node.HealthReport) (lists [][]node.RecordHealth) {
	for _, r := range reports {
		lists = append(lists, r.Own)
	}
	return lists
}

// merged makes one list of the nodes' reports: of each record, and of each policy on
// it, the strictest view with the probes of all nodes. Nodes differ only for a moment.
func merged(lists [][]node.RecordHealth) []node.RecordHealth {
	records := map[tenant.Upstream]*node.RecordHealth{}
	for _, list := range lists {
		for _, r := range list {
			k := tenant.Upstream{ProviderID: r.ProviderID, Model: r.UpstreamModel}
			if records[k] == nil {
				records[k] = &node.RecordHealth{ProviderID: r.ProviderID, UpstreamModel: r.UpstreamModel, Judgement: r.Judgement, Policies: slices.Clone(r.Policies)}
				continue
			}
			had := records[k]
			had.Judgement = stricter(had.Judgement, r.Judgement)
			for _, p := range r.Policies {
				i := slices.IndexFunc(had.Policies, func(o node.PolicyHealth) bool { return o.Policy == p.Policy })
				if i < 0 {
					had.Policies = append(had.Policies, p)
					continue
				}
				had.Policies[i].Judgement = stricter(had.Policies[i].Judgement, p.Judgement)
			}
		}
	}
	out := make([]node.RecordHealth, 0, len(records))
	for _, r := range records {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b node.RecordHealth) int {
		return cmp.Or(slices.Compare(a.ProviderID[:], b.ProviderID[:]), cmp.Compare(a.UpstreamModel, b.UpstreamModel))
	})
	return out
}

func stricter(a, b node.Judgement) node.Judgement {
	probes := a.Probes + b.Probes
	if decide.Stricter(b, a) < 0 {
		a = b
	}
	a.Probes = probes
	return a
}

// probesAtATime is how many requests each node sends a recovering target at a time.
const probesAtATime = 3

func showHealth(r node.RecordHealth, p tenant.Provider) admin.RouteHealth {
	out := admin.RouteHealth{
		ProviderId: r.ProviderID, ProviderName: p.Name, ModelProvider: p.Family, UpstreamModel: r.UpstreamModel,
		State: admin.RouteHealthState(r.State), ConsecutiveFailures: r.Failures, Multiplier: r.Multiplier,
		EjectRemainingSecs: wholeSeconds(r.RemainingMilli), InFlight: r.Probes, RecentTransitions: []admin.RouteHealthTransition{},
	}
	out.CooldownReason.SetNull()
	if r.Reason != "" {
		out.CooldownReason.Set(r.Reason)
	}
	out.ConcurrencyCap.SetNull()
	if r.State == node.StateHalfOpen {
		out.ConcurrencyCap.Set(probesAtATime)
	}
	for _, t := range slices.Backward(r.Transitions) {
		out.RecentTransitions = append(out.RecentTransitions, admin.RouteHealthTransition{
			From: admin.RouteHealthState(t.From), To: admin.RouteHealthState(t.To), Reason: t.Reason,
			WindowSecs: wholeSeconds(t.WindowMilli), AgeSecs: int(time.Duration(t.AgeMilli) * time.Millisecond / time.Second),
		})
	}
	return out
}

func wholeSeconds(milli int64) int { return int(math.Ceil(float64(milli) / 1000)) }
