package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every event of the responses dialect, and what it says of the stream before the
// answer has begun.
var responsesEvents = map[string]struct {
	data string
	want Meaning
}{
	"Created":               {`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","error":null,"output":[]}}`, Lifecycle},
	"Queued":                {`{"type":"response.queued","response":{}}`, Lifecycle},
	"InProgress":            {`{"type":"response.in_progress","response":{}}`, Lifecycle},
	"Keepalive":             {`{"type":"keepalive","sequence_number":3}`, Lifecycle},
	"RateLimits":            {`{"type":"codex.rate_limits","plan_type":"plus","rate_limits":{}}`, Lifecycle},
	"MessageAdded":          {`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}`, Lifecycle},
	"ReasoningAdded":        {`{"type":"response.output_item.added","item":{"type":"reasoning","encrypted_content":"gAAA","summary":[ ]}}`, Lifecycle},
	"CallAdded":             {`{"type":"response.output_item.added","item":{"type":"function_call","name":"shell","call_id":"c","arguments":""}}`, Lifecycle},
	"CallAddedWhole":        {`{"type":"response.output_item.added","item":{"type":"function_call","name":"shell","call_id":"c","arguments":"{}"}}`, Content},
	"MessageAddedWhole":     {`{"type":"response.output_item.added","item":{"type":"message","content":[{"type":"output_text","text":"hi"}]}}`, Content},
	"SearchAdded":           {`{"type":"response.output_item.added","item":{"type":"web_search_call","status":"in_progress"}}`, Lifecycle},
	"AddedWithoutItem":      {`{"type":"response.output_item.added"}`, Content},
	"PartAdded":             {`{"type":"response.content_part.added","part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}`, Lifecycle},
	"PartAddedWhole":        {`{"type":"response.content_part.added","part":{"type":"output_text","text":"hi"}}`, Content},
	"RefusalPart":           {`{"type":"response.content_part.added","part":{"type":"refusal","refusal":"no"}}`, Content},
	"SummaryPartAdded":      {`{"type":"response.reasoning_summary_part.added","part":{"type":"summary_text","text":""}}`, Lifecycle},
	"TextDelta":             {`{"type":"response.output_text.delta","delta":"hi"}`, Content},
	"TextDeltaBlank":        {`{"type":"response.output_text.delta","delta":" "}`, Content},
	"TextDeltaEmpty":        {`{"type":"response.output_text.delta","delta":""}`, Lifecycle},
	"ReasoningDelta":        {`{"type":"response.reasoning_summary_text.delta","delta":"hm"}`, Content},
	"ReasoningTextDelta":    {`{"type":"response.reasoning_text.delta","delta":"hm"}`, Content},
	"ArgumentsDelta":        {`{"type":"response.function_call_arguments.delta","delta":"{"}`, Content},
	"CustomInputDelta":      {`{"type":"response.custom_tool_call_input.delta","delta":"x"}`, Content},
	"RefusalDelta":          {`{"type":"response.refusal.delta","delta":"no"}`, Content},
	"TextDone":              {`{"type":"response.output_text.done","text":"hi"}`, Content},
	"ArgumentsDone":         {`{"type":"response.function_call_arguments.done","arguments":"{}"}`, Content},
	"MessageDone":           {`{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"hi"}]}}`, Content},
	"ReasoningDoneUnread":   {`{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"gAAA","summary":[]}}`, Lifecycle},
	"ReasoningDone":         {`{"type":"response.output_item.done","item":{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}}`, Content},
	"CallDone":              {`{"type":"response.output_item.done","item":{"type":"function_call","name":"f","arguments":""}}`, Content},
	"SearchInProgress":      {`{"type":"response.web_search_call.in_progress","item_id":"ws_1"}`, Lifecycle},
	"SearchSearching":       {`{"type":"response.web_search_call.searching","item_id":"ws_1"}`, Lifecycle},
	"ImagePartial":          {`{"type":"response.image_generation_call.partial_image","partial_image_b64":"x"}`, Content},
	"Annotation":            {`{"type":"response.output_text.annotation.added","annotation":{}}`, Content},
	"Unknown":               {`{"type":"response.new_thing"}`, Content},
	"Completed":             {`{"type":"response.completed","response":{"status":"completed","output":[]}}`, Done},
	"Incomplete":            {`{"type":"response.incomplete","response":{"status":"incomplete"}}`, Done},
	"CompletedCutShort":     {`{"type":"response.completed","response":{"st`, Garbled},
	"Failed":                {`{"type":"response.failed","response":{"error":{"code":"server_is_overloaded","message":"m"}}}`, Failed},
	"Error":                 {`{"type":"error","code":"x","message":"m"}`, Failed},
	"GarbledCreated":        {`{"type":"response.created","response":`, Garbled},
	"FailedTextIsNoFailure": {`{"type":"response.output_text.delta","delta":"\"type\":\"response.failed\""}`, Content},
	"OfAnotherDialect":      {`{"choices":[{"delta":{"content":"hi"}}]}`, Garbled},
	"NullError":             {`{"type":"response.in_progress","response":{"error":null}}`, Lifecycle},
}

