package decide

import (
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// Table is every organization a node serves. It is immutable: With returns a new
// table that shares all but what changed, so that swapping one organization in
// costs the same with one organization as with ten thousand.
type Table struct {
	orgs cowMap[uuid.UUID, *Org]
	keys cowMap[node.Hash, owner]
}

type owner struct {
	org *Org
	key *Key
}

// Org returns an organization's configuration, or nil.
func (t *Table) Org(id uuid.UUID) *Org { return t.orgs.get(id) }

// All returns every organization, in no order.
func (t *Table) All() iter.Seq[*Org] {
	return func(yield func(*Org) bool) {
		if t.orgs.shards == nil {
			return
		}
		for _, shard := range t.orgs.shards {
			for _, org := range shard {
				if !yield(org) {
					return
				}
			}
		}
	}
}

// With returns the table with org in place of its former version.
func (t *Table) With(org *Org) *Table {
	next := &Table{orgs: t.orgs.edit(), keys: t.keys.edit()}
	if old := t.orgs.get(org.ID); old != nil {
		for hash := range old.keys {
			if _, stays := org.keys[hash]; !stays {
				next.keys.delete(hash)
			}
		}
	}
	next.orgs.set(org.ID, org)
	for hash, key := range org.keys {
		next.keys.set(hash, owner{org, key})
	}
	next.orgs.own, next.keys.own = nil, nil
	return next
}

// Lookup finds the caller by the hash of a gateway key. It says nothing of why a
// key is refused, since only its owner may know.
func (t *Table) Lookup(hash node.Hash, now time.Time) (Caller, bool) {
	o := t.keys.get(hash)
	if o.key == nil || o.key.Disabled || !o.key.ExpiresAt.IsZero() && !now.Before(o.key.ExpiresAt) {
		return Caller{}, false
	}
	return Caller{o.org, o.key}, true
}

const cowShards = 1024

// cowMap is a map in shards, copied on write: an edit copies only the shards it
// touches. Keys must be random in their last two bytes (ids of version 4 or 7, hashes).
type cowMap[K ~[16]byte | ~[32]byte, V any] struct {
	shards *[cowShards]map[K]V
	own    map[int]bool // shards copied by this edit
}

func shardOf[K ~[16]byte | ~[32]byte](k K) int {
	return (int(k[len(k)-1])<<8 | int(k[len(k)-2])) % cowShards
}

func (m *cowMap[K, V]) get(k K) V {
	if m.shards == nil {
		var none V
		return none
	}
	return m.shards[shardOf(k)][k]
}

func (m *cowMap[K, V]) edit() cowMap[K, V] {
	next := cowMap[K, V]{shards: new([cowShards]map[K]V), own: map[int]bool{}}
	if m.shards != nil {
		*next.shards = *m.shards
	}
	return next
}

// writable returns the shard of k, copied once per edit.
func (m *cowMap[K, V]) writable(k K) map[K]V {
	i := shardOf(k)
	if !m.own[i] {
		shard := make(map[K]V, len(m.shards[i])+1)
		for key, v := range m.shards[i] {
			shard[key] = v
		}
		m.shards[i], m.own[i] = shard, true
	}
	return m.shards[i]
}

func (m *cowMap[K, V]) set(k K, v V) {
	m.writable(k)[k] = v
}

func (m *cowMap[K, V]) delete(k K) {
	delete(m.writable(k), k)
}
