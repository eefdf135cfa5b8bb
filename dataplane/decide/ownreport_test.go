package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

var dana, sam = uuid.UUID{0xd}, uuid.UUID{0x5}

// seats is an organization whose route "m" is asked with callers' own credentials.
func seats(t *testing.T, b *Board) *Org {
	t.Helper()
	cooldown := node.DefaultCooldown()
	cooldown.FailureThreshold = 0 // speaks of everyone only
	org, err := Compile(&node.Snapshot{OrganizationID: uuid.UUID{1}, Version: 1,
		Providers: []node.Provider{{ID: uuid.UUID{2}, Name: "P", Family: "anthropic", BaseURL: "https://llm.example", AuthType: "claude_oauth", Enabled: true, Serving: true}},
		Mappings:  []node.Mapping{{ID: uuid.UUID{3}, Alias: "m", UpstreamModel: "m", ProviderID: uuid.UUID{2}, Enabled: true, Cooldown: &cooldown}},
	}, b)
	if err != nil {
		t.Fatal(err)
	}
	return org
}

// shown is what a person is told, as "<state> <reason>", or "" for nothing.
func shown(t *testing.T, b *Board, org *Org, user uuid.UUID, secs float64) string {
	t.Helper()
	list := b.OwnReport(org, user, at(secs))
	if len(list) == 0 {
		return ""
	}
	if len(list) != 1 || len(list[0].Policies) != 1 || list[0].Policies[0].Policy.FailureThreshold != 0 || list[0].UpstreamModel != "m" {
		t.Fatalf("got %+v", list)
	}
	if diff := cmp.Diff(list[0].Judgement, list[0].Policies[0].Judgement); diff != "" {
		t.Errorf("the record and its one policy differ:\n%s", diff)
	}
	return list[0].State + " " + list[0].Reason
}

// A person is told of the credentials that came with keys of theirs, on the node that saw
// what happened and on those that heard of it, and nobody else is.
func TestOwnReportIsOfThePersonsCredentials(t *testing.T) {
	t.Parallel()
	here, there := NewBoard(), NewBoard()
	org, elsewhere := seats(t, here), seats(t, there)
	o, target := NewOutbox("n", uuid.New), org.Resolve("p/m").Targets[0]
	fail := func(hash string, user uuid.UUID, status int, secs float64) {
		a := target.Health.Admit(at(secs), 0)
		o.Observe(target, &a, verdict(status), Own{Vendor: Claude, Hash: hash, User: user}, at(secs))
	}
	fail("of-dana", dana, 429, 0)
	fail("of-a-machine", uuid.Nil, 401, 0)
	fail("of-dana", dana, 503, 0) // concerns everyone, and says nothing of hers
	for _, e := range o.Due(at(1)) {
		if e.Kind == node.HealthFailure && e.UserID != nil {
			t.Errorf("what concerns everyone names a person: %+v", e)
		}
		key := HealthKey{e.OrganizationID, e.ProviderID, e.UpstreamModel, e.Credential}
		if e.Credential != "" {
			there.Credential(key, at(1)).Fold(HappenedAt(&e.HealthEvent, at(1)))
		}
	}
	for name, c := range map[string]struct {
		board *Board
		org   *Org
	}{"here": {here, org}, "elsewhere": {there, elsewhere}} {
		for secs, want := range map[float64]string{1: "ejected rate_limited", 32: "half_open rate_limited"} {
			if got := shown(t, c.board, c.org, dana, secs); got != want {
				t.Errorf("%s, after %v s: got %q, want %q", name, secs, got, want)
			}
		}
		if got := shown(t, c.board, c.org, sam, 1); got != "" {
			t.Errorf("%s: another person is told %q", name, got)
		}
	}
	// Of one who belongs to two organizations, what happened in the other is not told.
	other := *org
	other.ID, other.views = uuid.UUID{9}, map[*Cell][]*View{here.Cell(HealthKey{uuid.UUID{9}, uuid.UUID{2}, "m", ""}): {target.Health}}
	if got := here.OwnReport(&other, dana, at(1)); len(got) != 0 {
		t.Errorf("another organization is told %+v", got)
	}
	// A token that was renewed is never used again, so that it never recovers either.
	if got := shown(t, here, org, dana, 31+staleAfter.Seconds()); got != "" {
		t.Errorf("long after: got %q", got)
	}
	// Where the log is lost the person stays known to nodes that join.
	joined := NewBoard()
	org = seats(t, joined)
	for _, e := range there.Retell(at(2)) {
		joined.Credential(HealthKey{e.OrganizationID, e.ProviderID, e.UpstreamModel, e.Credential}, at(2)).Fold(HappenedAt(&e.HealthEvent, at(2)))
	}
	if got := shown(t, joined, org, dana, 3); got != "ejected rate_limited" {
		t.Errorf("after the log was lost: got %q", got)
	}
}

// Of several credentials the worst is told, and people who share one are all told.
func TestOwnReportOfSharedAndSeveralCredentials(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	org := seats(t, b)
	o, target := NewOutbox("n", uuid.New), org.Resolve("p/m").Targets[0]
	for i, c := range []struct {
		hash   string
		user   uuid.UUID
		status int
	}{{"shared", dana, 429}, {"shared", sam, 429}, {"second", dana, 401}} {
		a := target.Health.Admit(at(0), 0)
		o.Observe(target, &a, verdict(c.status), Own{Vendor: Claude, Hash: c.hash, User: c.user}, at(float64(i)/100))
	}
	if got, due := shown(t, b, org, sam, 1), o.Due(at(1)); got != "ejected rate_limited" || len(due) != 3 {
		t.Errorf("who shares it is told %q, by %d events", got, len(due))
	}
	if got := shown(t, b, org, dana, 1); got != "ejected auth_failed" {
		t.Errorf("of two: got %q", got)
	}
	cell := target.OwnCell("shared", at(1))
	for i := range byte(2 * maxUsers) {
		cell.belongsTo(uuid.UUID{1, i})
	}
	if len(cell.users) != maxUsers {
		t.Errorf("%d people are remembered", len(cell.users))
	}
}
