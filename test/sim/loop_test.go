package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// epoch is the bus server's time when a simulation begins.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// world is one simulated installation. Everything that happens is a step of its queue.
type world struct {
	rng   *rand.Rand
	now   time.Duration // since the epoch
	queue steps
	order uint64
	ids   uint64

	plan      plan
	config    config
	bus       *bus
	nodes     []*fleetNode
	providers map[asked]*provider
	flights   map[key]*flight
	lineages  lineages

	born      map[uuid.UUID]time.Duration // when events were first seen
	told      map[uuid.UUID]bool          // events that some log has had
	asked     map[uuid.UUID]time.Duration // when the request that saw an event was let to the target
	asking    time.Duration               // the same of the request that is reporting
	wronged   map[key]bool                // callers that their provider has limited or rejected
	calm      bool                        // no more faults
	allHealed bool                        // every provider is healthy from now on
	stats     map[string]int
	trace     func(line string) // nil: no history is kept
	broken    error             // the first rule that did not hold
}

// step is something that is to happen. Steps of one moment happen in the order they
// were planned.
type step struct {
	at    time.Duration
	order uint64
	do    func()
}

type steps []step

func (s steps) Len() int { return len(s) }
func (s steps) Less(i, j int) bool {
	return s[i].at < s[j].at || s[i].at == s[j].at && s[i].order < s[j].order
}
func (s steps) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *steps) Push(x any)   { *s = append(*s, x.(step)) }
func (s *steps) Pop() any {
	old := *s
	last := old[len(old)-1]
	old[len(old)-1] = step{}
	*s = old[:len(old)-1]
	return last
}

// after plans a step.
func (w *world) after(d time.Duration, do func()) {
	w.order++
	heap.Push(&w.queue, step{at: w.now + max(0, d), order: w.order, do: do})
}

// runUntil lets everything happen up to a moment, or until a rule breaks.
func (w *world) runUntil(end time.Duration) {
	for w.broken == nil && len(w.queue) > 0 && w.queue[0].at <= end {
		s := heap.Pop(&w.queue).(step)
		w.now = s.at
		s.do()
	}
	if w.broken == nil {
		w.now = max(w.now, end)
	}
}

// busTime is the server's time now.
func (w *world) busTime() time.Time { return epoch.Add(w.now) }

// say adds a line to the history.
func (w *world) say(format string, args ...any) {
	if w.trace != nil {
		w.trace(fmt.Sprintf("%9.3f  ", w.now.Seconds()) + fmt.Sprintf(format, args...))
	}
}

// breaks notes that a rule does not hold; the first one ends the simulation.
func (w *world) breaks(rule, format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf("%s: at %.3f s: %s", rule, w.now.Seconds(), fmt.Sprintf(format, args...))
		w.say("BROKEN %v", w.broken)
	}
}

// newID is a unique id that depends on the seed only.
func (w *world) newID() uuid.UUID {
	w.ids++
	var id uuid.UUID
	for i := range 8 {
		id[15-i] = byte(w.ids >> (8 * i))
	}
	id[0] = 0xe
	w.born[id], w.asked[id] = w.now, w.asking
	return id
}

// chance is true with a probability.
func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// fault is chance while faults still happen.
func (w *world) fault(p float64) bool { return !w.calm && w.chance(p) }

// between draws a duration.
func (w *world) between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(w.rng.Int64N(int64(high-low)))
}

// latency is how long one message takes one way.
func (w *world) latency() time.Duration { return w.between(w.plan.minDelay, w.plan.maxDelay) }

// pick draws one of a list.
func pick[T any](w *world, from ...T) T { return from[w.rng.IntN(len(from))] }

// plan is what a seed decides of the faults to come.
type plan struct {
	nodes              int
	minDelay, maxDelay time.Duration
	lost, unconfirmed  float64 // of publishes and of their confirmations
	doubled, slow      float64
	lagging            float64 // of nodes, that hear the log late
	partitions         int     // of single nodes
	outages            int     // of the whole bus
	crashes, joins     int
	logWiped           float64 // of outages, that the streams are made anew after it
	slotsWiped         float64
	resets             int
	reconfigured       bool
	chaos              time.Duration // how long faults happen
	rate               float64       // requests a second, over all nodes
	leave              float64       // of callers, that do not wait for the answer
}

// newPlan draws a plan. Each kind of fault is missing from many seeds, so that what one
// hides another shows.
func newPlan(w *world) plan {
	p := plan{
		minDelay: time.Millisecond, maxDelay: pick[time.Duration](w, 5, 20, 60, 200) * time.Millisecond,
		lost: pick[float64](w, 0, 0, 0.02, 0.2), unconfirmed: pick[float64](w, 0, 0, 0.02, 0.2),
		doubled: pick[float64](w, 0, 0, 0.1), slow: pick[float64](w, 0, 0, 0.05),
		lagging: pick[float64](w, 0, 0, 0.3), partitions: pick(w, 0, 0, 1, 3, 6), outages: pick(w, 0, 0, 1, 3),
		crashes: pick(w, 0, 0, 1, 2, 4), joins: pick(w, 0, 0, 1, 2),
		logWiped: pick[float64](w, 0, 0, 0.3, 1), slotsWiped: pick[float64](w, 0, 0.5, 1),
		resets: pick(w, 0, 0, 1, 3), reconfigured: w.chance(0.4),
		chaos: w.between(150*time.Second, 400*time.Second),
		rate:  pick[float64](w, 1, 2, 4, 8), leave: pick[float64](w, 0, 0.02, 0.1),
	}
	switch n := w.rng.IntN(100); {
	case n < 60:
		p.nodes = 1 + w.rng.IntN(4)
	case n < 90:
		p.nodes = 5 + w.rng.IntN(6)
	case n < 99:
		p.nodes = 11 + w.rng.IntN(20)
	default:
		p.nodes = 100
	}
	return p
}

// key is a health record and a name for histories.
type key struct {
	org      uuid.UUID
	provider uuid.UUID
	model    string
	caller   string // empty: the record for everyone
}

// asked is what is asked: a provider model of an organization.
type asked struct {
	org      uuid.UUID
	provider uuid.UUID
	model    string
}

func keyOf(org uuid.UUID, e *node.HealthEvent) key {
	return key{org, e.ProviderID, e.UpstreamModel, e.Credential}
}
