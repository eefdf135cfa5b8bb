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

const (
	// maxProbes is how many requests at a time a recovering target is sent.
	maxProbes = 3
	// keptLog is how much of its log a record keeps, for a policy that comes later.
	// It is what the bus keeps as well.
	keptLog = 15 * time.Minute
	// maxCredentials bounds the records of callers' own credentials: whoever sends a
	// new token with every request must not fill the node's memory.
	maxCredentials = 100_000
	// pruneEvery is how often a new record has the old ones looked through, in seconds.
	pruneEvery = 60
)

// Board holds the health of every target a node knows. Requests read a view
// without a lock; locks are taken by events only.
type Board struct {
	mu    sync.Mutex
	cells map[HealthKey]*Cell

	// Records of callers' own credentials, which exist only where something happened.
	// Requests look here without a lock.
	credentials sync.Map // HealthKey -> *Cell
	known       atomic.Int64
	pruned      atomic.Int64 // when they were last looked through, Unix seconds
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
		c = &Cell{Key: key, views: map[node.Cooldown]*View{}}
		b.cells[key] = c
	}
	return c
}

// Credential returns the record of a caller's own credential, made on first use.
// Records whose log is all in the past are dropped on the way. Where there are too
// many, the one returned is remembered by nobody: its credential is asked again.
func (b *Board) Credential(key HealthKey, now time.Time) *Cell {
	if c, ok := b.credentials.Load(key); ok {
		return c.(*Cell)
	}
	if last := b.pruned.Load(); now.Unix()-last >= pruneEvery && b.pruned.CompareAndSwap(last, now.Unix()) {
		b.prune(now)
	}
	fresh := &Cell{Key: key, views: map[node.Cooldown]*View{}}
	if b.known.Load() >= maxCredentials {
		return fresh
	}
	c, had := b.credentials.LoadOrStore(key, fresh)
	if !had {
		b.known.Add(1)
	}
	return c.(*Cell)
}

func (b *Board) prune(now time.Time) {
	b.credentials.Range(func(k, c any) bool {
		if c.(*Cell).forgotten(now) && b.credentials.CompareAndDelete(k, c) {
			b.known.Add(-1)
		}
		return true
	})
}

// forgotten reports whether nothing of the record can matter any more: a cooldown
// is at most as long as a policy may say.
func (c *Cell) forgotten(now time.Time) bool {
	const longest = time.Hour
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.own) == 0 && len(c.log) > 0 && now.Sub(c.log[len(c.log)-1].At) > longest+keptLog
}

// ForgetOwn is Forget for every own event: the log that would have brought them
// back is gone.
func (b *Board) ForgetOwn() {
	b.mu.Lock()
	cells := slices.Collect(maps.Values(b.cells))
	b.mu.Unlock()
	b.credentials.Range(func(_, c any) bool {
		cells = append(cells, c.(*Cell))
		return true
	})
	for _, c := range cells {
		c.forget(func(Happened) bool { return true })
	}
}

// Cell is one health record as this node sees it: the shared log, and over it the
// node's own events that the log has not brought back yet. That way a node knows at
// once what it saw itself, and all nodes agree once the log is quiet.
type Cell struct {
	Key HealthKey

	mu    sync.Mutex
	log   []Happened // of the last keptLog
	own   []Happened // in the order they happened
	views map[node.Cooldown]*View
}

// View is a record as one policy judges it: targets with the same policy on the
// same record share one.
type View struct {
	Cell   *Cell
	policy node.Cooldown
	now    atomic.Pointer[Health] // what requests read: fold(log) + own

	// Under the cell's lock.
	folded  Health // fold(log)
	probes  int    // slots taken, of probing
	probing int64  // the episode the slots belong to
}

// View returns the record as a policy judges it.
func (c *Cell) View(policy node.Cooldown) *View {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.views[policy]
	if v == nil {
		v = &View{Cell: c, policy: policy}
		for _, e := range c.log {
			v.folded = v.folded.Apply(e, policy)
		}
		v.show()
		c.views[policy] = v
	}
	return v
}

// Admission is a target's leave to be tried.
type Admission struct {
	OK bool
	// Where not OK: why, and when the target can serve at the earliest.
	Reason Reason
	Until  time.Time

	Began   time.Time
	Episode int64
	probe   bool
	view    *View

	// Of the caller's own credential, on a passthrough target where it has a record.
	Own *Admission
}

// Probe reports whether the attempt is one of the few that a recovering target gets.
func (a *Admission) Probe() bool { return a.probe }

// Admit decides whether a request may be sent to the target now. An admission
// that is OK must be released when the attempt is over, however it ended.
func (v *View) Admit(now time.Time) Admission {
	h := v.now.Load()
	switch h.At(now) {
	case StandingHealthy:
		return Admission{OK: true, Began: now, Episode: h.episode}
	case StandingCooling:
		return Admission{Reason: CoolingDown, Until: h.until}
	}
	v.Cell.mu.Lock()
	defer v.Cell.mu.Unlock()
	if v.probing != h.episode {
		// The slots of the last episode went with it: who holds one gives back nothing.
		v.probing, v.probes = h.episode, 0
	}
	if v.probes >= maxProbes {
		return Admission{Reason: Recovering, Until: now.Add(time.Second)}
	}
	v.probes++
	return Admission{OK: true, Began: now, Episode: h.episode, probe: true, view: v}
}

// Release gives a probe's slots back. Releasing twice is releasing once.
func (a *Admission) Release() {
	if a.Own != nil {
		a.Own.Release()
	}
	if !a.probe || a.view == nil {
		return
	}
	v := a.view
	a.view = nil
	v.Cell.mu.Lock()
	defer v.Cell.mu.Unlock()
	if v.probing == a.Episode && v.probes > 0 {
		v.probes--
	}
}

// Health is the record as this node sees it now.
func (v *View) Health() Health { return *v.now.Load() }

// Own applies what this node saw itself. An event with the id of one that is still
// under way adds to its count.
func (c *Cell) Own(e Happened) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.own, func(o Happened) bool { return o.ID == e.ID }); i >= 0 {
		c.own[i].Count += e.Count
	} else {
		c.own = append(c.own, e)
	}
	c.show()
}

// Fold applies an event of the shared log.
func (c *Cell) Fold(e Happened) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = slices.DeleteFunc(c.own, func(o Happened) bool { return o.ID == e.ID })
	c.append(e)
	c.show()
}

// Forget takes an own event that the log will never bring back for one that it
// has: with the bus down a node goes on with what it saw itself.
func (c *Cell) Forget(id uuid.UUID) {
	c.forget(func(o Happened) bool { return o.ID == id })
}

func (c *Cell) forget(gone func(Happened) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.own {
		if gone(o) {
			c.append(o)
		}
	}
	c.own = slices.DeleteFunc(c.own, gone)
	c.show()
}

// append adds to the log and folds it into every view.
func (c *Cell) append(e Happened) {
	old := 0
	for old < len(c.log) && e.At.Sub(c.log[old].At) > keptLog {
		old++
	}
	c.log = append(slices.Delete(c.log, 0, old), e)
	for _, v := range c.views {
		v.folded = v.folded.Apply(e, v.policy)
	}
}

// show publishes fold(log) + own events to requests.
func (c *Cell) show() {
	for _, v := range c.views {
		v.show()
	}
}

func (v *View) show() {
	h := v.folded
	for _, o := range v.Cell.own {
		h = h.Apply(o, v.policy)
	}
	v.now.Store(&h)
}
