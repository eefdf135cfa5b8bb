package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/spillway-gateway/spillway/dataplane/llm"
	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// The official Go SDKs: what an application with nothing but its vendor's library
// sees of a route that works, fails over, fails, or breaks.
func TestGoSDKs(t *testing.T) {
	t.Parallel()
	const apiError = "*apierror.Error" // what both packages call Error
	classes := map[int]string{brokenStream: apiError, 401: apiError, 404: apiError, 429: apiError, 502: apiError, 503: apiError}
	streamError := map[int]string{brokenStream: "*ssestream.StreamError", 401: apiError, 404: apiError, 429: apiError, 502: apiError, 503: apiError}
	// A response that failed is no error of the SDK's: it is an event like others.
	failedEvent := map[int]string{brokenStream: "response.failed", 401: apiError, 404: apiError, 429: apiError, 502: apiError, 503: apiError}
	tellStories(t, env.Start(t, env.Options{}),
		sdk{"openai-go", "openai", streamError, askOpenAI},
		sdk{"openai-go-responses", responses, failedEvent, askResponses},
		sdk{"anthropic-go", "anthropic", classes, askAnthropic},
	)
}

// sdk is one vendor's library in one language.
type sdk struct {
	name, family string         // the family as in ways
	classes      map[int]string // its errors' types by status
	// ask makes one call, without retries. The error is the test's own: what the SDK
	// reports is part of the outcome.
	ask func(context.Context, sdkCall) (sdkOutcome, error)
}

// brokenStream stands for the status of an error that came when the stream had begun.
const brokenStream = 0

// callKind is what to ask for; clients/*.mjs know the same names.
type callKind string

const (
	askWhole  callKind = "whole"
	askStream callKind = "stream"
	askModels callKind = "models" // list them, and get each one
)

type sdkCall struct {
	Kind    callKind `json:"kind"`
	BaseURL string   `json:"base_url"`
	Key     string   `json:"key"`
	Model   string   `json:"model"`
}

// sdkOutcome is what an application sees of a call.
type sdkOutcome struct {
	Route  routeHeader `json:"route"`
	Text   string      `json:"text"`
	Finish string      `json:"finish"`
	Tokens int64       `json:"tokens"`
	Models []string    `json:"models"`
	Error  *sdkFailure `json:"error"`
}

// routeHeader is X-Bd-Provider-Route-Attempt and so on, as they are.
type routeHeader struct {
	Attempt   string `json:"attempt"`
	Count     string `json:"count"`
	Failovers string `json:"failovers"`
}

type sdkFailure struct {
	Class      string       `json:"class"` // the SDK's own
	Status     int          `json:"status"`
	Type       string       `json:"type"`
	Code       string       `json:"code"`
	Message    string       `json:"message"`
	RequestID  string       `json:"request_id"`
	RetryAfter string       `json:"retry_after"`
	Attempts   []sdkAttempt `json:"attempts"`
}

// sdkAttempt is an entry of error.metadata.attempts.
type sdkAttempt struct {
	Position      int    `json:"position"`
	Provider      string `json:"provider"`
	UpstreamModel string `json:"upstream_model"`
	Outcome       string `json:"outcome"`
	Reason        string `json:"reason"`
	Status        int    `json:"status"`
}

// sdkStory is what the targets of a route do, and how that must look to a caller.
type sdkStory struct {
	name    string
	kinds   []callKind
	targets []provider.Behavior // in order; without any there is no such route
	across  []int               // the targets that are of the other vendor, from 1
	key     string              // instead of a good one
	waits   bool                // keep-alives come before everything
	served  int                 // the target that answered or began to, from 1; 0 for none
	asked   int                 // how many targets were asked, once each
	fails   *sdkRefusal
}

// sdkRefusal is the error of a story; types and codes are by family.
type sdkRefusal struct {
	status int
	types  map[string]string
	code   string // OpenAI's only; of responses where it is another: responsesCode
	// A response that failed has a code and no type.
	responsesCode string
	message       string // is part of it
	retryAfter    string
	reasons       []string // of the attempts
}

