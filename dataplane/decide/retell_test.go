package decide

import (
	"testing"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// What is told again of a log that was lost puts a node that joins then where the others
// are, and changes nothing for those: each event counts once, whoever tells it.
func TestALostLogIsToldAgain(t *testing.T) {
	t.Parallel()
	key := HealthKey{OrganizationID: uuid.UUID{1}, ProviderID: uuid.UUID{2}, UpstreamModel: "m"}
	mine := key
	mine.Credential = "hash"
	b := NewBoard()
	ill, seat, well := b.Cell(key), b.Credential(mine, at(0)), b.Cell(HealthKey{UpstreamModel: "well"})
	for _, c := range []*Cell{ill, seat, well} {
		c.View(node.DefaultCooldown())
	}
	for _, e := range failures(10, 0, 1) {
		ill.Fold(e.event()) // cools until 39
	}
	ill.Fold(happened{40, node.HealthFailure, 0.5, -1}.event()) // a probe: until 100
	seat.Fold(happened{30, node.HealthRateLimited, 0, 120}.event())
	well.Fold(own(1, node.HealthFailure))

	told := b.Retell(at(60))
	if len(told) != 12 {
		t.Fatalf("got %d events, want those of the two records that are not healthy", len(told))
	}
	joined := NewBoard()
	for _, c := range []*Cell{joined.Cell(key), joined.Credential(mine, at(60))} {
		c.View(node.DefaultCooldown())
	}
	for _, board := range []*Board{b, joined} {
		for range 2 { // by two nodes
			for _, e := range told {
				cell := board.Cell(key)
				if e.Credential != "" {
					cell = board.Credential(mine, at(60))
				}
				cell.Fold(HappenedAt(&e.HealthEvent, at(60)))
			}
		}
		h, s := board.Cell(key).View(node.DefaultCooldown()).Health(), board.Credential(mine, at(60)).View(node.DefaultCooldown()).Health()
		if !h.Until().Equal(at(100)) || h.level != 1 || !s.Until().Equal(at(150)) || s.Reason() != CooledByRateLimit {
			t.Errorf("cools until %v at level %d, the seat until %v", h.Until().Sub(now), h.level, s.Until().Sub(now))
		}
	}
	if told := b.Retell(at(2 * 3600)); len(told) != 0 {
		t.Errorf("%d events are told of two hours ago", len(told))
	}
}

// A record that has heard something first-hand is not put back by what is told again; one
// that has heard nothing else takes it in the order first seen, however it comes.
func TestWhatIsToldAgainComesInOrderOrTooLate(t *testing.T) {
	t.Parallel()
	again := func(secs float64, kind node.HealthKind) Happened {
		e := own(secs, kind)
		e.Again = true
		return e
	}
	limit, ok := again(0, node.HealthRateLimited), []Happened{again(31, node.HealthProbeOK), again(32, node.HealthProbeOK), again(33, node.HealthProbeOK)}
	c := NewBoard().Cell(HealthKey{})
	v := c.View(node.DefaultCooldown())
	for _, e := range []Happened{ok[2], limit, ok[0], ok[1]} {
		c.Fold(e)
	}
	if h := v.Health(); h.At(at(34)) != StandingHealthy || !h.healed.Equal(at(33)) {
		t.Errorf("got %+v, want a record that healed", h)
	}
	c.Fold(own(40, node.HealthOverloaded)) // first-hand
	before := v.Health()
	c.Fold(again(39, node.HealthUsageLimit))
	if h := v.Health(); !h.Equal(&before) {
		t.Errorf("got %+v, want %+v", h, before)
	}
}
