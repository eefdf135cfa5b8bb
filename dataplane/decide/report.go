package decide

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

var states = map[Standing]string{StandingHealthy: node.StateHealthy, StandingCooling: node.StateEjected, StandingRecovering: node.StateHalfOpen}

// severity orders states for a report: what keeps most requests away first.
var severity = map[string]int{node.StateEjected: 0, node.StateHalfOpen: 1, node.StateHealthy: 2}

// Stricter orders judgements by what they keep away: below 0 where a keeps away more
// than b. It is for targets that judge one record by several policies, and for nodes
// that differ for a moment.
func Stricter(a, b node.Judgement) int {
	return cmp.Or(cmp.Compare(severity[a.State], severity[b.State]), cmp.Compare(b.RemainingMilli, a.RemainingMilli), cmp.Compare(b.Failures, a.Failures))
}

// Report describes the records of the organization's targets that have a history, by
// provider and model, as each policy that a target has judges them.
func (o *Org) Report(now time.Time) []node.RecordHealth {
	out := []node.RecordHealth{}
	for cell, views := range o.views {
		if r, any := cell.report(views, now); any {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b node.RecordHealth) int {
		return cmp.Or(slices.Compare(a.ProviderID[:], b.ProviderID[:]), cmp.Compare(a.UpstreamModel, b.UpstreamModel))
	})
	return out
}

// viewsOf are the records of the routes' targets, with the views that the targets' policies
// have on each. They are found once for a configuration: nodes are asked for their reports
// at every listing of routes, of which there may be ten thousand.
func viewsOf(routes map[string]*Route) map[*Cell][]*View {
	used := map[*Cell][]*View{}
	for _, r := range routes {
		for _, t := range r.Targets {
			if cell := t.Health.Cell; !slices.Contains(used[cell], t.Health) {
				used[cell] = append(used[cell], t.Health)
			}
		}
	}
	return used
}

func (c *Cell) report(views []*View, now time.Time) (r node.RecordHealth, any bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.log)+len(c.own) == 0 {
		return r, false
	}
	r = node.RecordHealth{ProviderID: c.Key.ProviderID, UpstreamModel: c.Key.UpstreamModel}
	for i, v := range views {
		j := v.judgement(now)
		if i == 0 || Stricter(j, r.Judgement) < 0 {
			r.Judgement = j
		}
		r.Policies = append(r.Policies, node.PolicyHealth{Policy: v.policy, Judgement: j})
	}
	return r, true
}

// staleAfter is how long after its cooldown a credential that nobody used again is still
// told of as recovering: an access token that its owner renewed never recovers.
const staleAfter = 5 * time.Minute

// OwnReport describes the credentials that a person brought along and that are not healthy
// now, by provider and model: of several for one model the worst. It is judged by the
// policies that Report names, as OwnHealth judges them.
func (b *Board) OwnReport(o *Org, user uuid.UUID, now time.Time) (out []node.RecordHealth) {
	b.credentials.Range(func(_, c any) bool {
		cell := c.(*Cell)
		if cell.Key.OrganizationID != o.ID || !cell.isOf(user) {
			return true
		}
		r := node.RecordHealth{ProviderID: cell.Key.ProviderID, UpstreamModel: cell.Key.UpstreamModel}
		for _, v := range o.views[b.Cell(HealthKey{o.ID, cell.Key.ProviderID, cell.Key.UpstreamModel, ""})] {
			j := cell.View(ownPolicy(v.policy)).own(now)
			r.Policies = append(r.Policies, node.PolicyHealth{Policy: v.policy, Judgement: j})
			if len(r.Policies) == 1 || Stricter(j, r.Judgement) < 0 {
				r.Judgement = j
			}
		}
		if r.State != node.StateHealthy && len(r.Policies) > 0 {
			out = append(out, r)
		}
		return true
	})
	slices.SortFunc(out, func(a, b node.RecordHealth) int {
		return cmp.Or(slices.Compare(a.ProviderID[:], b.ProviderID[:]), cmp.Compare(a.UpstreamModel, b.UpstreamModel), Stricter(a.Judgement, b.Judgement))
	})
	return slices.CompactFunc(out, func(a, b node.RecordHealth) bool {
		return a.ProviderID == b.ProviderID && a.UpstreamModel == b.UpstreamModel
	})
}

func (c *Cell) isOf(user uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.users, user)
}

// own is the judgement of a caller's own credential, without its history.
func (v *View) own(now time.Time) node.Judgement {
	v.Cell.mu.Lock()
	defer v.Cell.mu.Unlock()
	if h := v.Health(); h.At(now) == StandingRecovering && now.Sub(h.until) > staleAfter {
		return node.Judgement{State: node.StateHealthy}
	}
	j := v.judgement(now)
	j.Transitions = nil
	return j
}

// judgement needs the cell's lock.
func (v *View) judgement(now time.Time) node.Judgement {
	health := v.Health()
	j := node.Judgement{
		State: states[health.At(now)], Multiplier: 1 << min(health.level, 12),
		RemainingMilli: max(0, health.until.Sub(now)).Milliseconds(),
	}
	if health.active {
		j.Reason = string(health.reason)
	}
	for _, f := range health.failures {
		if now.Sub(f.at) < seconds(v.policy.WindowSecs) {
			j.Failures += f.count
		}
	}
	j.Probes = v.Cell.probes
	for _, t := range health.changes {
		j.Transitions = append(j.Transitions, node.Transition{
			From: states[t.from], To: states[t.to], Reason: string(t.reason), WindowMilli: t.window.Milliseconds(), AgeMilli: now.Sub(t.at).Milliseconds(),
		})
	}
	return j
}

// Assume puts what nodes report of an organization's records on a board that follows
// no log, so that a route can be walked elsewhere as they would walk it. Targets are
// compiled onto the board before or after; a policy that no report judges by finds
// its record healthy.
func (b *Board) Assume(org uuid.UUID, records []node.RecordHealth, now time.Time) {
	for _, r := range records {
		cell := b.Cell(HealthKey{OrganizationID: org, ProviderID: r.ProviderID, UpstreamModel: r.UpstreamModel})
		for _, p := range r.Policies {
			cell.View(p.Policy).assume(p.Judgement, now)
		}
		cell.mu.Lock()
		cell.probes = r.Probes // under way on the nodes, so never given back here
		cell.mu.Unlock()
	}
}

func (v *View) assume(j node.Judgement, now time.Time) {
	var h Health
	switch j.State {
	case node.StateHealthy:
		if j.Failures > 0 {
			h.failures = []failure{{now, j.Failures}}
		}
	case node.StateEjected, node.StateHalfOpen:
		h = Health{
			active: true, episode: 1, reason: CooldownReason(j.Reason), level: bits.Len(uint(max(j.Multiplier, 1))) - 1,
			until: now.Add(time.Duration(j.RemainingMilli) * time.Millisecond),
		}
	}
	v.Cell.mu.Lock()
	defer v.Cell.mu.Unlock()
	v.folded = h
	v.now.Store(&h)
}
