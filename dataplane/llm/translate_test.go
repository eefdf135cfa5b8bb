package llm

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
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
		"NoMediaType":        {Messages, `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"/9j/"}}]}]}`, "messages[0].content[0].source.media_type"},
		"StrangeMediaType":   {Messages, `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png,x","data":"/9j/"}}]}]}`, "messages[0].content[0].source.media_type"},
		"NoData":             {Messages, `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":""}}]}]}`, "messages[0].content[0].source.data"},
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
	if !errors.As(err, &cannot) || len(cannot.Fetch) != 1 || cannot.Fetch[0] != (Wanted{"messages[0].content[0].source.url", "https://e.com/a.pdf"}) {
		t.Fatalf("got %v", err)
	}
	tr, err := q.Translate(Hop{To: Chat, Fetched: map[string]File{cannot.Fetch[0].URL: {"application/pdf", []byte("%PDF-")}}})
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

// One Request serves all targets that are tried, at once too.
func TestOneRequestForManyTargets(t *testing.T) {
	t.Parallel()
	files(t, "requests", func(t *testing.T, path string, from Dialect) {
		q, err := Parse(from, []byte(readGolden(t, path).text["request"]))
		if err != nil {
			return
		}
		var group sync.WaitGroup
		for range 4 {
			for _, to := range targets(from) {
				group.Go(func() { _, _ = q.Translate(hopTo(to, "")) })
			}
		}
		group.Wait()
	})
}
