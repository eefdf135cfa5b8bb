package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type bundle struct {
	*Server
	url string
}

func setup(t *testing.T, cfg Config) *bundle {
	t.Helper()
	s := New(cfg)
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &bundle{s, url}
}

const (
	chatPath      = "/v1/chat/completions"
	messagesPath  = "/v1/messages"
	responsesPath = "/v1/responses"
)

// ask posts a request with the headers its dialect needs.
func (b *bundle) ask(t *testing.T, path, body string) *http.Response {
	t.Helper()
	return b.do(t, http.MethodPost, path, body, goodHeaders(path))
}

func goodHeaders(path string) map[string]string {
	switch path {
	case chatPath, responsesPath:
		return map[string]string{"Authorization": "Bearer sk-1"}
	case codexPath:
		return map[string]string{"Authorization": "Bearer eyJ.eyJ.sig", "Chatgpt-Account-Id": "acc-1"}
	}
	return map[string]string{"X-Api-Key": "sk-ant-1", "Anthropic-Version": "2023-06-01"}
}

func (b *bundle) do(t *testing.T, method, path, body string, headers map[string]string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func read(t *testing.T, res *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// plain decodes JSON and takes out what is random.
func plain(t *testing.T, raw string) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(raw), &doc); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	for _, name := range []string{"id", "created", "created_at", "request_id"} {
		if _, there := doc[name]; there {
			doc[name] = "*"
		}
	}
	return doc
}

func body(path, model string, stream bool) string {
	extra := ""
	if path == responsesPath || path == codexPath {
		return fmt.Sprintf(`{"model":%q,"stream":%v,"store":false,"input":[{"role":"developer","content":"be brief"},{"type":"message","role":"user",`+
			`"content":[{"type":"input_text","text":"three <four>"}]}]}`, model, stream)
	}
	if path == messagesPath {
		extra = `"max_tokens":100,`
	} else if stream {
		extra = `"stream_options":{"include_usage":true},`
	}
	return fmt.Sprintf(`{"model":%q,"stream":%v,%s"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},`+
		`{"role":"user","content":[{"type":"text","text":"three <four>"}]}]}`, model, stream, extra)
}

func TestChatOK(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("gpt-4o", Behavior{Usage: &Usage{Input: 10, CacheRead: 3, CacheWrite: 2, Output: 7, Reasoning: 4}})
	res := b.ask(t, chatPath, body(chatPath, "gpt-4o", false))
	for _, name := range []string{"X-Request-Id", "Openai-Processing-Ms", "X-Ratelimit-Remaining-Requests"} {
		if res.Header.Get(name) == "" {
			t.Errorf("no %s header", name)
		}
	}
	want := plain(t, `{"id":"","object":"chat.completion","created":1,"model":"gpt-4o","service_tier":"default","system_fingerprint":"fp_50cad350e4",
		"choices":[{"index":0,"message":{"role":"assistant","content":"Hello from gpt-4o. You said: three <four>","refusal":null,"annotations":[]},
			"logprobs":null,"finish_reason":"stop"}],
		"usage":{"prompt_tokens":15,"completion_tokens":7,"total_tokens":22,"prompt_tokens_details":{"cached_tokens":3,"audio_tokens":0},
			"completion_tokens_details":{"reasoning_tokens":4,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}`)
	if diff := cmp.Diff(plain(t, read(t, res)), want); diff != "" {
		t.Error(diff)
	}
}

func TestMessagesOK(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("claude", Behavior{Usage: &Usage{Input: 10, CacheRead: 3, CacheWrite: 2, Output: 7}})
	res := b.ask(t, messagesPath+"?beta=true", body(messagesPath, "claude", false))
	for _, name := range []string{"Request-Id", "Anthropic-Ratelimit-Tokens-Remaining"} {
		if res.Header.Get(name) == "" {
			t.Errorf("no %s header", name)
		}
	}
	want := plain(t, `{"id":"","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"Hello from claude. You said: three <four>"}],
		"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,
		"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":0},"output_tokens":7,"service_tier":"standard"}}`)
	if diff := cmp.Diff(plain(t, read(t, res)), want); diff != "" {
		t.Error(diff)
	}
}

// sse splits a stream into "name data" lines.
func sse(t *testing.T, raw string) (names []string, data []string) {
	t.Helper()
	name := ""
	scan := bufio.NewScanner(strings.NewReader(raw))
	for scan.Scan() {
		field, value, _ := strings.Cut(scan.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			names, data, name = append(names, name), append(data, value), ""
		case "":
		default:
			t.Fatalf("line %q is no event stream", scan.Text())
		}
	}
	return names, data
}

func TestChatStream(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{Tokens: 3})
	res := b.ask(t, chatPath, body(chatPath, "m", true))
	if got, want := res.Header.Get("Content-Type"), "text/event-stream; charset=utf-8"; got != want {
		t.Errorf("content type %q, want %q", got, want)
	}
	_, data := sse(t, read(t, res))
	var got []string
	ids := map[string]bool{}
	for _, d := range data[:len(data)-1] {
		var chunk struct {
			ID      string          `json:"id"`
			Object  string          `json:"object"`
			Choices json.RawMessage `json:"choices"`
			Usage   *struct {
				Total int `json:"total_tokens"`
			} `json:"usage"`
		}
		if err := json.Unmarshal([]byte(d), &chunk); err != nil {
			t.Fatal(err)
		}
		ids[chunk.ID+chunk.Object] = true
		got = append(got, fmt.Sprint(string(chunk.Choices), chunk.Usage != nil))
		if !strings.Contains(d, `"usage":`) {
			t.Errorf("usage was asked for, but the chunk has none: %s", d)
		}
	}
	want := []string{
		`[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]false`,
		`[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null}]false`,
		`[{"index":0,"delta":{"content":" from"},"logprobs":null,"finish_reason":null}]false`,
		`[{"index":0,"delta":{"content":" m."},"logprobs":null,"finish_reason":null}]false`,
		`[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]false`,
		`[]true`,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	if len(ids) != 1 || data[len(data)-1] != "[DONE]" {
		t.Errorf("ids %v, last event %q", ids, data[len(data)-1])
	}
}

