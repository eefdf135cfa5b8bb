package rest_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

const explainPath = adminPath + "explain"

// explained is an organization with the route "smart" of two targets on "Open AI".
func explained(t *testing.T) (a *api, nodes *fleet, provider string) {
	t.Helper()
	nodes = &fleet{}
	a = setupFleet(t, storetest.Shared(t), nodes)
	provider = a.provider(t, "Open AI", "gpt-5", "gpt-4")
	for i, model := range []string{"gpt-5", "gpt-4"} {
		a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "smart", "upstream_model": model, "priority": i, "retry_on_429_count": 1}).want(t, 200)
	}
	return a, nodes, provider
}

func (a *api) explain(t *testing.T, question fields) fields {
	t.Helper()
	return a.call(t, "POST", explainPath, question).want(t, 200).object(t)
}

// briefly writes what is explained as a line for each step and one for the outcome.
func briefly(out fields) (lines []string) {
	for _, s := range out["steps"].([]any) {
		s := s.(fields)
		line := fmt.Sprintf("%v %v %v", s["position"], s["upstream_model"], s["decision"])
		if s["reason"] != nil {
			line += fmt.Sprintf(" %v", s["reason"])
		}
		for _, try := range s["tries"].([]any) {
			try := try.(fields)
			line += fmt.Sprintf(" %v->%v", try["class"], try["next"])
		}
		if h, _ := s["health"].(fields); h != nil {
			line += fmt.Sprintf(" %v of %v cools %v", h["kind"], h["scope"], h["cools_for_secs"])
		}
		lines = append(lines, line)
	}
	o := out["outcome"].(fields)
	line := fmt.Sprintf("%v %v by %v origin %v", o["kind"], o["status"], o["position"], o["origin"])
	for _, name := range []string{"code", "retry_after_secs"} {
		if o[name] != nil {
			line += fmt.Sprintf(" %v", o[name])
		}
	}
	return append(lines, line)
}

