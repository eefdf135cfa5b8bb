package clients

import (
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// Claude Code has Anthropic search the web for it. A target that cannot is not asked, and
// the model learns why.
func TestClaudeCodeCannotSearchTheWebInChat(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	o := way{first: gptModel}.open(e, claudeRoute+"-search", provider.Behavior{Tool: call(t, "WebSearch", map[string]any{"query": "spillway"})}, provider.Behavior{})
	e.Live()
	claude(t, e, e.APIKey, "").askClaude(t, "--model", o.route, "--allowedTools", "WebSearch,ToolSearch", "--", "Search it.").answered(t, o.first.model)
	if asked := o.asked(t, e, 2); !strings.Contains(string(asked[1].Body), "the target has no tool") {
		t.Errorf("the model is not told: %s", asked[1].Body)
	}
}
