package llm

import (
	"testing"
)

func TestNative(t *testing.T) {
	t.Parallel()
	const mine = `{"type":"thinking","thinking":"t","signature":"` + foreignSeal + `"}`
	const theirs = `{"type":"thinking","thinking":"t","signature":"c2ln"}`
	for name, c := range map[string]struct {
		d          Dialect
		body, want string
	}{
		"NothingForeign":  {Messages, `{ "messages":[{"role":"assistant","content":[` + theirs + `]}] }`, ``},
		"OnlyInText":      {Messages, `{ "messages":[{"role":"user","content":"` + foreignSeal + `"}] }`, ``},
		"OnlyInTextBlock": {Messages, `{ "messages":[{"role":"user","content":[{"type":"text","text":"` + foreignSeal + `"}]}] }`, ``},
		"NoJSON":          {Messages, `{"messages":[` + mine, ``},
		"Chat":            {Chat, `{"x":"` + foreignSeal + `"}`, ``},
		"Block":           {Messages, `{"model":"m","messages":[{"role":"assistant","content":[` + mine + `,` + theirs + `,{"type":"text","text":"x"}],"x":1}],"max_tokens":1.0}`, `{"model":"m","messages":[{"role":"assistant","content":[` + theirs + `,{"type":"text","text":"x"}],"x":1}],"max_tokens":1.0}`},
		"WholeMessage":    {Messages, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[` + mine + `]}]}`, `{"messages":[{"role":"user","content":"a"}]}`},
		"ThinkingOff":     {Messages, `{"messages":[{"role":"assistant","content":[` + mine + `,{"type":"tool_use"}]},{"role":"user","content":[{"type":"tool_result"}]}],"thinking":{"type":"enabled","budget_tokens":1024}}`, `{"messages":[{"role":"assistant","content":[{"type":"tool_use"}]},{"role":"user","content":[{"type":"tool_result"}]}],"thinking":{"type":"disabled"}}`},
		"NothingToClear":  {Messages, `{"messages":[{"role":"assistant","content":[` + mine + `,{"type":"tool_use"}]},{"role":"user","content":[{"type":"tool_result"}]}],"thinking":{"type":"enabled"},"context_management":{"edits":[{"type":"clear_thinking_20251015"},{"type":"clear_tool_uses_20250919"}],"x":1}}`, `{"messages":[{"role":"assistant","content":[{"type":"tool_use"}]},{"role":"user","content":[{"type":"tool_result"}]}],"thinking":{"type":"disabled"},"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}],"x":1}}`},
		"ThinkingStaysOn": {Messages, `{"messages":[{"role":"assistant","content":[` + mine + `,{"type":"text"}]},{"role":"user","content":"b"}],"thinking":{"type":"enabled","budget_tokens":1024}}`, `{"messages":[{"role":"assistant","content":[{"type":"text"}]},{"role":"user","content":"b"}],"thinking":{"type":"enabled","budget_tokens":1024}}`},
		"Item":            {Responses, `{"input":[{"type":"reasoning","encrypted_content":"` + foreignSeal + `"},{"type":"reasoning","encrypted_content":"g"},{"role":"user","content":"x"}]}`, `{"input":[{"type":"reasoning","encrypted_content":"g"},{"role":"user","content":"x"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.want == "" {
				c.want = c.body
			}
			if got := string(Native(c.d, []byte(c.body))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWithoutThoughts(t *testing.T) {
	t.Parallel()
	const thought = `{"type":"thinking","thinking":"t","signature":"c2ln"}`
	const hidden = `{"type":"redacted_thinking","data":"ZA=="}`
	const called = `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]`
	for name, c := range map[string]struct {
		d          Dialect
		body, want string // want empty: nothing to leave out
	}{
		"None":         {Messages, `{"messages":[{"role":"user","content":"thinking"}],"thinking":{"type":"adaptive"}}`, ``},
		"OnlyTurnOff":  {Messages, `{"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"assistant","content":[{"type":"tool_use"}]}` + called + `}`, `{"thinking":{"type":"disabled"},"messages":[{"role":"assistant","content":[{"type":"tool_use"}]}` + called + `}`},
		"Budget":       {Messages, `{"model":"m", "x":1.0,"messages":[{"role":"assistant","content":[` + thought + `,` + hidden + `,{"type":"text","text":"a"}]},{"role":"user","content":"b"}],"thinking":{"type":"enabled","budget_tokens":1024}}`, `{"model":"m","x":1.0,"messages":[{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"user","content":"b"}],"thinking":{"type":"disabled"}}`},
		"Adaptive":     {Messages, `{"messages":[{"role":"assistant","content":[` + thought + `,{"type":"tool_use"}]}` + called + `,"thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015"}]}}`, `{"messages":[{"role":"assistant","content":[{"type":"tool_use"}]}` + called + `,"thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015"}]}}`},
		"WholeMessage": {Messages, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[` + thought + `]},{"role":"user","content":"b"}]}`, `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`},
		"NoBlocks":     {Messages, `{"messages":[{"role":"user","content":[],"x":"thinking"},{"role":"assistant","content":[` + thought + `,{"type":"text","text":"a"}]}]}`, `{"messages":[{"role":"user","content":[],"x":"thinking"},{"role":"assistant","content":[{"type":"text","text":"a"}]}]}`},
		"SaidInText":   {Messages, `{"messages":[{"role":"user","content":[{"type":"text","text":"thinking"}]}]}`, ``},
		"NoJSON":       {Messages, `{"messages":[` + thought, ``},
		"Items": {Responses, `{"input":[{"role":"user","content":"a"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","id":"fc_1","call_id":"c"},{"type":"message","id":"msg_1","role":"assistant"},{"type":"item_reference","id":"rs_2"},{"type":"item_reference","id":"msg_2"},{"type":"web_search_call","id":"ws_1"},{"type":"custom_tool_call","call_id":"d","id":"ctc_1"}],"include":["reasoning.encrypted_content"]}`,
			`{"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c"},{"type":"message","role":"assistant"},{"type":"item_reference","id":"msg_2"},{"type":"web_search_call","id":"ws_1"},{"type":"custom_tool_call","call_id":"d"}],"include":["reasoning.encrypted_content"]}`},
		"NoItems": {Responses, `{"input":[{"type":"message","id":"msg_1","role":"assistant"}]}`, ``},
		"OneText": {Responses, `{"input":"reasoning"}`, ``},
		"Chat": {Chat, `{"x":1.0,"messages":[{"role":"user","content":"a","reasoning":"kept"},{"role":"assistant","reasoning_content":"x","content":"b","n": 1},{"role":"assistant","reasoning":"x","reasoning_details":[{}],"content":null,"tool_calls":[]},{"role":"assistant","content":"","reasoning_content":"x"}],"reasoning_effort":"low"}`,
			`{"x":1.0,"messages":[{"role":"user","content":"a","reasoning":"kept"},{"role":"assistant","content":"b","n":1},{"role":"assistant","tool_calls":[]}],"reasoning_effort":"low"}`},
		"ChatRefusal": {Chat, `{"messages":[{"role":"assistant","content":null,"refusal":"no","reasoning":"x"},{"role":"assistant","content":"","function_call":{"name":"f"},"reasoning":"x"}]}`,
			`{"messages":[{"role":"assistant","refusal":"no"},{"role":"assistant","content":"","function_call":{"name":"f"}}]}`},
		"ChatNone": {Chat, `{"messages":[{"role":"assistant","content":"\"reasoning_content\""}]}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, changed := WithoutThoughts(c.d, []byte(c.body), new(Model))
			if changed != (c.want != "") || changed && string(got) != c.want {
				t.Errorf("got %t, %s\nwant %s", changed, got, c.want)
			}
			if again, more := WithoutThoughts(c.d, got, new(Model)); changed && more {
				t.Errorf("something was left: %s", again)
			}
		})
	}
}

// What a vendor does not take back is left out for it, and stays for others.
func TestForgotten(t *testing.T) {
	t.Parallel()
	const body = `{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","reasoning_content":"x","reasoning":"y","content":"b"}], "reasoning_effort":"low"}`
	const without = `{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"reasoning_effort":"low"}`
	for _, c := range []struct{ family, host, want string }{
		{"openai", "api.openai.com", without}, {"azure_openai", "x.openai.azure.com", without}, {"mistral", "proxy.example", without}, {"custom", "api.mistral.ai", without},
		{"perplexity", "", without}, {"google_ai", "", without}, {"vertex", "", without}, {"cohere", "", without}, {"custom", "api.cerebras.ai", without},
		{"groq", "", `{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","reasoning":"y","content":"b"}],"reasoning_effort":"low"}`},
		{"deepseek", "", ``}, {"openrouter", "", ``}, {"xai", "", ``}, {"together", "", ``}, {"fireworks", "", ``}, {"custom", "llm.example", ``},
	} {
		m := KnownModel("x").At(c.family, c.host)
		got, changed := Forgotten([]byte(body), &m)
		if changed != (c.want != "") || changed && string(got) != c.want {
			t.Errorf("%s at %s: got %t, %s", c.family, c.host, changed, got)
		}
		if _, changed := Forgotten([]byte(`{"messages":[{"role":"assistant","content":"b"}],"reasoning_effort":"low"}`), &m); changed {
			t.Errorf("%s at %s: something was left out of nothing", c.family, c.host)
		}
	}
}

// DeepSeek's models think unless told not to, and then want every thought back: without
// thoughts they are told not to.
func TestWithoutThoughtsAtDeepSeek(t *testing.T) {
	t.Parallel()
	m := KnownModel("deepseek-v4-pro").At("deepseek", "")
	for body, want := range map[string]string{
		`{"messages":[{"role":"assistant","content":"b","tool_calls":[{}]}],"reasoning_effort":"high"}`:           `{"messages":[{"role":"assistant","content":"b","tool_calls":[{}]}],"thinking":{"type":"disabled"}}`,
		`{"thinking":{"type":"enabled"},"messages":[{"role":"assistant","reasoning_content":"x","content":"b"}]}`: `{"thinking":{"type":"disabled"},"messages":[{"role":"assistant","content":"b"}]}`,
		`{"messages":[],"thinking":{"type":"disabled"}}`:                                                          ``,
	} {
		got, changed := WithoutThoughts(Chat, []byte(body), &m)
		if changed != (want != "") || changed && string(got) != want {
			t.Errorf("%s: got %t, %s", body, changed, got)
		}
		if again, more := WithoutThoughts(Chat, got, &m); changed && more {
			t.Errorf("something was left: %s", again)
		}
	}
}
