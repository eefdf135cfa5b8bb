package decide

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// maxRetold is how much of a record's log is told again, in events: enough for the
// failures and the failed recoveries behind a cooldown.
const maxRetold = 256

// Retell returns what the log said of the records that are not healthy now, oldest first
// for each and with its age, to be told again where the log is lost: a node that joins
// then must learn of the cooldowns in force. Events keep their ids, so that all nodes may
// tell them and each counts once, and only for a record that has heard nothing first-hand.
func (b *Board) Retell(now time.Time) []Event {
	b.mu.Lock()
	cells := slices.Collect(maps.Values(b.cells))
	b.mu.Unlock()
	b.credentials.Range(func(_, c any) bool {
		cells = append(cells, c.(*Cell))
		return true
	})
	slices.SortFunc(cells, func(a, b *Cell) int { return a.Key.compare(b.Key) })
	var out []Event
	for _, c := range cells {
		out = append(out, c.retell(now)...)
	}
	return out
}

func (c *Cell) retell(now time.Time) (out []Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ill := false
	for _, v := range c.views {
		ill = ill || v.folded.At(now) != StandingHealthy
	}
	if !ill {
		return nil
	}
	for _, e := range c.log[max(0, len(c.log)-maxRetold):] {
		if now.Sub(e.At) > tellWithin {
			continue
		}
		told := Event{OrganizationID: c.Key.OrganizationID, HealthEvent: node.HealthEvent{
			ID: e.ID, Node: e.Node, Kind: e.Kind, ProviderID: c.Key.ProviderID, UpstreamModel: c.Key.UpstreamModel, Credential: c.Key.Credential,
			Count: e.Count, SeenMillisAgo: max(1, now.Sub(e.Seen).Milliseconds()),
			AgeMillis: max(0, now.Sub(e.At)).Milliseconds(), BeganMillisAgo: max(0, now.Sub(e.Began)).Milliseconds(),
		}}
		if e.User != uuid.Nil {
			told.UserID = &e.User
		}
		if e.Asked {
			millis := e.RetryAfter.Milliseconds()
			told.RetryAfterMillis = &millis
		}
		out = append(out, told)
	}
	return out
}
