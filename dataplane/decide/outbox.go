package decide

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

const (
	// gather is how long equal events may become one while they wait to be sent.
	gather = time.Second
	// resendAfter is when an event that the log has not brought back is sent again. The
	// bus takes one event of an id, however often it is sent.
	resendAfter = 5 * time.Second
	// tellWithin is how old an event may get before it is told no more: no cooldown is
	// longer.
	tellWithin = time.Hour
	// maxUntold bounds the events that wait for a bus that is away.
	maxUntold = 10_000
	// ownPerSecond is how many events about callers' own credentials a node tells, for
	// each organization: who sends a new token with every request must not fill the log.
	// More than that the node keeps to itself.
	ownPerSecond = 50
)

// Outbox holds what a node saw and the shared log has not brought back. Each event
// counts on its record as the node's own from the moment it is seen until it is
// echoed, and is due to be sent until then. An Outbox sends nothing itself, so that
// the link and the simulation of a fleet run the same one.
type Outbox struct {
	node  string
	newID func() uuid.UUID

	mu     sync.Mutex
	open   map[sameness]*untold  // not sent yet: equal events may join
	byID   map[uuid.UUID]*untold // the same as queue
	queue  []*untold             // in the order they were seen; those with gone set are out
	second int64                 // which told counts, Unix seconds
	told   map[uuid.UUID]int     // events about own credentials, by organization
}

// Event is one event that is due to be sent.
type Event struct {
	OrganizationID uuid.UUID
	node.HealthEvent
}

// sameness is what events that may be sent as one have in common.
type sameness struct {
	cell       *Cell
	user       uuid.UUID
	episode    int64
	kind       node.HealthKind
	retryAfter int64
}

type untold struct {
	Event
	cell      *Cell
	same      sameness
	at, began time.Time
	sent      time.Time // zero: not yet, or to no avail
	gone      bool
	kept      bool // told nobody, see ownPerSecond
}

// NewOutbox returns the empty outbox of a node.
func NewOutbox(name string, newID func() uuid.UUID) *Outbox {
	return &Outbox{node: name, newID: newID, open: map[sameness]*untold{}, byID: map[uuid.UUID]*untold{}, told: map[uuid.UUID]int{}}
}

// Observe takes what an attempt says of its target, and reports whether anything is
// due now. The success of a healthy target says nothing new. On a passthrough target
// what concerns the caller's own credential is kept apart from what concerns everyone.
func (o *Outbox) Observe(t *Target, a *Admission, v Verdict, own Own, now time.Time) bool {
	credential := own.For(t)
	if v.Class == Succeeded {
		if a.Probe() {
			o.report(t.Health.Cell, uuid.Nil, a, node.HealthProbeOK, v, now)
		}
		if a.Own != nil && a.Own.Probe() {
			o.report(t.OwnCell(credential, now), own.User, a.Own, node.HealthProbeOK, v, now)
		}
		return a.Probe() || a.Own != nil && a.Own.Probe()
	}
	kind, mine := t.Charged(v)
	switch {
	case kind == "":
		return false
	case !mine:
		o.report(t.Health.Cell, uuid.Nil, a, kind, v, now)
	case a.Own == nil: // a record that has no history admits without saying so
		o.report(t.OwnCell(credential, now), own.User, a, kind, v, now)
	default:
		o.report(t.OwnCell(credential, now), own.User, a.Own, kind, v, now)
	}
	return true
}