var sdkStories = []sdkStory{
	{name: "OK", kinds: []callKind{askWhole, askStream}, targets: []provider.Behavior{{}, {}}, served: 1, asked: 1},
	{name: "Failover", kinds: []callKind{askWhole, askStream}, targets: []provider.Behavior{{Status: 503}, {}}, served: 2, asked: 2},
	{
		// What comes before content is held back, so this is still no broken stream.
		name: "FailoverBeforeContent", kinds: []callKind{askStream}, targets: []provider.Behavior{{CutAfter: 1}, {}}, served: 2, asked: 2,
	},
	{name: "KeptWaiting", kinds: []callKind{askStream}, targets: []provider.Behavior{{}}, waits: true, served: 1, asked: 1},
	{name: "Translated", kinds: []callKind{askWhole, askStream}, targets: []provider.Behavior{{}}, across: []int{1}, served: 1, asked: 1},
	{name: "FailoverAcross", kinds: []callKind{askWhole, askStream}, targets: []provider.Behavior{{Status: 503}, {}}, across: []int{2}, served: 2, asked: 2},
	{name: "FailoverBack", kinds: []callKind{askWhole, askStream}, targets: []provider.Behavior{{Status: 503}, {}}, across: []int{1}, served: 2, asked: 2},
	{name: "Models", kinds: []callKind{askModels}, targets: []provider.Behavior{{}}},
	{
		name: "ErrUnknownModel", kinds: []callKind{askWhole, askStream},
		fails: &sdkRefusal{status: 404, types: map[string]string{"openai": "invalid_request_error", responses: "invalid_request_error", "anthropic": "not_found_error"}, code: "model_not_found", message: "does not exist"},
	},
	{
		name: "ErrBadKey", kinds: []callKind{askWhole, askStream, askModels}, targets: []provider.Behavior{{}}, key: "bd-nobody",
		fails: &sdkRefusal{status: 401, types: everywhere("authentication_error"), code: "invalid_api_key", message: "key is not valid"},
	},
	{
		name: "ErrAllFail", kinds: []callKind{askWhole, askStream}, targets: []provider.Behavior{{Status: 503}, {Status: 500}}, asked: 2,
		fails: &sdkRefusal{status: 502, types: serverErrorTypes, code: "all_targets_failed", message: "every target", reasons: []string{"server_error", "server_error"}},
	},
	{
		name: "ErrAllFailAlike", kinds: []callKind{askWhole, askStream}, targets: []provider.Behavior{{Status: 503}, {Status: 503}}, asked: 2,
		fails: &sdkRefusal{status: 503, types: serverErrorTypes, code: "all_targets_failed", message: "every target", reasons: []string{"server_error", "server_error"}},
	},
	{
		name: "ErrAllRateLimited", kinds: []callKind{askWhole, askStream}, asked: 2,
		targets: []provider.Behavior{{Status: 429, RetryAfter: "20"}, {Status: 429, RetryAfter: "7"}},
		fails: &sdkRefusal{status: 429, types: everywhere("rate_limit_error"), code: "all_targets_unavailable", message: "rate-limited", retryAfter: "7",
			reasons: []string{"rate_limited", "rate_limited"}},
	},
	{
		name: "ErrAllFailAcross", kinds: []callKind{askWhole, askStream}, targets: []provider.Behavior{{Status: 503}, {Status: 500}}, across: []int{1}, asked: 2,
		fails: &sdkRefusal{status: 502, types: serverErrorTypes, code: "all_targets_failed", message: "every target", reasons: []string{"server_error", "server_error"}},
	},
	{
		name: "ErrTranslatedStreamCut", kinds: []callKind{askStream}, targets: []provider.Behavior{{CutAfter: 6}, {}}, across: []int{1}, served: 1, asked: 1,
		fails: &sdkRefusal{status: brokenStream, types: serverErrorTypes, code: "upstream_stream_broken", message: "broke off", reasons: []string{"connection"}},
	},
	{
		name: "ErrStreamCut", kinds: []callKind{askStream}, targets: []provider.Behavior{{CutAfter: 6}, {}}, served: 1, asked: 1,
		fails: &sdkRefusal{status: brokenStream, types: serverErrorTypes, code: "upstream_stream_broken", message: "broke off", reasons: []string{"connection"}},
	},
	{
		// Most SDKs take an early end for the end.
		name: "ErrStreamEndsEarly", kinds: []callKind{askStream}, targets: []provider.Behavior{{CutAfter: 6, CleanEnd: true}, {}}, served: 1, asked: 1,
		fails: &sdkRefusal{status: brokenStream, types: serverErrorTypes, code: "upstream_stream_broken", message: "broke off", reasons: []string{"connection"}},
	},
	{
		name: "ErrInStream", kinds: []callKind{askStream}, targets: []provider.Behavior{{ErrorType: "overloaded_error", ErrorEventAfter: 2}, {}}, served: 1, asked: 1,
		fails: &sdkRefusal{status: brokenStream, types: map[string]string{"openai": "server_error", "anthropic": "overloaded_error"}, code: "overloaded_error",
			responsesCode: "server_is_overloaded", message: "Overloaded"},
	},
}

