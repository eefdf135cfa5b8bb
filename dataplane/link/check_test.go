package link

import (
	"context"
	"crypto/ed25519"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// checking is a link whose checks all find the same.
func checking(t *testing.T, ns *server.Server) *Link {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{Node: "node-1", InProcess: ns, SigningKey: public, Probe: func(_ context.Context, p *decide.Provider) (node.ProbeOutcome, string) {
		return node.ProbeRejected, p.Name
	}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var checked = uuid.UUID{7}

// serve makes a version of the organization the running one.
func (l *Link) serve(t *testing.T, version int64) {
	t.Helper()
	org, err := decide.Compile(&node.Snapshot{OrganizationID: checked, Version: version,
		Providers: []node.Provider{{ID: checked, Name: "P", Family: "openai", BaseURL: "https://llm.example/v1", AuthType: "bearer_api_key"}}}, l.board)
	if err != nil {
		t.Fatal(err)
	}
	l.table.Store(l.table.Load().With(org))
	l.swapped.broadcast()
}

// What is not stored is checked as it comes, with nothing to wait for, and what no node
// would take is said to be so.
func TestCheckOfWhatIsNotStored(t *testing.T) {
	t.Parallel()
	l := checking(t, bus(t))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ask := node.ProbeAsk{OrganizationID: checked, Provider: &node.Provider{ID: checked, Name: "Q", Family: "openai", BaseURL: "https://llm.example/v1"}}
	want := node.ProbeReport{Node: "node-1", Outcome: node.ProbeRejected, Detail: "Q"}
	if diff := cmp.Diff(want, l.check(gone, ask)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ask.Provider.BaseURL = "llm.example"
	if got := l.check(gone, ask); got.Outcome != node.ProbeUnsupported || got.Detail == "" {
		t.Errorf("got %+v", got)
	}
	if l.Table().Org(checked) != nil {
		t.Error("it became a part of the configuration")
	}
}

// A check is made with the configuration that was asked for or a later one, and a node
// that does not have it says so instead of checking what was before.
func TestCheckWaitsForItsConfiguration(t *testing.T) {
	t.Parallel()
	l := checking(t, bus(t))
	ask := node.ProbeAsk{OrganizationID: checked, ProviderID: checked, Version: 5}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	behind := node.ProbeReport{Node: "node-1", Outcome: node.ProbeBehind}
	if diff := cmp.Diff(behind, l.check(gone, ask)); diff != "" {
		t.Errorf("without the organization (-want +got):\n%s", diff)
	}
	l.serve(t, 4)
	if diff := cmp.Diff(behind, l.check(gone, ask)); diff != "" {
		t.Errorf("with an older version (-want +got):\n%s", diff)
	}
	found := make(chan node.ProbeReport)
	go func() { found <- l.check(t.Context(), ask) }()
	l.serve(t, 6)
	if diff := cmp.Diff(node.ProbeReport{Node: "node-1", Version: 6, Outcome: node.ProbeRejected, Detail: "P"}, <-found); diff != "" {
		t.Errorf("with a later version (-want +got):\n%s", diff)
	}
	ask.ProviderID = uuid.New()
	if got := l.check(t.Context(), ask); got.Outcome != node.ProbeBehind {
		t.Errorf("of a provider that is not there: %+v", got)
	}
}
