package decide

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

var states = map[Standing]string{StandingHealthy: node.StateHealthy, StandingCooling: node.StateEjected, StandingRecovering: node.StateHalfOpen}

// severity orders standings for a report: what keeps most requests away first.
var severity = map[Standing]int{StandingCooling: 0, StandingRecovering: 1, StandingHealthy: 2}

// Report describes the records of an organization that have a history, by provider
// and model. Where targets judge one record by several policies, the strictest
// speaks.
func (b *Board) Report(org uuid.UUID, now time.Time) []node.RecordHealth {
	b.mu.Lock()
	var cells []*Cell
	for key, c := range b.cells {
		if key.OrganizationID == org {
			cells = append(cells, c)
		}
	}
	b.mu.Unlock()
	out := []node.RecordHealth{}
	for _, c := range cells {
		if r, any := c.report(now); any {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b node.RecordHealth) int {
		return cmp.Or(slices.Compare(a.ProviderID[:], b.ProviderID[:]), cmp.Compare(a.UpstreamModel, b.UpstreamModel))
	})
	return out
}

func (c *Cell) report(now time.Time) (r node.RecordHealth, any bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.log)+len(c.own) == 0 || len(c.views) == 0 {
		return r, false
	}
	var worst *View
	var health Health
	for _, v := range c.views {
		h := v.Health()
		if worst == nil || cmp.Or(cmp.Compare(severity[h.At(now)], severity[health.At(now)]), health.until.Compare(h.until)) < 0 {
			worst, health = v, h
		}
	}
	r = node.RecordHealth{
		ProviderID: c.Key.ProviderID, UpstreamModel: c.Key.UpstreamModel,
		State: states[health.At(now)], Multiplier: 1 << min(health.level, 12),
		RemainingMilli: max(0, health.until.Sub(now)).Milliseconds(),
	}
	if health.active {
		r.Reason = string(health.reason)
	}
	for _, f := range health.failures {
		if now.Sub(f.at) < seconds(worst.policy.WindowSecs) {
			r.Failures += f.count
		}
	}
	r.Probes = c.probes
	for _, t := range health.changes {
		r.Transitions = append(r.Transitions, node.Transition{
			From: states[t.from], To: states[t.to], Reason: string(t.reason), WindowMilli: t.window.Milliseconds(), AgeMilli: now.Sub(t.at).Milliseconds(),
		})
	}
	return r, true
}
