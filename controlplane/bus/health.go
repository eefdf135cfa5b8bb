package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
)

// answerTime is how long nodes are given to tell of their health.
const answerTime = 500 * time.Millisecond

// errNotConnected is a call before Run, or while the bus is away.
var errNotConnected = errors.New("the bus is not connected")

// Health asks every node for the health records of an organization. It returns
// what came in time, and the nodes that are known to serve the organization and did
// not answer.
func (b *Bus) Health(ctx context.Context, organization uuid.UUID) (reports []node.HealthReport, silent []string, err error) {
	nc := b.conn.Load()
	if nc == nil || !nc.IsConnected() {
		return nil, nil, errNotConnected
	}
	silent = b.nodesOf(organization)
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	body, err := json.Marshal(node.HealthAsk{OrganizationID: organization})
	if err != nil {
		return nil, nil, err
	}
	if err := nc.PublishRequest(node.AskHealthSubject, inbox, body); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for len(silent) > 0 {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			break // time is up: what came is the answer
		}
		var r node.HealthReport
		if err := json.Unmarshal(m.Data, &r); err != nil {
			b.cfg.Log.Warn("unreadable health report", "error", err)
			continue
		}
		reports = append(reports, r)
		silent = slices.DeleteFunc(silent, func(name string) bool { return name == r.Node })
	}
	return reports, silent, nil
}

// nodesOf names the nodes that acknowledged the organization's configuration.
func (b *Bus) nodesOf(organization uuid.UUID) (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.acks {
		if key.organization == organization {
			names = append(names, key.node)
		}
	}
	slices.Sort(names)
	return names
}

// ResetHealth ends a cooldown on every node, as an entry of the log that all fold.
func (b *Bus) ResetHealth(ctx context.Context, organization, provider uuid.UUID, upstreamModel string) error {
	nc := b.conn.Load()
	if nc == nil || !nc.IsConnected() {
		return errNotConnected
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	body, err := json.Marshal(node.HealthEvent{ID: id, Node: "control-plane", Kind: node.HealthReset, ProviderID: provider, UpstreamModel: upstreamModel})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := js.Publish(ctx, node.HealthSubject(organization), body, jetstream.WithMsgID(id.String())); err != nil {
		return fmt.Errorf("publishing the reset: %w", err)
	}
	return nil
}
