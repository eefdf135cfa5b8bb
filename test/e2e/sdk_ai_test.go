package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// aiSDK is one of the AI SDK's providers, by what its vendor's models are asked in and what
// another's are.
type aiSDK struct {
	pkg, route        string // the SDK looks at what a model is called
	native, other     string // families of providers
	noWords           string // the field of what only its own vendor understands
	nativeIn, otherIn form
}

// form is how a request looks in a dialect.
type form struct{ path, result, schema, image string }

const aiDot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

var (
	chatForm      = form{"/v1/chat/completions", `"role":"tool"`, `"response_format":{"type":"json_schema"`, `"url":"data:image/png;base64,` + aiDot}
	messagesForm  = form{"/v1/messages", `"type":"tool_result"`, `"output_config":{"format":{"type":"json_schema"`, `"data":"` + aiDot}
	responsesForm = form{"/v1/responses", `"type":"function_call_output"`, `"format":{"type":"json_schema"`, `"image_url":"data:image/png;base64,` + aiDot}
)

var aiSDKs = []aiSDK{
	{"@ai-sdk/openai", "gpt-4.1", "openai", "anthropic", "previous_response_id", responsesForm, messagesForm},
	{"@ai-sdk/openai-compatible", "gpt-4.1", "openai", "anthropic", "logprobs", chatForm, messagesForm},
	{"@ai-sdk/anthropic", "claude-sonnet-4-5", "anthropic", "openai", "mcp_servers", messagesForm, chatForm},
}

// aiStory is a call, what the model does with each request of it, and what the
// application and the model see.
type aiStory struct {
	kind  callKind
	steps []provider.Behavior
	text  string // "" for the greeting
	sees  func(f form) string
}

var aiStories = []aiStory{
	{kind: askWhole, steps: make([]provider.Behavior, 1)},
	{kind: askStream, steps: make([]provider.Behavior, 1)},
	{kind: "tool", steps: []provider.Behavior{{Tool: &provider.ToolCall{Name: "weather", Input: []byte(`{"city":"Oslo"}`)}}, {}}, sees: func(f form) string { return f.result }},
	{kind: "object", steps: []provider.Behavior{{Says: `{"city": "Oslo"}`}}, text: "Oslo", sees: func(f form) string { return f.schema }},
	{kind: "image", steps: make([]provider.Behavior, 1), sees: func(f form) string { return f.image }},
}

// aiWay is what stands behind a route: one target, or one that is down and its spare.
type aiWay struct {
	name, family, spare string
	to                  form // where it is answered
}

func (k *aiSDK) ways() []aiWay {
	return []aiWay{
		{"native", k.native, "", k.nativeIn}, {"other", k.other, "", k.otherIn},
		{"failover", k.native, k.other, k.otherIn}, {"back", k.other, k.native, k.nativeIn},
	}
}

// open makes a route of a way, and returns the model that answers.
func (w *aiWay) open(e *env.Env, route string, steps ...provider.Behavior) (answers string) {
	for i, family := range []string{w.family, w.spare} {
		if family == "" {
			continue
		}
		if answers != "" {
			e.Provider.Script(answers, provider.Behavior{Status: http.StatusServiceUnavailable})
		}
		answers = map[string]string{"openai": "gpt-4.1", "anthropic": "claude-sonnet-4-5"}[family] + "-" + targetModel(route, i+1)
		e.AddTarget(route, e.AddProvider(targetProvider(route, i+1), family, answers), answers, i+1, nil)
		e.Provider.Script(answers, steps...)
	}
	return answers
}

func (k *aiSDK) routeOf(kind callKind, way string) string {
	return fmt.Sprintf("%s-%s-%s-%s", k.route, strings.TrimPrefix(k.pkg, "@ai-sdk/"), kind, way)
}

// The AI SDK over a target of its provider's vendor, over one of another vendor's, and over
// failovers from the one to the other and back. clients/package.json pins it.
func TestAISDK(t *testing.T) {
	t.Parallel()
	if err := installClients(); err != nil {
		t.Fatal(err)
	}
	asks := map[string]aiAsk{}
	for _, k := range aiSDKs {
		asks[k.pkg] = startNode(t, "ai.mjs", k.pkg).ask
	}
	e := env.Start(t, env.Options{})
	t.Run("Answers", func(t *testing.T) { tellAIStories(t, e, asks) })
	t.Run("Errors", func(t *testing.T) { tellAIErrors(t, e, asks) })
}

