package provider

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// converseBody is what of a request is known. Other fields are refused, "modelId" and
// "stream" among them.
type converseBody struct {
	Messages        []converseMessage `json:"messages"`
	System          []converseBlock   `json:"system"`
	InferenceConfig struct {
		MaxTokens     *int     `json:"maxTokens"`
		Temperature   *float64 `json:"temperature"`
		TopP          *float64 `json:"topP"`
		StopSequences []string `json:"stopSequences"`
	} `json:"inferenceConfig"`
	ToolConfig                   *converseTools  `json:"toolConfig"`
	AdditionalModelRequestFields json.RawMessage `json:"additionalModelRequestFields"`
	OutputConfig                 *converseOutput `json:"outputConfig"`
}

type converseMessage struct {
	Role    string          `json:"role"`
	Content []converseBlock `json:"content"`
}

// converseBlock is a union: exactly one of its members is there.
type converseBlock struct {
	Text       *string          `json:"text"`
	Image      *converseFile    `json:"image"`
	Document   *converseFile    `json:"document"`
	ToolUse    *converseToolUse `json:"toolUse"`
	ToolResult *converseResult  `json:"toolResult"`
	CachePoint *converseCache   `json:"cachePoint"`
	JSON       json.RawMessage  `json:"json"` // in results only
	Reasoning  *json.RawMessage `json:"reasoningContent"`
	Guard      *json.RawMessage `json:"guardContent"`
}

type converseFile struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	Source struct {
		Bytes string `json:"bytes"`
	} `json:"source"`
}

type converseToolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type converseResult struct {
	ID      string          `json:"toolUseId"`
	Content []converseBlock `json:"content"`
	Status  string          `json:"status"`
}

type converseCache struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

type converseTools struct {
	Tools []struct {
		Spec *struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Strict      *bool  `json:"strict"`
			InputSchema struct {
				JSON json.RawMessage `json:"json"`
			} `json:"inputSchema"`
		} `json:"toolSpec"`
		CachePoint *converseCache `json:"cachePoint"`
	} `json:"tools"`
	Choice map[string]struct {
		Name string `json:"name"`
	} `json:"toolChoice"`
}

type converseOutput struct {
	Format *struct {
		Type      string `json:"type"`
		Structure struct {
			Schema struct {
				Schema      string `json:"schema"`
				Name        string `json:"name"`
				Description string `json:"description"`
			} `json:"jsonSchema"`
		} `json:"structure"`
	} `json:"textFormat"`
}

// ConverseRefuses is why AWS Bedrock's Converse would refuse a request to a model, or where
// streamed is true ConverseStream would; empty: it would not.
func ConverseRefuses(model string, streamed bool, body []byte) string {
	if _, refusal := (converse{model: model, streamed: streamed}).parse(body); refusal != nil {
		return refusal.message
	}
	return ""
}

func invalid(format string, args ...any) *fault {
	return &fault{status: http.StatusBadRequest, typ: "ValidationException", message: fmt.Sprintf(format, args...)}
}