var serverErrorTypes = map[string]string{"openai": "server_error", responses: "server_error", "anthropic": "api_error"}

func everywhere(t string) map[string]string {
	return map[string]string{"openai": t, responses: t, "anthropic": t}
}

// tellStories runs every story with every SDK, each on a route of its own.
func tellStories(t *testing.T, e *env.Env, sdks ...sdk) {
	t.Helper()
	type telling struct {
		sdk   sdk
		story sdkStory
		call  sdkCall
	}
	var all []telling
	waiting := keptWaiting(t, e.Info.GatewayURLs[0])
	for _, k := range sdks {
		for _, s := range sdkStories {
			for _, kind := range s.kinds {
				c := sdkCall{kind, e.Info.GatewayURLs[0], e.APIKey, strings.ToLower(fmt.Sprintf("%s-%s-%s", k.name, s.name, kind))}
				if s.key != "" {
					c.Key = s.key
				}
				if s.waits {
					c.BaseURL = waiting
				}
				addRoute(e, c.Model, k.family, s.targets, s.across...)
				all = append(all, telling{k, s, c})
			}
		}
	}
	e.Live()
	for _, x := range all {
		t.Run(fmt.Sprintf("%s/%s/%s", x.sdk.name, x.story.name, x.call.Kind), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := x.sdk.ask(ctx, x.call)
			if err != nil {
				t.Fatal(err)
			}
			x.story.check(t, x.sdk, x.call, got)
			x.story.checkUpstream(t, x.call, e.Provider.Calls())
		})
	}
}

