package store_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func pending(t *testing.T, db *storetest.Database) map[uuid.UUID]store.Publication {
	t.Helper()
	list, err := db.Store.PendingPublications(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[uuid.UUID]store.Publication{}
	for _, p := range list {
		out[p.OrganizationID] = p
	}
	return out
}

func TestPublications(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	a, b := db.Admin(t), db.Admin(t)
	mark := func(p tenant.Principal, epoch, version int64) {
		t.Helper()
		if err := db.Store.MarkPublished(t.Context(), p.OrganizationID, epoch, version); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want ...store.Publication) {
		t.Helper()
		index := map[uuid.UUID]store.Publication{}
		for _, p := range want {
			index[p.OrganizationID] = p
		}
		if diff := cmp.Diff(index, pending(t, db)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	at := func(p tenant.Principal, version int64) store.Publication {
		return store.Publication{OrganizationID: p.OrganizationID, Epoch: 1, Version: version}
	}
	check("new organizations", at(a, 1), at(b, 1))
	mark(a, 1, 1)
	check("one published", at(b, 1))
	if _, err := db.Store.Providers().Create(t.Context(), a, newProvider("P")); err != nil {
		t.Fatal(err)
	}
	check("one changed", at(a, 2), at(b, 1))
	mark(a, 2, 9)
	check("a mark of another epoch says nothing", at(a, 2), at(b, 1))
	mark(a, 1, 2)
	mark(a, 1, 1)
	check("a mark never goes backwards", at(b, 1))
	all, err := db.Store.AllPublications(t.Context())
	if err != nil || len(all) != 2 {
		t.Errorf("got %v, %v", all, err)
	}
}

// TestVersionsAreTheOrderOfCommits writes from sixteen sides while a poller reads.
// Versions come without a gap or a duplicate, and the poller sees each as of its own
// snapshot: the number of providers is the number of versions.
func TestVersionsAreTheOrderOfCommits(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	admin := db.Admin(t)
	const writers, each = 16, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := db.Store.Providers().Create(t.Context(), admin, newProvider(fmt.Sprintf("P %d %d", w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for finished := false; !finished; {
		select {
		case <-done:
			finished = true
		default:
		}
		s, err := db.Store.Snapshot(t.Context(), admin.OrganizationID)
		if err != nil {
			t.Fatal(err)
		}
		if got := int64(len(s.Providers)); got != s.Version-1 {
			t.Errorf("version %d has %d providers: it was read at two moments", s.Version, got)
		}
	}
	got := query[int64](t, storetest.Connect(t, db.SuperuserURL), `SELECT version FROM audit_events
		WHERE org_id = $1 AND operation = 'createProvider' ORDER BY version`, admin.OrganizationID)
	var want []int64
	for v := range int64(writers * each) {
		want = append(want, v+2)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

// TestRefusedWriteKeepsTheVersion: a version that nothing changed in would be
// published for nothing.
func TestRefusedWriteKeepsTheVersion(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	admin := db.Admin(t)
	if _, err := db.Store.Providers().Create(t.Context(), admin, newProvider("")); err == nil {
		t.Fatal("not refused")
	}
	if got := pending(t, db)[admin.OrganizationID].Version; got != 1 {
		t.Errorf("got version %d, want 1", got)
	}
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	admin := db.Admin(t)
	ctx := t.Context()
	in := newProvider("P", "gpt-5")
	in.Settings = json.RawMessage(`{"organization":"o"}`)
	in.Timeouts.RequestSecs = tenant.Change[int]{Set: true, Value: ptr(30)}
	p, err := db.Store.Providers().Create(ctx, admin, in)
	if err != nil {
		t.Fatal(err)
	}
	m, err := db.Store.Mappings().Create(ctx, admin, p.ID, tenant.MappingPatch{Alias: ptr("smart"), UpstreamModel: ptr("gpt-5"),
		Priority: ptr(2), RetryOn429Count: ptr(3), RetryOn429MaxWaitSecs: ptr(4), Enabled: ptr(false),
		EmbeddingsFailover: ptr(node.EmbeddingsAnyModel)})
	if err != nil {
		t.Fatal(err)
	}
	user := uuid.New()
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	k, secret, err := db.Store.APIKeys().Create(ctx, admin, tenant.KeyCreate{Name: "dana", UserID: &user, ExpiresAt: &expires})
	if err != nil {
		t.Fatal(err)
	}
	s, err := db.Store.Snapshot(ctx, admin.OrganizationID)
	if err != nil {
		t.Fatal(err)
	}
	seal := s.Providers[0].Credential
	if seal == nil || seal.KeyID != node.SealKeyID(db.SealKey.PublicKey()) {
		t.Fatalf("got seal %+v", seal)
	}
	want := &node.Snapshot{Format: node.Format, OrganizationID: admin.OrganizationID, Epoch: 1, Version: 4,
		Providers: []node.Provider{{ID: p.ID, Name: "P", Family: "openai", BaseURL: "https://api.openai.com/v1", AuthType: "bearer_api_key",
			Settings: json.RawMessage(`{"organization": "o"}`), Enabled: true, Serving: true, RequestTimeoutSecs: ptr(30), Credential: seal}},
		Mappings: []node.Mapping{s.Mappings[0], {ID: m.ID, ProviderID: p.ID, Alias: "smart", UpstreamModel: "gpt-5", BareAlias: true, Priority: 2,
			CreatedAt: m.CreatedAt.UTC(), RetryOn429Count: 3, RetryOn429MaxWaitSecs: 4, EmbeddingsFailover: node.EmbeddingsAnyModel}},
		Keys: []node.Key{{ID: k.ID, Hash: node.HashKey(secret.Reveal()), Name: "dana", Kind: "user", UserID: &user, ExpiresAt: &expires}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if first := s.Mappings[0]; first.Alias != "gpt-5" || first.BareAlias || !first.Enabled {
		t.Errorf("the enablement: %+v", first)
	}
	again, err := db.Store.Snapshot(ctx, admin.OrganizationID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, again); diff != "" {
		t.Errorf("equal content is equal snapshots:\n%s", diff)
	}
}

// TestSnapshotCooldownOfOlderRows: a row written without a policy has the one that a
// node takes where it is sent none.
func TestSnapshotCooldownOfOlderRows(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	admin := db.Admin(t)
	p, err := db.Store.Providers().Create(t.Context(), admin, newProvider("P"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.Connect(t, db.SuperuserURL).Exec(t.Context(), `INSERT INTO model_mappings
		(org_id, id, provider_id, model_alias, upstream_model, enabled, priority, retry_on_429_count, retry_on_429_max_wait_secs, bare_alias, source)
		VALUES ($1, $2, $3, 'm', 'm', true, 0, 0, 0, false, 'catalog')`, admin.OrganizationID, uuid.New(), p.ID); err != nil {
		t.Fatal(err)
	}
	s, err := db.Store.Snapshot(t.Context(), admin.OrganizationID)
	if err != nil || len(s.Mappings) != 1 {
		t.Fatalf("got %+v, %v", s, err)
	}
	if got := s.Mappings[0].Cooldown; got != nil {
		t.Errorf("got %+v, want the default", *got)
	}
}

func TestSnapshotServing(t *testing.T) {
	t.Parallel()
	db := storetest.Shared(t)
	admin := db.Admin(t)
	p, err := db.Store.Providers().Create(t.Context(), admin, newProvider("P"))
	if err != nil {
		t.Fatal(err)
	}
	super := storetest.Connect(t, db.SuperuserURL)
	for _, c := range []struct {
		status   string
		enforced bool
		want     bool
	}{{"unverified", true, true}, {"healthy", true, true}, {"unhealthy", true, false}, {"unhealthy", false, true}} {
		if _, err := super.Exec(t.Context(), `UPDATE providers SET health_status = $1, enforce_health_check = $2, health_detail = 'x', health_checked_at = now()
			WHERE org_id = $3`, c.status, c.enforced, admin.OrganizationID); err != nil {
			t.Fatal(err)
		}
		s, err := db.Store.Snapshot(t.Context(), admin.OrganizationID)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Providers[0].Serving; got != c.want {
			t.Errorf("%s, enforced %t: got serving %t, want %t", c.status, c.enforced, got, c.want)
		}
	}
	// What was found out with the old key says nothing of the new one.
	p, _, err = db.Store.Providers().Update(t.Context(), admin, p.ID, tenant.ProviderPatch{Name: ptr("Q")})
	if err != nil || p.Health.Status != "unhealthy" {
		t.Errorf("another name keeps the health: got %+v, %v", p.Health, err)
	}
	p, _, err = db.Store.Providers().Update(t.Context(), admin, p.ID, tenant.ProviderPatch{APIKey: ptr(tenant.NewSecret("sk-new"))})
	if err != nil || p.Health != (tenant.Health{Status: "unverified"}) {
		t.Errorf("another key forgets the health: got %+v, %v", p.Health, err)
	}
}
