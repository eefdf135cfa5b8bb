package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// pair makes a route of two targets on the scripted provider, whose models are
// named after the route: "<route>-1" and "<route>-2".
func pair(e *env.Env, route, family string, more map[string]any) (first, second string) {
	first, second = route+"-1", route+"-2"
	id := e.AddProvider(route, vendor(family), first, second)
	e.AddTarget(route, id, first, 1, more)
	e.AddTarget(route, id, second, 2, nil)
	return first, second
}

// asked is how many requests a model's target saw.
func asked(e *env.Env, model string) (n int) {
	for _, r := range e.Provider.Calls() {
		if r.Model == model {
			n++
		}
	}
	return n
}

var ways = []struct {
	name, family string
	stream       bool
}{
	{"Chat", "openai", false}, {"ChatStreamed", "openai", true}, {"Messages", "anthropic", false}, {"MessagesStreamed", "anthropic", true},
	{"Responses", responses, false}, {"ResponsesStreamed", responses, true},
}

// responses is the second way to ask an OpenAI provider; "openai" is chat.
const responses = "responses"

// vendor is the provider's family for a way to ask.
func vendor(family string) string {
	if family == responses {
		return "openai"
	}
	return family
}

func call(e *env.Env, node int, family, model string, stream bool) env.Answer {
	switch family {
	case "anthropic":
		return e.Messages(node, model, stream)
	case responses:
		return e.Responses(node, model, stream)
	}
	return e.Chat(node, model, stream)
}

// endings are what the whole and the broken streams of each way to ask end with.
var endings = map[string]struct{ good, broken string }{
	"openai": {"[DONE]", `data: {"error":`}, "anthropic": {"message_stop", "event: error\ndata: {"},
	responses: {"response.completed", "event: response.failed\ndata: {"},
}

// wantServed checks an answer that the second of two targets gave.
func wantServed(t *testing.T, a env.Answer, model string) {
	t.Helper()
	got := map[string]string{}
	for _, name := range []string{"Attempt", "Count"} {
		got[name] = a.Header.Get("X-Bd-Provider-Route-" + name)
	}
	got["Failover"] = a.Header.Get("X-Bd-Provider-Failover-Count")
	if diff := cmp.Diff(map[string]string{"Attempt": "2", "Count": "2", "Failover": "1"}, got); diff != "" {
		t.Errorf("headers: -want +got\n%s", diff)
	}
	if a.Status != http.StatusOK || !strings.Contains(string(a.Body), model) || a.Broken != nil {
		t.Errorf("status %d, broken %v, want an answer of %s: %s", a.Status, a.Broken, model, a.Body)
	}
}

// Whatever the first target does before its first content, the second answers.
func TestFirstTargetFailsSecondAnswers(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	quick := map[string]any{"request_timeout_secs": 1, "stream_idle_timeout_secs": 1}
	behaviors := map[string]provider.Behavior{
		"500": {Status: 500}, "502": {Status: 502}, "503": {Status: 503}, "529": {Status: 529}, "429": {Status: 429}, "429after": {Status: 429, RetryAfter: "7"},
		"401": {Status: 401}, "402": {Status: 402}, "403": {Status: 403}, "404": {Status: 404}, "408": {Status: 408},
		"quota": {Kind: "insufficient_quota"}, "credit": {Kind: "credit_balance"}, "limit": {Kind: "usage_limit"}, "entitlement": {Kind: "long_context"},
		"hang": {Hang: true}, "reset": {Reset: true}, "html": {HTML: true}, "empty": {Empty: true}, "malformed": {Malformed: true},
		"error-in-200": {ErrorType: "overloaded_error"}, "error-before-content": {ErrorType: "overloaded_error", ErrorEventAfter: -1}, "redirect": {Status: 302, Headers: map[string]string{"Location": "http://127.0.0.1:1/"}},
		"cut-before-content": {CutAfter: -1}, "silent": {HangAfter: -1},
	}
	type testCase struct {
		name, route, family string
		stream              bool
	}
	var cases []testCase
	for _, w := range ways {
		var models []string
		for kind := range behaviors {
			route := strings.ToLower(w.name + "-" + kind)
			models = append(models, route+"-1", route+"-2")
		}
		id := e.AddProvider(w.name, vendor(w.family), models...)
		for kind, b := range behaviors {
			route := strings.ToLower(w.name + "-" + kind)
			e.AddTarget(route, id, route+"-1", 1, quick)
			e.AddTarget(route, id, route+"-2", 2, nil)
			e.Provider.Script(route+"-1", b)
			cases = append(cases, testCase{w.name + "/" + kind, route, w.family, w.stream})
		}
	}
	e.Live()
	t.Run("cases", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				wantServed(t, call(e, 0, c.family, c.route, c.stream), c.route+"-2")
			})
		}
	})
	for _, r := range e.Provider.Calls() {
		if len(r.Problems) > 0 {
			t.Errorf("%s was sent what no provider should: %q", r.Model, r.Problems)
		}
	}
}

