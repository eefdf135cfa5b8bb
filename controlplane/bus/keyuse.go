package bus

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/spillway-gateway/spillway/api/node"
)

// keyUsePatience is how long the database has to take one message of uses.
const keyUsePatience = 5 * time.Second

// hearKeyUses keeps when gateway keys were used last, as the nodes tell it, until ctx
// ends. One control plane of all hears each message; a node that gets no answer tells again.
func (b *Bus) hearKeyUses(ctx context.Context, nc *nats.Conn) error {
	sub, err := nc.QueueSubscribe(node.KeyUseSubject, node.KeyUseQueue, func(m *nats.Msg) {
		if err := b.keepKeyUses(ctx, m); err != nil && ctx.Err() == nil {
			b.cfg.Log.Warn("use of keys not kept, the node tells it again", "error", err)
		}
	})
	if err == nil {
		context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	}
	return err
}

func (b *Bus) keepKeyUses(ctx context.Context, m *nats.Msg) error {
	var uses []node.KeyUse
	if err := json.Unmarshal(m.Data, &uses); err != nil {
		return errors.Join(err, m.Respond(nil)) // it would be no better the next time
	}
	ctx, cancel := context.WithTimeout(ctx, keyUsePatience)
	defer cancel()
	byOrg := map[uuid.UUID][]node.KeyUse{}
	for _, use := range uses {
		byOrg[use.OrganizationID] = append(byOrg[use.OrganizationID], use)
	}
	for organization, list := range byOrg {
		if err := b.cfg.Store.NoteKeyUse(ctx, organization, list); err != nil {
			return err
		}
	}
	return m.Respond(nil)
}
