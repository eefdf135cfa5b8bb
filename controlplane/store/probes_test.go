package store_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// checked is a database with one provider, and what tests see of its next check.
type checked struct {
	db     *storetest.Database
	admin  tenant.Principal
	target store.ProbeTarget
}

func newChecked(t *testing.T, change ...func(*tenant.ProviderCreate)) checked {
	t.Helper()
	db := storetest.New(t)
	c := checked{db: db, admin: db.Admin(t)}
	in := newProvider("P", "m")
	for _, f := range change {
		f(&in)
	}
	p, err := db.Store.Providers().Create(t.Context(), c.admin, in)
	if err != nil {
		t.Fatal(err)
	}
	c.target = store.ProbeTarget{OrganizationID: c.admin.OrganizationID, ProviderID: p.ID}
	return c
}

func (c checked) due(t *testing.T) bool {
	t.Helper()
	list, err := c.db.Store.Probes().Due(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(list, c.target)
}

func (c checked) claim(t *testing.T) (node.ProbeAsk, bool) {
	t.Helper()
	ask, claimed, err := c.db.Store.Probes().Claim(t.Context(), c.target)
	if err != nil {
		t.Fatal(err)
	}
	return ask, claimed
}

// in is how long it is until the next check, as the database has it.
func (c checked) in(t *testing.T) time.Duration {
	t.Helper()
	secs := query[float64](t, storetest.Connect(t, c.db.SuperuserURL), `SELECT extract(epoch FROM probe_due_at - now())::float8 FROM providers`)
	return time.Duration(secs[0] * float64(time.Second))
}

func (c checked) later(t *testing.T, by string) {
	t.Helper()
	_, err := storetest.Connect(t, c.db.SuperuserURL).Exec(t.Context(), `UPDATE providers SET probe_due_at = probe_due_at - $1::interval`, by)
	if err != nil {
		t.Fatal(err)
	}
}

func (c checked) note(t *testing.T, r node.ProbeReport) tenant.Health {
	t.Helper()
	h, err := c.db.Store.Probes().Note(t.Context(), c.target, r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Of any number of control planes one makes a check, and when that one is gone another.
func TestProbeIsClaimedOnce(t *testing.T) {
	t.Parallel()
	c := newChecked(t)
	if !c.due(t) {
		t.Fatal("a new provider is not due")
	}
	var claims atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, claimed, err := c.db.Store.Probes().Claim(t.Context(), c.target); err != nil {
				t.Error(err)
			} else if claimed {
				claims.Add(1)
			}
		})
	}
	wg.Wait()
	if got := claims.Load(); got != 1 {
		t.Errorf("%d claims", got)
	}
	if c.due(t) {
		t.Error("a claimed check is due")
	}
	c.later(t, "1 minute") // whoever claimed it is gone
	ask, claimed := c.claim(t)
	if !claimed || ask.ProviderID != c.target.ProviderID || ask.OrganizationID != c.target.OrganizationID || ask.Version != 2 {
		t.Errorf("got %+v, %v", ask, claimed)
	}
	if err := c.db.Store.Probes().Release(t.Context(), c.target); err != nil {
		t.Fatal(err)
	}
	if got := c.in(t); got <= 0 || got > 10*time.Second {
		t.Errorf("a check that could not be made is due in %v", got)
	}
}

// When the next check is due, by what the last one found.
func TestProbeSchedule(t *testing.T) {
	t.Parallel()
	c := newChecked(t)
	between := func(name string, least, most time.Duration) {
		t.Helper()
		if got := c.in(t); got < least-5*time.Second || got > most {
			t.Errorf("%s: the next is due in %v, want %v to %v", name, got, least, most)
		}
	}
	away := node.ProbeReport{Version: 2, Outcome: node.ProbeUnreachable}
	c.note(t, node.ProbeReport{Version: 2, Outcome: node.ProbeOK})
	between("healthy", 270*time.Second, 5*time.Minute)
	c.note(t, away)
	between("unreachable once", 9*time.Second, 10*time.Second)
	c.note(t, away)
	between("unreachable twice", 9*time.Second, 10*time.Second)
	if h := c.note(t, away); h.Status != tenant.HealthUnhealthy {
		t.Errorf("after three: %+v", h)
	}
	between("unreachable", 54*time.Second, time.Minute)
	c.note(t, node.ProbeReport{Version: 2, Outcome: node.ProbeRejected})
	between("rejected", 270*time.Second, 5*time.Minute)
	key := tenant.NewSecret("sk-new")
	if _, _, err := c.db.Store.Providers().Update(t.Context(), c.admin, c.target.ProviderID, tenant.ProviderPatch{APIKey: &key}); err != nil {
		t.Fatal(err)
	}
	if !c.due(t) {
		t.Error("not due after a rotation")
	}
	if ask, _ := c.claim(t); ask.Version != 4 { // it was taken out of service before
		t.Errorf("asks for version %d, want that of the rotation", ask.Version)
	}
	// The check that was under way meanwhile had the old credential.
	if h := c.note(t, node.ProbeReport{Version: 2, Outcome: node.ProbeRejected}); h.Status != tenant.HealthUnverified {
		t.Errorf("a check of before the rotation counts: %+v", h)
	}
	name := "Q"
	if _, _, err := c.db.Store.Providers().Update(t.Context(), c.admin, c.target.ProviderID, tenant.ProviderPatch{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if c.due(t) {
		t.Error("another change makes it due")
	}
}

func TestProbeIsNotDue(t *testing.T) {
	t.Parallel()
	off, auth, base := false, tenant.AuthCodexOAuth, "https://chatgpt.com"
	for name, change := range map[string]func(*tenant.ProviderCreate){
		"Disabled":    func(p *tenant.ProviderCreate) { p.Enabled = &off },
		"Passthrough": func(p *tenant.ProviderCreate) { p.AuthType, p.APIKey, p.BaseURL = &auth, nil, &base },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if newChecked(t, change).due(t) {
				t.Error("due")
			}
		})
	}
	t.Run("Gone", func(t *testing.T) {
		t.Parallel()
		c := newChecked(t)
		if err := c.db.Store.Providers().Delete(t.Context(), c.admin, c.target.ProviderID); err != nil {
			t.Fatal(err)
		}
		if _, claimed := c.claim(t); claimed {
			t.Error("claimed")
		}
		c.note(t, node.ProbeReport{Version: 9, Outcome: node.ProbeRejected})
		c.target.ProviderID = uuid.New()
		c.note(t, node.ProbeReport{Version: 9, Outcome: node.ProbeRejected})
	})
}
