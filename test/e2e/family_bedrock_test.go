package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// The nodes' own identity on AWS, from where AWS's tools look first.
const nodeKeyID, nodeSecret = "AKIANODE", "node/secret+"

// onAWS gives this process an identity on AWS, and nowhere else to look for one.
func onAWS() error {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": nodeKeyID, "AWS_SECRET_ACCESS_KEY": nodeSecret, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// Models that are asked in the two ways that Bedrock has, and the second targets' names.
const (
	bedrockClaude = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
	bedrockNova   = "amazon.nova-pro-v1:0"
)

var bedrockPaths = map[string]map[bool]string{
	bedrockClaude: {false: "/model/us.anthropic.claude-haiku-4-5-20251001-v1:0/invoke", true: "/model/us.anthropic.claude-haiku-4-5-20251001-v1:0/invoke-with-response-stream"},
	bedrockNova:   {false: "/model/amazon.nova-pro-v1:0/converse", true: "/model/amazon.nova-pro-v1:0/converse-stream"},
}

const bedrockSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

// addBedrock makes a provider on the scripted AWS. credential is what goes into the
// provider's creation beside; nil: stored keys.
func addBedrock(e *env.Env, name string, credential map[string]any) (id string) {
	e.Provider.AddAWSKeys("AKIDEXAMPLE", bedrockSecret, "")
	e.Provider.AddAWSKeys(nodeKeyID, nodeSecret, "")
	body := map[string]any{"name": name, "model_provider": "bedrock", "base_url": e.ProviderURL + "/", "settings": map[string]any{"region": "eu-west-1"},
		"models": []string{bedrockClaude, bedrockNova}, "enforce_health_check": false} // with a credential that is no good nobody would be asked
	if credential == nil {
		credential = map[string]any{"auth_type": "aws_keys", "credentials": map[string]any{"access_key_id": "AKIDEXAMPLE", "secret_access_key": bedrockSecret}}
	}
	for k, v := range credential {
		body[k] = v
	}
	var p struct{ ID string }
	e.Must(e.Admin(http.MethodPost, "/providers", body), &p)
	return p.ID
}

// bedrockRoutes makes a route "claude" and a route "nova", each with a second target of
// another vendor. The first never cools down, so that each request meets it.
func bedrockRoutes(e *env.Env, bedrock string) map[string]string {
	second := e.AddProvider("second", "anthropic", "claude-second", "nova-second")
	models := map[string]string{"claude": bedrockClaude, "nova": bedrockNova}
	for route, model := range models {
		e.AddTarget(route, bedrock, model, 1, map[string]any{"cooldown_failure_threshold": 0})
		e.AddTarget(route, second, route+"-second", 2, nil)
	}
	return models
}

// wellAsked checks that AWS found nothing wrong with what a model was last asked.
func wellAsked(t *testing.T, e *env.Env, model string, stream bool) provider.Request {
	t.Helper()
	r := last(t, e, model)
	if len(r.Problems) > 0 || r.Path != bedrockPaths[model][stream] {
		t.Errorf("%s, streamed %t, was asked at %s: %q", model, stream, r.Path, r.Problems)
	}
	return r
}

// Models of both kinds answer on every surface, with every kind of credential.
func TestBedrockAnswers(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Ambient: true})
	e.Provider.AddAWSRole("arn:aws:iam::123456789012:role/spillway", e.ID.String(), time.Hour)
	for name, credential := range map[string]map[string]any{
		"keys":   nil,
		"bearer": {"auth_type": "bedrock_api_key", "api_key": "bedrock-api-key-x"},
		"own":    {},
		"role":   {"auth_type": "aws_role", "credentials": map[string]any{"role_arn": "arn:aws:iam::123456789012:role/spillway"}},
	} {
		id := addBedrock(e, name, credential)
		e.AddTarget(name+"-claude", id, bedrockClaude, 1, nil)
		e.AddTarget(name+"-nova", id, bedrockNova, 1, nil)
	}
	e.Live()
	for _, name := range []string{"keys", "bearer", "own", "role"} {
		for kind, model := range map[string]string{"claude": bedrockClaude, "nova": bedrockNova} {
			for _, w := range ways {
				a := call(e, 0, w.family, name+"-"+kind, w.stream)
				if a.Status != 200 || !strings.Contains(said(t, w.family, w.stream, a.Body), "Hello from "+model+". You said: Hello") {
					t.Errorf("%s: %s by %s: status %d: %s", name, model, w.name, a.Status, a.Body)
					continue
				}
				wantDialect(t, a, w.family, w.stream)
				wellAsked(t, e, model, w.stream)
				if strings.Contains(string(a.Body), "amazon-bedrock") {
					t.Errorf("what Bedrock adds reached the caller: %s", a.Body)
				}
			}
		}
	}
	if n := e.Provider.AWSRolesAssumed(); n != 1 {
		t.Errorf("the role was assumed %d times", n)
	}
	for _, secret := range []string{bedrockSecret, nodeSecret, "bedrock-api-key-x"} {
		if strings.Contains(e.Logs(), secret) {
			t.Errorf("%s is in the log", secret)
		}
	}
}

