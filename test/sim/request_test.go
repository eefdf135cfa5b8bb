package sim

import (
	"slices"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// request walks a route as the gateway does.
type request struct {
	w      *world
	n      *fleetNode
	life   int
	id     int
	org    int
	route  *decide.Route
	caller string
	run    decide.Run
	began  time.Duration

	target    *decide.Target
	admission decide.Admission
	leases    []*lease
	admitted  time.Duration
	leaving   bool // the caller goes away during the next attempt
	seen      int  // attempts of the run that were checked
}

// ask begins a request at a node.
func (w *world) ask(n *fleetNode, org int, r route) {
	if !n.ready {
		return
	}
	caller := pick(w, w.config.callers...)
	x := &request{w: w, n: n, life: n.life, id: w.stats["requests"], org: org, route: n.orgs[w.config.orgs[org]].Resolve(r.name), caller: caller, began: w.now}
	x.run = decide.NewRun(x.route, r.dialect, w.rng.Uint64(), x.own(), nil)
	x.leaving = w.fault(w.plan.leave)
	w.stats["requests"]++
	n.open++
	x.next()
}

func (x *request) own() decide.Own {
	if x.caller == "" {
		return decide.Own{}
	}
	return decide.Own{Vendor: decide.Claude, Hash: x.caller}
}

// over ends the request. What a crash cuts is over without a word.
func (x *request) over() { x.n.open-- }

// in plans what the request does next, unless its node crashes first.
func (x *request) in(d time.Duration, do func()) {
	x.w.after(d, func() {
		if x.n.life == x.life {
			do()
		}
	})
}

// next goes to the next target that may be tried.
func (x *request) next() {
	n := x.n
	t, admission, ok := x.run.Next(n.now())
	x.checkSkipped(t, ok)
	if !ok {
		x.checkExhausted()
		x.over()
		return
	}
	x.target, x.admission, x.leases, x.admitted = t, admission, nil, x.w.now
	if !x.admission.Probing() {
		x.send()
		return
	}
	n.reserve(t, &x.admission, func(free bool, leases []*lease) {
		x.leases = leases
		if !free || x.run.Cooling(t, n.now()) {
			x.admission.Release()
			x.run.Pass(t, n.now())
			x.seen++
			x.next()
			return
		}
		x.send()
	})
}

// send makes one attempt.
func (x *request) send() {
	w := x.w
	x.checkSend()
	m := w.moodOf(x.target, x.caller)
	evidence, took := w.answer(x.target, m)
	if x.leaving && w.chance(0.5) {
		evidence = decide.Evidence{Cause: decide.CallerGone, Phase: decide.Sent}
		took = w.between(0, took)
	}
	evidence.Now = x.w.busTime().Add(x.n.wall)
	w.say("%s: request %d to %s for %s: %s%s", x.n.name, x.id, w.config.name(shared(x.target)), x.caller, m, map[bool]string{true: ", a probe"}[x.admission.Probing()])
	x.depart()
	x.in(took, func() {
		x.arrive()
		v := decide.Classify(evidence)
		x.checkAsked(v)
		x.done(v)
	})
}

// done is what the gateway does with a verdict.
func (x *request) done(v decide.Verdict) {
	if wait, again := x.run.Retry(x.target, v); again && !x.run.Cooling(x.target, x.n.now()) {
		x.in(wait, func() {
			if x.run.Cooling(x.target, x.n.now()) {
				x.judged(v)
				return
			}
			x.send()
		})
		return
	}
	x.judged(v)
}

// judged reports the last verdict on a target and goes on.
func (x *request) judged(v decide.Verdict) {
	x.w.asking = x.admitted
	if x.n.outbox.Observe(x.target, &x.admission, v, x.own(), x.n.now()) {
		x.n.wake()
	}
	x.checkObserved(v)
	end := v.Class == decide.Succeeded || v.Class == decide.Canceled || !v.Failover
	if end {
		x.admission.Release()
		x.over()
		return
	}
	x.run.Fail(x.target, v, x.w.now-x.began)
	x.seen++
	x.admission.Release()
	x.next()
}

// flight is what of a record is on its way to the provider as a probe.
type flight struct {
	probes []*probe
}

type probe struct {
	x     *request
	lease *lease
}

// probed is the records that the attempt probes, each with its slot.
func (x *request) probed() (keys []key) {
	if x.admission.Probe() {
		keys = append(keys, shared(x.target))
	}
	if o := x.admission.Own; o != nil && o.Probe() {
		keys = append(keys, own(x.target, x.caller))
	}
	return keys
}

func (x *request) depart() {
	for i, k := range x.probed() {
		f := x.w.flights[k]
		if f == nil {
			f = &flight{}
			x.w.flights[k] = f
		}
		f.probes = append(f.probes, &probe{x, x.leases[i]})
		x.w.stats["probes"]++
		x.w.checkProbes(k, f)
	}
}

func (x *request) arrive() {
	for _, k := range x.probed() {
		f := x.w.flights[k]
		f.probes = slices.DeleteFunc(f.probes, func(p *probe) bool { return p.x == x })
	}
}

// cut ends what a crashed node had under way.
func (f *flight) cut(n *fleetNode) {
	f.probes = slices.DeleteFunc(f.probes, func(p *probe) bool { return p.x.n == n })
}