func TestRefusedConnectionFailsOver(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for _, w := range ways {
		base := "http://" + closed.Addr().String()
		if vendor(w.family) == "openai" {
			base += "/v1"
		}
		dead := e.AddProviderAt("dead-"+w.name, vendor(w.family), base, "m-1")
		alive := e.AddProvider("alive-"+w.name, vendor(w.family), "m-2")
		e.AddTarget(w.name, dead, "m-1", 1, nil)
		e.AddTarget(w.name, alive, "m-2", 2, nil)
	}
	e.Live()
	for _, w := range ways {
		wantServed(t, call(e, 0, w.family, w.name, w.stream), "m-2")
	}
}

// A refusal of the request itself comes back as the provider said it, and nobody
// else is asked.
func TestBadRequestComesBackAsItIs(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	const said = `"error":{"message":"max_tokens is too large: see docs","type":"invalid_request_error","param":"max_tokens","code":"x"}, "odd":  1}`
	body := func(family string) string {
		if vendor(family) == "anthropic" {
			return `{"type":"error", ` + said
		}
		return "{" + said
	}
	for _, w := range ways {
		first, _ := pair(e, "bad-"+w.name, w.family, nil)
		e.Provider.Script(first, provider.Behavior{Status: 400, Body: body(w.family)})
	}
	e.Live()
	for _, w := range ways {
		a := call(e, 0, w.family, "bad-"+w.name, w.stream)
		if a.Status != 400 || string(a.Body) != body(w.family) || a.Header.Get("X-Bd-Error-Origin") != "provider" {
			t.Errorf("%s: got %d from %q: %s", w.name, a.Status, a.Header.Get("X-Bd-Error-Origin"), a.Body)
		}
		if n := asked(e, "bad-"+w.name+"-2"); n != 0 {
			t.Errorf("%s: the second target was asked %d times", w.name, n)
		}
	}
}

type failure struct {
	Error struct {
		Message, Type, Code string
		Metadata            struct {
			Attempts []struct {
				Position       int
				Provider       string
				UpstreamModel  string `json:"upstream_model"`
				Outcome        string
				Reason         string
				Status         int
				RetryAfterSecs *int `json:"retry_after_secs"`
			}
		}
	}
}

func TestAllTargetsFail(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	cases := []struct {
		name          string
		first, second provider.Behavior
		status        int
		retryAfter    string
		reasons       []string
	}{
		{"shared", provider.Behavior{Status: 503}, provider.Behavior{Status: 503}, 503, "", []string{"server_error", "server_error"}},
		{"mixed", provider.Behavior{Status: 503}, provider.Behavior{Status: 500}, 502, "", []string{"server_error", "server_error"}},
		{"limited", provider.Behavior{Status: 429, RetryAfter: "20"}, provider.Behavior{Status: 429, RetryAfter: "9.2"}, 429, "10", []string{"rate_limited", "rate_limited"}},
		{"quota", provider.Behavior{Kind: "insufficient_quota"}, provider.Behavior{Status: 429, RetryAfter: "900"}, 429, "300", []string{"usage_limit", "rate_limited"}},
		{"no-answer", provider.Behavior{Reset: true}, provider.Behavior{Malformed: true}, 502, "", []string{"connection", "bad_answer"}},
	}
	for _, c := range cases {
		for _, w := range ways {
			first, second := pair(e, c.name+w.name, w.family, nil)
			e.Provider.Script(first, c.first)
			e.Provider.Script(second, c.second)
		}
	}
	e.Live()
	for _, c := range cases {
		for _, w := range ways {
			a := call(e, 0, w.family, c.name+w.name, w.stream)
			var f failure
			if err := json.Unmarshal(a.Body, &f); err != nil {
				t.Fatalf("%s/%s: %v: %s", c.name, w.name, err, a.Body)
			}
			if a.Status != c.status || a.Header.Get("Retry-After") != c.retryAfter || a.Header.Get("X-Bd-Provider-Failover-Count") != "2" {
				t.Errorf("%s/%s: status %d, Retry-After %q, want %d, %q: %s", c.name, w.name, a.Status, a.Header.Get("Retry-After"), c.status, c.retryAfter, a.Body)
			}
			var reasons []string
			for i, at := range f.Error.Metadata.Attempts {
				reasons = append(reasons, at.Reason)
				if at.Position != i+1 || at.Outcome != "failed" || at.Provider != c.name+w.name {
					t.Errorf("%s/%s: attempt %+v", c.name, w.name, at)
				}
			}
			if diff := cmp.Diff(c.reasons, reasons); diff != "" {
				t.Errorf("%s/%s: %s", c.name, w.name, diff)
			}
			for _, secret := range []string{"upstream-secret", e.ProviderURL, e.APIKey} {
				if strings.Contains(string(a.Body), secret) {
					t.Errorf("%s/%s: the error names %s", c.name, w.name, secret)
				}
			}
		}
	}
}