// A tool's call and its result cross to both kinds of models and back.
func TestBedrockCallsATool(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	models := bedrockRoutes(e, addBedrock(e, "aws", nil))
	e.Live()
	stops := map[string]string{"openai": `"finish_reason":"tool_calls"`, "anthropic": `"stop_reason":"tool_use"`, responses: `"type":"function_call"`}
	for route, model := range models {
		e.Provider.Script(model, provider.Behavior{Tokens: 2, Tool: &provider.ToolCall{Name: "read", Input: json.RawMessage(`{"path":"a.txt"}`)}})
		for family, r := range toolRequests {
			for _, stream := range []bool{false, true} {
				a := e.Call(0, r.path, fmt.Sprintf(r.body, route, stream), map[string]string{"Anthropic-Version": "2023-06-01"})
				body := strings.ReplaceAll(string(a.Body), `\`, "")
				if a.Status != 200 || attempt(a) != "1" || !strings.Contains(body, stops[family]) || !strings.Contains(body, "a.txt") {
					t.Errorf("%s as %s, streamed %t: status %d: %s", route, family, stream, a.Status, a.Body)
				}
				wellAsked(t, e, model, stream)
			}
		}
		e.Provider.Script(model)
		result := fmt.Sprintf(`{"model":%q,"max_tokens":100,"messages":[{"role":"user","content":"Read it"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"},"caller":{"type":"direct"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"text"}]}],"tools":[{"name":"read","input_schema":{"type":"object"}}]}`, route)
		if a := e.Call(0, "/v1/messages", result, map[string]string{"Anthropic-Version": "2023-06-01"}); a.Status != 200 || attempt(a) != "1" {
			t.Errorf("%s: the result: status %d: %s", route, a.Status, a.Body)
		}
		wellAsked(t, e, model, false)
	}
}

// Some models call no tools in streams: they are asked for the whole answer, and the caller
// who wants a stream gets one, whose failures are understood like all.
func TestBedrockCallsToolsWhereItStreamsNone(t *testing.T) {
	t.Parallel()
	const llama = "us.meta.llama3-3-70b-instruct-v1:0"
	e := env.Start(t, env.Options{})
	e.AddTarget("llama", addBedrock(e, "aws", map[string]any{"models": []string{llama}, "auth_type": "aws_keys",
		"credentials": map[string]any{"access_key_id": "AKIDEXAMPLE", "secret_access_key": bedrockSecret}}), llama, 1, map[string]any{"cooldown_failure_threshold": 0})
	e.AddTarget("llama", e.AddProvider("second", "anthropic", "claude-second"), "claude-second", 2, nil)
	e.Live()
	ask := func(family string) env.Answer {
		r := toolRequests[family]
		return e.Call(0, r.path, fmt.Sprintf(r.body, "llama", true), map[string]string{"Anthropic-Version": "2023-06-01"})
	}
	stops := map[string]string{"openai": `"finish_reason":"tool_calls"`, "anthropic": `"stop_reason":"tool_use"`, responses: `"type":"function_call"`}
	for family := range toolRequests {
		e.Provider.Script(llama, provider.Behavior{Tokens: 2, Tool: &provider.ToolCall{Name: "read", Input: json.RawMessage(`{"path":"a.txt"}`)}, Usage: &provider.Usage{Input: 431, Output: 77}})
		a := ask(family)
		body := strings.ReplaceAll(string(a.Body), `\`, "")
		if a.Status != 200 || attempt(a) != "1" || !strings.Contains(body, stops[family]) || !strings.Contains(body, "a.txt") || family == "anthropic" && !strings.Contains(body, `"output_tokens":77`) {
			t.Errorf("%s: status %d by attempt %s: %s", family, a.Status, attempt(a), a.Body)
		}
		wantDialect(t, a, family, true)
		if r := last(t, e, llama); len(r.Problems) > 0 || !strings.HasSuffix(r.Path, "/converse") {
			t.Errorf("%s: was asked at %s: %q", family, r.Path, r.Problems)
		}
		for name, b := range map[string]provider.Behavior{"503": {Status: 503}, "HTML": {HTML: true}, "Empty": {Empty: true}, "Cut": {CutAfter: 1}, "Inside": {ErrorType: "server_error"}} {
			e.Provider.Script(llama, b)
			if a := ask(family); a.Status != 200 || attempt(a) != "2" {
				t.Errorf("%s, %s: status %d by attempt %s: %s", family, name, a.Status, attempt(a), a.Body)
			}
		}
	}
	e.Provider.Script(llama)
	if a := call(e, 0, "anthropic", "llama", true); a.Status != 200 || attempt(a) != "1" || !strings.HasSuffix(last(t, e, llama).Path, "/converse-stream") {
		t.Errorf("without tools: status %d at %s: %s", a.Status, last(t, e, llama).Path, a.Body)
	}
}

// What AWS says, as a status or as an exception in a stream, is understood: the next
// target answers.
func TestBedrockFailsOver(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	models := bedrockRoutes(e, addBedrock(e, "aws", nil))
	e.Live()
	for name, b := range map[string]provider.Behavior{
		"Throttled": {Status: 429}, "Unavailable": {Status: 503}, "Internal": {Status: 500}, "Timeout": {Status: 408}, "Model": {Status: 424}, "Retired": {Status: 404},
		"Denied": {Status: 403}, "Token": {Status: 401}, "Quota": {Status: 400, Body: `{"message":"Your request exceeds the service quota for your account."}`, Headers: map[string]string{"X-Amzn-Errortype": "ServiceQuotaExceededException"}},
		"NoSuchModel": {Status: 400, Body: `{"message":"The provided model identifier is invalid."}`, Headers: map[string]string{"X-Amzn-Errortype": "ValidationException"}},
		"ByProfile":   {Status: 400, Body: `{"message":"Invocation of model ID x with on-demand throughput isn't supported."}`, Headers: map[string]string{"X-Amzn-Errortype": "ValidationException"}},
		"ErrorFirst":  {ErrorType: "overloaded_error"}, "ErrorEarly": {ErrorType: "rate_limit_error", ErrorEventAfter: -1}, "ErrorInternal": {ErrorType: "api_error", ErrorEventAfter: -1},
		"Cut": {CutAfter: -1}, "CutInFrame": {CutAtByte: 40}, "Reset": {Reset: true}, "HTML": {HTML: true}, "Empty": {Empty: true}, "Malformed": {Malformed: true},
	} {
		for route, model := range models {
			for _, w := range ways {
				e.Provider.Script(model, b)
				a := call(e, 0, w.family, route, w.stream)
				if a.Status != 200 || attempt(a) != "2" || a.Header.Get("X-Bd-Provider-Failover-Count") != "1" || a.Broken != nil || !strings.Contains(said(t, w.family, w.stream, a.Body), "Hello from "+route+"-second") {
					t.Errorf("%s: %s by %s: status %d by %s: %s", name, route, w.name, a.Status, attempt(a), a.Body)
				}
			}
		}
	}
}

// A stream that breaks after content ends in the caller's error event, however it breaks.
func TestBedrockStreamBreaks(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	models := bedrockRoutes(e, addBedrock(e, "aws", nil))
	e.Live()
	for name, b := range map[string]provider.Behavior{
		"Cut": {CutAfter: 8, Tokens: 20}, "CutInFrame": {CutAtByte: 2500, Tokens: 50}, "CleanInFrame": {CutAtByte: 2500, Tokens: 50, CleanEnd: true}, "Clean": {CutAfter: 8, Tokens: 20, CleanEnd: true},
		"Throttled": {ErrorType: "rate_limit_error", ErrorEventAfter: 4, Tokens: 20}, "Overloaded": {ErrorType: "overloaded_error", ErrorEventAfter: 4, Tokens: 20},
		"Internal": {ErrorType: "api_error", ErrorEventAfter: 4, Tokens: 20},
	} {
		for route, model := range models {
			for _, w := range ways {
				if !w.stream {
					continue
				}
				e.Provider.Script(model, b)
				a := call(e, 0, w.family, route, true)
				body := string(a.Body)
				if a.Status != 200 || attempt(a) != "1" || !strings.Contains(body, endings[w.family].broken) || strings.Contains(body, endings[w.family].good) {
					t.Errorf("%s: %s by %s: status %d by %s: %s", name, route, w.name, a.Status, attempt(a), body)
				}
			}
		}
	}
}

// AWS's refusal of a request is the caller's to read, in the caller's envelope and in AWS's
// words; no other target is asked.
func TestBedrockRefusesARequest(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	models := bedrockRoutes(e, addBedrock(e, "aws", nil))
	for _, model := range models {
		e.Provider.Script(model, provider.Behavior{Status: 400, Body: `{"message":"messages: roles must alternate"}`, Headers: map[string]string{"X-Amzn-Errortype": "ValidationException:http://x/"}})
	}
	e.Live()
	for route := range models {
		for _, w := range ways {
			a := call(e, 0, w.family, route, w.stream)
			if a.Status != 400 || !strings.HasPrefix(string(a.Body), envelopes[w.family]) || !strings.Contains(string(a.Body), "messages: roles must alternate") ||
				!strings.Contains(string(a.Body), `"invalid_request_error"`) || a.Header.Get("X-Bd-Error-Origin") != "provider" || a.Header.Get("Request-Id") == "" {
				t.Errorf("%s by %s: status %d, %v: %s", route, w.name, a.Status, a.Header, a.Body)
			}
		}
		if n := asked(e, route+"-second"); n > 0 {
			t.Errorf("the second target was asked %d times", n)
		}
	}
}

// A request as Claude Code writes it, with betas and fields that Bedrock refuses, is
// answered; so is its count, which Bedrock is not asked for.
func TestBedrockTakesClaudeCode(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	e.AddTarget("claude-opus-4-8", addBedrock(e, "aws", nil), bedrockClaude, 1, nil)
	e.Live()
	const request = `"model":"claude-opus-4-8","system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2; cch=1;"},
		{"type":"text","text":"You are Claude Code.","cache_control":{"type":"ephemeral","ttl":"1h","scope":"global"}}],
		"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"1h"}}]},{"role":"system","content":"Be brief.","output_config":{"effort":"low"}}],
		"tools":[{"name":"Web","input_schema":{"type":"object"},"defer_loading":true,"eager_input_streaming":true}],"thinking":{"type":"adaptive","display":"omitted"},
		"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"output_config":{"effort":"high"},"safeguards":{},"metadata":{"user_id":"{}"}`
	header := map[string]string{"Anthropic-Version": "2023-06-01", "Anthropic-Beta": "claude-code-20250219,interleaved-thinking-2025-05-14,prompt-caching-scope-2026-01-05,advanced-tool-use-2025-11-20,oauth-2025-04-20"}
	for _, stream := range []bool{false, true} {
		a := e.Call(0, "/v1/messages?beta=true", fmt.Sprintf(`{%s,"max_tokens":128000,"stream":%t}`, request, stream), header)
		if a.Status != 200 || !strings.Contains(string(a.Body), bedrockClaude) {
			t.Errorf("streamed %t: status %d: %s", stream, a.Status, a.Body)
		}
		wellAsked(t, e, bedrockClaude, stream)
	}
	seen := len(e.Provider.Calls())
	if a := e.Call(0, "/v1/messages/count_tokens?beta=true", "{"+request+"}", header); a.Status != 200 || !strings.Contains(string(a.Body), `"input_tokens":`) || len(e.Provider.Calls()) != seen {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
}

// The nodes' own identity is nobody's who only asks for it: the target is skipped, with
// the reason in words. A role of another organization's cannot be assumed.
func TestBedrockOwnIdentityIsNotLent(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	own := addBedrock(e, "own", map[string]any{})
	e.AddTarget("own", own, bedrockClaude, 1, nil)
	const role = "arn:aws:iam::123456789012:role/of-another"
	other := e.NewOrg("other")
	e.Provider.AddAWSRole(role, other.ID.String(), time.Hour)
	id := addBedrock(e, "stolen", map[string]any{"credentials": map[string]any{"role_arn": role, "external_id": other.ID.String()}})
	e.AddTarget("stolen", id, bedrockClaude, 1, nil)
	e.Live()
	a := call(e, 0, "openai", "own", false)
	if a.Status < 400 || !strings.Contains(string(a.Body), "ambient_credentials_not_allowed") || !strings.Contains(string(a.Body), "own cloud identity") {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
	if a = call(e, 0, "openai", "stolen", false); a.Status < 400 || !strings.Contains(string(a.Body), "auth_rejected") {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
	if n := asked(e, bedrockClaude); n > 0 || e.Provider.AWSRolesAssumed() > 0 {
		t.Errorf("AWS was asked %d times", n)
	}
}

// What no node could serve is refused with the field's name.
func TestBedrockSettingsAreChecked(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	keys := map[string]any{"access_key_id": "k", "secret_access_key": "s"}
	for field, change := range map[string]map[string]any{
		"settings.region":               {"base_url": "https://llm.example", "settings": map[string]any{}},
		"base_url":                      {"base_url": "https://bedrock-mantle.us-east-1.api.aws"},
		"credentials.secret_access_key": {"credentials": map[string]any{"access_key_id": "k"}},
	} {
		body := map[string]any{"name": "aws", "model_provider": "bedrock", "auth_type": "aws_keys", "base_url": "https://bedrock-runtime.us-east-1.amazonaws.com", "credentials": keys}
		for k, v := range change {
			body[k] = v
		}
		if a := e.Admin(http.MethodPost, "/providers", body); a.Status != 400 || !strings.Contains(string(a.Body), `"param":"`+field+`"`) {
			t.Errorf("%s: status %d: %s", field, a.Status, a.Body)
		}
	}
}
