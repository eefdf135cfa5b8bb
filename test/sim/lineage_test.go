package sim

import (
	"cmp"
	"slices"
	"sort"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// lineage is what nodes have folded: one making of the log, and before it what they had
// of an earlier one when that was lost. Nodes of one lineage must agree at the same
// position; while no log is ever lost there is one lineage.
type lineage struct {
	w      *world
	log    *healthLog
	parent *lineage
	kept   int // entries of the parent's log that were folded
	folds  map[judge]*folds
}

// judge is a record and the policy it is judged by.
type judge struct {
	key    key
	policy node.Cooldown
}

// folds is every state that a record goes through, by the position after which it holds.
type folds struct {
	next   int               // the entry to fold next
	again  []decide.Happened // of a record that has heard nothing else, in the order first seen
	heard  bool              // something first-hand: what is told again of a lost log is not for such a record
	known  map[uuid.UUID]bool
	stamps []stamp
}

type stamp struct {
	position int
	health   decide.Health
	twin     twin
}

// lineages finds equal ones.
type lineages struct {
	w        *world
	roots    map[*healthLog]*lineage
	children map[descent]*lineage
}

type descent struct {
	parent *lineage
	kept   int
	log    *healthLog
}

func newLineages(w *world) lineages {
	return lineages{w: w, roots: map[*healthLog]*lineage{}, children: map[descent]*lineage{}}
}

func (l *lineages) root(log *healthLog) *lineage {
	if l.roots[log] == nil {
		l.roots[log] = &lineage{w: l.w, log: log, folds: map[judge]*folds{}}
	}
	return l.roots[log]
}

func (l *lineages) child(parent *lineage, kept int, log *healthLog) *lineage {
	if kept == 0 && parent.parent == nil {
		return l.root(log)
	}
	d := descent{parent, kept, log}
	if l.children[d] == nil {
		l.children[d] = &lineage{w: l.w, log: log, parent: parent, kept: kept, folds: map[judge]*folds{}}
	}
	return l.children[d]
}

// state is a record after a number of the log's entries: each event once, in order.
func (l *lineage) state(j judge, position int) decide.Health { return l.stamp(j, position).health }

func (l *lineage) stamp(j judge, position int) stamp {
	f := l.folds[j]
	if f == nil {
		f = &folds{known: map[uuid.UUID]bool{}, stamps: []stamp{{}}}
		if l.parent != nil {
			f.stamps = []stamp{l.parent.stamp(j, l.kept)}
			f.stamps[0].position = 0
			f.heard = l.parent.ids(j.key, l.kept, f.known)
		}
		l.folds[j] = f
	}
	for ; f.next < position; f.next++ {
		e := &l.log.entries[f.next]
		if again := e.event.SeenMillisAgo > 0; e.key == j.key && !f.known[e.event.ID] && !(again && f.heard) {
			f.known[e.event.ID] = true
			f.heard = f.heard || !again
			f.stamps = append(f.stamps, l.fold(f.stamps[len(f.stamps)-1], f.next, j))
		}
	}
	i := sort.Search(len(f.stamps), func(i int) bool { return f.stamps[i].position > position })
	return f.stamps[i-1]
}

// fold applies an entry to the product's state and to its twin, which must agree.
func (l *lineage) fold(last stamp, at int, j judge) stamp {
	e := &l.log.entries[at]
	happened := e.happened()
	next := stamp{position: at + 1, health: last.health, twin: last.twin}
	hear := []decide.Happened{happened}
	if happened.Again {
		f := l.folds[j]
		f.again = append(f.again, happened)
		slices.SortFunc(f.again, func(a, b decide.Happened) int {
			return cmp.Or(a.Seen.Compare(b.Seen), slices.Compare(a.ID[:], b.ID[:]))
		})
		next.health, next.twin, hear = decide.Health{}, twin{}, f.again
	}
	for _, e := range hear {
		next.health = next.health.Apply(e, j.policy)
		next.twin.hear(e, j.policy)
	}
	if !next.twin.agrees(&next.health, epoch.Add(e.at)) {
		l.w.breaks("health is as the documentation tells it", "%s under %+v after %+v: got %s, want %+v", l.w.config.name(j.key), j.policy, happened, show(next.health), next.twin)
	}
	return next
}

// ids collects the events of a record up to a position, and says whether any was heard
// first-hand.
func (l *lineage) ids(k key, position int, into map[uuid.UUID]bool) (heard bool) {
	if l.parent != nil {
		heard = l.parent.ids(k, l.kept, into)
	}
	for i := range l.log.entries[:position] {
		if e := &l.log.entries[i]; e.key == k {
			into[e.event.ID] = true
			heard = heard || e.event.SeenMillisAgo == 0
		}
	}
	return heard
}