// After content a failure is told and never replayed: no second answer, no end
// marker after the error.
func TestBrokenStreamEndsInAnErrorEvent(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	behaviors := map[string]provider.Behavior{
		"cut": {CutAfter: 5, Tokens: 20}, "clean-end": {CleanEnd: true, CutAfter: 5, Tokens: 20}, "silent": {HangAfter: 5, Tokens: 20},
		"error": {ErrorType: "overloaded_error", ErrorEventAfter: 3, Tokens: 20},
	}
	for kind, b := range behaviors {
		for family := range endings {
			first, _ := pair(e, kind+family, family, map[string]any{"stream_idle_timeout_secs": 1})
			e.Provider.Script(first, b)
		}
	}
	e.Live()
	for kind := range behaviors {
		for family, end := range endings {
			a := call(e, 0, family, kind+family, true)
			text := string(a.Body)
			wantEnd, never := end.broken, end.good
			events := strings.Split(strings.TrimRight(text, "\n"), "\n\n")
			if a.Status != 200 || !strings.HasPrefix(events[len(events)-1], wantEnd) || strings.Contains(text, never) || a.Broken != nil {
				t.Errorf("%s %s: status %d, broken %v: %s", kind, family, a.Status, a.Broken, text)
			}
			if n := asked(e, kind+family+"-2"); n != 0 {
				t.Errorf("%s %s: the answer was begun again on the second target", kind, family)
			}
		}
	}
}

// A recorded stream cut at any byte: failover before content, an error event
// after it, never silence, never text twice.
func TestStreamCutAtEveryByte(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for family, end := range endings {
		whole := "cut-" + family
		id := e.AddProvider(whole, vendor(family), whole, whole+"-other")
		e.AddTarget(whole, id, whole, 1, map[string]any{"cooldown_failure_threshold": 0})
		e.AddTarget(whole, id, whole+"-other", 2, nil)
		e.Live()
		length := len(call(e, 0, family, whole, true).Body)
		// The health record must not cool the target while it is cut again and again.
		cut := 0
		for at := 1; at < length; at += max(7, length/300) {
			e.Provider.Script(whole, provider.Behavior{CutAtByte: at, CleanEnd: at%2 == 0})
			a := call(e, 0, family, whole, true)
			text := string(a.Body)
			done, failed := strings.Contains(text, end.good), strings.Contains(text, end.broken)
			if a.Header.Get("X-Bd-Provider-Route-Attempt") == "1" {
				cut++
			}
			if a.Status != 200 || a.Broken != nil || done == failed {
				t.Fatalf("%s cut at %d: status %d, broken %v, done %v, failed %v\n%s", family, at, a.Status, a.Broken, done, failed, text)
			}
			if n := strings.Count(deltas(text), "Hello"); n > 2 { // "Hello from x. You said: Hello"
				t.Fatalf("%s cut at %d: text came twice\n%s", family, at, text)
			}
		}
		if cut < 50 {
			t.Errorf("%s: only %d answers were cut after they had begun", family, cut)
		}
	}
}

// deltas is a stream without the events that say again what the text was.
func deltas(text string) string {
	var out []string
	for event := range strings.SplitSeq(text, "\n\n") {
		if !strings.HasPrefix(event, "event: response.") || strings.HasPrefix(event, "event: response.output_text.delta") {
			out = append(out, event)
		}
	}
	return strings.Join(out, "\n\n")
}

