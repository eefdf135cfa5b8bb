package decide

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// maxProbes is how many requests at a time a recovering target is sent.
const maxProbes = 3

// Board holds the health of every target a node knows. Requests read a cell
// without a lock; its lock is taken by events only.
type Board struct {
	mu    sync.Mutex
	cells map[HealthKey]*Cell
}

// NewBoard returns a board on which everything is healthy.
func NewBoard() *Board { return &Board{cells: map[HealthKey]*Cell{}} }

// Cell returns the record of a key, made on first use. It outlives the
// configuration that names it.
func (b *Board) Cell(key HealthKey) *Cell {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.cells[key]
	if c == nil {
		c = &Cell{Key: key}
		c.view.Store(new(Health))
		b.cells[key] = c
	}
	return c
}

// Cell is one health record as this node sees it: the fold of the shared log, and
// over it the node's own events that the log has not brought back yet. That way a
// node knows at once what it saw itself, and all nodes agree once the log is quiet.
type Cell struct {
	Key HealthKey

	view atomic.Pointer[Health] // what requests read

	mu      sync.Mutex
	log     Health
	own     []ownEvent // in the order they happened
	probes  int        // slots taken, of probing
	probing int64      // the episode the slots belong to
}

type ownEvent struct {
	event node.HealthEvent
	count int
	at    time.Time
}

// Admission is a target's leave to be tried.
type Admission struct {
	OK bool
	// Where not OK: why, and when the target can serve at the earliest.
	Reason Reason
	Until  time.Time

	Episode int64
	probe   bool
	cell    *Cell
}

// Probe reports whether the attempt is one of the few that a recovering target gets.
func (a *Admission) Probe() bool { return a.probe }

// Admit decides whether a request may be sent to the target now. An admission
// that is OK must be released when the attempt is over, however it ended.
func (c *Cell) Admit(now time.Time) Admission {
	h := c.view.Load()
	switch h.At(now) {
	case StandingHealthy:
		return Admission{OK: true, Episode: h.episode}
	case StandingCooling:
		return Admission{Reason: CoolingDown, Until: h.until}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probing != h.episode {
		// The slots of the last episode went with it: who holds one gives back nothing.
		c.probing, c.probes = h.episode, 0
	}
	if c.probes >= maxProbes {
		return Admission{Reason: Recovering, Until: now.Add(time.Second)}
	}
	c.probes++
	return Admission{OK: true, Episode: h.episode, probe: true, cell: c}
}

// Release gives a probe's slot back. Releasing twice is releasing once.
func (a *Admission) Release() {
	if !a.probe || a.cell == nil {
		return
	}
	c := a.cell
	a.cell = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probing == a.Episode && c.probes > 0 {
		c.probes--
	}
}

// Health is the record as this node sees it now.
func (c *Cell) Health() Health { return *c.view.Load() }

// Own applies what this node saw itself, count times over. An event with the id
// of one that is still under way adds to its count.
func (c *Cell) Own(ev node.HealthEvent, count int, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.own {
		if c.own[i].event.ID == ev.ID {
			c.own[i].count += count
			c.show()
			return
		}
	}
	c.own = append(c.own, ownEvent{ev, count, at})
	c.show()
}

// Fold applies an event of the shared log, which received it at the given moment.
func (c *Cell) Fold(ev *node.HealthEvent, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = c.log.Apply(ev, max(ev.Count, 1), at, node.DefaultCooldown())
	c.drop(ev.ID)
	c.show()
}

// Forget drops an own event that the log will never bring back, and keeps what it
// did: with the bus down a node goes on with what it saw itself.
func (c *Cell) Forget(id uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.own {
		if o.event.ID == id {
			c.log = c.log.Apply(&o.event, o.count, o.at, node.DefaultCooldown())
		}
	}
	c.drop(id)
	c.show()
}

// ForgetOwn is Forget for every own event: the log that would have brought them
// back is gone.
func (b *Board) ForgetOwn() {
	b.mu.Lock()
	cells := slices.Collect(maps.Values(b.cells))
	b.mu.Unlock()
	for _, c := range cells {
		c.mu.Lock()
		for _, o := range c.own {
			c.log = c.log.Apply(&o.event, o.count, o.at, node.DefaultCooldown())
		}
		c.own = nil
		c.show()
		c.mu.Unlock()
	}
}

func (c *Cell) drop(id uuid.UUID) {
	kept := c.own[:0]
	for _, o := range c.own {
		if o.event.ID != id {
			kept = append(kept, o)
		}
	}
	c.own = kept
}

// show publishes fold(log) + own events.
func (c *Cell) show() {
	h := c.log
	for i := range c.own {
		h = h.Apply(&c.own[i].event, c.own[i].count, c.own[i].at, node.DefaultCooldown())
	}
	c.view.Store(&h)
}