type aiAsk func(context.Context, sdkCall) (sdkOutcome, error)

func tellAIStories(t *testing.T, e *env.Env, asks map[string]aiAsk) {
	t.Helper()
	type telling struct {
		*aiSDK
		aiStory
		aiWay
		route, answers string
	}
	var all []telling
	for i := range aiSDKs {
		k := &aiSDKs[i]
		for _, s := range aiStories {
			for _, w := range k.ways() {
				route := k.routeOf(s.kind, w.name)
				all = append(all, telling{k, s, w, route, w.open(e, route, s.steps...)})
			}
		}
	}
	e.Live()
	for _, x := range all {
		t.Run(x.route, func(t *testing.T) {
			t.Parallel()
			got, err := asks[x.pkg](t.Context(), sdkCall{x.kind, e.Info.GatewayURLs[0], e.APIKey, x.route})
			if err != nil {
				t.Fatal(err)
			}
			want := sdkOutcome{Route: routeHeader{"1", "1", "0"}, Text: x.text, Finish: "stop"}
			if x.spare != "" {
				want.Route = routeHeader{"2", "2", "1"}
			}
			if want.Text == "" {
				want.Text = "Hello from " + x.answers + ". You said: Hello"
			}
			want.Tokens = got.Tokens // as the model's words are cut up
			if diff := cmp.Diff(got, want); diff != "" || got.Tokens == 0 {
				t.Errorf("got (-), want (+):\n%s", diff)
			}
			asked := last(t, e, x.answers)
			if asked.Path != x.to.path || len(asked.Problems) > 0 || asked.Stream != (x.kind == askStream) {
				t.Errorf("asked at %s, %q", asked.Path, asked.Problems)
			}
			if x.sees != nil && !strings.Contains(string(asked.Body), x.sees(x.to)) {
				t.Errorf("the model is not given %s: %s", x.sees(x.to), asked.Body)
			}
		})
	}
}

// What goes wrong comes to an application as the AI SDK's own error, in words that say
// what it was.
func tellAIErrors(t *testing.T, e *env.Env, asks map[string]aiAsk) {
	t.Helper()
	refuses, quota := provider.Behavior{Status: 400}, provider.Behavior{Kind: "insufficient_quota"}
	refusals := map[string]string{"anthropic": "messages: Input should be a valid list", "openai": "Invalid value for 'messages'."}
	type telling struct {
		kind   callKind
		way    string
		does   provider.Behavior
		status int
		says   func(k *aiSDK) string
	}
	words := func(s string) func(*aiSDK) string { return func(*aiSDK) string { return s } }
	tellings := []telling{
		{askWhole, "native", refuses, 400, func(k *aiSDK) string { return refusals[k.native] }},
		{askStream, "other", refuses, 400, func(k *aiSDK) string { return refusals[k.other] }},
		{askWhole, "failover", provider.Behavior{Status: 503}, 503, words("every target of the route failed")},
		{askStream, "back", quota, 502, words("every target of the route failed")},
		{askStream, "other", quota, 429, words("every target of the route is rate-limited, out of quota or cooling down")},
		{"unheard", "other", provider.Behavior{}, 400, func(k *aiSDK) string { return "no target of the route can be asked for this: " + k.noWords }},
	}
	for i := range tellings {
		for j := range aiSDKs {
			for _, w := range aiSDKs[j].ways() {
				if w.name == tellings[i].way {
					w.open(e, fmt.Sprintf("%d-%s", i, aiSDKs[j].routeOf(tellings[i].kind, w.name)), tellings[i].does)
				}
			}
		}
	}
	e.Live()
	for i, x := range tellings {
		for j := range aiSDKs {
			k := &aiSDKs[j]
			route := fmt.Sprintf("%d-%s", i, k.routeOf(x.kind, x.way))
			t.Run(route, func(t *testing.T) {
				t.Parallel()
				got, err := asks[k.pkg](t.Context(), sdkCall{x.kind, e.Info.GatewayURLs[0], e.APIKey, route})
				if err != nil {
					t.Fatal(err)
				}
				if f := got.Error; f == nil || f.Class != "AI_APICallError" || f.Status != x.status || !strings.Contains(f.Message, x.says(k)) {
					t.Errorf("got %+v, want status %d and %q", f, x.status, x.says(k))
				}
			})
		}
	}
}