// What ten failures taught node A, node B knows without having failed once.
func TestCooldownIsShared(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	provider1 := e.AddProvider("shared", "openai", "shared-1", "shared-2")
	e.AddTarget("shared", provider1, "shared-1", 1, nil)
	e.AddTarget("shared", provider1, "shared-2", 2, nil)
	e.Live()
	e.Provider.Script("shared-1", provider.Behavior{Status: 500})
	for range 10 {
		wantServed(t, e.Chat(0, "shared", false), "shared-2")
	}
	key := decide.HealthKey{OrganizationID: e.ID, ProviderID: uuid.MustParse(provider1), UpstreamModel: "shared-1"}
	took := within(t, 2*time.Second, "node B to know", func() bool { return e.System.Nodes()[1].Standing(key) == decide.StandingCooling })
	t.Logf("node B knew after %v", took)
	for node := range 2 {
		a := e.Chat(node, "shared", false)
		if a.Status != 200 || a.Header.Get("X-Bd-Provider-Failover-Count") != "0" || a.Header.Get("X-Bd-Provider-Route-Attempt") != "2" {
			t.Errorf("node %d: status %d, headers %v", node, a.Status, a.Header)
		}
	}
	if n := asked(e, "shared-1"); n != 10 {
		t.Errorf("the failing target was asked %d times, want the 10 that cooled it", n)
	}
}

// A cooldown that has passed lets probes through, and three successes heal.
func TestTargetRecovers(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{Nodes: 2})
	first, second := pair(e, "recovers", "openai", nil)
	e.Live()
	e.Provider.Script(first, provider.Behavior{Status: 429, RetryAfter: "1"}, provider.Behavior{})
	wantServed(t, e.Chat(0, "recovers", false), second)
	if a := e.Chat(0, "recovers", false); a.Header.Get("X-Bd-Provider-Route-Attempt") != "2" {
		t.Error("a rate-limited target was asked again at once")
	}
	for node := range 2 {
		within(t, 5*time.Second, "the target to recover", func() bool {
			return e.Chat(node, "recovers", false).Header.Get("X-Bd-Provider-Route-Attempt") == "1"
		})
	}
}

// retry_on_429_count tries the same target again before failing over.
func TestRateLimitRetries(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	limited := provider.Behavior{Status: 429, RetryAfter: "0.01"}
	for family := range endings {
		first, _ := pair(e, "retries-"+family, family, map[string]any{"retry_on_429_count": 2, "retry_on_429_max_wait_secs": 1})
		e.Provider.Script(first, limited, limited, provider.Behavior{})
	}
	e.Live()
	for family := range endings {
		a, tries := call(e, 0, family, "retries-"+family, true), asked(e, "retries-"+family+"-1")
		if a.Header.Get("X-Bd-Provider-Route-Attempt") != "1" || a.Header.Get("X-Bd-Provider-Failover-Count") != "0" || tries != 3 {
			t.Errorf("%s: got attempt %s after %d tries: %s", family, a.Header.Get("X-Bd-Provider-Route-Attempt"), tries, a.Body)
		}
	}
}

// The caller's leaving ends the upstream request and says nothing of the provider.
func TestCallerGoneCancelsUpstream(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for _, w := range ways {
		first, _ := pair(e, "gone-"+w.name, w.family, nil)
		e.Provider.Script(first, provider.Behavior{Hang: true})
	}
	e.Live()
	for _, w := range ways {
		ctx, leave := context.WithCancel(t.Context())
		path := map[string]string{"openai": "/v1/chat/completions", "anthropic": "/v1/messages", responses: "/v1/responses"}[w.family]
		done := make(chan error, 1)
		go func() {
			_, err := e.Open(ctx, 0, path, fmt.Sprintf(`{"model":"gone-%s","stream":%v,"messages":[]}`, w.name, w.stream), nil)
			done <- err
		}()
		model := "gone-" + w.name + "-1"
		await(t, e, func(r provider.Request) bool { return r.Model == model })
		leave()
		<-done
		await(t, e, func(r provider.Request) bool { return r.Model == model && r.ClientGone })
		if n := asked(e, "gone-"+w.name+"-2"); n != 0 {
			t.Errorf("%s: the second target was asked for a caller who had left", w.name)
		}
	}
}

// await waits for a request that the scripted provider saw.
func await(t *testing.T, e *env.Env, want func(provider.Request) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := e.Provider.Await(ctx, func(list []provider.Request) bool {
		for _, r := range list {
			if want(r) {
				return true
			}
		}
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
}

// within asks again until ok, at most for the given time.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > limit {
			t.Fatalf("waited %v for %s", limit, what)
		}
		runtime.Gosched()
	}
	return time.Since(began)
}