func TestExplain(t *testing.T) {
	t.Parallel()
	a, _, provider := explained(t)
	at := func(position int, more fields) fields { return with(fields{"position": position}, more) }
	for i, model := range []string{"gpt-5", "gpt-4"} {
		a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "vectors", "upstream_model": model, "priority": i, "embeddings_failover": "any_model"}).want(t, 200)
	}
	for name, c := range map[string]struct {
		question fields
		want     []string
	}{
		"AnsweredAsAsked": {fields{}, []string{"1 gpt-5 tried ok->served", "2 gpt-4 not_reached", "served 200 by 1 origin <nil>"}},
		"FailsOver": {fields{"answers": []any{at(1, fields{"status": 503})}},
			[]string{"1 gpt-5 tried server_error->next_target failure of all_users cools 0", "2 gpt-4 tried ok->served", "served 200 by 2 origin <nil>"}},
		"ByProviderAndModel": {fields{"answers": []any{fields{"provider_id": provider, "upstream_model": "gpt-5", "status": 529}}},
			[]string{"1 gpt-5 tried overloaded->next_target overloaded of all_users cools 10", "2 gpt-4 tried ok->served", "served 200 by 2 origin <nil>"}},
		"RetriesThenServes": {fields{"answers": []any{at(1, fields{"status": 429}), at(1, fields{"status": 201})}},
			[]string{"1 gpt-5 tried rate_limited->try_again ok->served", "2 gpt-4 not_reached", "served 201 by 1 origin <nil>"}},
		"TheLastAnswerHolds": {fields{"answers": []any{at(1, fields{"status": 429, "headers": fields{"retry-after": "7"}}), at(2, fields{"status": 429, "headers": fields{"Retry-After": "9.5"}})}},
			[]string{"1 gpt-5 tried rate_limited->try_again rate_limited->next_target rate_limited of all_users cools 7",
				"2 gpt-4 tried rate_limited->try_again rate_limited->next_target rate_limited of all_users cools 10", "failed 429 by <nil> origin provider all_targets_unavailable 7"}},
		"PassedOn": {fields{"answers": []any{at(1, fields{"status": 400, "body": "{}"})}},
			[]string{"1 gpt-5 tried invalid_request->passed_on", "2 gpt-4 not_reached", "passed_on 400 by 1 origin provider"}},
		"Causes": {fields{"answers": []any{at(1, fields{"cause": "timeout"}), at(2, fields{"cause": "connection_refused"})}},
			[]string{"1 gpt-5 tried timeout->next_target failure of all_users cools 0", "2 gpt-4 tried connection->next_target failure of all_users cools 0",
				"failed 502 by <nil> origin provider all_targets_failed"}},
		"MoreCauses": {fields{"answers": []any{at(1, fields{"cause": "bad_answer"}), at(2, fields{"cause": "connection", "status": 200})}},
			[]string{"1 gpt-5 tried bad_answer->next_target failure of all_users cools 0", "2 gpt-4 tried connection->next_target failure of all_users cools 0",
				"failed 502 by <nil> origin provider all_targets_failed"}},
		"CallerGone": {fields{"answers": []any{at(1, fields{"cause": "caller_gone"})}},
			[]string{"1 gpt-5 tried canceled->caller_left", "2 gpt-4 not_reached", "caller_left <nil> by 1 origin <nil>"}},
		"HTMLIn200": {fields{"answers": []any{at(1, fields{"status": 200, "body": "<html>"})}},
			[]string{"1 gpt-5 tried bad_answer->next_target failure of all_users cools 0", "2 gpt-4 tried ok->served", "served 200 by 2 origin <nil>"}},
		"ErrorEventBeforeContent": {fields{"stream": true, "answers": []any{at(1, fields{"phase": "stream", "body": `{"error":{"type":"overloaded_error"}}`})}},
			[]string{"1 gpt-5 tried overloaded->next_target overloaded of all_users cools 10", "2 gpt-4 tried ok->served", "served 200 by 2 origin <nil>"}},
		"SilentStream": {fields{"stream": true, "answers": []any{at(1, fields{"phase": "stream", "cause": "timeout"})}},
			[]string{"1 gpt-5 tried timeout->next_target failure of all_users cools 0", "2 gpt-4 tried ok->served", "served 200 by 2 origin <nil>"}},
		"BreaksInContent": {fields{"stream": true, "answers": []any{at(1, fields{"phase": "content", "cause": "connection"})}},
			[]string{"1 gpt-5 tried connection->broke_off failure of all_users cools 0", "2 gpt-4 not_reached", "broke_off 200 by 1 origin <nil>"}},
		"ErrorInContent": {fields{"stream": true, "answers": []any{at(1, fields{"phase": "content", "body": `{"error":{"message":"x"}}`})}},
			[]string{"1 gpt-5 tried server_error->broke_off failure of all_users cools 0", "2 gpt-4 not_reached", "broke_off 200 by 1 origin <nil>"}},
		"OtherDialect": {fields{"endpoint": "messages"}, []string{"1 gpt-5 tried ok->served", "2 gpt-4 not_reached", "served 200 by 1 origin <nil>"}},
		"OtherDialectIsReadInItsOwn": {fields{"endpoint": "messages", "answers": []any{
			at(1, fields{"status": 200, "body": `{"type":"message","role":"assistant","content":[{"type":"text","text":"x"}]}`}),
			at(2, fields{"status": 200, "body": `{"choices":[{"message":{"role":"assistant","content":"x"}}]}`})}},
			[]string{"1 gpt-5 tried bad_answer->next_target failure of all_users cools 0", "2 gpt-4 tried ok->served", "served 200 by 2 origin <nil>"}},
		"Embeddings": {fields{"endpoint": "embeddings"}, []string{"1 gpt-5 tried ok->served", "2 gpt-4 not_reached", "served 200 by 1 origin <nil>"}},
		"EmbeddingsElsewhere": {fields{"endpoint": "embeddings", "answers": []any{at(1, fields{"status": 404})}},
			[]string{"1 gpt-5 tried model_not_found->next_target", "2 gpt-4 skipped different_embedding_model", "failed 404 by <nil> origin provider all_targets_failed"}},
		"EmbeddingsOfAnyModel": {fields{"model": "vectors", "endpoint": "embeddings", "answers": []any{at(1, fields{"status": 404})}},
			[]string{"1 gpt-5 tried model_not_found->next_target", "2 gpt-4 tried ok->served", "served 200 by 2 origin <nil>"}},
		"Body": {fields{"endpoint": "messages", "body": fields{"max_tokens": 5, "messages": []any{fields{"role": "user", "content": "hi"}}}},
			[]string{"1 gpt-5 tried ok->served", "2 gpt-4 not_reached", "served 200 by 1 origin <nil>"}},
		"BodyThatDoesNotCross": {fields{"endpoint": "messages", "body": fields{"max_tokens": 5, "messages": []any{fields{"role": "user", "content": "hi"}}, "mcp_servers": []any{fields{"url": "https://x", "type": "url", "name": "x"}}}},
			[]string{"1 gpt-5 skipped cannot_translate", "2 gpt-4 skipped cannot_translate", "failed 400 by <nil> origin gateway cannot_translate"}},
		"BodyInItsOwnDialect":   {fields{"body": fields{"n": 2, "messages": []any{}}}, []string{"1 gpt-5 tried ok->served", "2 gpt-4 not_reached", "served 200 by 1 origin <nil>"}},
		"Responses":             {fields{"endpoint": "responses"}, []string{"1 gpt-5 tried ok->served", "2 gpt-4 not_reached", "served 200 by 1 origin <nil>"}},
		"UnknownModel":          {fields{"model": "nothing"}, []string{"refused 404 by <nil> origin gateway model_not_found"}},
		"AnswersOfUnknownModel": {fields{"model": "nothing", "answers": []any{at(9, fields{"status": 503})}}, []string{"refused 404 by <nil> origin gateway model_not_found"}},
		"Direct":                {fields{"model": "open-ai/gpt-4"}, []string{"1 gpt-4 tried ok->served", "served 200 by 1 origin <nil>"}},
		"NullsAbsent": {fields{"api_key_id": nil, "endpoint": nil, "stream": nil, "own_credential": nil, "ignore_health": nil, "answers": nil},
			[]string{"1 gpt-5 tried ok->served", "2 gpt-4 not_reached", "served 200 by 1 origin <nil>"}},
	} {
		t.Run(name, func(t *testing.T) {
			question := fields{"model": "smart"}
			for k, v := range c.question { // with() drops nulls
				question[k] = v
			}
			if diff := cmp.Diff(c.want, briefly(a.explain(t, question))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The whole answer, once.
func TestExplainInFull(t *testing.T) {
	t.Parallel()
	a, nodes, provider := explained(t)
	nodes.silent = []string{"node-2"}
	nodes.say(report("node-1", provider, "gpt-5", byDefault(node.Judgement{State: "ejected", Reason: "rate_limited", RemainingMilli: 20_000, Multiplier: 1})))
	key := a.call(t, "POST", keysPath, fields{"name": "k"}).want(t, 200).id(t)
	out := a.explain(t, fields{"model": "smart", "api_key_id": key, "answers": []any{
		fields{"position": 2, "status": 429, "headers": fields{"Retry-After": "90"}, "body": `{"error":{"message":"Slow down"}}`}}})
	if v := out["configuration"].(fields)["version"].(float64); v < 3 {
		t.Errorf("got version %v", v)
	}
	delete(out, "configuration")
	try := fields{"class": "rate_limited", "failover": true, "status": 429.0, "message": "Slow down", "retry_after_secs": 90.0, "next": "next_target", "wait_secs": nil}
	steps := out["steps"].([]any)
	again := steps[1].(fields)["tries"].([]any)[0].(fields)
	if wait, _ := again["wait_secs"].(float64); wait < 0.8 || wait > 1.2 {
		t.Errorf("got a wait of %v s", again["wait_secs"])
	}
	again["wait_secs"] = "about 1"
	want := fields{
		"health": fields{"included": true, "answered": []any{"node-1"}, "silent": []any{"node-2"}},
		"caller": fields{"valid": true, "reason": nil}, "resolution": fields{"kind": "route", "route": "smart", "reason": `The route "smart" has 2 targets.`},
		"steps": []any{
			fields{"position": 1.0, "provider_id": provider, "provider_name": "Open AI", "upstream_model": "gpt-5", "decision": "skipped", "reason": "cooling_down",
				"cooldown_reason": "rate_limited", "recovers_in_secs": 20.0, "probe": false, "tries": []any{}, "health": nil},
			fields{"position": 2.0, "provider_id": provider, "provider_name": "Open AI", "upstream_model": "gpt-4", "decision": "tried", "reason": nil,
				"recovers_in_secs": nil, "probe": false, "tries": []any{mergedWith(try, fields{"next": "try_again", "wait_secs": "about 1"}), try},
				"health": fields{"kind": "rate_limited", "scope": "all_users", "cools_for_secs": 90.0}},
		},
		"outcome": fields{"kind": "failed", "position": nil, "status": 429.0, "origin": "provider", "code": "all_targets_unavailable",
			"message": "every target of the route is rate-limited, out of quota or cooling down", "retry_after_secs": 20.0,
			"headers": fields{"x-bd-provider-route-count": "2", "x-bd-provider-failover-count": "1", "x-bd-error-origin": "provider", "retry-after": "20"},
			"attempts": []any{
				fields{"position": 1.0, "provider": "Open AI", "upstream_model": "gpt-5", "outcome": "skipped", "reason": "cooling_down", "retry_after_secs": 20.0, "duration_ms": 0.0, "message": "rate_limited"},
				fields{"position": 2.0, "provider": "Open AI", "upstream_model": "gpt-4", "outcome": "failed", "reason": "rate_limited", "status": 429.0, "retry_after_secs": 90.0, "duration_ms": 0.0, "message": "Slow down"},
			}},
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// mergedWith is with for fields that stay null.
func mergedWith(base, changes fields) fields {
	out := fields{}
	for k, v := range base {
		out[k] = v
	}
	for k, v := range changes {
		out[k] = v
	}
	return out
}

// Each target is judged by its own policy over what the nodes report.
func TestExplainHealth(t *testing.T) {
	t.Parallel()
	a, nodes, provider := explained(t)
	strict := node.DefaultCooldown()
	strict.FailureThreshold = 2
	a.call(t, "POST", mappingsPath, fields{"provider_id": provider, "model_alias": "strict", "upstream_model": "gpt-5", "cooldown_failure_threshold": 2}).want(t, 200)
	cooling := node.Judgement{State: "ejected", Reason: "provider_errors", RemainingMilli: 20_000, Multiplier: 1}
	nodes.say(report("node-1", provider, "gpt-5", byDefault(node.Judgement{State: "healthy", Failures: 9}), node.PolicyHealth{Policy: strict, Judgement: cooling}))
	recovering := report("node-1", provider, "gpt-5", node.PolicyHealth{Policy: strict, Judgement: node.Judgement{State: "half_open", Reason: "provider_errors", Multiplier: 2}})
	full := report("node-1", provider, "gpt-5", node.PolicyHealth{Policy: strict, Judgement: node.Judgement{State: "half_open", Reason: "provider_errors", Multiplier: 2, Probes: 3}})
	failing := []any{fields{"position": 1, "status": 500}}

	healthy := report("node-2", provider, "gpt-5", node.PolicyHealth{Policy: strict, Judgement: node.Judgement{State: "healthy"}})
	alone := report("node-1", provider, "gpt-5", node.PolicyHealth{Policy: strict, Judgement: cooling})

	for _, c := range []struct {
		name     string
		reports  []node.HealthReport
		question fields
		want     string
		included bool
	}{
		{"Strict", nil, fields{"model": "strict"}, "1 gpt-5 skipped cooling_down", true},
		{"TenthFailure", nil, fields{"model": "smart", "answers": failing}, "1 gpt-5 tried server_error->next_target failure of all_users cools 30", true},
		{"Ignored", nil, fields{"model": "strict", "ignore_health": true}, "1 gpt-5 tried ok->served", false},
		{"Probe", []node.HealthReport{recovering}, fields{"model": "strict"}, "1 gpt-5 tried ok->served probe_ok of all_users cools 0", true},
		{"FailedProbe", []node.HealthReport{recovering}, fields{"model": "strict", "answers": failing}, "1 gpt-5 tried server_error->next_target failure of all_users cools 120", true},
		{"NoProbeLeft", []node.HealthReport{full}, fields{"model": "strict"}, "1 gpt-5 skipped recovering", true},
		{"NodesDiffer", []node.HealthReport{alone, healthy}, fields{"model": "strict"}, "1 gpt-5 skipped cooling_down", true},
		{"NodesDifferTheOtherWay", []node.HealthReport{healthy, alone}, fields{"model": "strict"}, "1 gpt-5 skipped cooling_down", true},
		{"NobodyAnswers", []node.HealthReport{}, fields{"model": "strict"}, "1 gpt-5 tried ok->served", false},
	} {
		if c.reports != nil {
			nodes.say(c.reports...)
		}
		out := a.explain(t, c.question)
		if got := briefly(out)[0]; got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if got := out["health"].(fields)["included"]; got != c.included {
			t.Errorf("%s: health included: %v", c.name, got)
		}
	}
	nodes.err = errors.New("the bus is not connected")
	if out := a.explain(t, fields{"model": "strict"}); out["health"].(fields)["included"] != false || out["outcome"].(fields)["kind"] != "served" {
		t.Errorf("without the bus: %v", out)
	}
}

func TestExplainKeys(t *testing.T) {
	t.Parallel()
	a, _, _ := explained(t)
	create := func(more fields) string {
		return a.call(t, "POST", keysPath, with(fields{"name": uuid.NewString()}, more)).want(t, 200).id(t)
	}
	good, disabled, revoked, expired := create(nil), create(nil), create(nil), create(fields{"expires_at": time.Now().Add(time.Hour)})
	a.call(t, "PATCH", keysPath+"/"+disabled, fields{"disabled": true}).want(t, 200)
	a.call(t, "DELETE", keysPath+"/"+revoked, nil).want(t, 200)
	if _, err := storetest.Connect(t, a.db.SuperuserURL).Exec(t.Context(), `UPDATE api_keys SET expires_at = now() - interval '1 s' WHERE id = $1`, expired); err != nil {
		t.Fatal(err)
	}
	for id, reason := range map[string]any{good: nil, disabled: "disabled", revoked: "revoked", expired: "expired"} {
		out := a.explain(t, fields{"model": "smart", "api_key_id": id})
		if diff := cmp.Diff(fields{"valid": reason == nil, "reason": reason}, out["caller"]); diff != "" {
			t.Errorf("%v (-want +got):\n%s", reason, diff)
		}
		o := out["outcome"].(fields)
		if reason == nil {
			if o["kind"] != "served" {
				t.Errorf("got %v", o)
			}
			continue
		}
		if o["kind"] != "refused" || o["status"] != 401.0 || o["code"] != "invalid_api_key" || o["headers"].(fields)["x-should-retry"] != "false" {
			t.Errorf("%v: got %v", reason, o)
		}
	}
	other := a.as(t, "Other", "admin").call(t, "POST", keysPath, fields{"name": "theirs"}).want(t, 200).id(t)
	for _, id := range []string{other, uuid.NewString()} {
		a.call(t, "POST", explainPath, fields{"model": "smart", "api_key_id": id}).wantError(t, 404, "not_found_error", "api key "+id+" not found")
	}
}

// A model that nothing answers to is explained by what comes nearest.
func TestExplainUnknownModels(t *testing.T) {
	t.Parallel()
	a, _, _ := explained(t)
	for model, want := range map[string]string{
		"gpt-5":         `The name "gpt-5" is not callable by itself (bare_alias is false); "open-ai/gpt-5" is.`,
		"Smart":         `No route is named "Smart"; names are told apart by case, and there is "smart".`,
		"open ai/gpt-9": `The provider "Open AI" has no model "gpt-9" enabled.`,
		"else/gpt-9":    `No route is named "else/gpt-9", and it is no provider's model.`,
		"":              `No route is named "", and it is no provider's model.`,
	} {
		out := a.explain(t, fields{"model": model})
		if diff := cmp.Diff(fields{"kind": "none", "route": nil, "reason": want}, out["resolution"]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", model, diff)
		}
	}
}

// Nothing that a route cannot come to is explained, and nothing is explained for
// another target than it was meant for.
func TestExplainRefusals(t *testing.T) {
	t.Parallel()
	a, _, provider := explained(t)
	for _, c := range []struct {
		body    string
		status  int
		message string
	}{
		{`{}`, 422, "missing field `model`"},
		{`{"model":1}`, 422, "model: invalid type: number, expected a string"},
		{`{"model":"smart","api_key_id":"x"}`, 422, "api_key_id: UUID parsing failed"},
		{`{"model":"smart","endpoint":"audio"}`, 400, "endpoint must be 'chat_completions', 'messages', 'responses' or 'embeddings'"},
		{`{"model":"smart","endpoint":"embeddings","stream":true}`, 400, "stream must not be true: there are no streams of embeddings"},
		{`{"model":"smart","body":[]}`, 422, "body: invalid type: array, expected an object"},
		{`{"model":"smart","models":1}`, 400, "unknown field `models`"},
		{`{"model":"smart","answers":{}}`, 422, "answers: invalid type: object, expected an array"},
		{`{"model":"smart","answers":[null]}`, 422, "answers[0]: invalid type: null, expected an object"},
		{`{"model":"smart","answers":[{"position":1,"status":"x"}]}`, 422, "answers[0].status: invalid type: string, expected an integer"},
		{`{"model":"smart","answers":[{"provider_id":"x"}]}`, 422, "answers[0].provider_id: UUID parsing failed"},
		{`{"model":"smart","answers":[{"position":1,"headers":{"A":1}}]}`, 422, "answers[0].headers.A: invalid type: number, expected a string"},
		{`{"model":"smart","answers":[{"position":1,"state":1}]}`, 400, "answers[0]: unknown field `state`"},
		{`{"model":"smart","answers":[{"status":503}]}`, 400, "answers[0]: give either position, or provider_id and upstream_model"},
		{`{"model":"smart","answers":[{"position":1,"status":503},{"position":1,"upstream_model":"gpt-5","status":503}]}`, 400, "answers[1]: give either position, or provider_id and upstream_model"},
		{`{"model":"smart","answers":[{"upstream_model":"gpt-5","status":503}]}`, 400, "answers[0]: give either position, or provider_id and upstream_model"},
		{`{"model":"smart","answers":[{"position":0,"status":503}]}`, 400, "answers[0].position must be at least 1"},
		{`{"model":"smart","answers":[{"position":3,"status":503}]}`, 400, "answers[0].position must be at most 2: the route has no more targets"},
		{`{"model":"smart","answers":[{"provider_id":"` + provider + `","upstream_model":"gpt-9","status":503}]}`, 400, "answers[0]: the route has no target of that provider and model"},
		{`{"model":"smart","answers":[{"provider_id":"` + uuid.NewString() + `","upstream_model":"gpt-5","status":503}]}`, 400, "answers[0]: the route has no target of that provider and model"},
		{`{"model":"smart","answers":[{"position":1}]}`, 400, "answers[0]: give a status or a cause"},
		{`{"model":"smart","answers":[{"position":1,"status":99}]}`, 400, "answers[0].status must be between 100 and 599"},
		{`{"model":"smart","answers":[{"position":1,"status":600}]}`, 400, "answers[0].status must be between 100 and 599"},
		{`{"model":"smart","answers":[{"position":1,"cause":"moonlight"}]}`, 400, "answers[0].cause must be 'timeout', 'connection', 'connection_refused', 'bad_answer' or 'caller_gone'"},
		{`{"model":"smart","answers":[{"position":1,"cause":"timeout","status":503}]}`, 400, "answers[0].status must be between 200 and 299 with a cause, and in a stream"},
		{`{"model":"smart","answers":[{"position":1,"cause":"timeout","body":""}]}`, 400, "answers[0].body must not be given with a cause: it is not read"},
		{`{"model":"smart","answers":[{"position":1,"cause":"connection_refused","status":200}]}`, 400, "answers[0].cause must not be 'connection_refused' where an answer came"},
		{`{"model":"smart","answers":[{"position":1,"status":200,"phase":"later"}]}`, 400, "answers[0].phase must be 'answered', 'stream' or 'content'"},
		{`{"model":"smart","answers":[{"position":1,"status":200,"phase":"stream"}]}`, 400, "answers[0].phase must be 'answered' where the request does not stream"},
		{`{"model":"smart","stream":true,"answers":[{"position":1,"status":300,"phase":"content"}]}`, 400, "answers[0].status must be between 200 and 299 with a cause, and in a stream"},
		{`{"model":"smart","stream":true,"answers":[{"position":1,"status":200,"headers":{"content-type":"text/event-stream"},"body":"data: x"}]}`, 400,
			"answers[0].body must not be a whole event stream: give an error event's data, with phase 'stream' or 'content'"},
	} {
		a.call(t, "POST", explainPath, c.body).wantError(t, c.status, "invalid_request_error", c.message)
	}
	a.send(t, "POST", explainPath, `{"model":"smart"}`, func(r *http.Request) { r.Header.Del("Authorization") }).
		wantError(t, 401, "authentication_error", "an access token is required")
	member := a.as(t, "Members", "member")
	member.call(t, "POST", explainPath, `{"model":"smart"}`).wantError(t, 403, "permission_error", "principal is not permitted to perform this action")
}