// keptWaiting is the gateway to a caller for whom there is nothing but keep-alives for a
// while: they come before the first event.
func keptWaiting(t *testing.T, gateway string) string {
	t.Helper()
	to, err := url.Parse(gateway)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(r *http.Response) error {
		dialect := llm.Chat
		if strings.HasSuffix(r.Request.URL.Path, "/messages") {
			dialect = llm.Messages
		}
		beats := bytes.NewReader(bytes.Repeat(dialect.KeepAlive(), 3))
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(beats, r.Body), r.Body}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// addRoute makes a route over as many providers as it has targets, some of them, by their
// positions from 1, of the other vendor than the family's.
func addRoute(e *env.Env, route, family string, targets []provider.Behavior, across ...int) {
	other := map[string]string{"openai": "anthropic", "anthropic": "openai"}
	for i, behavior := range targets {
		model, of := targetModel(route, i+1), vendor(family)
		if slices.Contains(across, i+1) {
			of = other[of]
		}
		id := e.AddProvider(targetProvider(route, i+1), of, model)
		e.AddTarget(route, id, model, i+1, nil)
		e.Provider.Script(model, behavior)
	}
}

func targetModel(route string, position int) string {
	return route + "-model-" + strconv.Itoa(position)
}
func targetProvider(route string, position int) string {
	return route + "-at-" + strconv.Itoa(position)
}

func (s sdkStory) check(t *testing.T, k sdk, c sdkCall, got sdkOutcome) {
	t.Helper()
	if c.Kind == askModels && s.fails == nil {
		direct := targetProvider(c.Model, 1) + "/" + targetModel(c.Model, 1)
		if !slices.Contains(got.Models, c.Model) || !slices.Contains(got.Models, direct) || got.Error != nil {
			t.Errorf("got models %q and error %+v, want %q and %q among them", got.Models, got.Error, c.Model, direct)
		}
		return
	}
	want := sdkOutcome{Route: s.route(c)}
	if s.served > 0 {
		want.Text = fmt.Sprintf("Hello from %s. You said: Hello", targetModel(c.Model, s.served))
		want.Finish = map[string]string{"openai": "stop", responses: "completed", "anthropic": "end_turn"}[k.family]
		want.Tokens = int64(len(strings.Fields(want.Text)))
	}
	if s.fails != nil {
		s.checkPartly(t, &got, &want)
		want.Error = s.failure(k, c)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got (-), want (+):\n%s", diff)
	}
}

// checkPartly checks what no test can foretell to the letter, and takes it out.
func (s sdkStory) checkPartly(t *testing.T, got, want *sdkOutcome) {
	t.Helper()
	if s.fails.status == brokenStream {
		if got.Text == "" || got.Text == want.Text || !strings.HasPrefix(want.Text, got.Text) {
			t.Errorf("got text %q before the stream broke, want the beginning of %q", got.Text, want.Text)
		}
		got.Text, got.Tokens = "", 0 // Anthropic counts one token from the start
		want.Text, want.Tokens, want.Finish = "", 0, ""
	}
	if got.Error == nil {
		return
	}
	if !strings.Contains(got.Error.Message, s.fails.message) {
		t.Errorf("got error message %q, want %q in it", got.Error.Message, s.fails.message)
	}
	if s.fails.status == brokenStream {
		got.Error.Status = brokenStream // some say the 200 that it began with
	} else if got.Error.RequestID == "" {
		t.Error("the error has no request id")
	}
	got.Error.Message, got.Error.RequestID = "", ""
}

func (s sdkStory) route(c sdkCall) (h routeHeader) {
	if c.Kind == askModels || s.key != "" || len(s.targets) == 0 {
		return h // no route was chosen
	}
	h.Count, h.Failovers = strconv.Itoa(len(s.targets)), strconv.Itoa(s.asked)
	if s.served > 0 {
		h.Attempt, h.Failovers = strconv.Itoa(s.served), strconv.Itoa(s.served-1)
	}
	return h
}

func (s sdkStory) failure(k sdk, c sdkCall) *sdkFailure {
	f := &sdkFailure{Class: k.classes[s.fails.status], Status: s.fails.status, Type: s.fails.types[k.family], RetryAfter: s.fails.retryAfter}
	if vendor(k.family) == "openai" {
		f.Code = s.fails.code
	}
	if k.family == responses && s.fails.status == brokenStream {
		f.Type = ""
		if s.fails.responsesCode != "" {
			f.Code = s.fails.responsesCode
		}
	}
	for i, reason := range s.fails.reasons {
		f.Attempts = append(f.Attempts, sdkAttempt{
			Position: i + 1, Provider: targetProvider(c.Model, i+1), UpstreamModel: targetModel(c.Model, i+1),
			Outcome: "failed", Reason: reason, Status: s.targets[i].Status,
		})
		if s.fails.status == brokenStream {
			f.Attempts[i].Status = http.StatusOK
		}
	}
	if k.family == responses && s.fails.status == brokenStream {
		f.Attempts = nil // what the SDKs make of the event has no place for them
	}
	return f
}

// checkUpstream: each target in turn is asked once, up to the one that served, and
// is sent nothing that is not for it.
func (s sdkStory) checkUpstream(t *testing.T, c sdkCall, requests []provider.Request) {
	t.Helper()
	for i := range s.targets {
		model, got, want := targetModel(c.Model, i+1), 0, 0
		if i < s.asked {
			want = 1
		}
		for _, r := range requests {
			if r.Model != model {
				continue
			}
			got++
			if len(r.Problems) > 0 {
				t.Errorf("target %d: %q", i+1, r.Problems)
			}
		}
		if got != want {
			t.Errorf("target %d: got %d requests, want %d", i+1, got, want)
		}
	}
}

func askOpenAI(ctx context.Context, c sdkCall) (got sdkOutcome, _ error) {
	client := openai.NewClient(openaioption.WithBaseURL(c.BaseURL+"/v1"), openaioption.WithAPIKey(c.Key), openaioption.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{Model: c.Model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello")}}
	var resp *http.Response
	var answer openai.ChatCompletion
	var err error
	switch c.Kind {
	case askWhole:
		var a *openai.ChatCompletion
		if a, err = client.Chat.Completions.New(ctx, params, openaioption.WithResponseInto(&resp)); err == nil {
			answer = *a
		}
	case askStream:
		params.StreamOptions.IncludeUsage = openai.Bool(true)
		events := client.Chat.Completions.NewStreaming(ctx, params, openaioption.WithResponseInto(&resp))
		var all openai.ChatCompletionAccumulator
		for events.Next() {
			if !all.AddChunk(events.Current()) {
				return got, fmt.Errorf("the chunk does not fit: %s", events.Current().RawJSON())
			}
		}
		answer, err = all.ChatCompletion, events.Err()
	case askModels:
		got.Models, err = openAIModels(ctx, client)
	}
	if len(answer.Choices) > 0 {
		got.Text, got.Finish, got.Tokens = answer.Choices[0].Message.Content, answer.Choices[0].FinishReason, answer.Usage.CompletionTokens
	}
	got.read(resp)
	return got, got.fail(err)
}

func openAIModels(ctx context.Context, client openai.Client) (ids []string, _ error) {
	pages := client.Models.ListAutoPaging(ctx)
	for pages.Next() {
		m, err := client.Models.Get(ctx, pages.Current().ID)
		if err != nil {
			return ids, err
		}
		ids = append(ids, m.ID)
	}
	return ids, pages.Err()
}

func askAnthropic(ctx context.Context, c sdkCall) (got sdkOutcome, _ error) {
	client := anthropic.NewClient(anthropicoption.WithoutEnvironmentDefaults(), anthropicoption.WithBaseURL(c.BaseURL),
		anthropicoption.WithAPIKey(c.Key), anthropicoption.WithMaxRetries(0))
	params := anthropic.MessageNewParams{Model: c.Model, MaxTokens: 100,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello"))}}
	var resp *http.Response
	var answer anthropic.Message
	var err error
	switch c.Kind {
	case askWhole:
		var a *anthropic.Message
		if a, err = client.Messages.New(ctx, params, anthropicoption.WithResponseInto(&resp)); err == nil {
			answer = *a
		}
	case askStream:
		events := client.Messages.NewStreaming(ctx, params, anthropicoption.WithResponseInto(&resp))
		for events.Next() {
			if err := answer.Accumulate(events.Current()); err != nil {
				return got, err
			}
		}
		err = events.Err()
	case askModels:
		got.Models, err = anthropicModels(ctx, client)
	}
	if len(answer.Content) > 0 {
		got.Text, got.Finish, got.Tokens = answer.Content[0].Text, string(answer.StopReason), answer.Usage.OutputTokens
	}
	got.read(resp)
	return got, got.fail(err)
}

func anthropicModels(ctx context.Context, client anthropic.Client) (ids []string, _ error) {
	page, err := client.Models.List(ctx, anthropic.ModelListParams{})
	if err != nil {
		return nil, err
	}
	if !page.JSON.HasMore.Valid() {
		return nil, fmt.Errorf("this is no list of Anthropic's: %s", page.RawJSON())
	}
	for _, listed := range page.Data {
		m, err := client.Models.Get(ctx, listed.ID, anthropic.ModelGetParams{})
		if err != nil {
			return ids, err
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}

func (o *sdkOutcome) read(resp *http.Response) {
	if resp != nil {
		h := resp.Header
		o.Route = routeHeader{h.Get("X-Bd-Provider-Route-Attempt"), h.Get("X-Bd-Provider-Route-Count"), h.Get("X-Bd-Provider-Failover-Count")}
	}
}

// fail notes an SDK's error; it returns those that are none of a gateway's.
func (o *sdkOutcome) fail(err error) error {
	var raw []byte
	var chat *openai.Error
	var messages *anthropic.Error
	var event *ssestream.StreamError
	f := sdkFailure{Class: fmt.Sprintf("%T", err)}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &chat):
		o.read(chat.Response)
		f.Status, f.Type, f.Code, f.Message = chat.StatusCode, chat.Type, chat.Code, chat.Message
		f.RequestID, f.RetryAfter = chat.Response.Header.Get("X-Request-Id"), chat.Response.Header.Get("Retry-After")
		raw = []byte(`{"error":` + chat.RawJSON() + `}`)
	case errors.As(err, &messages):
		o.read(messages.Response)
		f.Status, f.Type, f.Message = messages.StatusCode, string(messages.Type()), messages.Message
		f.RequestID, f.RetryAfter = messages.RequestID, messages.Response.Header.Get("Retry-After")
		raw = []byte(messages.RawJSON())
	case errors.As(err, &event):
		f.Message, raw = event.Message, event.Event.Data
	default:
		return err
	}
	var body struct {
		Error struct {
			Type, Code string
			Metadata   struct{ Attempts []sdkAttempt }
		}
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return fmt.Errorf("%w in %s", err, raw)
	}
	if event != nil {
		f.Type, f.Code = body.Error.Type, body.Error.Code
	}
	f.Attempts, o.Error = body.Error.Metadata.Attempts, &f
	return nil
}
