package link

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

const (
	// leasePatience is how long a probe waits to hear whether it has a slot. A bus that
	// is slower counts as away: the node then goes by its own three slots.
	leasePatience = 500 * time.Millisecond
	// leaseMargin is how much longer than its attempt may take a slot is held.
	leaseMargin = 10 * time.Second
	// renewEvery is how often slots are looked through for those to be renewed.
	renewEvery = time.Second
)

// probes takes the fleet's probe slots: a slot is a message on a subject of its own,
// published only where none stands there, and deleted when the probe is over. A node
// that dies gives its slots back by the messages' time to live.
type probes struct {
	link *Link
	done chan struct{} // closed when run has given back what was held

	mu   sync.Mutex
	held map[*lease]struct{}
	over chan *lease // to be given back
}

// lease is one slot that this node holds. Once it is held, only run touches it.
type lease struct {
	id       string // stands in the message, so that nobody gives back another's slot
	subject  string
	ttl      time.Duration
	sequence uint64 // of the message
	renewed  time.Time
}

func newProbes(l *Link) *probes {
	return &probes{link: l, done: make(chan struct{}), held: map[*lease]struct{}{}, over: make(chan *lease, 1024)}
}

// reserve takes a slot of the fleet for each record that the attempt probes, and
// reports whether it got them. With the bus away every node has three.
func (p *probes) reserve(ctx context.Context, t *decide.Target, a *decide.Admission) bool {
	for _, probe := range []*decide.Admission{a, a.Own} {
		if probe == nil || !probe.Probe() {
			continue
		}
		l, free := p.take(ctx, probe.Cell().Key, max(t.Timeout, t.StreamIdle)+leaseMargin)
		if !free {
			probe.Full(p.link.Now())
			return false
		}
		if l != nil {
			probe.Leased(func() { p.giveBack(l) })
		}
	}
	return true
}

// take tries the slots of a record, in an order of its own so that nodes do not all
// begin with the first. A nil lease that is free was not asked for: the bus is away.
func (p *probes) take(ctx context.Context, key decide.HealthKey, ttl time.Duration) (l *lease, free bool) {
	conn := p.link.conn.Load()
	if conn == nil || !conn.nc.IsConnected() {
		return nil, true
	}
	ctx, cancel := context.WithTimeout(ctx, leasePatience)
	defer cancel()
	first := rand.IntN(decide.MaxProbes)
	for i := range decide.MaxProbes {
		subject := node.ProbeSubject(key.OrganizationID, key.ProviderID, key.UpstreamModel, key.Credential, (first+i)%decide.MaxProbes)
		l := &lease{id: newID().String(), subject: subject, ttl: ttl, renewed: time.Now()}
		err := l.publish(ctx, conn.js)
		switch {
		case err == nil:
			p.mu.Lock()
			p.held[l] = struct{}{}
			p.mu.Unlock()
			return l, true
		case !taken(err):
			p.link.cfg.Log.Warn("probe slots cannot be shared: this node goes by its own", "node", p.link.cfg.Node, "error", err)
			p.giveBack(l) // it may have been taken all the same
			return nil, true
		}
	}
	return nil, false
}

// publish takes the slot, or holds it for longer: the message that stands there must
// be the lease's own, or none.
func (l *lease) publish(ctx context.Context, js jetstream.JetStream) error {
	ack, err := js.PublishMsg(ctx, &nats.Msg{Subject: l.subject, Data: []byte(l.id)},
		jetstream.WithExpectLastSequencePerSubject(l.sequence), jetstream.WithMsgTTL(l.ttl.Round(time.Second)), jetstream.WithRetryAttempts(0))
	if err == nil {
		l.sequence = ack.Sequence
	}
	return err
}

func taken(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// giveBack never waits: it is called when an attempt ends, before its caller has the
// rest of the answer.
func (p *probes) giveBack(l *lease) {
	p.mu.Lock()
	delete(p.held, l)
	p.mu.Unlock()
	select {
	case p.over <- l:
	default: // it comes back by its time to live
	}
}

// run gives slots back, and holds those whose probes go on.
func (p *probes) run(ctx context.Context, js jetstream.JetStream) {
	defer close(p.done)
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.drain(js)
			return
		case l := <-p.over:
			p.remove(js, l)
		case <-tick.C:
			p.renew(ctx, js)
		}
	}
}

// drain gives back what the last requests of a node that stops have left.
func (p *probes) drain(js jetstream.JetStream) {
	for {
		select {
		case l := <-p.over:
			p.remove(js, l)
		default:
			return
		}
	}
}

func (p *probes) remove(js jetstream.JetStream, l *lease) {
	ctx, cancel := context.WithTimeout(context.Background(), leasePatience)
	defer cancel()
	if err := l.remove(ctx, js); err != nil {
		p.link.cfg.Log.Debug("probe slot comes back by its time to live", "node", p.link.cfg.Node, "error", err)
	}
}

// remove deletes the lease's message if it is what stands on the subject. The sequence
// alone does not say so: a stream that was made anew counts from 1 again, and there it is
// another's.
func (l *lease) remove(ctx context.Context, js jetstream.JetStream) error {
	stream, err := js.Stream(ctx, node.ProbeStream)
	if err != nil {
		return err
	}
	m, err := stream.GetLastMsgForSubject(ctx, l.subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil
	case err != nil:
		return err
	case string(m.Data) != l.id:
		return nil
	}
	return stream.DeleteMsg(ctx, m.Sequence)
}

// renew holds slots whose attempts wait out rate limits or stream for longer than
// their time to live.
func (p *probes) renew(ctx context.Context, js jetstream.JetStream) {
	p.mu.Lock()
	held := slices.Collect(maps.Keys(p.held))
	p.mu.Unlock()
	for _, l := range held {
		if time.Since(l.renewed) < l.ttl/2 {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, leasePatience)
		err := l.publish(ctx, js)
		cancel()
		if err == nil {
			l.renewed = time.Now()
			continue
		}
		p.link.cfg.Log.Debug("probe slot not held for longer", "node", p.link.cfg.Node, "error", err)
		if taken(err) { // it was lost: the slot is somebody else's
			p.mu.Lock()
			delete(p.held, l)
			p.mu.Unlock()
		}
	}
}
