package provider

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
func TestConverseStream(t *testing.T) {
	t.Parallel()
	d := converse{model: "amazon.nova-pro-v1:0", streamed: true}
	c, refusal := d.parse([]byte(`{"messages":[{"role":"user","content":[{"text":"hi"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"Read","inputSchema":{"json":{"type":"object"}}}}]}}`))
	if refusal != nil {
		t.Fatal(refusal.message)
	}
	var all strings.Builder
	for _, e := range d.stream(c, compose(c, readsFile, time.Unix(0, 0))) {
		all.Write(e.wire)
	}
	all.Write(d.errorEvent(d.fault(200, "overloaded_error", d.model), 0).wire)
	names, data := sse(t, all.String())
	want := []string{
		"messageStart", "contentBlockDelta", "contentBlockStop", "contentBlockStart", "contentBlockDelta", "contentBlockDelta",
		"contentBlockStop", "messageStop", "metadata", "serviceUnavailableException",
	}
	if diff := cmp.Diff(names, want); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(data[7], `"stopReason":"tool_use"`) || !strings.Contains(data[8], `"inputTokens":`) || !json.Valid([]byte(data[9])) {
		t.Errorf("got %s", data)
	}
}

func TestConverseDocument(t *testing.T) {
	t.Parallel()
	d := converse{model: "m"}
	var whole struct {
		Output struct {
			Message struct {
				Content []converseBlock
			}
		}
		StopReason string
		Usage      map[string]any
	}
	if err := json.Unmarshal(encode(d.document(call{}, compose(call{}, readsFile, time.Unix(0, 0)))), &whole); err != nil {
		t.Fatal(err)
	}
	content := whole.Output.Message.Content
	if len(content) != 2 || *content[0].Text == "" || content[1].ToolUse.Name != "Read" || whole.StopReason != "tool_use" || whole.Usage["totalTokens"] == nil {
		t.Errorf("got %+v", whole)
	}
	if body := string(encode(d.errorBody(d.fault(429, "", "m"), "r"))); body != `{"message":"Too many requests, please wait before trying again."}` {
		t.Errorf("got %s", body)
	}
}

// What the service refuses, and what it does not.
func TestConverseRefuses(t *testing.T) {
	t.Parallel()
	const user = `{"role":"user","content":[{"text":"x"}]}`
	const calls = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}`
	const result = `{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"y"}]}}]}`
	const tools = `"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]}`
	const pdf = `{"document":{"format":"pdf","name":"a","source":{"bytes":"JVBERi0="}}}`
	for name, c := range map[string]struct{ model, body, want string }{
		"Good":            {"m", `{"messages":[` + user + `,` + calls + `,` + result + `],` + tools + `,"system":[{"text":"s"},{"cachePoint":{"type":"default"}}]}`, ""},
		"Model":           {"m", `{"modelId":"m","messages":[` + user + `]}`, "modelId"},
		"Stream":          {"m", `{"stream":true,"messages":[` + user + `]}`, "stream"},
		"NoMessages":      {"m", `{}`, "required"},
		"AssistantFirst":  {"m", `{"messages":[{"role":"assistant","content":[{"text":"x"}]}]}`, "start with a user"},
		"TwoUsers":        {"m", `{"messages":[` + user + `,` + user + `]}`, "alternate"},
		"NoContent":       {"m", `{"messages":[{"role":"user","content":[]}]}`, "is empty"},
		"Blank":           {"m", `{"messages":[{"role":"user","content":[{"text":" \n"}]}]}`, "is blank"},
		"TwoKinds":        {"m", `{"messages":[{"role":"user","content":[{"text":"x","json":{}}]}]}`, "exactly one"},
		"ImageOfModel":    {"m", `{"messages":[` + user + `,{"role":"assistant","content":[{"image":{"format":"png","source":{"bytes":"aGk="}}}]}]}`, "exactly one"},
		"ImageFormat":     {"m", `{"messages":[{"role":"user","content":[{"image":{"format":"image/png","source":{"bytes":"aGk="}}}]}]}`, "format"},
		"ImageBytes":      {"m", `{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"?"}}}]}]}`, "base64"},
		"DocumentAlone":   {"m", `{"messages":[{"role":"user","content":[` + pdf + `]}]}`, "text block"},
		"DocumentTwice":   {"m", `{"messages":[{"role":"user","content":[{"text":"x"},` + pdf + `,` + pdf + `]}]}`, "duplicate"},
		"DocumentName":    {"m", `{"messages":[{"role":"user","content":[{"text":"x"},` + strings.Replace(pdf, `"a"`, `"a.pdf"`, 1) + `]}]}`, "alphanumeric"},
		"Unanswered":      {"m", `{"messages":[` + user + `,` + calls + `,` + user + `],` + tools + `}`, "Expected toolResult"},
		"ResultOfNothing": {"m", `{"messages":[` + result + `],` + tools + `}`, "exceeds"},
		"ToolsMissing":    {"m", `{"messages":[` + user + `,` + calls + `,` + result + `]}`, "must be defined"},
		"ToolID":          {"m", `{"messages":[` + user + `,` + strings.Replace(calls, `"a"`, `"a.b"`, 1) + `],` + tools + `}`, "toolUse block"},
		"ToolSchema":      {"m", `{"messages":[` + user + `],` + strings.Replace(tools, `"object"`, `"string"`, 1) + `}`, "object"},
		"NoTools":         {"m", `{"messages":[` + user + `],"toolConfig":{"tools":[]}}`, "at least one"},
		"ChoiceNone":      {"m", `{"messages":[` + user + `],` + strings.TrimSuffix(tools, "}") + `,"toolChoice":{"none":{}}}}`, "no member none"},
		"ChoiceOfNoTool":  {"m", `{"messages":[` + user + `],` + strings.TrimSuffix(tools, "}") + `,"toolChoice":{"tool":{"name":"g"}}}}`, "no tool"},
		"Temperature":     {"m", `{"messages":[` + user + `],"inferenceConfig":{"temperature":1.5}}`, "temperature"},
		"Schema":          {"m", `{"messages":[` + user + `],"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"?"}}}}}`, "schema"},
		"StreamedTools":   {"us.meta.llama3-3-70b-instruct-v1:0", `{"messages":[` + user + `],` + tools + `}`, "streamed tools"},
		"SystemOfTitan":   {"amazon.titan-text-express-v1", `{"messages":[` + user + `],"system":[{"text":"s"}]}`, "system"},
		"StopsOfOSS":      {"openai.gpt-oss-120b-1:0", `{"messages":[` + user + `],"inferenceConfig":{"stopSequences":["x"]}}`, "stops"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, refusal := converse{model: c.model, streamed: true}.parse([]byte(c.body))
			if c.want == "" && refusal != nil {
				t.Errorf("refused: %s", refusal.message)
			}
			if c.want != "" && (refusal == nil || refusal.status != 400 || !strings.Contains(refusal.message, c.want)) {
				t.Errorf("got %+v, want %q", refusal, c.want)
			}
		})
	}
}
