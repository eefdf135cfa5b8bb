package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spillway-gateway/spillway/api/node"
)

const (
	// answerTime is how long nodes are given to tell of their health.
	answerTime = 500 * time.Millisecond
	// glanceTime is the same where the answer is only shown beside something else.
	glanceTime = 150 * time.Millisecond
)

// errNotConnected is a call before Run, or while the bus is away.
var errNotConnected = errors.New("the bus is not connected")

// Health asks every node for the health records of an organization. It returns
// what came in time, and the nodes that are known to serve the organization and did
// not answer. user asks for what concerns this person's own credentials, too; zero:
// nobody's.
func (b *Bus) Health(ctx context.Context, organization, user uuid.UUID) (reports []node.HealthReport, silent []string, err error) {
	return b.askAll(ctx, askFor(organization, user))
}

func askFor(organization, user uuid.UUID) node.HealthAsk {
	ask := node.HealthAsk{OrganizationID: organization}
	if user != uuid.Nil {
		ask.UserID = &user
	}
	return ask
}

// Nodes is Health with what each node did in the last hour.
func (b *Bus) Nodes(ctx context.Context, organization uuid.UUID) (reports []node.HealthReport, silent []string, err error) {
	return b.askAll(ctx, node.HealthAsk{OrganizationID: organization, Activity: true})
}

func (b *Bus) askAll(ctx context.Context, ask node.HealthAsk) (reports []node.HealthReport, silent []string, err error) {
	silent = b.nodesOf(ask.OrganizationID)
	err = b.askHealth(ctx, ask, answerTime, func(r node.HealthReport) (enough bool) {
		reports = append(reports, r)
		silent = slices.DeleteFunc(silent, func(name string) bool { return name == r.Node })
		return len(silent) == 0
	})
	return reports, silent, err
}

// Glance asks every node and takes the first answer, since nodes agree: it returns no
// report when none came within 150 ms. A node that has only just joined may not know
// all, and is listened to only when nobody else answers. user asks for what concerns this
// person's own credentials, too; zero: nobody's.
func (b *Bus) Glance(ctx context.Context, organization, user uuid.UUID) (report *node.HealthReport, err error) {
	err = b.askHealth(ctx, askFor(organization, user), glanceTime, func(r node.HealthReport) (enough bool) {
		report = &r
		return !r.Partial
	})
	return report, err
}

// askHealth hands each node's answer to take, until that is enough, the time is up, or
// there is nobody to ask.
func (b *Bus) askHealth(ctx context.Context, ask node.HealthAsk, patience time.Duration, take func(node.HealthReport) (enough bool)) error {
	nc := b.conn.Load()
	if nc == nil || !nc.IsConnected() {
		return errNotConnected
	}
	if len(b.nodesOf(ask.OrganizationID)) == 0 {
		return nil
	}
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = answers.Unsubscribe() }()
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	if err := nc.PublishRequest(node.AskHealthSubject, inbox, body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return nil // time is up, or no node listens: what came is the answer
		}
		var r node.HealthReport
		if err := json.Unmarshal(m.Data, &r); err != nil {
			b.cfg.Log.Warn("unreadable health report", "error", err)
			continue
		}
		if take(r) {
			return nil
		}
	}
}

// Acks returns the last word of every node that is known to serve the organization on its
// configuration, by node: the version it took, or why it refused one.
func (b *Bus) Acks(organization uuid.UUID) (list []node.Ack) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, ack := range b.acks {
		if key.organization == organization {
			list = append(list, ack)
		}
	}
	slices.SortFunc(list, func(a, b node.Ack) int { return strings.Compare(a.Node, b.Node) })
	return list
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