func TestJudgeResponses(t *testing.T) {
	t.Parallel()
	for name, c := range responsesEvents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, kind, _ := strings.Cut(c.data, `"type":"`)
			kind, _, _ = strings.Cut(kind, `"`)
			reordered := `{ "sequence_number": 1, ` + c.data[1:] // the type is not the first field, and there is a blank
			for form, ev := range map[string]Event{
				"named": {Name: []byte(kind), Data: []byte(c.data)}, "unnamed": {Data: []byte(c.data)}, "reordered": {Data: []byte(reordered)},
			} {
				if got := Responses.Judge(ev); got != c.want {
					t.Errorf("%s: got %v, want %v", form, got, c.want)
				}
				outcome := c.want
				if outcome != Done && outcome != Failed {
					outcome = Content
				}
				if got := Responses.Outcome(ev); got != outcome && c.want != Garbled {
					t.Errorf("%s: Outcome: got %v, want %v", form, got, outcome)
				}
			}
		})
	}
}

func TestReadAnswerOfResponses(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]AnswerKind{
		`{"id":"r","status":"completed","error":null,"output":[{"type":"message"}]}`: RealAnswer,
		`{"id":"r","status":"incomplete","output":[]}`:                               RealAnswer,
		`{"id":"r","status":"queued","output":[]}`:                                   RealAnswer,
		`{"id":"r","status":"completed","output":[ ]}`:                               NoAnswer,
		`{"id":"r","output":[]}`:                                                     NoAnswer,
		`{"id":"r","status":"completed"}`:                                            NoAnswer,
		`{"id":"r","status":"completed","output":[{"type":"message"}]} x`:            NoAnswer,
		`{"id":"r","status":"completed","output":[{"type":"message"}]`:               NoAnswer,
		`[]`:                                     NoAnswer,
		`<html>`:                                 NoAnswer,
		``:                                       NoAnswer,
		`{"choices":[{}]}`:                       NoAnswer,
		`{"status":"failed","output":[{"a":1}]}`: ErrorAnswer,
		`{"id":"r","status":"failed","error":{"code":"server_error","message":"m"},"output":[]}`: ErrorAnswer,
		`{"error":{"message":"m"}}`: ErrorAnswer,
	} {
		if got := Responses.ReadAnswer([]byte(body)); got != want {
			t.Errorf("%s: got %v, want %v", body, got, want)
		}
	}
}

