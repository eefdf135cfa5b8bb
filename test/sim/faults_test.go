package sim

import (
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// planFaults spreads the plan's faults over the time of chaos.
func (w *world) planFaults() {
	p := &w.plan
	some := func(count int, fault func()) {
		for range count {
			w.after(w.between(5*time.Second, p.chaos-10*time.Second), func() {
				if !w.calm {
					fault()
				}
			})
		}
	}
	some(p.partitions, func() { w.partition(pick(w, w.nodes...)) })
	some(p.outages, func() {
		log, slots := w.chance(p.logWiped), w.chance(p.slotsWiped)
		switch {
		case !w.bus.up:
		case w.chance(0.3):
			w.bus.wipe(log, slots)
		default:
			w.bus.restart(pick(w, w.between(time.Second, 10*time.Second), w.between(time.Second, 150*time.Second)), log, slots)
		}
	})
	some(p.joins, func() { w.join(1) })
	some(p.crashes, func() {
		if n := pick(w, w.nodes...); n.alive {
			n.crash()
			w.after(w.between(100*time.Millisecond, 20*time.Second), func() {
				if !n.alive {
					n.start()
				}
			})
		}
	})
	some(p.resets, w.reset)
	if p.reconfigured {
		some(1, w.reconfigure)
	}
}

func (w *world) partition(n *fleetNode) {
	n.disconnected()
	w.after(pick(w, w.between(time.Second, 10*time.Second), w.between(time.Second, 170*time.Second)), func() {
		if n.alive && !n.connected && w.bus.up {
			n.reconnect()
		}
	})
}

// reset is an operator who ends a cooldown.
func (w *world) reset() {
	if sp := pick(w, spots...); w.bus.up {
		e := decide.Event{OrganizationID: w.config.orgs[0], HealthEvent: node.HealthEvent{ID: w.newID(), Node: "operator", Kind: node.HealthReset,
			ProviderID: providerID(sp.provider), UpstreamModel: sp.model}}
		w.bus.publish(e)
	}
}

// traffic begins requests, some in bursts, while faults happen.
func (w *world) traffic() {
	if w.calm {
		return
	}
	count, n := 1, pick(w, w.nodes...)
	if w.chance(0.04) {
		count = 5 + w.rng.IntN(25)
	}
	r := pick(w, w.config.routes...)
	for range count {
		n := n
		if w.chance(0.5) {
			n = pick(w, w.nodes...)
		}
		org := 0
		if w.chance(0.05) {
			org = 1
		}
		w.after(w.between(0, 500*time.Millisecond), func() { w.ask(n, org, r) })
	}
	w.after(time.Duration(w.rng.ExpFloat64()/w.plan.rate*float64(time.Second)), w.traffic)
}
