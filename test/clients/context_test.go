package clients

import (
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
)

// Claude Code's /context asks for 25 counts of tokens at once. Its own vendor counts them,
// another vendor is not asked at all, and nobody is asked for a message.
func TestClaudeCodeShowsItsContext(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	native := way{first: claudeModel}.open(e, claudeRoute+"-native")
	other := way{first: gptModel}.open(e, claudeRoute+"-other")
	e.Live()
	for _, o := range []*opened{native, other} {
		got := claude(t, e, e.APIKey, "").askClaude(t, "--model", o.route, "/context")
		if got.IsError || !strings.Contains(got.Result, "Context Usage") || !strings.Contains(got.Result, "| System tools |") {
			t.Errorf("%s: %q; %s", o.route, got.Result, got.outcome)
		}
	}
	counts := 0
	for _, r := range e.Provider.Calls() {
		if counts++; r.Path != messagesPath+"/count_tokens" || r.Model != native.first.model || r.Status != 200 || len(r.Problems) > 0 {
			t.Errorf("%s was asked at %s: %d, %q", r.Model, r.Path, r.Status, r.Problems)
		}
	}
	if counts < 10 {
		t.Errorf("the vendor counted %d times", counts)
	}
	if logs := e.Logs(); strings.Contains(logs, "tokens are estimated") {
		t.Error("a count of the vendor's failed")
	}
}
