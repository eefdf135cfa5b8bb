package rest_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

// finds sets what a node finds.
func (f *fleet) finds(outcome node.ProbeOutcome, detail string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probe = node.ProbeReport{Node: "n1", Outcome: outcome, Detail: detail}
}

// What a check finds is kept as the provider's health, and moves neither its revision nor,
// unless it begins or ends to serve by it, the version that nodes have.
func TestProbeProvider(t *testing.T) {
	t.Parallel()
	nodes := new(fleet)
	a := setupFleet(t, storetest.Shared(t), nodes)
	id := a.provider(t, "P", "m")
	path := providersPath + "/" + id
	etag := a.call(t, "GET", path, nil).header.Get("ETag")
	version := func() int64 {
		p, err := a.db.Store.Position(t.Context(), a.org)
		if err != nil {
			t.Fatal(err)
		}
		return p.Version
	}
	serving := func() bool {
		s, err := a.db.Store.Snapshot(t.Context(), a.org)
		if err != nil {
			t.Fatal(err)
		}
		return s.Providers[0].Serving
	}
	const refused, away = "the provider refused the credential (401)", "the connection to the provider could not be made"
	for i, step := range []struct {
		outcome node.ProbeOutcome
		detail  string
		status  string
		serving bool
		raised  bool
	}{
		{node.ProbeInconclusive, "answered 404", "unverified", true, false},
		{node.ProbeUnsupported, "cannot", "unverified", true, false},
		{node.ProbeOK, "", "healthy", true, false},
		{node.ProbeUnreachable, away, "healthy", true, false},
		{node.ProbeUnreachable, away, "healthy", true, false},
		{node.ProbeUnreachable, away, "unhealthy", false, true}, // the third in a row
		{node.ProbeUnreachable, away, "unhealthy", false, false},
		{node.ProbeInconclusive, "answered 500", "unverified", true, true}, // it is reachable again
		{node.ProbeUnreachable, away, "unverified", true, false},
		{node.ProbeRejected, refused, "unhealthy", false, true}, // at once
		{node.ProbeInconclusive, "answered 429", "unhealthy", false, false},
		{node.ProbeUnreachable, away, "unhealthy", false, false},
		{node.ProbeOK, "", "healthy", true, true},
		{node.ProbeUnreachable, away, "healthy", true, false},
		{node.ProbeOK, "", "healthy", true, false},
		{node.ProbeUnreachable, away, "healthy", true, false}, // the count began anew
		{node.ProbeUnreachable, away, "healthy", true, false},
	} {
		nodes.finds(step.outcome, step.detail)
		before := version()
		r := a.call(t, "POST", path+"/probe", nil).want(t, 200)
		want := fields{"provider_id": id, "node": "n1", "outcome": string(step.outcome), "detail": step.detail, "health_status": step.status,
			"health_checked_at": r.field(t, "health_checked_at")}
		if diff := cmp.Diff(want, r.object(t)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		read := a.call(t, "GET", path, nil).want(t, 200)
		got := read.object(t)
		detail, _ := got["health_detail"].(string)
		if got["health_status"] != step.status || detail != step.detail || got["health_checked_at"] != want["health_checked_at"] {
			t.Errorf("step %d: read %s", i, read.body)
		}
		if read.header.Get("ETag") != etag || got["last_modified_at"] != nil {
			t.Errorf("step %d: the check counts as a change", i)
		}
		if serving() != step.serving || (version() > before) != step.raised {
			t.Errorf("step %d: serving %v, version raised %v", i, serving(), version() > before)
		}
	}
	nodes.finds(node.ProbeRejected, refused)
	a.call(t, "POST", path+"/probe", nil).want(t, 200)
	a.call(t, "PUT", path, fields{"enforce_health_check": false}).want(t, 200)
	if !serving() {
		t.Error("a provider that is not held to its health does not serve")
	}
	a.call(t, "PUT", path, fields{"enforce_health_check": true}).want(t, 200)
	// A new credential is a new connection.
	rotated := a.call(t, "PUT", path, fields{"api_key": "sk-new"}).want(t, 200).object(t)
	if _, checked := rotated["health_checked_at"]; checked || rotated["health_status"] != "unverified" || !serving() {
		t.Errorf("after a rotation: %v", rotated)
	}
	for _, e := range a.call(t, "GET", auditPath, nil).want(t, 200).list(t) {
		for _, c := range e["changes"].([]any) {
			if before, _ := c.(map[string]any)["before"].(map[string]any); before["probe_due_at"] != nil || before["health_status"] != nil {
				t.Errorf("a check is in the audit trail: %v", c)
			}
		}
	}
}

func TestProbeProviderRefusals(t *testing.T) {
	t.Parallel()
	nodes := new(fleet)
	a := setupFleet(t, storetest.Shared(t), nodes)
	path := providersPath + "/" + a.provider(t, "P", "m")
	stranger := uuid.NewString()
	a.call(t, "POST", providersPath+"/"+stranger+"/probe", nil).wantError(t, 404, "not_found_error", "provider {id: "+stranger+"} not found")
	plan := a.call(t, "POST", providersPath, fields{"name": "Plan", "model_provider": "anthropic", "base_url": "https://api.anthropic.com", "auth_type": "claude_oauth"})
	a.call(t, "POST", providersPath+"/"+plan.want(t, 200).id(t)+"/probe", nil).wantError(t, 400, "invalid_request_error",
		"a provider that passes on the caller's own token is never checked: the gateway has no credential to check it with")
	const away = "the data plane cannot be reached just now"
	nodes.finds(node.ProbeBehind, "")
	a.call(t, "POST", path+"/probe", nil).wantError(t, 503, "internal_error", away)
	nodes.mu.Lock()
	nodes.err = errors.New("no responders")
	nodes.mu.Unlock()
	a.call(t, "POST", path+"/probe", nil).wantError(t, 503, "internal_error", away)
	setup(t).call(t, "POST", providersPath+"/"+stranger+"/probe", nil).want(t, 404)
}

// A check of a connection that was changed while it was made says nothing of the new one.
func TestStaleProbe(t *testing.T) {
	t.Parallel()
	nodes := new(fleet)
	a := setupFleet(t, storetest.Shared(t), nodes)
	path := providersPath + "/" + a.provider(t, "P", "m")
	a.call(t, "PUT", path, fields{"api_key": "sk-new"}).want(t, 200)
	nodes.mu.Lock()
	nodes.probe = node.ProbeReport{Node: "n1", Version: 2, Outcome: node.ProbeRejected, Detail: "refused"}
	nodes.mu.Unlock()
	a.call(t, "POST", path+"/probe", nil).want(t, 503)
	if got := a.call(t, "GET", path, nil).field(t, "health_status"); got != "unverified" {
		t.Errorf("health_status %v", got)
	}
}
