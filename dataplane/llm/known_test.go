package llm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKnownModel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Model{
		"gpt-5-mini":         {MaxOutput: 128000, Reasoning: ByEffort, Efforts: fromMinimal, CompletionTokens: true, NoSampling: true},
		"gpt-5-chat-latest":  {MaxOutput: 16384, CompletionTokens: true},
		"gpt-5.1-2025-11-13": {MaxOutput: 128000, Reasoning: ByEffort, Efforts: fromNone, CompletionTokens: true, NoSampling: true},
		"gpt-5.3-codex":      {MaxOutput: 128000, Reasoning: ByEffort, Efforts: toXHigh, CompletionTokens: true, NoSampling: true},
		"gpt-5.6-sol":        {MaxOutput: 128000, Reasoning: ByEffort, Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"}, CompletionTokens: true, NoSampling: true},
		"gpt-9":              {Reasoning: ByEffort, Efforts: toHigh, CompletionTokens: true, NoSampling: true},
		"openai/gpt-4o-mini": {MaxOutput: 16384},
		"gpt-4o-2024-05-13":  {MaxOutput: 4096},
		"openai/gpt-oss-20b": {Reasoning: ByEffort, Efforts: toHigh},
		"o3-mini":            {MaxOutput: 100000, Reasoning: ByEffort, CompletionTokens: true, NoSampling: true},

		"claude-3-haiku-20240307":                        {MaxOutput: 4096, NoSchemas: true},
		"us.anthropic.claude-3-5-sonnet-20241022-v2:0":   {MaxOutput: 8192, NoSchemas: true},
		"anthropic/claude-3.7-sonnet":                    {MaxOutput: 64000, Reasoning: ByBudget, NoSchemas: true},
		"Claude-Sonnet-4-20250514":                       {MaxOutput: 64000, Reasoning: ByBudget, NoSchemas: true},
		"claude-opus-4@20250514":                         {MaxOutput: 32000, Reasoning: ByBudget, NoSchemas: true},
		"claude-opus-4-1-20250805":                       {MaxOutput: 32000, Reasoning: ByBudget, NoSchemas: true},
		"claude-sonnet-4-5@20250929":                     {MaxOutput: 64000, Reasoning: ByBudget},
		"anthropic/claude-sonnet-4.5":                    {MaxOutput: 64000, Reasoning: ByBudget},
		"global.anthropic.claude-opus-4-5-20251101-v1:0": {MaxOutput: 64000, Reasoning: ByBudget},
		"anthropic.claude-haiku-4-5-20251001-v1:0":       {MaxOutput: 64000, Reasoning: ByBudget},
		"claude-opus-4-6":                                {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toMax},
		"eu.anthropic.claude-sonnet-4-6":                 {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toMax},
		"publishers/anthropic/models/claude-opus-4-7":    {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true},
		"claude-opus-4-8":                                {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true},
		"claude-opus-5":                                  {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, Off: "disabled"},
		"claude-opus-5-5":                                {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, AlwaysThinks: true},
		"anthropic/claude-opus-5.5":                      {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, AlwaysThinks: true},
		"claude-sonnet-5-5":                              {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, Off: "between_tools"},
		"claude-fable-5-1":                               {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, AlwaysThinks: true},
		"claude-nobody-9":                                {MaxOutput: 64000, Reasoning: Adaptive, Efforts: toMax, NoSampling: true},
		"arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-6-v1": {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toMax},

		"google/gemini-2.5-pro":         {MaxOutput: 65536, Reasoning: ByEffort, Efforts: fromMinimal},
		"models/gemini-3.5-flash":       {MaxOutput: 65536, Reasoning: ByEffort, Efforts: fromMinimal},
		"gemini-2.0-flash-001":          {MaxOutput: 8192},
		"deepseek-chat":                 {},
		"deepseek-ai/DeepSeek-V3.1":     {},
		"deepseek-r1-distill-llama-70b": {},
		"deepseek-v4-pro":               {Reasoning: ByEffort, Efforts: []string{"low", "high", "max"}},
		"grok-4":                        {},
		"grok-3-mini-fast":              {Reasoning: ByEffort, Efforts: []string{"low", "high"}},
		"mistral-large-latest":          {},
		"meta.llama3-1-70b-instruct-v1": {NoSchemas: true, Traits: NoStreamedTools | NoForcedCalls | NoPrefill},
		"llama-9":                       {},
		"":                              {},
	} {
		want.Name = name
		if diff := cmp.Diff(want, KnownModel(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Where a model is served counts by the host, if that is known, and else by the family.
func TestModelAtAVendor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, family, host string
		want               Model
	}{
		{"llama-9", "custom", "llm.example", Model{PlainText: true}},
		{"llama-9", "groq", "api.groq.com", Model{Forgets: []string{"reasoning_content", "reasoning_details"}}},
		{"gpt-4o", "openai", "api.openai.com", Model{MaxOutput: 16384, CompletionTokens: true, Extras: true, IDs: ShortIDs, Forgets: chatThoughts}},
		{"gpt-4o", "azure_openai", "x.openai.azure.com", Model{MaxOutput: 16384, Extras: true, IDs: ShortIDs, Forgets: chatThoughts}},
		{"x", "openai", "api.mistral.ai", Model{NoStreamOptions: true, Alternates: true, AnswersResults: true, IDs: ExactIDs, Forgets: chatThoughts}},
		{"x", "mistral", "proxy.example", Model{NoStreamOptions: true, Alternates: true, AnswersResults: true, IDs: ExactIDs, Forgets: chatThoughts}},
		{"sonar", "perplexity", "", Model{Traits: NoTools, NoStreamOptions: true, Alternates: true, PlainText: true, Forgets: chatThoughts}},
		{"deepseek-chat", "custom", "api.deepseek.com", Model{PlainText: true, NoSchemas: true, ThinkSwitch: true}},
		{"openai/gpt-4o", "custom", "openrouter.ai", Model{MaxOutput: 16384, Caches: true, Extras: true, IDs: ShortIDs, Reasoning: ByEffort, Efforts: []string{"none", "minimal", "low", "medium", "high", "xhigh"}}},
		{"gemini-3-pro", "google_ai", "", Model{MaxOutput: 65536, Reasoning: ByEffort, Efforts: fromMinimal, CallSignature: "skip_thought_signature_validator", Forgets: chatThoughts}},
		{"google/gemini-2.5-pro", "vertex", "", Model{MaxOutput: 65536, Reasoning: ByEffort, Efforts: fromMinimal, Forgets: chatThoughts}},
		{"claude-opus-4-6", "vertex", "", Model{MaxOutput: 128000, Bytes: true, Reasoning: Adaptive, Efforts: toMax, Forgets: chatThoughts}},
		{"anthropic.claude-opus-4-6-v1", "bedrock", "", Model{MaxOutput: 128000, Bytes: true, PlainText: true, Reasoning: Adaptive, Efforts: toMax}},
		{"claude-opus-4-6", "anthropic", "", Model{MaxOutput: 128000, PlainText: true, Reasoning: Adaptive, Efforts: toMax}},
	} {
		c.want.Name = c.name
		if diff := cmp.Diff(c.want, KnownModel(c.name).At(c.family, c.host)); diff != "" {
			t.Errorf("%s at %s %s (-want +got):\n%s", c.name, c.family, c.host, diff)
		}
	}
}

// A caller who wants no thinking gets as little as the model can do.
func TestThinkingOffToMessages(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"claude-opus-4-6":   ``,
		"claude-sonnet-4-5": ``,
		"claude-sonnet-5":   `,"thinking":{"type":"disabled"}`,
		"claude-sonnet-5-5": `,"thinking":{"type":"between_tools"}`,
		"claude-opus-5-5":   `,"output_config":{"effort":"low"}`,
	} {
		body := `{"reasoning_effort":"none","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`
		got := string(ask(t, Chat, body, Hop{To: Messages, Model: KnownModel(name)}).Body())
		if want := `{"model":"` + name + `","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]` + want + `}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Some providers answer in parts, the thinking among them.
func TestChatAnswersInParts(t *testing.T) {
	t.Parallel()
	const parts = `[{"type":"thinking","thinking":[{"type":"text","text":"Hm"},{"type":"text","text":"m."}]},{"type":"text","text":"Ye"},{"type":"reference","reference_ids":[1]},{"type":"text","text":"s."}]`
	tr := ask(t, Messages, `{"max_tokens":9,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"x"}]}`, Hop{To: Chat, ID: "r"})
	got, _, err := tr.Answer([]byte(`{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":` + parts + `},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`))
	want := `{"id":"msg_c","type":"message","role":"assistant","model":"","content":[{"type":"thinking","thinking":"Hmm.","signature":"` + foreignSeal + `"},{"type":"text","text":"Yes."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}}`
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}

func TestModelsOnAWS(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Model{
		"eu.amazon.nova-micro-v1:0":  {MaxOutput: 10000},
		"mistral.mixtral-8x7b":       {MaxOutput: 4096},
		"us-gov.meta.llama3-8b-v1:0": {MaxOutput: 2048},
		"openai.gpt-oss-120b-1:0":    {Reasoning: ByEffort},
		"acme.amazon.nova-micro":     {},
		"arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-2-lite-v1:0": {MaxOutput: 64000, Reasoning: ByConfig},
	} {
		got := KnownModel(name)
		if got.Name != name || got.MaxOutput != want.MaxOutput || got.Reasoning != want.Reasoning {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
