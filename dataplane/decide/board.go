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
	// MaxProbes is how many requests at a time a recovering target is sent, over all
	// nodes.
	MaxProbes = 3
	// keptLog and keptEvents are how much of its log a record keeps, for a policy that
	// comes later: no window and no cooldown is longer, and a count stands for many.
	keptLog    = node.HealthMaxAge
	keptEvents = 4096
	// busy is how long a node that found every slot of the fleet taken does not ask again.
	busy = 100 * time.Millisecond
	// maxCredentials bounds the records of callers' own credentials: whoever sends a
	// new token with every request must not fill the node's memory.
	maxCredentials = 100_000
	// maxUsers is how many people who share a credential are told of it.
	maxUsers = 8
	// pruneEvery is how often a new record has the old ones looked through, in seconds.
	pruneEvery = 60
)

// Board holds the health of every target a node knows. Requests read a view
// without a lock; locks are taken by events only.
type Board struct {
	// Ambient is whether the operator lets every organization use the identity that this
	// node has in its cloud. Set before the first Compile.
	Ambient bool

	mu       sync.Mutex
	cells    map[HealthKey]*Cell
	activity map[uuid.UUID]*Activity // by organization
	keyUses  map[uuid.UUID]map[uuid.UUID]*KeyUse

	// Records of callers' own credentials, which exist only where something happened.
	// Requests look here without a lock.
	credentials sync.Map // HealthKey -> *Cell
	known       atomic.Int64
	pruned      atomic.Int64 // when they were last looked through, Unix seconds
}

// NewBoard returns a board on which everything is healthy.
func NewBoard() *Board {
	return &Board{cells: map[HealthKey]*Cell{}, activity: map[uuid.UUID]*Activity{}, keyUses: map[uuid.UUID]map[uuid.UUID]*KeyUse{}}
}

// Activity returns the counts of an organization, made on first use.
func (b *Board) Activity(organization uuid.UUID) *Activity {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.activity[organization]
	if a == nil {
		a = new(Activity)
		b.activity[organization] = a
	}
	return a
}

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
// and a window are at most as long as a policy may say.
func (c *Cell) forgotten(now time.Time) bool {
	const longest = time.Hour
	c.mu.Lock()
	defer c.mu.Unlock()
	past := func(events []Happened) bool {
		return len(events) == 0 || now.Sub(events[len(events)-1].Seen) > 2*longest
	}
	return c.probes == 0 && len(c.log)+len(c.own) > 0 && past(c.log) && past(c.own)
}

// Cell is one health record as this node sees it: the shared log, and over it the
// node's own events that the log has not brought back yet. That way a node knows at
// once what it saw itself, and all nodes agree once the log is quiet.
type Cell struct {
	Key HealthKey

	mu    sync.Mutex
	log   []Happened // the last keptEvents of keptLog
	heard bool       // some of it first-hand: what is told again of a lost log comes too late
	own   []Happened // in the order they happened
	views map[node.Cooldown]*View
	users []uuid.UUID // whose credential it is, where it is a caller's own: the last maxUsers
	// Probe slots taken by requests of this node, whatever policy they recover by: what
	// is on its way to the provider is there under every policy. Each is given back by
	// the admission that took it and by nothing else.
	probes int
	full   time.Time // until then the fleet's slots are known to be taken
}

// View is a record as one policy judges it: targets with the same policy on the
// same record share one.
type View struct {
	Cell   *Cell
	policy node.Cooldown
	now    atomic.Pointer[Health] // what requests read: fold(log) + own

	folded Health // fold(log); under the cell's lock
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
	lease   func() // gives the fleet's slot back

	// Of the caller's own credential, on a passthrough target where it has a record.
	Own *Admission
}

// Probe reports whether the attempt is one of the few that a recovering target gets.
func (a *Admission) Probe() bool { return a.probe }

// Probing reports whether the attempt probes any record: the target's for everyone, or
// the caller's own.
func (a *Admission) Probing() bool { return a.probe || a.Own != nil && a.Own.probe }

// Cell is the record that a probe recovers; nil where the admission is no probe.
func (a *Admission) Cell() *Cell {
	if a.view == nil {
		return nil
	}
	return a.view.Cell
}

// Leased keeps what gives a probe's slot back to the fleet, for Release to call once.
func (a *Admission) Leased(giveBack func()) { a.lease = giveBack }

// Admit decides whether a request may be sent to the target now. chance is the
// request's own number of 0 to 1: of a target whose traffic is still returning it
// must be below the share; 0 is always admitted. An admission that is OK must be
// released when the attempt is over, however it ended.
func (v *View) Admit(now time.Time, chance float64) Admission {
	h := v.now.Load()
	switch h.At(now) {
	case StandingHealthy:
		if h.ramp && chance >= h.Share(now) {
			return Admission{Reason: returning, Until: now}
		}
		return Admission{OK: true, Began: now, Episode: h.episode}
	case StandingCooling:
		return Admission{Reason: CoolingDown, Until: h.until}
	}
	v.Cell.mu.Lock()
	defer v.Cell.mu.Unlock()
	if v.Cell.probes >= MaxProbes || now.Before(v.Cell.full) {
		return Admission{Reason: Recovering, Until: now.Add(time.Second)}
	}
	v.Cell.probes++
	return Admission{OK: true, Began: now, Episode: h.episode, probe: true, view: v}
}

