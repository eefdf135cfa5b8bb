package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// checkStill: when nothing is under way, all nodes know all of the log and agree on every
// record, nothing waits to be told, and no probe slot is held or counted.
func (w *world) checkStill() {
	for _, n := range w.nodes {
		if w.broken != nil {
			return
		}
		if n.open > 0 || !n.ready || n.outbox.Waiting() > 0 || n.lineage.log != w.bus.log || n.position != len(w.bus.log.entries) {
			w.breaks("everything comes to rest", "%s: ready %v, %d requests, %d events untold, %d of %d of the log", n.name, n.ready, n.open, n.outbox.Waiting(), n.position, len(w.bus.log.entries))
			return
		}
		for _, k := range w.records() {
			n.checkRecord(k)
		}
		for _, r := range n.orgs[w.config.orgs[0]].Report(n.now()) {
			if r.Probes != 0 {
				w.breaks("probe slots come back", "%s counts %d", n.name, r.Probes)
			}
		}
	}
	if n := w.bus.slots.taken(w.now); n > 0 && w.broken == nil {
		w.breaks("probe slots come back", "%d are held", n)
	}
}

func (n *fleetNode) checkRecord(k key) {
	w := n.w
	for _, j := range n.look(k) {
		if want := n.lineage.state(judge{k, j.policy}, n.position); !j.health.Equal(&want) {
			w.breaks("nodes agree once the log is quiet", "%s on %s: got %s, want %s", w.config.name(k), n.name, show(j.health), show(want))
		}
		if k.org != w.config.orgs[0] && !j.health.Equal(new(decide.Health)) {
			w.breaks("another organization's records never change", "%s on %s: %s", w.config.name(k), n.name, show(j.health))
		}
	}
	if k.caller == "" {
		return
	}
	// Slots of a caller's record: three can be had, or else some never came back.
	t := n.targets[key{org: k.org, provider: k.provider, model: k.model}][0]
	if v := t.OwnHealth(k.caller); v != nil {
		h, later := v.Health(), n.now().Add(time.Hour)
		var taken []decide.Admission
		for h.At(later) == decide.StandingRecovering && len(taken) < three {
			a := v.Admit(later, 0)
			if !a.OK {
				w.breaks("probe slots come back", "%s has only %d for %s", n.name, len(taken), w.config.name(k))
				break
			}
			taken = append(taken, a)
		}
		for i := range taken {
			taken[i].Release()
		}
	}
}

// records is every record there can be.
func (w *world) records() (keys []key) {
	for _, org := range w.config.orgs {
		for _, sp := range spots {
			keys = append(keys, key{org, providerID(sp.provider), sp.model, ""})
		}
		for _, caller := range w.config.callers {
			keys = append(keys, key{org, providerID(passthroughProvider), "m1", caller})
		}
	}
	return keys
}

// recover sends requests to every target until every record is healthy everywhere, and
// then waits until nothing is under way and the last window has passed.
func (w *world) recover() {
	const patience = 20 * time.Minute
	for end := w.now + patience; w.broken == nil; {
		sick := w.sick()
		if sick == "" {
			break
		}
		if w.now > end {
			w.breaks("a healthy provider becomes healthy again", "%s", sick)
		}
		for _, r := range w.config.routes {
			if r.solo {
				for range 1 + len(w.nodes)/5 {
					w.ask(pick(w, w.nodes...), 0, r)
				}
			}
		}
		w.runUntil(w.now + 2*time.Second)
	}
	w.runUntil(w.now + 11*time.Minute)
}

// sick names a record that is not healthy somewhere.
func (w *world) sick() string {
	for _, n := range w.nodes {
		for _, k := range w.records() {
			for _, j := range n.look(k) {
				if j.health.At(n.now()) != decide.StandingHealthy {
					return fmt.Sprintf("%s on %s: %s under %+v", w.config.name(k), n.name, show(j.health), j.policy)
				}
			}
		}
	}
	return ""
}

// checkHealed: on healthy records all nodes agree, whatever was lost with a log: what
// comes next is judged alike.
func (w *world) checkHealed() {
	if w.broken != nil || w.stats["wiped"] == 0 {
		return // checkStill has seen that all are one lineage's
	}
	for _, k := range w.records() {
		first := w.nodes[0].look(k)
		for _, n := range w.nodes {
			for i, j := range n.look(k) {
				if got, want := w.future(j), w.future(first[i]); !slices.Equal(got, want) {
					w.breaks("nodes agree on healthy records", "%s under %+v: %s %v, %s %v", w.config.name(k), j.policy, n.name, got, w.nodes[0].name, want)
				}
			}
		}
	}
}

// future is what becomes of a record when failures come from now on.
func (w *world) future(j judged) (until []time.Time) {
	h, at := j.health, w.busTime()
	for range 40 {
		e := decide.Happened{Kind: node.HealthFailure, Count: 1, Seen: at, At: at, Began: at}
		h = h.Apply(e, j.policy)
		until = append(until, h.Until())
		if h.At(at) == decide.StandingCooling {
			at = h.Until()
		}
	}
	return until
}
