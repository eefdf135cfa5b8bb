package decide

import (
	"testing"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// A record counts once, by the policy under which it stands worst, and a caller's own
// credential does not count.
func TestStandings(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	cell := func(model string) *Cell { return b.Cell(HealthKey{OrganizationID: uuid.New(), UpstreamModel: model}) }
	cell("healthy").View(node.DefaultCooldown())
	cell("unused")
	cools := cell("cools")
	patient := node.DefaultCooldown()
	patient.MaxSecs, patient.RateLimitedSecs, patient.FirstSecs = 5, 5, 5
	cools.View(node.DefaultCooldown())
	cools.View(patient)
	cools.Own(happened{0, node.HealthRateLimited, 0, 20}.event())
	alone := cell("alone")
	alone.View(patient)
	alone.Own(happened{0, node.HealthRateLimited, 0, 20}.event())
	own := b.Credential(HealthKey{OrganizationID: uuid.New(), Credential: "c"}, now)
	own.View(node.DefaultCooldown())
	own.Own(happened{0, node.HealthRateLimited, 0, 20}.event())
	for secs, want := range map[float64][2]int{4: {2, 0}, 10: {1, 1}, 21: {0, 2}} {
		if cooling, recovering := b.Standings(at(secs)); cooling != want[0] || recovering != want[1] {
			t.Errorf("after %v s: %d cool and %d recover, want %v", secs, cooling, recovering, want)
		}
	}
}