// Full notes that the fleet has no slot left for a probe that this node admitted,
// and gives the node's own back.
func (a *Admission) Full(now time.Time) {
	if c := a.Cell(); c != nil {
		c.mu.Lock()
		c.full = now.Add(busy)
		c.mu.Unlock()
	}
	a.Release()
}

// Release gives a probe's slots back. Releasing twice is releasing once.
func (a *Admission) Release() {
	if a.Own != nil {
		a.Own.Release()
	}
	if a.lease != nil {
		a.lease()
		a.lease = nil
	}
	if a.view == nil {
		return
	}
	c := a.view.Cell
	a.view = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probes--
}

// Standings counts the records of provider models, not of callers' own credentials, that are
// cooling and recovering now under any policy: each once, and cooling before recovering.
func (b *Board) Standings(now time.Time) (cooling, recovering int) {
	b.mu.Lock()
	cells := slices.Collect(maps.Values(b.cells))
	b.mu.Unlock()
	for _, c := range cells {
		switch c.standing(now) {
		case StandingCooling:
			cooling++
		case StandingRecovering:
			recovering++
		}
	}
	return cooling, recovering
}

func (c *Cell) standing(now time.Time) (worst Standing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.views {
		switch h := v.Health(); h.At(now) {
		case StandingCooling:
			return StandingCooling
		case StandingRecovering:
			worst = StandingRecovering
		}
	}
	return worst
}

// Health is the record as this node sees it now.
func (v *View) Health() Health { return *v.now.Load() }

// Own applies what this node saw itself. An event with the id of one that is still
// under way adds to its count.
func (c *Cell) Own(e Happened) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.belongsTo(e.User)
	if i := slices.IndexFunc(c.own, func(o Happened) bool { return o.ID == e.ID }); i >= 0 {
		c.own[i].Count += e.Count
		c.show()
		return
	}
	c.own = append(c.own, e)
	for _, v := range c.views {
		next := v.now.Load().Apply(e, v.policy)
		v.now.Store(&next)
	}
}

// Fold applies an event of the shared log. One that the log has brought before changes
// nothing: the bus knows a repeated id for two minutes only, and not at all once it has
// lost its log, so an event that was told again may come twice.
func (c *Cell) Fold(e Happened) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.belongsTo(e.User)
	c.own = slices.DeleteFunc(c.own, func(o Happened) bool { return o.ID == e.ID })
	if c.folded(e) || e.Again && c.heard {
		c.show()
		return
	}
	if e.Again {
		c.learn(e)
		return
	}
	c.heard = true
	old := max(0, len(c.log)+1-keptEvents)
	for old < len(c.log) && e.Seen.Sub(c.log[old].Seen) > keptLog {
		old++
	}
	c.log = append(slices.Delete(c.log, 0, old), e)
	for _, v := range c.views {
		v.folded = v.folded.Apply(e, v.policy)
	}
	c.show()
}

// belongsTo notes who brought the credential that the record is of. It needs the cell's lock.
func (c *Cell) belongsTo(user uuid.UUID) {
	if user == uuid.Nil || slices.Contains(c.users, user) {
		return
	}
	if len(c.users) == maxUsers {
		c.users = c.users[1:]
	}
	c.users = append(c.users, user)
}

// learn takes in an event that is told again, of a record that has heard nothing else:
// several nodes tell, so what comes is put in the order in which it was first seen.
func (c *Cell) learn(e Happened) {
	at, _ := slices.BinarySearchFunc(c.log, e, Happened.before)
	c.log = slices.Insert(c.log, at, e)
	if len(c.log) > keptEvents {
		c.log = slices.Delete(c.log, 0, 1)
	}
	for _, v := range c.views {
		v.folded = Health{}
		for _, e := range c.log {
			v.folded = v.folded.Apply(e, v.policy)
		}
	}
	c.show()
}

// folded reports whether the log has brought an event before. It cannot have come earlier
// than it happened; what that is reckoned from is at most under way for a minute.
func (c *Cell) folded(e Happened) bool {
	for i := len(c.log) - 1; i >= 0 && e.At.Sub(c.log[i].Seen) < time.Minute; i-- {
		if c.log[i].ID == e.ID {
			return true
		}
	}
	return false
}

// Disown forgets an own event that will never be told to the others: in the end all
// nodes are to agree.
func (c *Cell) Disown(id uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = slices.DeleteFunc(c.own, func(o Happened) bool { return o.ID == id })
	c.show()
}

// moveOwn moves an own event in time, with the clock that it was seen by.
func (c *Cell) moveOwn(id uuid.UUID, by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.own {
		if o := &c.own[i]; o.ID == id {
			o.Seen, o.At, o.Began = o.Seen.Add(by), o.At.Add(by), o.Began.Add(by)
		}
	}
	c.show()
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
