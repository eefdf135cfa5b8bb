package sim

import (
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// dedupe is for how long the server takes a repeated message id once.
const dedupe = 2 * time.Minute

// bus is the server with its two streams.
type bus struct {
	w     *world
	up    bool
	log   *healthLog
	slots *slots
}

func newBus(w *world) *bus { return &bus{w: w, up: true, log: newLog(0), slots: newSlots()} }

// healthLog is one making of the stream HEALTH.
type healthLog struct {
	made    int // counts makings
	entries []entry
	ids     map[uuid.UUID]time.Duration
}

// entry is one event of the log.
type entry struct {
	key   key
	event node.HealthEvent
	at    time.Duration
}

func newLog(made int) *healthLog { return &healthLog{made: made, ids: map[uuid.UUID]time.Duration{}} }

func (e *entry) happened() decide.Happened { return decide.HappenedAt(&e.event, epoch.Add(e.at)) }

// publish takes a health event in, unless it has its id already.
func (b *bus) publish(e decide.Event) {
	w := b.w
	if last, had := b.log.ids[e.ID]; had && w.now-last < dedupe {
		w.say("bus: event %x of %s is known", e.ID[13:], e.Node)
		return
	}
	b.log.ids[e.ID] = w.now
	in := entry{key: keyOf(e.OrganizationID, &e.HealthEvent), event: e.HealthEvent, at: w.now}
	b.log.entries = append(b.log.entries, in)
	w.stats["events"]++
	w.say("bus: #%d.%d %s x%d of %s, %s, %d ms old, began %d ms ago", b.log.made, len(b.log.entries), e.Kind, max(1, e.Count), w.config.name(in.key), e.Node, e.AgeMillis, e.BeganMillisAgo)
	w.checkPublished(&in)
	for _, n := range w.nodes {
		n.pump()
	}
}

// restart takes the bus away for a while, for everyone. Where it comes back without
// what its streams held, nodes notice one by one.
func (b *bus) restart(away time.Duration, wipeLog, wipeSlots bool) {
	w := b.w
	b.up = false
	w.say("bus: away for %v (log wiped: %v, slots wiped: %v)", away, wipeLog, wipeSlots)
	for _, n := range w.nodes {
		n.disconnected()
	}
	if wipeLog {
		b.log = newLog(b.log.made + 1)
		w.stats["wiped"]++
	}
	if wipeSlots {
		b.slots.wipe(w)
	}
	w.after(away, func() {
		b.up = true
		w.say("bus: back")
		for _, n := range w.nodes {
			n.reconnect()
		}
	})
}

// wipe makes streams anew while everyone stays connected: nodes notice within ten
// seconds.
func (b *bus) wipe(log, slots bool) {
	w := b.w
	w.say("bus: wiped and made anew (log: %v, slots: %v)", log, slots)
	if slots {
		b.slots.wipe(w)
	}
	if !log {
		return
	}
	b.log = newLog(b.log.made + 1)
	w.stats["wiped"]++
	for _, n := range w.nodes {
		n.faultAt = w.now
		conn := n.conn
		w.after(w.between(0, 10*time.Second), func() {
			if n.conn == conn && n.connected {
				n.noticeLog()
				n.pump()
			}
		})
	}
}

// slots is the stream PROBES: at most one message stands on a subject, for as long as
// its time to live.
type slots struct {
	sequence uint64
	standing map[string]*slot
}

type slot struct {
	subject  string
	sequence uint64
	expires  time.Duration
	holder   *lease // whose publish it was; the sim's own knowledge
}

func newSlots() *slots { return &slots{standing: map[string]*slot{}} }

func (s *slots) wipe(w *world) {
	for _, sl := range s.standing {
		if sl.expires > w.now {
			sl.holder.excused = true
		}
	}
	*s = *newSlots()
}

// publish puts a message on a subject whose last message must have a sequence; 0 is
// none. It reports the new sequence.
func (s *slots) publish(w *world, l *lease, expect uint64) (uint64, bool) {
	var last uint64
	if sl := s.standing[l.subject]; sl != nil {
		if sl.expires > w.now {
			last = sl.sequence
		} else {
			w.checkExpired(sl)
		}
	}
	if last != expect {
		return 0, false
	}
	s.sequence++
	s.standing[l.subject] = &slot{subject: l.subject, sequence: s.sequence, expires: w.now + l.ttl, holder: l}
	return s.sequence, true
}

// remove deletes the message that stands on a lease's subject, if it is the lease's.
func (s *slots) remove(by *lease) {
	if sl := s.standing[by.subject]; sl != nil && sl.holder == by {
		delete(s.standing, by.subject)
	}
}

// taken is how many slots are held.
func (s *slots) taken(now time.Duration) (n int) {
	for _, sl := range s.standing {
		if sl.expires > now {
			n++
		}
	}
	return n
}
