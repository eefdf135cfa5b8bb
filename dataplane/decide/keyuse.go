package decide

import (
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// useEvery is how often a key that is in use is noted.
const useEvery = 30 * time.Second

// KeyUse is when a gateway key was used last. It outlives a configuration.
type KeyUse struct {
	OrganizationID, KeyID uuid.UUID
	noted                 atomic.Int64 // Unix seconds; 0: never here
}

// Note notes that the key is used, and reports whether that is worth telling: the last
// time was half a minute ago or longer.
func (u *KeyUse) Note(now time.Time) bool {
	last, at := u.noted.Load(), now.Unix()
	return at-last >= int64(useEvery/time.Second) && u.noted.CompareAndSwap(last, at)
}

// At is the last use that was noted.
func (u *KeyUse) At() time.Time { return time.Unix(u.noted.Load(), 0) }

// uses returns the record of each of an organization's keys, and forgets those of keys
// that are gone.
func (b *Board) uses(organization uuid.UUID, keys []node.Key) map[uuid.UUID]*KeyUse {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, after := b.keyUses[organization], make(map[uuid.UUID]*KeyUse, len(keys))
	for i := range keys {
		id := keys[i].ID
		use := before[id]
		if use == nil {
			use = &KeyUse{OrganizationID: organization, KeyID: id}
		}
		after[id] = use
	}
	b.keyUses[organization] = after
	return after
}
