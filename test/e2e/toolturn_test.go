package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
)

const pixel = "iVBORw0KGgo="

// toolTurns are conversations with a parallel turn of calls, one of them without arguments
// and one whose result is an image, and a choice of one of two tools; by the way of asking.
var toolTurns = map[string]struct{ path, body string }{
	"openai": {"/v1/chat/completions", `{"model":%q,"stream":%t,"max_completion_tokens":64,"messages":[{"role":"user","content":"Read"},
		{"role":"assistant","content":"I will.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read","arguments":""}},{"id":"call_2","type":"function","function":{"name":"look","arguments":"{\"n\":1.50}"}}]},
		{"role":"tool","tool_call_id":"call_1","content":"one"},{"role":"tool","tool_call_id":"call_2","content":"two"},
		{"role":"user","content":[{"type":"text","text":"Go on."},{"type":"image_url","image_url":{"url":"data:image/jpg;base64,` + pixel + `"}}]}],
		"tools":[{"type":"function","function":{"name":"read"}},{"type":"function","function":{"name":"look","strict":true,"parameters":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"additionalProperties":false,"$defs":{"n":{"type":"number"}}}}}],
		"parallel_tool_calls":false,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"look"}}]}}}`},
	"anthropic": {"/v1/messages", `{"model":%q,"stream":%t,"max_tokens":64,"messages":[{"role":"user","content":"Read"},
		{"role":"assistant","content":[{"type":"text","text":"I will."},{"type":"tool_use","id":"call_1","name":"read","input":{}},{"type":"tool_use","id":"call_2","name":"look","input":{"n":1.50}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"one"},{"type":"tool_result","tool_use_id":"call_2","content":[{"type":"text","text":"two"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]},{"type":"text","text":"Go on."}]}],
		"tools":[{"name":"read","input_schema":{"type":"object"}},{"name":"look","input_schema":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}}],
		"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`},
	responses: {"/v1/responses", `{"model":%q,"stream":%t,"max_output_tokens":64,"input":[{"role":"user","content":"Read"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I will."}]},
		{"type":"function_call","call_id":"call_1","name":"read","arguments":""},{"type":"function_call","call_id":"call_2","name":"look","arguments":"{\"n\":1.50}"},
		{"type":"function_call_output","call_id":"call_1","output":"one"},{"type":"function_call_output","call_id":"call_2","output":[{"type":"input_text","text":"two"},{"type":"input_image","image_url":"data:image/png;base64,` + pixel + `"}]},
		{"role":"user","content":"Go on."}],
		"tools":[{"type":"function","name":"read"},{"type":"function","name":"look","strict":true,"parameters":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"additionalProperties":false,"$defs":{"n":{"type":"number"}}}}],
		"parallel_tool_calls":false,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"look"}]}}`},
}

// crossedTurns is what has to be in a request for a vendor, by the path it is asked at.
var crossedTurns = map[string][]string{
	"/v1/messages": {
		`{"type":"tool_use","id":"call_1","name":"read","input":{}},{"type":"tool_use","id":"call_2","name":"look","input":{"n":1.50}}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"call_2","content":[{"type":"text","text":"two"}`,
		`{"type":"base64","media_type":"image/png","data":"` + pixel + `"}`, `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`, `"$defs":{"n":{"type":"number"}}`, `"tools":[{"name":"look",`,
	},
	"/v1/chat/completions": {
		`"name":"read","arguments":"{}"`, `"name":"look","arguments":"{\"n\":1.50}"`,
		`{"role":"tool","tool_call_id":"call_1","content":"one"},{"role":"tool","tool_call_id":"call_2","content":"two"},{"role":"user","content":[`,
		`{"url":"data:image/png;base64,` + pixel + `"}`, `"parallel_tool_calls":false`, `"$defs":{"n":{"type":"number"}}`,
	},
}

// A turn of parallel calls, their results and the choice of tools cross between all
// vendors, in what each of them takes: the scripted providers check it as the real ones do.
func TestTurnsOfCallsCross(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, c := range crossings {
		crossing(e, c.name, c.native, c.other)
	}
	e.Live()
	for _, c := range crossings {
		turn, route := toolTurns[c.family], strings.ToLower(c.name)
		a := e.Call(0, turn.path, fmt.Sprintf(turn.body, route+"-only", c.stream), map[string]string{"Anthropic-Version": "2023-06-01"})
		if a.Status != http.StatusOK {
			t.Errorf("%s: status %d: %s", c.name, a.Status, a.Body)
			continue
		}
		wantDialect(t, a, c.family, c.stream)
		r := last(t, e, route+"-alone")
		body := string(r.Body)
		for _, want := range crossedTurns[c.path] {
			if !strings.Contains(body, want) {
				t.Errorf("%s: %s is missing in %s", c.name, want, body)
			}
		}
		if len(r.Problems) > 0 || c.family != "anthropic" && c.path == "/v1/chat/completions" && strings.Contains(body, `"tools":[{"type":"function","function":{"name":"read"`) {
			t.Errorf("%s: problems %v: %s", c.name, r.Problems, body)
		}
	}
}
