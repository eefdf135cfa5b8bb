package store_test

import (
	"testing"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// TestPricesInLine: of two writers the one whose turn comes later has the price in force,
// although its transaction began first.
func TestPricesInLine(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	admin := db.Admin(t)
	super := storetest.Connect(t, db.SuperuserURL)
	first, err := super.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback(t.Context())
	if _, err := first.Exec(t.Context(), `SELECT FROM org_config FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		_, err := db.Store.Prices().Create(t.Context(), admin, newPrice("m", "2"))
		second <- err
	}()
	watch := storetest.Connect(t, db.SuperuserURL)
	for waiting := 0; waiting == 0; { // for the lock, its transaction begun
		waiting = query[int](t, watch, `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)[0]
	}
	_, err = first.Exec(t.Context(), `
		INSERT INTO model_pricing (org_id, id, model_pattern, model_provider, input_cost, output_cost, sync_mode, effective_from, is_archived, change_source)
		VALUES ($1, gen_random_uuid(), 'm', '', 1, 1, 'pinned', clock_timestamp(), false, 'admin_create')`, admin.OrganizationID)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	versions, err := db.Store.Prices().History(t.Context(), admin, tenant.PriceRule{Pattern: "m"})
	if err != nil || len(versions) != 2 || versions[0].Input != "2" {
		t.Errorf("the newest of %d is %+v, %v", len(versions), versions, err)
	}
}
