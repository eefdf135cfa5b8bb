package clients

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

const opencodeSettings = "### opencode on a gateway key"

// opencode is opencode of a person with a gateway key. It is told not to look for what it
// would fetch, which it waits for.
func opencode(t *testing.T, e *env.Env, key string) *tool {
	t.Helper()
	blocks := settings(t, opencodeSettings, "https://gateway.example.com", e.Info.GatewayURLs[0], "bd-...", key)
	c := newTool(t, "opencode", blocks[1])
	write(t, filepath.Join(c.home, ".config/opencode/opencode.json"), blocks[0])
	c.env = append(c.env, "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1")
	return c
}

// askOpencode runs `opencode run`. A case's model is no model of the settings, so it is
// added to them as a person would.
func askOpencode(t *testing.T, c *tool, provider, model, prompt string, args ...string) reply {
	t.Helper()
	more, err := json.Marshal(map[string]any{"provider": map[string]any{provider: map[string]any{"models": map[string]any{model: map[string]any{}}}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.work, "opencode.json"), string(more))
	got := reply{outcome: c.run(t, append(append([]string{"run", "--format", "json", "--thinking", "--title", "a test", "--model", provider + "/" + model}, args...), prompt)...)}
	for line := range strings.Lines(got.stdout) {
		var event struct {
			Type  string
			Part  struct{ Text string }
			Error struct {
				Name string
				Data struct{ Message string }
			}
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("opencode printed no JSON: %v in %s", err, got)
		}
		switch event.Type {
		case "text":
			got.words = event.Part.Text
		case "reasoning":
			got.thoughts = append(got.thoughts, event.Part.Text)
		case "error":
			got.failure += event.Error.Data.Message
		}
	}
	return got
}

// opencodeCLI is opencode with one of the two providers of the settings.
func opencodeCLI(name, dialect, route string, ways ...way) *cli {
	return &cli{
		dialect: dialect, route: route, start: opencode,
		ask: func(t *testing.T, c *tool, model, prompt string, args ...string) reply {
			return askOpencode(t, c, name, model, prompt, args...)
		},
		read: func(t *testing.T, path string) *provider.ToolCall {
			return call(t, "read", map[string]any{"filePath": path})
		},
		ways:       ways,
		foreign:    claudeModel,
		foreignEnv: []string{`OPENCODE_CONFIG_CONTENT={"provider":{"spillway":{"models":{"gpt-5.1-cannottranslate":{"options":{"logprobs":true}}}}}}`},
		hasty:      func(*tool) []string { return nil },
		says: map[string]string{ // of a 429 and a 5xx nothing: it tries again for as long as it takes
			"Forbidden":       "every target of the route failed",
			"CannotTranslate": "no target of the route can be asked for this: logprobs: ",
			"UnknownModel":    `The model "gpt-5.1-unknownmodel" does not exist or you do not have access to it`,
			"RefusedKey":      "the gateway key is not valid",
		},
	}
}

var (
	opencodeCompatible = opencodeCLI("spillway", chatPath, "gpt-5.1",
		way{name: "Native", first: gptModel},
		way{name: "Messages", first: claudeModel},
		way{name: "Failover", first: gptModel, then: claudeModel, down: -1},
		way{name: "Returns", first: gptModel, then: claudeModel, down: 1},
	)
	opencodeAnthropic = opencodeCLI("anthropic", messagesPath, "claude-sonnet-4-5",
		way{name: "Native", first: claudeModel},
		// It does not ask for thoughts, and from another vendor gets none.
		way{name: "Responses", first: thinkingGPT, mute: true},
		way{name: "Failover", first: claudeModel, then: gptModel, down: -1, mute: true},
		way{name: "Returns", first: claudeModel, then: gptModel, down: 1, mute: true},
	)
)

func TestOpencodeCompatible(t *testing.T) {
	t.Parallel()
	tellScenarios(t, opencodeCompatible)
}

func TestOpencodeAnthropic(t *testing.T) {
	t.Parallel()
	tellScenarios(t, opencodeAnthropic)
}

func TestOpencodeShowsErrors(t *testing.T) {
	t.Parallel()
	tellFailures(t, opencodeCompatible)
}
