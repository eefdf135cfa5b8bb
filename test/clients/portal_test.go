package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// What the portal has people copy for Claude Code and for Codex, pasted as it says: the exports
// into a shell, the settings of Codex into its file.
func TestWhatThePortalHasOnePaste(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	asks := map[string]*opened{
		"Claude Code": way{first: claudeModel}.open(e, claudeRoute, provider.Behavior{}),
		"Codex":       way{first: thinkingGPT}.open(e, codexRoute, provider.Behavior{}),
	}
	e.Live()
	texts := copied(t, e, []pasting{{"Claude Code", claudeRoute}, {"Codex", codexRoute}})

	t.Run("ClaudeCode", func(t *testing.T) {
		c := newTool(t, "claude", strings.Join(texts["Claude Code"], "\n"))
		c.env = append(c.env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
		if out := c.askClaude(t, "Hello"); out.IsError || !answers(out.Result, asks["Claude Code"]) {
			t.Fatalf("claude said %q: %s", out.Result, out)
		}
		asks["Claude Code"].asked(t, e, 1)
	})
	t.Run("Codex", func(t *testing.T) {
		if n := len(texts["Codex"]); n != 2 {
			t.Fatalf("%d texts to paste, want the settings and the shell's", n)
		}
		c := newTool(t, "codex", texts["Codex"][1])
		write(t, filepath.Join(c.home, ".codex/config.toml"), texts["Codex"][0])
		if out := c.askCodex(t, "Hello"); len(out.errors) > 0 || !answers(strings.Join(out.messages, ""), asks["Codex"]) {
			t.Fatalf("codex said %q: %s", out.messages, out)
		}
		asks["Codex"].asked(t, e, 1)
	})
}

// answers reports whether a tool shows what the first target of a route says.
func answers(words string, o *opened) bool {
	return strings.Contains(words, "Hello from "+o.first.model)
}

// pasting is a tool, by its title in the portal, and the model to use it with.
type pasting struct {
	Tool  string `json:"tool"`
	Model string `json:"model"`
}

// copied makes a key in the portal and returns what its buttons put into the clipboard for each tool.
func copied(t *testing.T, e *env.Env, wanted []pasting) (texts map[string][]string) {
	t.Helper()
	ask, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copied.json")
	if out, err := e.Browse(t, "copy.config.ts", "SPILLWAY_COPY="+string(ask), "SPILLWAY_COPIED="+file); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &texts); err != nil {
		t.Fatal(err)
	}
	return texts
}