func TestChatStreamWithoutUsage(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	got := read(t, b.ask(t, chatPath, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if strings.Contains(got, "usage") {
		t.Errorf("usage was not asked for: %s", got)
	}
}

func TestMessagesStream(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{Tokens: 2, Usage: &Usage{Input: 5, Output: 2}})
	names, data := sse(t, read(t, b.ask(t, messagesPath, body(messagesPath, "m", true))))
	want := []string{
		"message_start", "ping", "content_block_start", "content_block_delta", "content_block_delta",
		"content_block_stop", "message_delta", "message_stop",
	}
	if diff := cmp.Diff(names, want); diff != "" {
		t.Error(diff)
	}
	for i, d := range data {
		if got := plain(t, d)["type"]; got != names[i] {
			t.Errorf("event %s has type %v", names[i], got)
		}
	}
	if got, want := data[4], `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" from"}}`; got != want {
		t.Errorf("delta %s, want %s", got, want)
	}
	for _, want := range []string{`"stop_reason":"end_turn"`, `"output_tokens":2`} {
		if !strings.Contains(data[6], want) {
			t.Errorf("message_delta %s lacks %s", data[6], want)
		}
	}
}

func TestTokenLimit(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	got := read(t, b.ask(t, chatPath, `{"model":"m","max_completion_tokens":2,"messages":[{"role":"user","content":"hi"}]}`))
	if !strings.Contains(got, `"content":"Hello from"`) || !strings.Contains(got, `"finish_reason":"length"`) {
		t.Error(got)
	}
	got = read(t, b.ask(t, messagesPath, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`))
	if !strings.Contains(got, `"text":"Hello"`) || !strings.Contains(got, `"stop_reason":"max_tokens"`) {
		t.Error(got)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{Models: []string{"a", "b/c"}})
	got := read(t, b.do(t, "GET", "/v1/models", "", goodHeaders(chatPath)))
	want := `{"object":"list","data":[{"id":"a","object":"model","created":1759104000,"owned_by":"system"},{"id":"b/c","object":"model","created":1759104000,"owned_by":"system"}]}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = read(t, b.do(t, "GET", "/v1/models", "", goodHeaders(messagesPath)))
	if doc := plain(t, got); doc["first_id"] != "a" || doc["last_id"] != "b/c" || doc["has_more"] != false {
		t.Error(got)
	}
	if got := read(t, b.do(t, "GET", "/v1/models/b%2Fc", "", goodHeaders(chatPath))); !strings.Contains(got, `"id":"b/c"`) {
		t.Error(got)
	}
	if res := b.do(t, "GET", "/v1/models/d", "", goodHeaders(chatPath)); res.StatusCode != 404 {
		t.Error(res.Status)
	}
	b.Script("*", Behavior{Status: 500})
	if res := b.do(t, "GET", "/v1/models", "", goodHeaders(chatPath)); res.StatusCode != 200 {
		t.Error("* reached the model list")
	}
	b.Script("/v1/models", Behavior{Status: 500})
	if res := b.do(t, "GET", "/v1/models", "", goodHeaders(chatPath)); res.StatusCode != 500 {
		t.Error(res.Status)
	}
}

func TestCountTokensAndHealth(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	if got, want := read(t, b.ask(t, messagesPath+"/count_tokens", `{"model":"m"}`)), `{"input_tokens":4}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := read(t, b.do(t, "GET", "/healthz", "", nil)); got != "ok\n" {
		t.Error(got)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	sent := body(chatPath, "m", true)
	_ = read(t, b.do(t, "POST", chatPath+"?a=b", sent, map[string]string{"Authorization": "Bearer bd-1", "X-Api-Key": "k", "X-Bd-Api-Key": "bd-1"}))
	got, err := b.Await(t.Context(), func(r []Request) bool { return len(r) == 1 && r[0].Status == 200 })
	if err != nil {
		t.Fatal(err)
	}
	r := got[0]
	if r.Method != "POST" || r.Path != chatPath || r.Query != "a=b" || !bytes.Equal(r.Body, []byte(sent)) || r.Model != "m" || !r.Stream || r.ClientGone {
		t.Errorf("%+v", r)
	}
	want := []string{
		"gateway header reached the provider: X-Bd-Api-Key",
		"gateway key reached the provider: Authorization",
		"gateway key reached the provider: X-Bd-Api-Key",
		"two credentials reached the provider: x-api-key and authorization",
	}
	if diff := cmp.Diff(r.Problems, want); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if got := b.Requests(); len(got) != 0 {
		t.Error(got)
	}
}

func TestRingBounded(t *testing.T) {
	t.Parallel()
	var r ring
	r.reset()
	for i := range maxRequests + 5 {
		r.add(Request{Model: fmt.Sprint(i)})
	}
	if got := r.list(); len(got) != maxRequests || got[0].Model != "5" {
		t.Errorf("%d requests, first %s", len(got), got[0].Model)
	}
	for range 3 {
		r.add(Request{Body: make([]byte, maxRecordBytes/2)})
	}
	if got := r.list(); len(got) != 2 {
		t.Errorf("%d large requests", len(got))
	}
}
