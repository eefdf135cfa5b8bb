package sim

import (
	"slices"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// What the link does with probe slots, in its figures.
const (
	leasePatience = 500 * time.Millisecond
	leaseMargin   = 10 * time.Second
	renewEvery    = time.Second
)

// lease is a slot that a node holds for a probe, or may hold.
type lease struct {
	node     *fleetNode
	life     int // of the node
	subject  string
	ttl      time.Duration
	sequence uint64
	renewed  time.Duration
	over     bool // given back
	excused  bool // lost for a reason that the fleet's bound makes an exception for
}

// reserve takes a slot of the fleet for each record that an attempt probes, one after
// the other, and then goes on.
func (n *fleetNode) reserve(t *decide.Target, a *decide.Admission, then func(free bool, leases []*lease)) {
	var probes []*decide.Admission
	for _, probe := range []*decide.Admission{a, a.Own} {
		if probe != nil && probe.Probe() {
			probes = append(probes, probe)
		}
	}
	var leases []*lease
	var next func(i int)
	next = func(i int) {
		if i == len(probes) {
			then(true, leases)
			return
		}
		n.take(probes[i].Cell().Key, max(t.Timeout, t.StreamIdle)+leaseMargin, func(l *lease, free bool) {
			if !free {
				probes[i].Full(n.now())
				then(false, nil)
				return
			}
			if l.sequence != 0 {
				probes[i].Leased(func() { n.giveBack(l) })
			}
			leases = append(leases, l)
			next(i + 1)
		})
	}
	next(0)
}

// taking is a node's way through the slots of a record until it has one.
type taking struct {
	n       *fleetNode
	key     decide.HealthKey
	ttl     time.Duration
	first   int // slot, so that nodes do not all begin with the same
	conn    int
	last    *lease // that was asked for
	settled bool
	then    func(l *lease, free bool)
}

// take tries the slots of a record in turn. A lease without a sequence was not
// confirmed: the bus is away or too slow, and the node goes by its own slots.
func (n *fleetNode) take(k decide.HealthKey, ttl time.Duration, then func(l *lease, free bool)) {
	alone := &lease{node: n, life: n.life, excused: true}
	if !n.connected {
		n.in(0, func() { then(alone, true) })
		return
	}
	t := &taking{n: n, key: k, ttl: ttl.Round(time.Second), first: n.w.rng.IntN(decide.MaxProbes), conn: n.conn, then: then}
	n.in(leasePatience, func() {
		if !t.settled {
			n.faultAt = n.w.now
			n.w.say("%s: no word of a probe slot in time, goes by its own", n.name)
			n.giveBack(t.last)
			t.settle(alone, true)
		}
	})
	t.try(0)
}

func (t *taking) settle(l *lease, free bool) {
	t.settled = true
	t.then(l, free)
}

func (t *taking) try(i int) {
	if i == decide.MaxProbes {
		t.settle(nil, false)
		return
	}
	n, k := t.n, t.key
	l := &lease{node: n, life: n.life, ttl: t.ttl, renewed: n.w.now,
		subject: node.ProbeSubject(k.OrganizationID, k.ProviderID, k.UpstreamModel, k.Credential, (t.first+i)%decide.MaxProbes)}
	t.last = l
	n.ask(t.conn, func() {
		sequence, ok := n.w.bus.slots.publish(n.w, l, 0)
		n.answered(t.conn, func() {
			switch {
			case t.settled: // too late
			case !ok:
				t.try(i + 1)
			default:
				l.sequence = sequence
				n.leases = append(n.leases, l)
				n.renewLater()
				t.settle(l, true)
			}
		})
	})
}

// ask brings a question to the server, unless it is lost.
func (n *fleetNode) ask(conn int, at func()) {
	w := n.w
	d := w.latency()
	if w.fault(w.plan.slow) {
		d += w.between(0, time.Second)
	}
	if w.fault(w.plan.lost) {
		n.faultAt = w.now
		return
	}
	n.w.after(d, func() {
		if n.conn == conn && n.connected {
			at()
		}
	})
}

// answered brings an answer back, unless it is lost.
func (n *fleetNode) answered(conn int, then func()) {
	if n.w.fault(n.w.plan.unconfirmed) {
		n.faultAt = n.w.now
		return
	}
	n.ask(conn, then)
}

// giveBack deletes the slot's message, once it has seen that it is still its own.
func (n *fleetNode) giveBack(l *lease) {
	l.over = true
	n.leases = slices.DeleteFunc(n.leases, func(o *lease) bool { return o == l })
	if conn := n.conn; n.connected {
		n.ask(conn, func() { n.answered(conn, func() { n.ask(conn, func() { n.w.bus.slots.remove(l) }) }) })
	}
}

// renewLater looks through the node's slots every second while it holds any.
func (n *fleetNode) renewLater() {
	if n.renewing {
		return
	}
	n.renewing = true
	n.in(renewEvery, func() {
		n.renewing = false
		if len(n.leases) > 0 {
			n.renew()
			n.renewLater()
		}
	})
}

func (n *fleetNode) renew() {
	w := n.w
	for _, l := range slices.Clone(n.leases) {
		if w.now-l.renewed < l.ttl/2 || !n.connected {
			continue
		}
		conn, asked := n.conn, w.now
		n.ask(conn, func() {
			sequence, ok := w.bus.slots.publish(w, l, l.sequence)
			n.answered(conn, func() {
				switch {
				case ok:
					l.sequence, l.renewed = sequence, asked
				default:
					w.say("%s: a slot is somebody else's", n.name)
					n.leases = slices.DeleteFunc(n.leases, func(o *lease) bool { return o == l })
				}
			})
		})
	}
}
