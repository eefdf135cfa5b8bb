package sim

import (
	"slices"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// judged is a record as a policy judges it on a node.
type judged struct {
	policy node.Cooldown
	health decide.Health
}

// look is what a node's requests see of a record, under every policy that it has.
func (n *fleetNode) look(k key) (out []judged) {
	everyone := k
	everyone.caller = ""
	for _, t := range n.targets[everyone] {
		j := judged{policy: t.Cooldown}
		if k.caller == "" {
			j.health = t.Health.Health()
		} else {
			j.policy.FailureThreshold = max(1, j.policy.FailureThreshold)
			if v := t.OwnHealth(k.caller); v != nil {
				j.health = v.Health()
			}
		}
		out = append(out, j)
	}
	return out
}

// checkFolded: what a node sees is the fold of the log so far, each event once, and its
// own events that are still under way. So nodes agree at every position of the log, and
// a cooldown in the log is in force on every node that the log has reached. Of a log that
// was lost a node keeps what it had heard: nodes that had heard different parts of it agree
// again once the record has healed.
func (n *fleetNode) checkFolded(e *entry, before []judged) {
	w := n.w
	if e.key.org != w.config.orgs[0] {
		w.breaks("another organization's records never change", "%s: %s", w.config.name(e.key), e.event.Kind)
	}
	if e.key.caller == "" && e.key.provider == providerID(passthroughProvider) && slices.Contains([]node.HealthKind{
		node.HealthRateLimited, node.HealthUsageLimit, node.HealthAuthRejected}, e.event.Kind) {
		w.breaks("a caller's limits are the caller's own", "%s for everyone", e.event.Kind)
	}
	quiet := n.outbox.Waiting() == 0
	for i, after := range n.look(e.key) {
		want := n.lineage.state(judge{e.key, after.policy}, n.position)
		switch {
		case quiet && !after.health.Equal(&want):
			w.breaks("nodes agree on the log", "%s on %s under %+v after #%d: got %s, want %s", w.config.name(e.key), n.name, after.policy, n.position, show(after.health), show(want))
		case want.At(w.busTime()) == decide.StandingCooling && (after.health.At(w.busTime()) != decide.StandingCooling || after.health.Until().Before(want.Until())):
			w.breaks("a cooldown holds on every node that has heard of it", "%s on %s: got %s, want %s", w.config.name(e.key), n.name, show(after.health), show(want))
		}
		// With own events under way the log may put them in another order.
		if b := before[i]; quiet && e.event.Node != n.name && e.event.Kind != node.HealthReset && e.event.SeenMillisAgo == 0 && b.health.At(epoch.Add(e.at)) == decide.StandingCooling && after.health.Until().Before(b.health.Until()) {
			w.breaks("a deadline only moves later", "%s on %s: %s became %s by %s", w.config.name(e.key), n.name, show(b.health), show(after.health), e.event.Kind)
		}
	}
}

func show(h decide.Health) string {
	if h.Reason() == "" {
		return "healthy"
	}
	return string(h.Reason()) + " until " + h.Until().Sub(epoch).String()
}

// checkPublished: what a node on a good connection sees is in the log within a second,
// and the log knows when it happened, whatever the node's wall clock says.
func (w *world) checkPublished(e *entry) {
	again := w.told[e.event.ID]
	w.told[e.event.ID] = true
	i := slices.IndexFunc(w.nodes, func(n *fleetNode) bool { return n.name == e.event.Node })
	born, known := w.born[e.event.ID]
	if i < 0 || !known {
		return
	}
	n := w.nodes[i]
	happened := e.happened()
	underWay := 5 * time.Second // at most, which no age tells of
	if again {
		underWay *= 2
	}
	if at := happened.At.Sub(epoch); at < born-4*clockError-time.Millisecond || at > born+underWay {
		w.breaks("skewed clocks change nothing", "an event of %v on %s is in the log as of %v", born, n.name, at)
	}
	if again { // of a log that was lost, by whoever goes by it
		return
	}
	if asked := w.asked[e.event.ID]; asked > n.setAt {
		if began := happened.Began.Sub(epoch); began < asked-2*clockError-time.Millisecond || began > asked+5*time.Second {
			w.breaks("the log knows a late report", "a request of %v on %s is in the log as of %v", asked, n.name, began)
		}
	}
	if n.faultAt < born-2*sendPatience && e.at-born > coalesce+4*w.plan.maxDelay+100*time.Millisecond {
		w.breaks("events are told at once", "%s told of %s after %v", n.name, w.config.name(e.key), e.at-born)
	}
}

// checkSkipped: a target is passed over only for what its record says at that moment.
func (x *request) checkSkipped(next *decide.Target, ok bool) {
	w, now := x.w, x.n.now()
	for _, a := range x.run.Attempts[x.seen:] {
		t := x.route.Targets[a.Position-1]
		h := t.Health.Health()
		standing, yours := h.At(now), decide.StandingHealthy
		if v := t.OwnHealth(x.caller); v != nil {
			o := v.Health()
			yours = o.At(now)
		}
		var right bool
		switch decide.Reason(a.Reason) {
		case decide.CoolingDown:
			right = standing == decide.StandingCooling
		case decide.Recovering:
			right = standing == decide.StandingRecovering
		case decide.CredentialCooling, decide.CredentialRejected:
			right = yours != decide.StandingHealthy && w.wronged[own(t, x.caller)]
		}
		if !right || a.Outcome != decide.OutcomeSkipped || x.org != 0 {
			w.breaks("while a target is healthy, no request fails", "request %d of %s was not let to %s: %s, but it is %v and %v for the caller", x.id, x.caller, w.config.name(shared(t)), a.Reason, standing, yours)
		}
	}
	x.seen = len(x.run.Attempts)
	if ok && next == nil {
		w.breaks("while a target is healthy, no request fails", "no target")
	}
}

// checkExhausted: a request that no target served has been to every one of them.
func (x *request) checkExhausted() {
	x.w.stats["exhausted"]++
	asked := map[int]int{}
	for _, a := range x.run.Attempts {
		asked[a.Position]++
	}
	for _, t := range x.route.Targets {
		if asked[t.Position] != 1 {
			x.w.breaks("while a target is healthy, no request fails", "request %d failed and was at target %d %d times", x.id, t.Position, asked[t.Position])
		}
	}
	if e := x.run.Exhausted(); e.Status < 400 {
		x.w.breaks("while a target is healthy, no request fails", "status %d", e.Status)
	}
}

// checkSend: nothing is sent to what the node itself sees cooling.
func (x *request) checkSend() {
	w, now, t := x.w, x.n.now(), x.target
	if h := t.Health.Health(); h.At(now) == decide.StandingCooling {
		w.breaks("nothing is sent to a cooling target", "request %d on %s to %s: %s", x.id, x.n.name, w.config.name(shared(t)), show(h))
	}
	if !t.Passthrough() {
		return
	}
	if v := t.OwnHealth(x.caller); v != nil {
		if h := v.Health(); h.At(now) == decide.StandingCooling {
			w.breaks("nothing is sent to a cooling target", "request %d on %s to %s for %s: %s", x.id, x.n.name, w.config.name(shared(t)), x.caller, show(h))
		}
	}
}

// checkObserved: what a node sees itself it goes by at once.
func (x *request) checkObserved(v decide.Verdict) {
	t, now := x.target, x.n.now()
	if v.Class == decide.Succeeded || v.Health == "" || v.Health == node.HealthFailure && !(t.Passthrough() && v.Class == decide.AuthRejected) {
		return
	}
	h := t.Health.Health()
	if t.Passthrough() && v.Class != decide.Overloaded {
		x.w.wronged[own(t, x.caller)] = true
		h = t.OwnHealth(x.caller).Health()
	} else if t.Cooldown.FailureThreshold == 0 || v.Class == decide.Overloaded && t.Cooldown.OverloadedSecs == 0 {
		return
	}
	if v.HasRetry && v.RetryAfter < time.Second && v.Class != decide.UsageLimit {
		return
	}
	if h.At(now) != decide.StandingCooling {
		x.w.breaks("a node goes by what it sees at once", "request %d on %s got %s of %s, and it is %s", x.id, x.n.name, v.Class, x.w.config.name(shared(t)), show(h))
	}
}

// checkAsked: what a provider asks for is what it meant, whatever the node's wall clock says.
func (x *request) checkAsked(v decide.Verdict) {
	if v.HasRetry && !slices.Contains([]time.Duration{0, 1, 3, 5, 17, 25, 40, 86_400, 1_587_827}, v.RetryAfter/time.Second) {
		x.w.breaks("skewed clocks change nothing", "%s asked for %v", x.w.config.name(shared(x.target)), v.RetryAfter)
	}
}

// three is how many probes at a time the product promises.
const three = 3

// checkProbes: never more than three probes of the fleet at a record, and never more
// than three of a node. Not counted against the fleet is a probe whose node got no answer
// from the bus in time, or whose slot was lost with the stream or because the node could
// not hold it: those nodes have three of their own.
func (w *world) checkProbes(k key, f *flight) {
	fleet, byNode := 0, map[*fleetNode]int{}
	for _, p := range f.probes {
		byNode[p.x.n]++
		if !p.lease.excused {
			fleet++
		}
	}
	for n, count := range byNode {
		if count > three {
			w.breaks("three probes at a time", "%d of %s at %s", count, n.name, w.config.name(k))
		}
	}
	if fleet > three {
		w.breaks("three probes at a time", "%d of the fleet at %s", fleet, w.config.name(k))
	}
}

// checkExpired: a slot comes back by its time to live only where its node is gone or
// had trouble with the bus.
func (w *world) checkExpired(s *slot) {
	l := s.holder
	if l.over || l.excused || l.node.life != l.life {
		return
	}
	if l.node.faultAt >= l.renewed {
		l.excused = true
		return
	}
	w.breaks("a slot is held as long as its probe", "%s lost one, renewed at %v", l.node.name, l.renewed)
}
