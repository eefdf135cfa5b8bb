package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ask is a translation of a request written here.
func ask(t testing.TB, from Dialect, body string, hop Hop) *Translation {
	t.Helper()
	q, err := Parse(from, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := q.Translate(hop)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestCannotNamesTheField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from  Dialect
		body  string
		field string
	}{
		"NoJSON":             {Chat, `{"messages":`, ""},
		"NoObject":           {Chat, `[]`, ""},
		"After":              {Chat, `{} {}`, ""},
		"Nothing":            {Messages, `{"messages":[]}`, "messages"},
		"OnlyThoughts":       {Responses, `{"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"x"}]},{"role":"user","content":""}]}`, "input"},
		"NothingResponses":   {Responses, `{}`, "input"},
		"TwiceOnTop":         {Chat, `{"n":1,"n":1}`, ""},
		"MessagesNoList":     {Chat, `{"messages":{}}`, "messages"},
		"RoleUnknown":        {Messages, `{"messages":[{"role":"user","content":"x"},{"role":"wizard","content":"x"}]}`, "messages[1].role"},
		"ToolNameMissing":    {Chat, `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{}}]}`, "tools[0].function.name"},
		"TokensNoNumber":     {Messages, `{"max_tokens":"9","messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		"TokensNegative":     {Messages, `{"max_tokens":-9,"messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		"TokensTooMany":      {Messages, `{"max_tokens":99999999999999999999,"messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		"TemperatureTooHigh": {Chat, `{"temperature":2.5,"messages":[{"role":"user","content":"x"}]}`, "temperature"},
		"TemperatureBeyond":  {Chat, `{"temperature":1e400,"messages":[{"role":"user","content":"x"}]}`, "temperature"},
		"StreamNoBool":       {Chat, `{"stream":1,"messages":[{"role":"user","content":"x"}]}`, "stream"},
		"DataURLNoBase64":    {Chat, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png,x"}}]}]}`, "messages[0].content[0].image_url.url"},
		"InputNoObject":      {Messages, `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":"x"}]}]}`, "messages[0].content[0].input"},
		"FunctionsOfOld":     {Chat, `{"messages":[{"role":"user","content":"x"}],"functions":[{"name":"f"}]}`, "functions"},
		"ContainerOfOne":     {Messages, `{"container":"c","messages":[{"role":"user","content":"x"}]}`, "container"},
		"Background":         {Responses, `{"background":true,"input":"x"}`, "background"},
		"AudioAnswer":        {Chat, `{"modalities":["text","audio"],"messages":[{"role":"user","content":"x"}]}`, "modalities"},
		"ImageInSystem":      {Chat, `{"messages":[{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://e.com/a.png"}}]},{"role":"user","content":"x"}]}`, "messages"},
		"NestedNamespace":    {Responses, `{"input":"x","tools":[{"type":"namespace","name":"a","tools":[{"type":"namespace","name":"b"}]}]}`, "tools[0].tools[0].type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(c.from, []byte(c.body))
			var cannot *CannotError
			if !errors.As(err, &cannot) {
				t.Fatalf("got %v, want a CannotError", err)
			}
			if cannot.Field != c.field || cannot.Reason == "" {
				t.Errorf("got field %q (%s), want %q", cannot.Field, cannot.Reason, c.field)
			}
		})
	}
}

func TestSameDialectIsNotTranslated(t *testing.T) {
	t.Parallel()
	for _, d := range []Dialect{Chat, Messages, Responses} {
		q, err := Parse(d, []byte(asks[d]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Translate(Hop{To: d}); err == nil {
			t.Errorf("%s to itself", d)
		}
	}
	if _, err := Parse(NoDialect, []byte(`{}`)); err == nil {
		t.Error("a request of no dialect")
	}
}

// What the caller's own model name, or an unknown model, gets.
func TestNothingKnownOfTheModel(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","reasoning_effort":"high","messages":[{"role":"user","content":"x"}]}`
	got := string(ask(t, Chat, body, Hop{To: Messages, Model: Model{Name: "up"}}).Body())
	want := `{"model":"up","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestModelTable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Model{
		"gpt-5-mini":                 {MaxOutput: 128000, Reasoning: ByEffort},
		"gpt-5.3-codex":              {MaxOutput: 128000, Reasoning: ByEffort},
		"openai/gpt-4o-mini":         {MaxOutput: 16384},
		"claude-opus-4-6-20260101":   {MaxOutput: 128000, Reasoning: Adaptive},
		"us.anthropic.claude-3-opus": {MaxOutput: 4096},
		"Claude-Sonnet-4-20250514":   {MaxOutput: 64000, Reasoning: ByBudget},
		"llama-4":                    {},
		"claude-opus-4-7":            {MaxOutput: 128000, Reasoning: Adaptive},
		"claude-fable-6":             {MaxOutput: 64000, Reasoning: Adaptive},
	} {
		got := KnownModel(name)
		if got.Name != name || got.MaxOutput != want.MaxOutput || got.Reasoning != want.Reasoning {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestEffortIsTheNearestLower(t *testing.T) {
	t.Parallel()
	m := Model{Efforts: []string{"none", "low", "medium", "high"}}
	for word, want := range map[string]string{"minimal": "low", "low": "low", "high": "high", "xhigh": "high", "max": "high", "strange": ""} {
		if got := m.effort(word); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}

func TestFetchedDocument(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://e.com/a.pdf"}}]}]}`
	q, err := Parse(Messages, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Translate(Hop{To: Chat})
	var cannot *CannotError
	if !errors.As(err, &cannot) || cannot.Fetch != "https://e.com/a.pdf" {
		t.Fatalf("got %v", err)
	}
	tr, err := q.Translate(Hop{To: Chat, Fetched: map[string]File{cannot.Fetch: {"application/pdf", []byte("%PDF-")}}})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(tr.Body(), []byte(`"file_data":"data:application/pdf;base64,JVBERi0="`)) {
		t.Errorf("got %s", tr.Body())
	}
}

func TestTextFileToMessages(t *testing.T) {
	t.Parallel()
	file := func(mime, data string) string {
		return `{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"f","file_data":"data:` + mime + `;base64,` + data + `"}}]}]}`
	}
	tr := ask(t, Chat, file("text/plain", "aGk="), Hop{To: Messages})
	if !bytes.Contains(tr.Body(), []byte(`"source":{"type":"text","media_type":"text/plain","data":"hi"}`)) {
		t.Errorf("got %s", tr.Body())
	}
	q, err := Parse(Chat, []byte(file("application/zip", "aGk=")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Translate(Hop{To: Messages}); err == nil {
		t.Error("a zip file went to messages")
	}
}

// X8: a model that thinks on a budget wants the thought that began the turn.
func TestNoThinkingInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	body := `{"reasoning_effort":"high","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"y"}]}`
	for model, want := range map[string]bool{"claude-sonnet-4-5": false, "claude-opus-4-6": true} {
		got := bytes.Contains(ask(t, Chat, body, Hop{To: Messages, Model: KnownModel(model)}).Body(), []byte(`"thinking"`))
		if got != want {
			t.Errorf("%s: thinking %v, want %v", model, got, want)
		}
	}
}

// Anthropic wants the tools that the history calls, even where no more calls may come.
func TestToolsOfTheHistory(t *testing.T) {
	t.Parallel()
	body := `{"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"y"}]}`
	got := ask(t, Chat, body, Hop{To: Messages}).Body()
	if !bytes.Contains(got, []byte(`"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}],"tool_choice":{"type":"none"}`)) {
		t.Errorf("got %s", got)
	}
}

// Anthropic refuses an answer's beginning that ends in white space.
func TestPrefillWithoutSpaceAtItsEnd(t *testing.T) {
	t.Parallel()
	body := `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"The answer is \n"}]}`
	q, err := Parse(Chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the request itself stays as it is
		tr, err := q.Translate(Hop{To: Messages})
		if err != nil || !bytes.Contains(tr.Body(), []byte(`"text":"The answer is"}`)) {
			t.Errorf("%v, %s", err, tr.Body())
		}
	}
	if got := q.Turns[1].Parts[0].Text; got != "The answer is \n" {
		t.Errorf("the request changed: %q", got)
	}
}

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

func TestErrorsAcross(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		caller Dialect
		status int
		body   string
		want   string
	}{
		"OverloadedToChat":     {Chat, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}`, `{"error":{"message":"Overloaded","type":"overloaded_error","code":"server_is_overloaded","param":null}}`},
		"RateLimitToResponses": {Responses, 429, `{"type":"error","error":{"type":"rate_limit_error","message":"m"}}`, `{"error":{"message":"m","type":"rate_limit_error","code":"rate_limit_exceeded","param":null}}`},
		"BillingToChat":        {Chat, 402, `{"type":"error","error":{"type":"billing_error","message":"m"}}`, `{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota","param":null}}`},
		"SpendLimitToChat":     {Chat, 429, `{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"enforced_spend_limit_reached"}}}`, `{"error":{"message":"m","type":"rate_limit_error","code":"enforced_spend_limit_reached","param":null}}`},
		"TooLongKeepsItsText":  {Chat, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, `{"error":{"message":"prompt is too long: 210000 tokens \u003e 200000 maximum","type":"invalid_request_error","code":null,"param":null}}`},
		"QuotaToMessages":      {Messages, 429, `{"error":{"message":"m","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, `{"type":"error","error":{"type":"billing_error","message":"m","details":{"error_code":"insufficient_quota"}},"request_id":"r1"}`},
		"TokensToMessages":     {Messages, 429, `{"error":{"message":"m","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, `{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"rate_limit_exceeded"}},"request_id":"r1"}`},
		"KeyToMessages":        {Messages, 401, `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, `{"type":"error","error":{"type":"authentication_error","message":"m","details":{"error_code":"invalid_api_key"}},"request_id":"r1"}`},
		"LengthToMessages":     {Messages, 400, `{"error":{"message":"m","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, `{"type":"error","error":{"type":"invalid_request_error","message":"m","details":{"error_code":"context_length_exceeded"}},"request_id":"r1"}`},
		"ServerToMessages":     {Messages, 500, `{"error":{"message":"m","type":"server_error","param":null,"code":null}}`, `{"type":"error","error":{"type":"api_error","message":"m"},"request_id":"r1"}`},
		"StatusAlone":          {Messages, 503, `upstream connect error`, `{"type":"error","error":{"type":"api_error","message":"upstream connect error"},"request_id":"r1"}`},
		"NothingSaid":          {Chat, 404, ``, `{"error":{"message":"the provider refused the request without saying why","type":"not_found_error","code":null,"param":null}}`},
		"CodexDetail":          {Messages, 400, `{"detail":"Unsupported parameter"}`, `{"type":"error","error":{"type":"invalid_request_error","message":"Unsupported parameter"},"request_id":"r1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := ask(t, c.caller, asks[c.caller], Hop{To: others(c.caller)[0], ID: "r1"})
			if got := string(tr.Error(c.status, []byte(c.body))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Every type of each vendor's has a counterpart, and comes back as itself or its like.
func TestErrorTypesThereAndBack(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		there := Said{Type: f.messages, Message: "m"}.in(Chat, f.status)
		back := Said{Type: there.Type, Code: there.Code, Message: there.Message}.in(Messages, f.status)
		if back.Type != f.messages || back.Message != "m" || back.Status != f.status {
			t.Errorf("%s became %s, then %s", f.messages, there.Type, back.Type)
		}
	}
}

func TestUsageAcross(t *testing.T) {
	t.Parallel()
	u := Usage{Input: 10, CacheRead: 3000, CacheWrite: 200, Output: 40, Reasoning: 30}
	if got := openAIUsage(u.prompt(), u.CacheRead, u.CacheWrite, u.Output, u.Reasoning); got != u {
		t.Errorf("got %+v, want %+v", got, u)
	}
	tr := ask(t, Messages, asks[Messages], hopTo(Chat, ""))
	_, usage, err := tr.Answer([]byte(`{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":3210,"completion_tokens":40,"prompt_tokens_details":{"cached_tokens":3000,"cache_write_tokens":200},"completion_tokens_details":{"reasoning_tokens":30}}}`))
	if diff := cmp.Diff(usage, u); diff != "" || err != nil {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
}

func TestStreamUsage(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/streams/*_text.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[Dialect]Usage{Chat: {210, 3000, 0, 40, 30}, Messages: {10, 3000, 200, 40, 0}, Responses: {210, 3000, 0, 40, 30}}
	for _, path := range paths {
		g, target := readGolden(t, path), dialectOf(t, path)
		s := translation(t, g, others(target)[0], target).Stream()
		pump(s, []byte(g.text["stream"]), 100)
		if got, ok := s.Usage(); got != want[target] || !ok {
			t.Errorf("%s: got %+v, want %+v", target, got, want[target])
		}
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	image := strings.Repeat("iVBORw0KGgo", 30000)
	for name, c := range map[string]struct {
		body      string
		low, high int64
	}{
		"Hi":          {`{"messages":[{"role":"user","content":"Hi"}]}`, 10, 60},
		"English":     {`{"content":"` + strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1000) + `"}`, 11500, 16000},
		"Chinese":     {`{"content":"` + strings.Repeat("敏捷的棕色狐狸跳过懒狗", 1000) + `"}`, 18000, 25000},
		"Digits":      {`{"content":"` + strings.Repeat("8472910", 1000) + `"}`, 2400, 5000},
		"Image":       {`{"source":{"type":"base64","data":"` + image + `"}}`, 1600, 20000},
		"DataURL":     {`{"image_url":{"url":"data:image/png;base64,` + image + `"}}`, 1600, 20000},
		"TextInData":  {`{"data":"` + strings.Repeat("words and more words ", 1000) + `"}`, 5000, 9000},
		"NotEvenJSON": {`{"content":"` + strings.Repeat("x", 1000), 300, 600},
	} {
		if got := Estimate([]byte(c.body)); got < c.low || got > c.high {
			t.Errorf("%s: got %d, want %d to %d", name, got, c.low, c.high)
		}
	}
}

func TestLongNamesStayApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 70)
	names := []string{flatName("", long+"a"), flatName("", long+"b"), flatName(long, "a"), flatName("", "a.b"), flatName("", "a:b"), flatName("mcp__x__", "y"), flatName("mcp__x", "z"), flatName("", "ü")}
	for i, name := range names {
		if len(name) > maxToolName || slices.Contains(names[:i], name) || strings.ContainsAny(name, ".:ü") {
			t.Errorf("%q", name)
		}
	}
	if got := flatName("", "plain-name_1"); got != "plain-name_1" {
		t.Errorf("got %q", got)
	}
}

// The keep-alive of a provider shows the caller that it is at work, in its own form,
// and never before the answer began.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for caller, want := range map[Dialect]string{Messages: "event: ping\ndata: {\"type\":\"ping\"}\n\n", Responses: ": keep-alive\n\n"} {
		s := translation(t, nil, caller, Chat).Stream()
		if out, m := s.Event(Event{}); len(out) > 0 || m != Lifecycle {
			t.Errorf("before: %q, %v", out, m)
		}
		if _, m := s.Event(Event{Data: []byte(`{"id":"x","choices":[{"index":0,"delta":{"content":"a"}}]}`)}); m != Content || !s.Started() {
			t.Errorf("content: %v", m)
		}
		if out, m := s.Event(Event{}); string(out) != want || m != Lifecycle {
			t.Errorf("after: %q, %v", out, m)
		}
	}
}

// What is held back comes at once with the first content, and a failure before that
// leaves the caller's stream untouched.
func TestHeldBackUntilContent(t *testing.T) {
	t.Parallel()
	s := translation(t, nil, Chat, Messages).Stream()
	start := Event{Data: []byte(`{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":1}}}`)}
	for _, ev := range []Event{start, {Data: []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)}} {
		if out, m := s.Event(ev); len(out) > 0 || m != Lifecycle || s.Started() {
			t.Fatalf("%s: %q, %v", ev.Data, out, m)
		}
	}
	out, m := s.Event(Event{Data: []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`)})
	if m != Content || bytes.Count(out, []byte("data: ")) != 2 {
		t.Errorf("%q, %v", out, m)
	}
	if out := s.Fail(&Error{Status: 502, Message: "m"}); !bytes.Contains(out, []byte(`"error"`)) {
		t.Errorf("%q", out)
	}
	if out := s.Fail(&Error{Status: 502, Message: "m"}); out != nil {
		t.Errorf("failed twice: %q", out)
	}
	if out, ok := s.End(); out != nil || ok {
		t.Errorf("ended after it failed: %q", out)
	}
}

func TestTooMuchThatWaits(t *testing.T) {
	t.Parallel()
	s := translation(t, nil, Messages, Chat).Stream()
	call := func(index int, name, arguments string) Event {
		data, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"tool_calls": []any{
			map[string]any{"index": index, "id": name, "function": map[string]any{"name": name, "arguments": arguments}},
		}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return Event{Data: data}
	}
	s.Event(call(0, "a", ""))
	piece := strings.Repeat("x", 4<<20)
	for i := range 20 {
		if _, m := s.Event(call(1, "b", piece)); m == Garbled {
			if i < 8 {
				t.Errorf("gave up after %d pieces", i)
			}
			return
		}
	}
	t.Error("held 80 MiB")
}

func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	s := translation(t, nil, Messages, Chat).Stream()
	for i := range 2 * maxCalls {
		_, m := s.Event(Event{Data: fmt.Appendf(nil, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f"}}]}}]}`, i, i)})
		if m == Garbled {
			return
		}
	}
	t.Error("took any number of calls")
}