func (m *converseMessage) text() string {
	var texts []string
	for i := range m.Content {
		if m.Content[i].Text != nil {
			texts = append(texts, *m.Content[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// kinds are the members of the union that are there.
func (b *converseBlock) kinds() (names []string) {
	for _, kind := range []struct {
		name  string
		there bool
	}{
		{"text", b.Text != nil}, {"image", b.Image != nil}, {"document", b.Document != nil}, {"toolUse", b.ToolUse != nil},
		{"toolResult", b.ToolResult != nil}, {"cachePoint", b.CachePoint != nil}, {"json", b.JSON != nil},
		{"reasoningContent", b.Reasoning != nil}, {"guardContent", b.Guard != nil},
	} {
		if kind.there {
			names = append(names, kind.name)
		}
	}
	return names
}

// check looks at one block; allowed are the kinds that may stand here.
func (b *converseBlock) check(at string, allowed ...string) *fault {
	kinds := b.kinds()
	if len(kinds) != 1 || !strings.Contains(" "+strings.Join(allowed, " ")+" ", " "+kinds[0]+" ") {
		return invalid("The content block at %s has %q, it must have exactly one of %q", at, kinds, allowed)
	}
	switch {
	case b.Text != nil && strings.TrimSpace(*b.Text) == "":
		return invalid("The text field in the ContentBlock object at %s is blank. Add text to the text field, and try again.", at)
	case b.Image != nil:
		return b.Image.check(at, "png jpeg gif webp")
	case b.Document != nil && !documentName(b.Document.Name):
		return invalid("The document file name at %s can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. The name can't contain more than one consecutive whitespace character.", at)
	case b.Document != nil:
		return b.Document.check(at, "pdf csv doc docx xls xlsx html txt md")
	case b.CachePoint != nil && b.CachePoint.Type != "default":
		return invalid("The cache point at %s has no type", at)
	case b.ToolUse != nil && (!wireName(b.ToolUse.ID) || !wireName(b.ToolUse.Name) || !isObject(b.ToolUse.Input)):
		return invalid("The toolUse block at %s is invalid: names and ids must match [a-zA-Z0-9_-]{1,64}, and the input must be an object", at)
	case b.ToolResult != nil:
		return b.ToolResult.check(at)
	}
	return nil
}

func (r *converseResult) check(at string) *fault {
	if !wireName(r.ID) || r.Status != "" && r.Status != "success" && r.Status != "error" {
		return invalid("The toolResult block at %s is invalid", at)
	}
	if len(r.Content) == 0 {
		return invalid("The toolResult block at %s has no content", at)
	}
	for i := range r.Content {
		if refusal := r.Content[i].check(fmt.Sprintf("%s.toolResult.content.%d", at, i), "text", "json", "image", "document"); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (f *converseFile) check(at, formats string) *fault {
	if f.Format == "" || !strings.Contains(" "+formats+" ", " "+f.Format+" ") {
		return invalid("The format %q at %s is not one of %s", f.Format, at, formats)
	}
	if data, err := base64.StdEncoding.DecodeString(f.Source.Bytes); err != nil || len(data) == 0 {
		return invalid("The source at %s has no bytes in base64", at)
	}
	return nil
}

// wireName reports whether a name or an id keeps to what the service takes.
func wireName(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && c != '-' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func documentName(s string) bool {
	for _, c := range []byte(s) {
		if !strings.ContainsRune(" -()[]", rune(c)) && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 200 && !strings.Contains(s, "  ")
}

func isObject(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(raw, &fields) == nil && fields != nil
}

func converseTurns(in *converseBody) *fault {
	if len(in.Messages) == 0 {
		return invalid("The messages field is required")
	}
	for i := range in.System {
		if refusal := in.System[i].check(fmt.Sprintf("system.%d", i), "text", "cachePoint", "guardContent"); refusal != nil {
			return refusal
		}
	}
	for i, m := range in.Messages {
		want := []string{"user", "assistant"}[i%2]
		if i == 0 && m.Role != want {
			return invalid("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
		}
		if m.Role != want {
			return invalid("A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.")
		}
		if len(m.Content) == 0 {
			return invalid("The content field in the Message object at messages.%d is empty. Add a ContentBlock object to the content field and try again.", i)
		}
		allowed := []string{"text", "image", "document", "toolResult", "cachePoint", "guardContent"}
		if m.Role == "assistant" {
			allowed = []string{"text", "toolUse", "cachePoint", "reasoningContent"}
		}
		for j := range m.Content {
			if refusal := m.Content[j].check(fmt.Sprintf("messages.%d.content.%d", i, j), allowed...); refusal != nil {
				return refusal
			}
		}
	}
	return nil
}

// converseNames: documents have names of their own, and stand beside a text.
func converseNames(in *converseBody) *fault {
	seen := map[string]bool{}
	for i := range in.Messages {
		m := &in.Messages[i]
		for _, b := range m.Content {
			if b.Document == nil {
				continue
			}
			if m.text() == "" {
				return invalid("messages.%d: a text block must be included with a document", i)
			}
			if seen[b.Document.Name] {
				return invalid("Messages contain duplicate document names. Remove the duplicate document names and try again.")
			}
			seen[b.Document.Name] = true
		}
	}
	return nil
}

// converseResults: every call is answered by the message that follows it, and nothing
// else is.
func converseResults(in *converseBody) *fault {
	open := map[string]bool{}
	for i, m := range in.Messages {
		for _, b := range m.Content {
			if b.ToolResult != nil && !open[b.ToolResult.ID] {
				return invalid("The number of toolResult blocks at messages.%d.content exceeds the number of toolUse blocks of previous turn.", i)
			}
			if b.ToolResult != nil {
				delete(open, b.ToolResult.ID)
			}
		}
		for id := range open {
			return invalid("Expected toolResult blocks at messages.%d.content for the following Ids: %s", i, id)
		}
		for _, b := range m.Content {
			if b.ToolUse != nil {
				open[b.ToolUse.ID] = true
			}
		}
	}
	return nil
}

func converseSettings(in *converseBody) *fault {
	s := &in.InferenceConfig
	switch {
	case s.MaxTokens != nil && (*s.MaxTokens < 1 || *s.MaxTokens > 1<<31-1):
		return invalid("The maxTokens field is out of range")
	case s.Temperature != nil && (*s.Temperature < 0 || *s.Temperature > 1):
		return invalid("The temperature field must be between 0 and 1")
	case s.TopP != nil && (*s.TopP < 0 || *s.TopP > 1):
		return invalid("The topP field must be between 0 and 1")
	case in.AdditionalModelRequestFields != nil && !isObject(in.AdditionalModelRequestFields):
		return invalid("additionalModelRequestFields must be an object")
	}
	for _, stop := range s.StopSequences {
		if stop == "" {
			return invalid("A stop sequence must not be empty")
		}
	}
	if in.OutputConfig != nil && in.OutputConfig.Format != nil {
		f := in.OutputConfig.Format
		if f.Type != "json_schema" || !isObject(json.RawMessage(f.Structure.Schema.Schema)) {
			return invalid("outputConfig.textFormat must have a schema: the text of an object")
		}
	}
	return nil
}

func converseToolSpecs(in *converseBody) *fault {
	if in.ToolConfig == nil {
		for i := range in.Messages {
			for _, b := range in.Messages[i].Content {
				if b.ToolUse != nil || b.ToolResult != nil {
					return invalid("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
				}
			}
		}
		return nil
	}
	names := map[string]bool{}
	for i, tool := range in.ToolConfig.Tools {
		if tool.Spec == nil {
			continue
		}
		var schema struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(tool.Spec.InputSchema.JSON, &schema) != nil || schema.Type != "object" {
			return invalid("The value at toolConfig.tools.%d.toolSpec.inputSchema.json.type must be one of the following: object.", i)
		}
		if !wireName(tool.Spec.Name) || names[tool.Spec.Name] {
			return invalid("The name at toolConfig.tools.%d.toolSpec.name is invalid or given twice", i)
		}
		names[tool.Spec.Name] = true
	}
	if len(names) == 0 {
		return invalid("toolConfig.tools must have at least one tool")
	}
	for mode, choice := range in.ToolConfig.Choice {
		switch {
		case len(in.ToolConfig.Choice) != 1:
			return invalid("toolConfig.toolChoice must have exactly one member")
		case mode != "auto" && mode != "any" && mode != "tool":
			return invalid("toolConfig.toolChoice has no member %s", mode)
		case mode == "tool" && !names[choice.Name]:
			return invalid("toolConfig.toolChoice.tool names %q, which is no tool", choice.Name)
		}
	}
	return nil
}

// inability is what models whose names have the part do not take.
type inability struct{ part, what string }

// inabilities: https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html
var inabilities = []inability{
	{"titan-text", "system"}, {"titan-text", "tools"}, {"mistral-7b", "system"}, {"mistral-7b", "tools"}, {"mixtral", "system"}, {"mixtral", "tools"},
	{"deepseek.r1", "tools"}, {"llama3-1", "streamed tools"}, {"llama3-2", "streamed tools"}, {"llama3-3", "streamed tools"}, {"llama4", "streamed tools"},
	{"llama", "choice"}, {"gpt-oss", "stops"}, {"qwen3", "stops"}, {"nova-micro", "files"}, {"gpt-oss", "status"}, {"llama", "status"}, {"mistral", "status"},
	{"nova-2", "an answer's beginning"}, {"llama", "an answer's beginning"},
}

// abilities refuses what the model cannot do.
func (d converse) abilities(in *converseBody) *fault {
	last := in.Messages[len(in.Messages)-1]
	uses := map[string]bool{
		"system": len(in.System) > 0, "tools": in.ToolConfig != nil, "streamed tools": in.ToolConfig != nil && d.streamed,
		"choice": in.ToolConfig != nil && in.ToolConfig.Choice != nil, "stops": len(in.InferenceConfig.StopSequences) > 0,
		"an answer's beginning": last.Role == "assistant",
	}
	for _, m := range in.Messages {
		for _, b := range m.Content {
			uses["files"] = uses["files"] || b.Image != nil || b.Document != nil
			uses["status"] = uses["status"] || b.ToolResult != nil && b.ToolResult.Status != ""
		}
	}
	for _, no := range inabilities {
		if strings.Contains(d.model, no.part) && uses[no.what] {
			return invalid("This model doesn't support %s. Remove it and try again.", no.what)
		}
	}
	return nil
}

// stopReason is Anthropic's word, where Converse has the same.
