package link

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

const (
	// coalesce is how long equal events of one target are gathered into one.
	coalesce = 20 * time.Millisecond
	// resendEvery is how often the node looks whether an event is to be sent again.
	resendEvery = time.Second
	// sendPatience is how long the bus has to take a batch of events.
	sendPatience = 2 * time.Second
)

// health sends out what this node sees of its targets, and folds what all see.
type health struct {
	link   *Link
	outbox *decide.Outbox
	wake   chan struct{}

	mu     sync.Mutex
	retold []decide.Event // of a log that was lost, to be told again once
}

func newHealth(l *Link) *health {
	return &health{link: l, outbox: decide.NewOutbox(l.cfg.Node, newID), wake: make(chan struct{}, 1)}
}

func newID() uuid.UUID {
	id, err := uuid.NewV7()
	if err != nil { // the system's random source is gone; nothing else works either
		panic(err)
	}
	return id
}

func (h *health) observe(t *decide.Target, a *decide.Admission, v decide.Verdict, own decide.Own) {
	if h.outbox.Observe(t, a, v, own, h.link.Now()) {
		h.poke()
	}
}

func (h *health) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// logLost tells again what the nodes go by: the log in the lost one's place is empty, and
// a node that joins has nothing else to learn from.
func (h *health) logLost() {
	h.outbox.LogLost()
	h.mu.Lock()
	h.retold = h.link.board.Retell(h.link.Now())
	h.mu.Unlock()
	h.poke()
}

func (h *health) takeRetold() []decide.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.retold
	h.retold = nil
	return out
}

// publish sends what is due: the first of a burst at once, the rest gathered. While
// the bus is away nothing is sent and the node goes on with what it sees itself; what
// still matters when the bus is back is told then.
func (h *health) publish(ctx context.Context, nc *nats.Conn, js jetstream.JetStream) {
	again := time.NewTicker(resendEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-again.C:
		case <-h.link.reconnects.next():
		}
		if nc.IsConnected() {
			h.send(ctx, js, append(h.takeRetold(), h.outbox.Due(h.link.Now())...))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(coalesce):
		}
	}
}

// send publishes a batch in order, and then waits for the bus to confirm it.
func (h *health) send(ctx context.Context, js jetstream.JetStream, due []decide.Event) {
	if len(due) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	confirmed := make([]jetstream.PubAckFuture, len(due))
	for i := range due {
		body, err := json.Marshal(&due[i].HealthEvent)
		if err == nil {
			// The id makes a repeated publish one event.
			confirmed[i], err = js.PublishAsync(node.HealthSubject(due[i].OrganizationID), body, jetstream.WithMsgID(due[i].ID.String()))
		}
		if err != nil {
			h.notSent(due[i], err)
		}
	}
	for i, f := range confirmed {
		if f == nil {
			continue
		}
		select {
		case <-f.Ok():
		case err := <-f.Err():
			h.notSent(due[i], err)
		case <-ctx.Done():
			h.notSent(due[i], ctx.Err())
		}
	}
}

func (h *health) notSent(e decide.Event, err error) {
	h.link.cfg.Log.Debug("health event not shared yet", "node", h.link.cfg.Node, "error", err)
	h.outbox.NotSent(e)
}

// fold applies one entry of the shared log.
func (h *health) fold(m jetstream.Msg, at time.Time) {
	var ev node.HealthEvent
	org, err := node.OrganizationOf(m.Subject())
	if err == nil {
		err = json.Unmarshal(m.Data(), &ev)
	}
	if err != nil {
		h.link.cfg.Log.Warn("unreadable health event", "subject", m.Subject(), "error", err)
		return
	}
	key := decide.HealthKey{OrganizationID: org, ProviderID: ev.ProviderID, UpstreamModel: ev.UpstreamModel, Credential: ev.Credential}
	cell := h.link.board.Cell
	if ev.Credential != "" {
		cell = func(key decide.HealthKey) *decide.Cell { return h.link.board.Credential(key, h.link.Now()) }
	}
	h.outbox.Echoed(ev.ID)
	cell(key).Fold(decide.HappenedAt(&ev, at))
}

// answerHealth tells a control plane what this node knows of an organization.
func (l *Link) answerHealth(m *nats.Msg) {
	var ask node.HealthAsk
	err := json.Unmarshal(m.Data, &ask)
	if err == nil {
		report := node.HealthReport{Node: l.cfg.Node, Partial: !l.caughtUp(), Records: []node.RecordHealth{}}
		if org := l.Table().Org(ask.OrganizationID); org != nil {
			report.Records, report.Epoch, report.Version = org.Report(l.Now()), org.Epoch, org.Version
			if ask.UserID != nil {
				report.Own = l.board.OwnReport(org, *ask.UserID, l.Now())
			}
			if ask.Activity {
				report.Activity = org.Activity.LastHour(l.Now())
			}
		}
		if ask.Activity {
			report.Build, report.UptimeMillis = l.cfg.Build, time.Since(l.began).Milliseconds()
		}
		if err = respond(m, report); errors.Is(err, nats.ErrMaxPayload) {
			err = respond(m, report.WithoutHistory())
		}
	}
	if err != nil {
		l.cfg.Log.Warn("health not told", "node", l.cfg.Node, "error", err)
	}
}

func respond(m *nats.Msg, report node.HealthReport) error {
	answer, err := json.Marshal(report)
	if err != nil {
		return err
	}
	return m.Respond(answer)
}

// caughtUp reports whether the node has handled all that stood on the bus when it
// connected.
func (l *Link) caughtUp() bool {
	select {
	case <-l.replayed:
		return true
	default:
		return false
	}
}
