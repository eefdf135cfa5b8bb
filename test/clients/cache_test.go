package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// turns of a session: every fourth reads a file.
const turns = 20

func sessionScript(t *testing.T, c *tool) (prompts []string, steps []provider.Behavior) {
	t.Helper()
	used := &provider.Usage{Input: 1000, Output: 10} // Claude Code tells the model what is left
	for i := range turns {
		prompts = append(prompts, fmt.Sprintf("This is prompt %d.", i))
		if i%4 == 1 {
			steps = append(steps, provider.Behavior{ID: fmt.Sprintf("Call%d", i), Usage: used, Says: "I look.", Tool: readCall(t, filepath.Join(c.work, "word.txt"))})
		}
		steps = append(steps, provider.Behavior{ID: fmt.Sprintf("Answer%d", i), Usage: used, Says: fmt.Sprintf("This is answer %d.", i)})
	}
	return prompts, steps
}

// session runs a session as the same person in the same place, as if it were the first
// each time, and returns what the model was sent.
func session(t *testing.T, e *env.Env, c *tool, model string, args ...string) []provider.Request {
	t.Helper()
	for _, dir := range []string{c.home, c.work} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	furnish(t, c)
	// Else it makes up an id of the machine.
	write(t, filepath.Join(c.home, ".claude.json"), `{"userID":"`+strings.Repeat("0a", 32)+`"}`)
	prompts, steps := sessionScript(t, c)
	e.Provider.Script(model, steps...)
	c.converse(t, prompts, append([]string{"--session-id", "00000000-0000-4000-8000-000000000001"}, args...)...)
	var sent []provider.Request
	for _, r := range e.Provider.Calls() {
		if r.Model == model {
			sent = append(sent, r)
		}
	}
	if len(sent) != len(steps) {
		t.Fatalf("%s was asked %d times, want %d", model, len(sent), len(steps))
	}
	return sent
}

// A session sends the provider, byte for byte, what it would send it directly, but for the
// model's name and the credential, so that the prompt cache is as good.
func TestClaudeCodeSendsWhatItSendsDirectly(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	e.AddTarget(claudeRoute, e.AddProvider("keyed", "anthropic", "claude-upstream"), "claude-upstream", 1, nil)
	e.Live()
	c := claude(t, e, e.APIKey, "")
	through := session(t, e, c, "claude-upstream")
	c.settings = strings.ReplaceAll(c.settings, e.Info.GatewayURLs[0], e.ProviderURL)
	c.settings = strings.ReplaceAll(c.settings, e.APIKey, "sk-ant-direct")
	direct := session(t, e, c, claudeRoute)
	for i := range direct {
		want := bytes.Replace(direct[i].Body, []byte(`"model":"`+claudeRoute+`"`), []byte(`"model":"claude-upstream"`), 1)
		if diff := cmp.Diff(string(through[i].Body), string(want)); diff != "" {
			t.Fatalf("request %d of %d (-through +direct):\n%s", i, len(direct), diff)
		}
		if diff := cmp.Diff(ofVendor(through[i].Header), ofVendor(direct[i].Header)); diff != "" {
			t.Fatalf("headers of request %d (-through +direct):\n%s", i, diff)
		}
	}
}

// ofVendor is what the caller says to its vendor in headers that reach it on a stored key.
func ofVendor(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Anthropic-Beta", "Anthropic-Version", "User-Agent", "Content-Type", "Accept"} {
		out[name] = h.Get(name)
	}
	return out
}

// Over a target of another dialect each request begins with the whole conversation of the
// one before, byte for byte, and with the same tools.
func TestClaudeCodeTranslatedKeepsItsPrefix(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, u := range []upstream{gptModel, thinkingGPT} {
		route := claudeRoute + "-" + u.model
		e.AddTarget(route, e.AddProvider(u.model, u.family, u.model), u.model, 1, nil)
	}
	e.Live()
	for _, u := range []upstream{gptModel, thinkingGPT} {
		t.Run(strings.TrimPrefix(u.path, "/v1/"), func(t *testing.T) {
			t.Parallel()
			c := claude(t, e, e.APIKey, "")
			keepPrefix(t, session(t, e, c, u.model, "--model", claudeRoute+"-"+u.model))
		})
	}
}

func keepPrefix(t *testing.T, sent []provider.Request) {
	t.Helper()
	for i := 1; i < len(sent); i++ {
		before, tools := conversation(t, sent[i-1].Body)
		now, toolsNow := conversation(t, sent[i].Body)
		if !bytes.HasPrefix(now, before) {
			t.Fatalf("request %d does not begin with request %d:\n%s", i, i-1, cmp.Diff(string(before), string(now)))
		}
		if !bytes.Equal(tools, toolsNow) {
			t.Fatalf("the tools changed with request %d:\n%s", i, cmp.Diff(string(tools), string(toolsNow)))
		}
	}
}

// conversation is a body up to the last of its messages, and its tools.
func conversation(t *testing.T, body []byte) (begin, tools []byte) {
	t.Helper()
	var doc struct{ Messages, Input, Tools json.RawMessage }
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	list := append(doc.Messages, doc.Input...)
	if len(list) == 0 || len(doc.Tools) == 0 {
		t.Fatalf("no conversation in %s", body)
	}
	begin = body[:bytes.Index(body, list)+len(list)-1]
	// Where the cache ends is no part of what is cached, and moves on.
	return bytes.ReplaceAll(begin, []byte(`,"cache_control":{"type":"ephemeral"}`), nil), doc.Tools
}

// Codex, which begins a process for each turn: over its own vendor's model and, translated,
// over another's, which is told what to cache.
func TestCodexKeepsItsPrefix(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, u := range []upstream{thinkingGPT, claudeModel} {
		e.AddTarget(codexRoute+"-"+u.model, e.AddProvider(u.model, u.family, u.model), u.model, 1, nil)
	}
	e.Live()
	for _, u := range []upstream{thinkingGPT, claudeModel} {
		t.Run(strings.TrimPrefix(u.path, "/v1/"), func(t *testing.T) {
			t.Parallel()
			c := codex(t, e, e.APIKey, "")
			for i, args := range [][]string{nil, {"resume", "--last"}, {"resume", "--last"}} {
				got := c.askCodex(t, append(args, "--model", codexRoute+"-"+u.model, fmt.Sprintf("This is prompt %d.", i))...)
				got.answered(t, u.model)
			}
			var sent []provider.Request
			keys := map[string]int{}
			for _, r := range e.Provider.Calls() {
				var doc struct {
					Key string `json:"prompt_cache_key"`
				}
				if err := json.Unmarshal(r.Body, &doc); err != nil {
					t.Fatal(err)
				}
				if r.Model == u.model {
					sent = append(sent, r)
					keys[doc.Key]++
				}
			}
			if len(sent) != 3 || len(keys) != 1 || (keys[""] == 3) != (u.path == messagesPath) {
				t.Errorf("%d requests with the cache keys %v", len(sent), keys)
			}
			if n := bytes.Count(sent[2].Body, []byte(`"cache_control":{"type":"ephemeral"}`)); u.path == messagesPath && n != 2 {
				t.Errorf("%d marks of where the cache ends, want 2", n)
			}
			keepPrefix(t, sent)
		})
	}
}
