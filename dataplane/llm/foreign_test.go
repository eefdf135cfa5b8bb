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
