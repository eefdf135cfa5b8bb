package bus_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/bus"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func TestWatch(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	b, nc := startOver(t, db)
	admin := db.Admin(t)
	org := admin.OrganizationID
	changed, take, stop := b.Watch(org)
	defer stop()
	otherChanged, otherTake, stopOther := b.Watch(uuid.New())
	defer stopOther()
	hears := func(topic string) {
		t.Helper()
		patience := time.After(20 * time.Second)
		for {
			select {
			case <-changed:
				if slices.Contains(take(), topic) {
					return
				}
			case <-patience:
				t.Fatalf("nothing of %s", topic)
			}
		}
	}
	if err := nc.Publish(node.HealthSubject(org), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	hears("health")
	ack, err := json.Marshal([]node.Ack{{Node: "node-1", OrganizationID: org, Version: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish(node.AckSubject("node-1"), ack); err != nil {
		t.Fatal(err)
	}
	hears("nodes")
	select {
	case <-otherChanged: // the bus begins to listen to the database, and says so to everybody once
		if got := otherTake(); !slices.Equal(got, []string{"config"}) {
			t.Errorf("another organization hears %v", got)
		}
	default:
	}
	required := true
	if _, err := db.Store.Governance().Update(t.Context(), admin, tenant.GovernancePatch{RequirePricing: &required}); err != nil {
		t.Fatal(err)
	}
	hears("config")
	stop()
	stop() // twice does no harm
}

// Whoever watches a bus that has stopped does not wait for ever.
func TestWatchEndsWithTheBus(t *testing.T) {
	t.Parallel()
	var b *bus.Bus
	var changed <-chan struct{}
	t.Run("Running", func(t *testing.T) {
		b, _ = start(t)
		changed, _, _ = b.Watch(uuid.New())
	})
	for range changed {
	}
	late, _, stop := b.Watch(uuid.New())
	for range late {
	}
	stop()
}

// A node's word on the use of keys is kept, the latest of several, and no change of a key.
func TestKeyUse(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	_, nc := startOver(t, db)
	admin := db.Admin(t)
	create := func(name string) tenant.APIKey {
		k, _, err := db.Store.APIKeys().Create(t.Context(), admin, tenant.KeyCreate{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	used, unused := create("used"), create("unused")
	tell := func(uses ...node.KeyUse) {
		t.Helper()
		body, err := json.Marshal(uses)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Request(node.KeyUseSubject, body, 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	at := func(id uuid.UUID) *time.Time {
		t.Helper()
		k, err := db.Store.APIKeys().Get(t.Context(), admin, id)
		if err != nil {
			t.Fatal(err)
		}
		if k.Revision != used.Revision && k.Revision != unused.Revision {
			t.Errorf("the use of a key changed it: revision %d", k.Revision)
		}
		return k.LastUsedAt
	}
	org := admin.OrganizationID
	tell(node.KeyUse{OrganizationID: org, KeyID: used.ID, AgeMillis: 60_000}, node.KeyUse{OrganizationID: org, KeyID: uuid.New()},
		node.KeyUse{OrganizationID: org, KeyID: used.ID, AgeMillis: 3_600_000}, node.KeyUse{OrganizationID: db.Admin(t).OrganizationID, KeyID: unused.ID})
	first := at(used.ID)
	if first == nil || time.Since(*first) < 50*time.Second || time.Since(*first) > 5*time.Minute {
		t.Fatalf("last used at %v", first)
	}
	tell(node.KeyUse{OrganizationID: org, KeyID: used.ID, AgeMillis: 3_600_000})
	if got := at(used.ID); !got.Equal(*first) {
		t.Errorf("an older use replaced a newer: %v", got)
	}
	tell(node.KeyUse{OrganizationID: org, KeyID: used.ID})
	if got := at(used.ID); !got.After(*first) {
		t.Errorf("a newer use is not kept: %v", got)
	}
	if got := at(unused.ID); got != nil {
		t.Errorf("a use that another organization's message told of is kept: %v", got)
	}
	if _, err := nc.Request(node.KeyUseSubject, []byte("{"), 10*time.Second); err != nil {
		t.Errorf("what cannot be read is told for ever: %v", err)
	}
}
