package sim

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// What the link does, in its figures.
const (
	coalesce     = 20 * time.Millisecond
	resendEvery  = time.Second
	sendPatience = 2 * time.Second
	readClock    = 30 * time.Second
	clockError   = 50 * time.Millisecond
	wallError    = 10 * time.Minute
	busPatience  = time.Second
)

// fleetNode is a node: the product's board, outbox and configuration, and around them
// what the link does.
type fleetNode struct {
	w    *world
	name string
	life int // counts starts; what was planned in an earlier life does nothing

	alive, ready bool
	connected    bool
	conn         int           // counts connections and losses of them
	faultAt      time.Duration // when a message of it was last lost or late, or it was cut off

	board   *decide.Board
	retold  []decide.Event
	outbox  *decide.Outbox
	orgs    map[uuid.UUID]*decide.Org
	targets map[key][]*decide.Target // by record, one of each policy
	wall    time.Duration            // how wrong its wall clock is
	error   time.Duration            // how wrong its bus time is
	setAt   time.Duration            // when it first read the bus's time

	sending, woken bool

	lineage  *lineage // what it has folded: a log, and those before it
	position int      // entries of the lineage's log that were folded
	pumping  bool
	replayTo int // it is ready when it has folded so many

	open     int // requests under way
	leases   []*lease
	renewing bool
	lag      time.Duration // the longest that the log is late here, beside the bus's delay
}

// now is the bus's time as the node has it.
func (n *fleetNode) now() time.Time { return n.w.busTime().Add(n.error) }

// start begins a life with nothing known. With the bus away the node serves from what
// it has on disk, by its wall clock.
func (n *fleetNode) start() {
	w := n.w
	n.life++
	n.alive, n.ready, n.connected = true, false, false
	n.conn++
	n.board, n.outbox = decide.NewBoard(), decide.NewOutbox(n.name, w.newID)
	n.lineage, n.position, n.pumping, n.replayTo = nil, 0, false, -1
	n.sending, n.woken, n.leases, n.renewing, n.open = false, false, nil, false, 0
	n.wall = w.between(-wallError, wallError)
	n.error, n.setAt = n.wall, -1
	n.lag = 0
	if w.chance(w.plan.lagging) {
		n.lag = 2 * time.Second
	}
	n.configure()
	w.say("%s: starts, its wall clock is %v off", n.name, n.wall.Round(time.Second))
	life := n.life
	if w.bus.up {
		n.reconnect()
		return
	}
	w.after(busPatience, func() {
		if n.life == life && n.lineage == nil {
			n.ready = true
			w.say("%s: serves from disk", n.name)
		}
	})
}

// crash ends a life in the middle of everything: connections to providers are cut,
// probe slots come back by their time to live.
func (n *fleetNode) crash() {
	n.w.say("%s: crashes with %d events untold and %d slots", n.name, n.outbox.Waiting(), len(n.leases))
	n.alive, n.ready, n.connected = false, false, false
	n.life++
	n.conn++
	for _, f := range n.w.flights {
		f.cut(n)
	}
}

func (n *fleetNode) disconnected() {
	if !n.alive || !n.connected {
		return
	}
	n.connected, n.pumping = false, false
	n.conn++
	n.faultAt = n.w.now
	n.w.say("%s: cut off", n.name)
}

// reconnect finds the bus again after a moment.
func (n *fleetNode) reconnect() {
	w := n.w
	life, conn := n.life, n.conn
	w.after(w.between(time.Millisecond, 200*time.Millisecond), func() {
		if n.life != life || n.conn != conn || !n.alive || n.connected || !w.bus.up {
			return
		}
		n.connected = true
		n.conn++
		n.faultAt = w.now
		n.readClock()
		n.noticeLog()
		w.say("%s: connected, %d events untold", n.name, n.outbox.Waiting())
		n.wake()
		n.pump()
		n.checkReplayed()
	})
}

// readClock reads the server's time, half a round trip wrong, now and then again.
func (n *fleetNode) readClock() {
	w := n.w
	before := n.error
	if n.setAt < 0 {
		n.setAt = w.now
	}
	n.error = w.between(-clockError, clockError)
	n.outbox.ClockSet(n.error - before)
	conn := n.conn
	w.after(readClock, func() {
		if n.conn == conn && n.connected {
			n.readClock()
		}
	})
}

