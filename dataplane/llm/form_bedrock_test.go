package llm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	haiku45  = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
	opus45   = "anthropic.claude-opus-4-5-20251101-v1:0"
	sonnet46 = "eu.anthropic.claude-sonnet-4-6"
	opus48   = "global.anthropic.claude-opus-4-8"
	sonnet4  = "apac.anthropic.claude-sonnet-4-20250514-v1:0"
	haiku3   = "anthropic.claude-3-haiku-20240307-v1:0"
	opaque   = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/x1"
)

func TestClaudeVersion(t *testing.T) {
	t.Parallel()
	type claudeName struct {
		family  string
		version int
	}
	for name, want := range map[string]claudeName{
		haiku45: {"haiku", 405}, opus45: {"opus", 405}, sonnet46: {"sonnet", 406}, opus48: {"opus", 408}, sonnet4: {"sonnet", 400}, haiku3: {"haiku", 300}, opaque: {},
		"anthropic.claude-opus-4-6-v1": {"opus", 406}, "anthropic.claude-3-7-sonnet-20250219-v1:0": {"sonnet", 307}, "anthropic.claude-sonnet-5": {"sonnet", 500},
		"anthropic.claude-opus-4-1-20250805-v1:0": {"opus", 401}, "anthropic.claude-v2:1": {}, "anthropic.claude-fable-5": {"", 500}, "": {},
		"claude-haiku-4-5@20251001": {"haiku", 405}, "claude-opus-4-8@default": {"opus", 408}, "claude-opus-4@20250514": {"opus", 400},
		"arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-5-haiku-20241022-v1:0": {"haiku", 305},
	} {
		family, version := claude(name)
		if got := (claudeName{family, version}); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// A field is written as the model takes it, left out, or refused by its name.
func TestBedrockFields(t *testing.T) {
	t.Parallel()
	const head = `{"anthropic_version":"bedrock-2023-05-31"`
	for name, c := range map[string]struct {
		model, betas, body, want string
	}{
		"Plain": {haiku45, "", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}],"stream":true,"temperature":0.50}`,
			`,"max_tokens":5,"messages":[{"role":"user","content":"hi"}],"temperature":0.50}`},
		"VersionOnce":       {haiku45, "", `{"anthropic_version":"2023-06-01","max_tokens":5}`, `,"max_tokens":5}`},
		"MaxTokens":         {haiku45, "", `{"max_tokens":128000}`, `,"max_tokens":64000}`},
		"MaxTokensUnknown":  {opaque, "", `{"max_tokens":128000}`, `,"max_tokens":128000}`},
		"UnknownFields":     {opus48, "", `{"safeguards":{},"service_tier":"auto","speed":"fast","cache_control":{"type":"ephemeral"},"diagnostics":{},"of_tomorrow":1,"metadata":{"user_id":"u"}}`, `,"metadata":{"user_id":"u"}}`},
		"BetaTaken":         {sonnet4, "interleaved-thinking-2025-05-14,claude-code-20250219", `{}`, `,"anthropic_beta":["interleaved-thinking-2025-05-14"]}`},
		"BetaOfABody":       {sonnet4, "context-1m-2025-08-07", `{"anthropic_beta":["context-1m-2025-08-07","interleaved-thinking-2025-05-14","x"]}`, `,"anthropic_beta":["context-1m-2025-08-07","interleaved-thinking-2025-05-14"]}`},
		"BetaOfNewModels":   {opus48, "interleaved-thinking-2025-05-14,effort-2025-11-24,context-1m-2025-08-07", `{}`, `}`},
		"BetaOfOpaque":      {opaque, "interleaved-thinking-2025-05-14", `{}`, `}`},
		"AdvancedToolUse":   {opus45, advancedToolUse, `{"tools":[{"name":"a","defer_loading":true,"input_examples":[{}]},{"type":"tool_search_tool_regex_20251119","name":"s"}]}`, `,"anthropic_beta":["tool-search-tool-2025-10-19","tool-examples-2025-10-29"],"tools":[{"name":"a","defer_loading":true,"input_examples":[{}]},{"type":"tool_search_tool_regex_20251119","name":"s"}]}`},
		"NoToolSearch":      {haiku45, advancedToolUse, `{"tools":[{"name":"a","defer_loading":true,"input_examples":[{}],"eager_input_streaming":true},{"type":"tool_search_tool_regex_20251119","name":"s"}]}`, `,"tools":[{"name":"a"}]}`},
		"ContextManagement": {haiku45, "", `{"context_management":{"edits":[]}}`, `,"anthropic_beta":["context-management-2025-06-27"],"context_management":{"edits":[]}}`},
		"ContextDropped":    {sonnet46, contextManagement, `{"context_management":{"edits":[]}}`, `}`},
		"Effort45":          {opus45, "", `{"output_config":{"effort":"high"}}`, `,"anthropic_beta":["effort-2025-11-24"],"output_config":{"effort":"high"}}`},
		"EffortDropped":     {haiku45, "", `{"output_config":{"effort":"high","format":{"type":"json_schema"}}}`, `,"output_config":{"format":{"type":"json_schema"}}}`},
		"EffortAlone":       {haiku45, "", `{"output_config":{"effort":"high"}}`, `}`},
		"Effort46":          {sonnet46, "", `{"output_config":{"effort":"high"}}`, `,"output_config":{"effort":"high"}}`},
		"Adaptive48":        {opus48, "", `{"thinking":{"type":"adaptive","display":"omitted"}}`, `,"thinking":{"type":"adaptive","display":"omitted"}}`},
		"Adaptive46":        {sonnet46, "", `{"thinking":{"type":"adaptive","display":"omitted"}}`, `,"thinking":{"type":"adaptive"}}`},
		"Adaptive45":        {haiku45, "", `{"max_tokens":128000,"thinking":{"type":"adaptive"},"output_config":{"effort":"medium"}}`, `,"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":8192}}`},
		"AdaptiveNoRoom":    {haiku45, "", `{"max_tokens":1024,"thinking":{"type":"adaptive"}}`, `,"max_tokens":1024}`},
		"AdaptiveLittle":    {haiku45, "", `{"max_tokens":2000,"thinking":{"type":"adaptive"}}`, `,"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1999}}`},
		"AdaptiveOld":       {haiku3, "", `{"max_tokens":9999,"thinking":{"type":"adaptive"}}`, `,"max_tokens":4096}`},
		"AdaptiveOpaque":    {opaque, "", `{"thinking":{"type":"adaptive","display":"omitted"}}`, `,"thinking":{"type":"adaptive","display":"omitted"}}`},
		"Budget":            {haiku45, "", `{"thinking":{"type":"enabled","budget_tokens":2000}}`, `,"thinking":{"type":"enabled","budget_tokens":2000}}`},
		"Attribution":       {haiku45, "", `{"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2; cch=1"},{"type":"text","text":"S","cache_control":{"type":"ephemeral","ttl":"1h","scope":"global"}}]}`, `,"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`},
		"SystemText":        {haiku45, "", `{"system":"S"}`, `,"system":"S"}`},
		"OldCaches":         {sonnet4, "", `{"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`, `,"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}]}`},
		"LateSystem": {sonnet46, "", `{"messages":[{"role":"user","content":"a"},{"role":"system","content":"b","output_config":{"effort":"low"}},{"role":"system","content":[{"type":"text","text":"c"}]},{"role":"system","content":"","output_config":{"effort":"low"}}]}`,
			`,"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"<system>\nb\n</system>"}]},{"role":"user","content":[{"type":"text","text":"<system>\nc\n</system>"}]}]}`},
		"LateSystem48": {opus48, "", `{"messages":[{"role":"user","content":"a"},{"role":"system","content":"b","output_config":{"effort":"low"}},{"role":"system","content":[],"output_config":{"effort":"low"}}]}`,
			`,"messages":[{"role":"user","content":"a"},{"role":"system","content":"b"}]}`},
		"Caller": {haiku45, "", `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"caller":1,"cache_control":2},"caller":{"type":"direct"}}]}]}`,
			`,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"caller":1,"cache_control":2}}]}]}`},
		"ToolReference": {haiku45, "", `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"a\"b"},{"type":"text","text":"x"}]}]}]}`,
			`,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"The tool a\"b is available."},{"type":"text","text":"x"}]}]}]}`},
		"ToolReferenceKept": {opus45, toolSearchBeta, `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"a"}]}]}]}`,
			`,"anthropic_beta":["tool-search-tool-2025-10-19"],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"a"}]}]}]}`},
		"ClientTools": {haiku45, "", `{"tools":[{"type":"bash_20250124","name":"bash"},{"type":"custom","name":"c","strict":true,"cache_control":{"type":"ephemeral","scope":"global"},"allowed_callers":["direct"]}],"mcp_servers":[]}`,
			`,"tools":[{"type":"bash_20250124","name":"bash"},{"type":"custom","name":"c","strict":true,"cache_control":{"type":"ephemeral"}}]}`},
		"StrictOld": {haiku3, "", `{"tools":[{"name":"c","strict":true}]}`, `,"tools":[{"name":"c"}]}`},
		"OddNames":  {haiku45, "", `{"messages":[{"role":"user","a\"b":1,"content":[{"type":"x","a\\\"b":2,"cache_control":{"type":"ephemeral"}}]}]}`, `,"messages":[{"role":"user","a\"b":1,"content":[{"type":"x","a\\\"b":2,"cache_control":{"type":"ephemeral"}}]}]}`},

		"Schemas":     {sonnet4, "", `{"output_config":{"format":{"type":"json_schema"}}}`, "output_config.format"},
		"OldSchemas":  {opus45, "", `{"output_format":{"type":"json_schema"}}`, "output_format"},
		"MCP":         {opus48, "", `{"mcp_servers":[{"url":"https://x"}]}`, "mcp_servers[0]"},
		"Container":   {opus48, "", `{"container":{"skills":[]}}`, "container"},
		"Geography":   {opus48, "", `{"inference_geo":"us"}`, "inference_geo"},
		"ServerTool":  {opus48, "", `{"tools":[{"name":"a"},{"type":"web_search_20250305","name":"web_search"}]}`, "tools[1]"},
		"NotAMessage": {opus48, "", `{"messages":["x"]}`, "messages[0]"},
	} {
		got, err := BedrockForm.Write([]byte(c.body), strings.FieldsFunc(c.betas, func(r rune) bool { return r == ',' }), c.model)
		var cannot *CannotError
		switch {
		case !strings.HasPrefix(c.want, ",") && c.want != "}":
			if !errors.As(err, &cannot) || cannot.Field != c.want {
				t.Errorf("%s: got %s, %v, want a refusal of %s", name, got, err, c.want)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			if diff := cmp.Diff(head+c.want, string(got)); diff != "" {
				t.Errorf("%s: -want +got\n%s", name, diff)
			}
		}
	}
}