// report applies an event to a record and leaves it to be sent. user is whose credential
// the record is of; zero: nobody's.
func (o *Outbox) report(cell *Cell, user uuid.UUID, a *Admission, kind node.HealthKind, v Verdict, now time.Time) {
	same := sameness{cell: cell, user: user, episode: a.Episode, kind: kind, retryAfter: -1}
	if v.HasRetry {
		same.retryAfter = v.RetryAfter.Milliseconds()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.open[same]
	if u == nil || now.Sub(u.at) >= gather {
		u = o.begin(same, a, v, now)
	}
	u.Count++
	own := HappenedAt(&u.HealthEvent, now)
	own.Count, own.Began = 1, a.Began
	if u.kept {
		// Nothing will bring it back: as an own event it would come after all that the log
		// brings, recoveries too, and the record would never be healthy again.
		cell.Fold(own)
		return
	}
	cell.Own(own)
}

func (o *Outbox) begin(same sameness, a *Admission, v Verdict, now time.Time) *untold {
	key := same.cell.Key
	u := &untold{cell: same.cell, same: same, at: now, began: a.Began, Event: Event{OrganizationID: key.OrganizationID, HealthEvent: node.HealthEvent{
		ID: o.newID(), Node: o.node, Kind: same.kind, ProviderID: key.ProviderID, UpstreamModel: key.UpstreamModel,
		Credential: key.Credential, Reason: string(v.Class),
	}}}
	if same.user != uuid.Nil {
		u.UserID = &u.same.user
	}
	if v.HasRetry {
		u.RetryAfterMillis = &u.same.retryAfter
	}
	if u.kept = key.Credential != "" && !o.mayTell(key.OrganizationID, now); u.kept {
		return u
	}
	o.open[same] = u
	o.byID[u.ID] = u
	o.queue = append(o.queue, u)
	for len(o.byID) > maxUntold {
		o.giveUp(o.queue[0])
		o.queue = o.queue[1:]
	}
	return u
}

func (o *Outbox) mayTell(org uuid.UUID, now time.Time) bool {
	if now.Unix() != o.second {
		o.second = now.Unix()
		clear(o.told)
	}
	o.told[org]++
	return o.told[org] <= ownPerSecond
}

// giveUp drops an event that the others will never hear of, so the node must not go
// by it either.
func (o *Outbox) giveUp(u *untold) {
	if !u.gone {
		o.remove(u)
		u.cell.Disown(u.ID)
	}
}

func (o *Outbox) remove(u *untold) {
	u.gone = true
	delete(o.byID, u.ID)
	if o.open[u.same] == u {
		delete(o.open, u.same)
	}
}

// Due returns the events to be sent now, oldest first, with their ages as of now: those
// never sent, and those whose sending came to nothing.
func (o *Outbox) Due(now time.Time) []Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	var due []Event
	kept := o.queue[:0]
	for _, u := range o.queue {
		if now.Sub(u.at) > tellWithin {
			o.giveUp(u)
		}
		if u.gone {
			continue
		}
		kept = append(kept, u)
		if !u.sent.IsZero() && now.Sub(u.sent) < resendAfter {
			continue
		}
		u.sent = now
		if o.open[u.same] == u {
			delete(o.open, u.same)
		}
		u.AgeMillis = max(0, now.Sub(u.at).Milliseconds())
		u.BeganMillisAgo = max(0, now.Sub(u.began).Milliseconds())
		due = append(due, u.Event)
	}
	clear(o.queue[len(kept):])
	o.queue = kept
	return due
}

// NotSent takes back events of Due that could not be sent: they are due again.
func (o *Outbox) NotSent(events ...Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range events {
		if u := o.byID[events[i].ID]; u != nil {
			u.sent = time.Time{}
		}
	}
}

// LogLost makes every event due again: the log that would have brought it back is gone.
func (o *Outbox) LogLost() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, u := range o.queue {
		u.sent = time.Time{}
	}
}

// Echoed notes that the log brought an event back.
func (o *Outbox) Echoed(id uuid.UUID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if u := o.byID[id]; u != nil {
		o.remove(u)
	}
}

// ClockSet notes that the node's clock was set forward by a duration, back where it is
// negative. What the node saw moves along, so that its age stays what it is: a node that
// begins without the bus goes by its own wall clock, which may be minutes off.
func (o *Outbox) ClockSet(by time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, u := range o.queue {
		if u.gone {
			continue
		}
		u.at, u.began = u.at.Add(by), u.began.Add(by)
		if !u.sent.IsZero() {
			u.sent = u.sent.Add(by)
		}
		u.cell.moveOwn(u.ID, by)
	}
}

// Waiting is how many events the log has not brought back.
func (o *Outbox) Waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.byID)
}