// noticeLog begins to read the log, or another in whose place it stands.
func (n *fleetNode) noticeLog() {
	made := n.w.bus.log.made
	switch {
	case n.lineage == nil:
		n.lineage, n.position = n.w.lineages.root(n.w.bus.log), 0
		n.replayTo = len(n.w.bus.log.entries)
	case n.lineage.log.made != made:
		n.w.say("%s: notices that the log was made anew", n.name)
		n.outbox.LogLost()
		n.retold = n.board.Retell(n.now())
		n.lineage, n.position = n.w.lineages.child(n.lineage, n.position, n.w.bus.log), 0
		n.wake()
	}
}

func (n *fleetNode) checkReplayed() {
	if !n.ready && n.lineage != nil && n.position >= n.replayTo {
		n.ready = true
		n.w.say("%s: ready, %d events replayed", n.name, n.position)
	}
}

// pump brings the next entry of the log to the node.
func (n *fleetNode) pump() {
	w := n.w
	if n.pumping || !n.alive || !n.connected || n.lineage == nil || n.lineage.log != w.bus.log || n.position >= len(w.bus.log.entries) {
		return
	}
	n.pumping = true
	e := &w.bus.log.entries[n.position]
	conn, log := n.conn, w.bus.log
	w.after(e.at+w.latency()+w.between(0, n.lag)-w.now, func() {
		if n.conn != conn || w.bus.log != log {
			if n.conn == conn {
				n.pumping = false
			}
			return
		}
		n.pumping = false
		n.fold(&log.entries[n.position])
		n.pump()
	})
}

// fold is what the link does with an entry of the log.
func (n *fleetNode) fold(e *entry) {
	cell := n.cell(e.key)
	before := n.look(e.key)
	n.outbox.Echoed(e.event.ID)
	cell.Fold(e.happened())
	n.position++
	n.w.stats["folds"]++
	n.checkFolded(e, before)
	n.checkReplayed()
}

func (n *fleetNode) cell(k key) *decide.Cell {
	health := decide.HealthKey{OrganizationID: k.org, ProviderID: k.provider, UpstreamModel: k.model, Credential: k.caller}
	if k.caller != "" {
		return n.board.Credential(health, n.now())
	}
	return n.board.Cell(health)
}

// wake has the publisher look for what is due.
func (n *fleetNode) wake() {
	n.woken = true
	if !n.sending {
		n.sending = true
		n.in(0, n.publish)
	}
}

// in plans a step of this life.
func (n *fleetNode) in(d time.Duration, do func()) {
	life := n.life
	n.w.after(d, func() {
		if n.life == life {
			do()
		}
	})
}

// publish sends what is due and gathers for a moment before it looks again.
func (n *fleetNode) publish() {
	n.woken = false
	var due []decide.Event
	if n.connected {
		due = append(n.retold, n.outbox.Due(n.now())...)
		n.retold = nil
	}
	n.in(n.send(due), func() {
		n.in(coalesce, func() {
			switch {
			case n.woken:
				n.publish()
			default:
				n.sending = false
				if n.outbox.Waiting() > 0 {
					n.in(resendEvery, n.wake)
				}
			}
		})
	})
}

// send publishes a batch, and returns how long it takes until all is confirmed or
// given up.
func (n *fleetNode) send(due []decide.Event) (took time.Duration) {
	w := n.w
	for _, e := range due {
		there, back := w.latency(), w.latency()
		if w.fault(w.plan.slow) {
			n.faultAt = w.now
			there += w.between(0, 4*time.Second) // overtakes nothing, is overtaken
		}
		switch conn := n.conn; {
		case w.fault(w.plan.lost):
			n.faultAt = w.now
			took = sendPatience
			n.in(sendPatience, func() { n.outbox.NotSent(e) })
		default:
			confirmed := !w.fault(w.plan.unconfirmed) && there+back < sendPatience
			w.after(there, func() { n.arrives(conn, e) })
			if w.fault(w.plan.doubled) {
				w.after(there+w.latency(), func() { n.arrives(conn, e) })
			}
			took = max(took, min(there+back, sendPatience))
			if !confirmed {
				took, n.faultAt = sendPatience, w.now
			}
			n.in(min(there+back, sendPatience), func() {
				if n.conn != conn || !confirmed {
					n.outbox.NotSent(e)
				}
			})
		}
	}
	return took
}

// arrives is a publish that reaches the server, if the connection it was sent on is
// still the same.
func (n *fleetNode) arrives(conn int, e decide.Event) {
	if n.conn == conn && n.connected {
		n.w.bus.publish(e)
	}
}

func (n *fleetNode) String() string { return fmt.Sprintf("%s (life %d)", n.name, n.life) }
