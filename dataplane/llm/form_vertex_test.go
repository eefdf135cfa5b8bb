package llm

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVertexForm(t *testing.T) {
	t.Parallel()
	const version = `{"anthropic_version":"vertex-2023-10-16",`
	for name, c := range map[string]struct{ body, model, want string }{
		"Plain": {`{"model":"x","max_tokens":5,"messages":[{"role":"user","content":"hi"}],"stream":true,"future":{"a":[1, 2]}}`, "claude-opus-4-6",
			version + `"max_tokens":5,"messages":[{"role":"user","content":"hi"}],"stream":true,"future":{"a":[1, 2]}}`},
		"Refused": {`{"anthropic_version":"v","anthropic_beta":["x"],"safeguards":{},"diagnostics":{"a":1},"service_tier":"auto","speed":"fast","cache_control":{"type":"ephemeral"},"top_k":1}`,
			"claude-opus-4-6", version + `"top_k":1}`},
		"Tools": {`{"tools":[{"name":"a","eager_input_streaming":true,"input_examples":[{}],"defer_loading":true,"input_schema":{"type":"object","properties":{"eager_input_streaming":{}}}},{"type":"web_search_20250305"}]}`,
			"claude-opus-4-6", version + `"tools":[{"name":"a","defer_loading":true,"input_schema":{"type":"object","properties":{"eager_input_streaming":{}}}},{"type":"web_search_20250305"}]}`},
		"Scope": {`{"system":[{"type":"text","text":"a \"scope\"","cache_control":{"type":"ephemeral","ttl":"1h","scope":"global"}}],` +
			`"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"cache_control":{"scope":1}}},{"type":"text","cache_control":{"scope":"global","type":"ephemeral"}}]}]}`, "claude-opus-4-6",
			version + `"system":[{"type":"text","text":"a \"scope\"","cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
				`"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"cache_control":{"scope":1}}},{"type":"text","cache_control":{"type":"ephemeral"}}]}]}`},
		"Turns": {`{"messages":[{"role":"user","content":"a"},{"role":"system","content":"","output_config":{"effort":"high"}},{"role":"system","content":"b","output_config":{}},{"role":"assistant","content":""}]}`,
			"claude-opus-4-8", version + `"messages":[{"role":"user","content":"a"},{"role":"system","content":"b"},{"role":"assistant","content":""}]}`},
		// Models from before 4.8 refuse a system's message in the middle.
		"LateSystem": {`{"messages":[{"role":"user","content":"a"},{"role":"system","content":"b\"\n","output_config":{}},{"role":"assistant","content":"c"},{"role":"user","content":"d"},{"role":"system","content":[{"type":"text","text":"e","cache_control":{"type":"ephemeral","scope":"global"}},{"type":"text","text":"f"}]}]}`,
			"claude-haiku-4-5@20251001", version + `"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"<system>\nb\"\n\n</system>"}]},{"role":"assistant","content":"c"},{"role":"user","content":"d"},{"role":"user","content":[{"type":"text","text":"<system>\ne\n</system>"},{"type":"text","text":"<system>\nf\n</system>"}]}]}`},
		"LateSystemTaken": {`{"messages":[{"role":"user","content":"a"},{"role":"system","content":"b"}]}`, "claude-opus-4-8@default",
			version + `"messages":[{"role":"user","content":"a"},{"role":"system","content":"b"}]}`},
		"Effort":       {`{"output_config":{"effort":"low","format":{"type":"json_schema"}},"top_k":1}`, "claude-sonnet-4-6", version + `"output_config":{"effort":"low","format":{"type":"json_schema"}},"top_k":1}`},
		"EffortBefore": {`{"output_config":{"effort":"low"},"top_k":1}`, "claude-haiku-4-5@20251001", version + `"top_k":1}`},
		"Empty":        {`{}`, "claude-opus-4-6", `{"anthropic_version":"vertex-2023-10-16"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := VertexForm.Write([]byte(c.body), nil, c.model)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// What would change what was asked is not left out: the target is passed over.
func TestVertexFormCannot(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{"mcp_servers":[]}`:                                  "mcp_servers",
		`{"container":"c"}`:                                   "container",
		`{"inference_geo":"eu"}`:                              "inference_geo",
		`{"output_config":[]}`:                                "output_config",
		`{"messages":{}}`:                                     "messages",
		`{"tools":[{"a":1,"a":2}]}`:                           "tools[0]",
		`{"output_config":{"format":{"type":"json_schema"}}}`: "output_config.format",
		`[]`: "",
	} {
		_, err := VertexForm.Write([]byte(body), nil, "claude-haiku-4-5")
		var cannot *CannotError
		if !errors.As(err, &cannot) || cannot.Field != field {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

func TestVertexCountNamesTheModel(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{"claude-opus-4-6@default": "claude-opus-4-6", "claude-haiku-4-5@20251001": "claude-haiku-4-5@20251001"} {
		got, err := VertexForm.WriteCount([]byte(`{"model":"route","top_k":1}`), []string{"b"}, model)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"model":"` + want + `","anthropic_version":"vertex-2023-10-16","anthropic_beta":["b"],"top_k":1}`; string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestVertexBetas(t *testing.T) {
	t.Parallel()
	header, body := VertexForm.Betas([]string{"effort-2025-11-24", "advanced-tool-use-2025-11-20", "tool-search-tool-2025-10-19", "context-1m-2025-08-07", "prompt-caching-scope-2026-01-05",
		"claude-code-20250219", "context-1m-2025-08-07", "made-up"}, []byte(`{"context_management":{}}`))
	if diff := cmp.Diff([]string{"tool-search-tool-2025-10-19", "claude-code-20250219", "context-management-2025-06-27"}, header); diff != "" {
		t.Errorf("header -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"context-1m-2025-08-07"}, body); diff != "" {
		t.Errorf("body -want +got\n%s", diff)
	}
}

// A request of Claude Code's own comes out with nothing that Google's cloud refuses and
// everything else.
func TestVertexFormOfClaudeCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/requests/messages_claude_code.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, request, _ := strings.Cut(string(text), "-- request --\n")
	request, _, _ = strings.Cut(request, "\n-- as ")
	got, err := VertexForm.Write([]byte(request), nil, "claude-opus-4-6")
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range []string{`"model"`, "safeguards", "eager_input_streaming", `"high"`} {
		if strings.Contains(string(got), refused) {
			t.Errorf("%s is sent: %s", refused, got)
		}
	}
	for _, kept := range []string{`"effort": "medium"`, "12345678901234567890", "clear_thinking_20251015", "defer_loading", `<system>\nAuto mode is on.\n</system>`, `"max_tokens":128000`, `"display": "summarized"`, "x-anthropic-billing-header"} {
		if !strings.Contains(string(got), kept) {
			t.Errorf("%s is missing: %s", kept, got)
		}
	}
	vendorReads(t, Messages, got, "request")
}
