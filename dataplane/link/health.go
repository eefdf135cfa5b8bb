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

// coalesce is how long equal events of one target are gathered into one.
const coalesce = 20 * time.Millisecond

// health sends out what this node sees of its targets, and folds what all see.
type health struct {
	link *Link
	wake chan struct{}

	mu      sync.Mutex
	waiting map[sameness]*outgoing
}

// sameness is what events that may be sent as one have in common.
type sameness struct {
	cell       *decide.Cell
	episode    int64
	kind       node.HealthKind
	retryAfter int64
}

type outgoing struct {
	cell  *decide.Cell
	event node.HealthEvent
	began time.Time
}

func newHealth(l *Link) *health {
	return &health{link: l, wake: make(chan struct{}, 1), waiting: map[sameness]*outgoing{}}
}

// observe takes what an attempt says of its target. The success of a healthy target
// says nothing new. On a passthrough target what concerns the caller's own credential
// is kept apart from what concerns everyone.
func (h *health) observe(t *decide.Target, a *decide.Admission, v decide.Verdict, credential string) {
	if v.Class == decide.Succeeded {
		if a.Probe() {
			h.report(t.Health.Cell, a, node.HealthProbeOK, v)
		}
		if a.Own != nil && a.Own.Probe() {
			h.report(t.OwnCell(credential, h.link.Now()), a.Own, node.HealthProbeOK, v)
		}
		return
	}
	switch {
	case v.Health == "":
	case t.Passthrough() && v.Class == decide.AuthRejected:
		h.report(t.OwnCell(credential, h.link.Now()), a, node.HealthAuthRejected, v)
	case t.Passthrough() && (v.Class == decide.RateLimited || v.Class == decide.UsageLimit):
		h.report(t.OwnCell(credential, h.link.Now()), a, v.Health, v)
	default:
		h.report(t.Health.Cell, a, v.Health, v)
	}
}

// report applies an event to a record and leaves it for the bus.
func (h *health) report(cell *decide.Cell, a *decide.Admission, kind node.HealthKind, v decide.Verdict) {
	same := sameness{cell: cell, episode: a.Episode, kind: kind, retryAfter: -1}
	if v.HasRetry {
		same.retryAfter = v.RetryAfter.Milliseconds()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.waiting[same]
	if out == nil {
		out = &outgoing{cell: cell, began: a.Began, event: node.HealthEvent{
			ID: newID(), Node: h.link.cfg.Node, Kind: kind, ProviderID: cell.Key.ProviderID, UpstreamModel: cell.Key.UpstreamModel,
			Credential: cell.Key.Credential, Reason: string(v.Class),
		}}
		if v.HasRetry {
			out.event.RetryAfterMillis = &same.retryAfter
		}
		h.waiting[same] = out
	}
	out.event.Count++
	now := h.link.Now()
	own := decide.HappenedAt(&out.event, now)
	own.Count, own.Began = 1, a.Began
	cell.Own(own)
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func newID() uuid.UUID {
	id, err := uuid.NewV7()
	if err != nil { // the system's random source is gone; nothing else works either
		panic(err)
	}
	return id
}

// publish sends what waits: the first of a burst at once, the rest gathered.
func (h *health) publish(ctx context.Context, js jetstream.JetStream) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		h.mu.Lock()
		batch := h.waiting
		h.waiting = map[sameness]*outgoing{}
		h.mu.Unlock()
		for _, out := range batch {
			h.send(ctx, js, out)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(coalesce):
		}
	}
}

func (h *health) send(ctx context.Context, js jetstream.JetStream, out *outgoing) {
	out.event.BeganMillisAgo = max(0, h.link.Now().Sub(out.began).Milliseconds())
	body, err := json.Marshal(&out.event)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		// The id makes a repeated publish one event.
		_, err = js.Publish(ctx, node.HealthSubject(out.cell.Key.OrganizationID), body, jetstream.WithMsgID(out.event.ID.String()))
	}
	if err != nil {
		h.link.cfg.Log.Warn("health event not shared", "node", h.link.cfg.Node, "error", err)
		out.cell.Forget(out.event.ID)
	}
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
	cell(key).Fold(decide.HappenedAt(&ev, at))
}

// answerHealth tells a control plane what this node knows of an organization.
func (l *Link) answerHealth(m *nats.Msg) {
	var ask node.HealthAsk
	err := json.Unmarshal(m.Data, &ask)
	if err == nil {
		report := node.HealthReport{Node: l.cfg.Node, Partial: !l.caughtUp(), Records: []node.RecordHealth{}}
		if org := l.Table().Org(ask.OrganizationID); org != nil {
			report.Records = org.Report(l.Now())
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
