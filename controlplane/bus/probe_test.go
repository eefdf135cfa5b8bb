package bus_test

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// checks answers every check that is asked for, and tells which.
func checks(t *testing.T, nc *nats.Conn, outcome node.ProbeOutcome) <-chan node.ProbeAsk {
	t.Helper()
	asked := make(chan node.ProbeAsk, 16)
	_, err := nc.QueueSubscribe(node.AskProbeSubject, node.ProbeQueue, func(m *nats.Msg) {
		var ask node.ProbeAsk
		err := json.Unmarshal(m.Data, &ask)
		var answer []byte
		if err == nil {
			answer, err = json.Marshal(node.ProbeReport{Node: "n", Version: ask.Version, Outcome: outcome, Detail: "found"})
		}
		if err == nil {
			err = m.Respond(answer)
		}
		if err != nil {
			t.Error(err)
		}
		asked <- ask
	})
	if err != nil {
		t.Fatal(err)
	}
	flush(t, nc)
	return asked
}

// A new provider is checked by itself, and what was found is kept.
func TestProbesWhatIsDue(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	_, nc := startOver(t, db)
	asked := checks(t, nc, node.ProbeRejected)
	by := db.Admin(t)
	name, base, key := "P", "https://llm.example/v1", tenant.NewSecret("k")
	p, err := db.Store.Providers().Create(t.Context(), by, tenant.ProviderCreate{Family: "openai",
		ProviderPatch: tenant.ProviderPatch{Name: &name, BaseURL: &base, APIKey: &key}})
	if err != nil {
		t.Fatal(err)
	}
	if ask := <-asked; ask.ProviderID != p.ID || ask.OrganizationID != by.OrganizationID || ask.Version != 2 {
		t.Errorf("asked for %+v", ask)
	}
	for limit := time.Now().Add(30 * time.Second); p.Health.Status != tenant.HealthUnhealthy; runtime.Gosched() {
		if p, err = db.Store.Providers().Get(t.Context(), by, p.ID); err != nil || time.Now().After(limit) {
			t.Fatalf("the health is %+v, %v", p.Health, err)
		}
	}
	if p.Health.Detail != "found" || p.Health.CheckedAt == nil {
		t.Errorf("got %+v", p.Health)
	}
}

func TestProbeAsksANode(t *testing.T) {
	t.Parallel()
	b, nc := start(t)
	if _, err := b.Probe(t.Context(), node.ProbeAsk{}); err == nil {
		t.Error("no error where no node answers")
	}
	checks(t, nc, node.ProbeOK)
	report, err := b.Probe(t.Context(), node.ProbeAsk{Version: 3})
	if err != nil || report.Outcome != node.ProbeOK || report.Version != 3 || report.Node != "n" {
		t.Errorf("got %+v, %v", report, err)
	}
}