// claudeCode is a request as Claude Code writes it, with all that it has been seen to send.
const claudeCode = `{"model":"claude-opus-4-8","max_tokens":128000,"stream":true,"system":[
{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.220; cc_entrypoint=cli; cch=0a1b2;"},
{"type":"text","text":"You are Claude Code.","cache_control":{"type":"ephemeral","ttl":"1h","scope":"global"}}],
"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"1h"}}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"toolu_1","name":"ToolSearch","input":{"query":"x"},"caller":{"type":"direct"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"tool_reference","tool_name":"Web"}]}]},
{"role":"system","content":[{"type":"text","text":"be brief"}],"output_config":{"effort":"low"}}],
"tools":[{"name":"Web","description":"d","input_schema":{"type":"object"},"defer_loading":true,"eager_input_streaming":true}],
"thinking":{"type":"adaptive","display":"omitted"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},
"output_config":{"effort":"high"},"safeguards":{"a":1},"metadata":{"user_id":"{\"device_id\":\"d\"}"}}`

var claudeCodeBetas = []string{"claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27", "prompt-caching-scope-2026-01-05",
	"effort-2025-11-24", "advanced-tool-use-2025-11-20", "context-1m-2025-08-07"}

// Whatever model of Bedrock's Claude Code is led to, the request has nothing left that the
// model refuses, and all that was said is still there.
func TestBedrockTakesClaudeCode(t *testing.T) {
	t.Parallel()
	for _, model := range []string{haiku3, sonnet4, haiku45, opus45, sonnet46, opus48, opaque} {
		got, err := BedrockForm.Write([]byte(claudeCode), claudeCodeBetas, model)
		if err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(got, &fields); err != nil {
			t.Fatalf("%s: %v in %s", model, err, got)
		}
		for _, lost := range []string{"model", "stream", "safeguards"} {
			if fields[lost] != nil {
				t.Errorf("%s: %s is still there", model, lost)
			}
		}
		for _, lost := range []string{"x-anthropic-billing-header", `"scope"`, `"caller"`, "eager_input_streaming", "claude-code-", "prompt-caching-scope"} {
			if strings.Contains(string(got), lost) {
				t.Errorf("%s: %s is still there", model, lost)
			}
		}
		for _, kept := range []string{"You are Claude Code.", `"hi"`, "be brief", `"toolu_1"`, `"signature":"s"`, `\"device_id\"`} {
			if !strings.Contains(string(got), kept) {
				t.Errorf("%s: %s is lost", model, kept)
			}
		}
		again, err := BedrockForm.Write([]byte(claudeCode), claudeCodeBetas, model)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: the same request gives other bytes", model)
		}
	}
}
