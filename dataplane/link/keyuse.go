package link

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

const (
	// usePause is how long uses are gathered after some were told.
	usePause = 2 * time.Second
	// useAgain is when uses that nobody took are told again.
	useAgain = 15 * time.Second
	// usesPerMessage keeps a message far below what the bus carries (1 MiB).
	usesPerMessage = 4096
	usePatience    = 5 * time.Second
)

// keyUses tells the control plane when gateway keys were used last. It is told late
// rather than never, and by every node for itself: the latest counts.
type keyUses struct {
	link *Link
	wake chan struct{}

	mu  sync.Mutex
	due map[*decide.KeyUse]struct{}
}

func newKeyUses(l *Link) *keyUses {
	return &keyUses{link: l, wake: make(chan struct{}, 1), due: map[*decide.KeyUse]struct{}{}}
}

func (u *keyUses) used(uses ...*decide.KeyUse) {
	u.mu.Lock()
	for _, use := range uses {
		u.due[use] = struct{}{}
	}
	u.mu.Unlock()
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// take returns what is to be told, at most one message of it.
func (u *keyUses) take() (out []*decide.KeyUse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for use := range u.due {
		if len(out) == usesPerMessage {
			break
		}
		out = append(out, use)
		delete(u.due, use)
	}
	return out
}

func (u *keyUses) run(ctx context.Context, nc *nats.Conn) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.wake:
		}
		pause := usePause
		for uses := u.take(); len(uses) > 0; uses = u.take() {
			if err := tell(ctx, nc, uses); err != nil {
				u.link.cfg.Log.Debug("use of keys not told yet", "node", u.link.cfg.Node, "error", err)
				u.used(uses...)
				pause = useAgain
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func tell(ctx context.Context, nc *nats.Conn, uses []*decide.KeyUse) error {
	list := make([]node.KeyUse, len(uses))
	for i, use := range uses {
		list[i] = node.KeyUse{OrganizationID: use.OrganizationID, KeyID: use.KeyID, AgeMillis: max(0, time.Since(use.At()).Milliseconds())}
	}
	body, err := json.Marshal(list)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, usePatience)
	defer cancel()
	_, err = nc.RequestWithContext(ctx, node.KeyUseSubject, body)
	return err
}