// ending decodes what an event stream ends with.
func ending(t *testing.T, event []byte) (out struct {
	Type     string
	Sequence int64 `json:"sequence_number"`
	Response struct {
		ID, Object, Status, Model string
		CreatedAt                 int64 `json:"created_at"`
		Error                     responseError
		Output                    []any
	}
}) {
	t.Helper()
	data, ok := strings.CutPrefix(string(event), "event: response.failed\ndata: ")
	if !ok || !strings.HasSuffix(data, "\n\n") || strings.Count(string(event), "\n\n") != 1 {
		t.Fatalf("not one event response.failed: %q", event)
	}
	if err := json.Unmarshal([]byte(data), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBrokenResponseEndsAsFailed(t *testing.T) {
	t.Parallel()
	var trail Trail
	for _, data := range []string{
		`{"type":"response.created","sequence_number":0,"response":{"id":"resp_7","model":"gpt-5","created_at":1764504000,"tools":[{"parameters":{"sequence_number":{"type":"integer"}}}]}}`,
		`{"type":"response.in_progress","response":{"id":"resp_other","tools":[{"parameters":{"sequence_number":{"type":"integer"}}}]},"sequence_number": 1}`,
		`{"type":"response.output_text.delta","delta":"\"sequence_number\":99","sequence_number":6}`,
		`{"type":"response.output_text.delta","sequence_number":5,"delta":"late"}`,
	} {
		trail.Follow(Responses, Event{Data: []byte(data)})
	}
	trail.Follow(Responses, Event{}) // a comment
	got := ending(t, Responses.ErrorEvent(&Error{Code: "upstream_stream_broken", Message: "broke \"off\"\n"}, "req_1", &trail))
	want := got
	want.Type, want.Sequence = "response.failed", 7
	want.Response.ID, want.Response.Object, want.Response.Status, want.Response.Model, want.Response.CreatedAt = "resp_7", "response", "failed", "gpt-5", 1764504000
	want.Response.Error, want.Response.Output = responseError{Code: "upstream_stream_broken", Message: "broke \"off\"\n"}, []any{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestBrokenResponseWithoutTrail(t *testing.T) {
	t.Parallel()
	got := ending(t, Responses.ErrorEvent(&Error{Code: "c", Message: "m"}, "req_1", new(Trail)))
	if got.Sequence != 0 || got.Response.ID != "resp_req_1" {
		t.Errorf("got %+v", got)
	}
	var counted Trail
	counted.Follow(Responses, Event{Data: []byte(`{"type":"response.created","sequence_number":0,"response":{}}`)})
	if got := ending(t, Responses.ErrorEvent(&Error{}, "r", &counted)); got.Sequence != 1 {
		t.Errorf("after number 0 got %d, want 1", got.Sequence)
	}
}

// OpenAI's "error" is no end of a response; one follows it, with what it said.
func TestClosingAfterAnErrorEvent(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]responseError{
		`{"type":"error","code":"rate_limit_exceeded","message":"m","param":null,"sequence_number":4}`: {Code: "rate_limit_exceeded", Message: "m"},
		`{"type":"error","error":{"type":"server_error","message":"m"},"sequence_number":4}`:           {Code: "server_error", Message: "m"},
	} {
		var trail Trail
		ev := Event{Data: []byte(data)}
		trail.Follow(Responses, ev)
		got := ending(t, trail.Closing(Responses, ev, "r", nil))
		if got.Response.Error != want || got.Sequence != 5 {
			t.Errorf("%s: got %+v", data, got)
		}
		if extra := trail.Closing(Messages, ev, "r", nil); extra != nil {
			t.Errorf("messages: %q", extra)
		}
	}
	failed := Event{Data: []byte(`{"type":"response.failed","response":{"error":{"code":"x"}}}`)}
	if extra := new(Trail).Closing(Responses, failed, "r", nil); extra != nil {
		t.Errorf("after response.failed: %q", extra)
	}
}

func FuzzTrail(f *testing.F) {
	for _, c := range responsesEvents {
		f.Add([]byte(c.data))
	}
	f.Add([]byte(`{"sequence_number":99999999999999999999}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var trail Trail
		ev := Event{Data: data}
		trail.Follow(Responses, ev)
		Responses.Judge(ev)
		if got := ending(t, Responses.ErrorEvent(&Error{Code: "c"}, "r", &trail)); got.Sequence < 0 {
			t.Errorf("number %d", got.Sequence)
		}
	})
}
