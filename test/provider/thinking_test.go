package provider

import (
	"fmt"
	"strings"
	"testing"
)

// What a model thinks stands where its dialect has a place for it, before what it says.
func TestThinks(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{Thinks: "Hm, hm.", Says: `{"a": 1}`})
	for path, want := range map[string]struct{ whole, stream []string }{
		chatPath: {[]string{`"reasoning_content":"Hm, hm."`}, []string{`"delta":{"reasoning_content":"Hm, "}`, `"delta":{"reasoning_content":"hm."}`, `"delta":{"content":"{\"a\": "}`}},
		messagesPath: {[]string{`{"type":"thinking","thinking":"Hm, hm.","signature":"`, `{"type":"text","text":"{\"a\": 1}"}`},
			[]string{`"thinking_delta","thinking":"hm."`, `"signature_delta"`, `"content_block_stop","index":0`, `"content_block_start","index":1`, `"content_block_stop","index":1`}},
		responsesPath: {[]string{`"type":"reasoning","summary":[{"type":"summary_text","text":"Hm, hm."}]`, `"text":"{\"a\": 1}"`},
			[]string{"event: response.reasoning_summary_text.delta", `"delta":"hm."`, `"type":"response.output_item.done"`, `"output_index":1`, "event: response.completed"}},
	} {
		for stream, parts := range map[bool][]string{false: want.whole, true: want.stream} {
			rest := read(t, b.ask(t, path, body(path, "m", stream)))
			for _, part := range parts {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Errorf("%s, stream %t: no %s in %s", path, stream, part, rest)
				}
				rest = after
			}
		}
	}
}

// Thoughts that another model had are refused, and by OpenAI's newest models tools in chat.
func TestRefusesWhatVendorsRefuse(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	const tools = `"tools":[{"type":"function","function":{"name":"f"}}]`
	for name, c := range map[string]struct {
		path, body string
		status     int
	}{
		"ForgedThought": {messagesPath, `{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"}]}]}`, 400},
		"SignedThought": {messagesPath, fmt.Sprintf(`{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":%q}]}]}`, signed), 200},
		"ForgedItem":    {responsesPath, `{"model":"m","input":[{"type":"reasoning","summary":[],"encrypted_content":"y"}]}`, 400},
		"SignedItem":    {responsesPath, fmt.Sprintf(`{"model":"m","input":[{"type":"reasoning","summary":[],"encrypted_content":%q}]}`, signed), 200},
		"ToolsInChat":   {chatPath, `{"model":"gpt-5.5","messages":[{"role":"user","content":"x"}],` + tools + `}`, 400},
		"Unthinking":    {chatPath, `{"model":"gpt-5.5","messages":[{"role":"user","content":"x"}],"reasoning_effort":"none",` + tools + `}`, 200},
		"OlderModel":    {chatPath, `{"model":"gpt-5.1","messages":[{"role":"user","content":"x"}],` + tools + `}`, 200},
	} {
		if res := b.ask(t, c.path, c.body); res.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d: %s", name, res.StatusCode, c.status, read(t, res))
		}
	}
}
