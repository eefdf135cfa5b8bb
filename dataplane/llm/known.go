package llm

import "strings"

// Words for how much to think that models take, lowest first; Model.Efforts.
var (
	toMax       = []string{"low", "medium", "high", "max"}
	toXHighMax  = []string{"low", "medium", "high", "xhigh", "max"}
	toHigh      = []string{"low", "medium", "high"}
	toXHigh     = []string{"low", "medium", "high", "xhigh"}
	fromMinimal = []string{"minimal", "low", "medium", "high"}
	fromNone    = []string{"none", "low", "medium", "high"}
)

// known are families of models by how their names begin; the longest that fits counts. A
// family's own row is for the models to come: what all of its newest take.
//
// Anthropic: https://platform.claude.com/docs/en/models/overview (limits, thinking),
// https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting (which
// thinking.type each refuses), https://platform.claude.com/docs/en/build-with-claude/effort.
// OpenAI: https://platform.openai.com/docs/models (limits), and for the efforts what the
// API answers to others ("Supported values are ..."). Google:
// https://ai.google.dev/gemini-api/docs/openai (efforts) and /models. DeepSeek:
// https://api-docs.deepseek.com/guides/thinking_mode. xAI:
// https://docs.x.ai/docs/guides/reasoning. gpt-oss:
// https://console.groq.com/docs/reasoning.
var known = map[string]Model{
	"gpt-":              {Reasoning: ByEffort, Efforts: toHigh, CompletionTokens: true, NoSampling: true}, // those to come
	"gpt-6-astra":       {MaxOutput: 128000, Reasoning: ByEffort, Efforts: toXHighMax, CompletionTokens: true, NoSampling: true},
	"gpt-5":             {MaxOutput: 128000, Reasoning: ByEffort, Efforts: fromMinimal, CompletionTokens: true, NoSampling: true},
	"gpt-5-chat":        {MaxOutput: 16384, CompletionTokens: true},
	"gpt-5-codex":       {MaxOutput: 128000, Reasoning: ByEffort, Efforts: toHigh, CompletionTokens: true, NoSampling: true},
	"gpt-5-pro":         {MaxOutput: 272000, Reasoning: ByEffort, Efforts: []string{"high"}, CompletionTokens: true, NoSampling: true},
	"gpt-5.":            {MaxOutput: 128000, Reasoning: ByEffort, Efforts: []string{"none", "low", "medium", "high", "xhigh"}, CompletionTokens: true, NoSampling: true},
	"gpt-5.1":           {MaxOutput: 128000, Reasoning: ByEffort, Efforts: fromNone, CompletionTokens: true, NoSampling: true},
	"gpt-5.1-chat":      {MaxOutput: 16384, CompletionTokens: true, NoSampling: true},
	"gpt-5.1-codex":     {MaxOutput: 128000, Reasoning: ByEffort, Efforts: toHigh, CompletionTokens: true, NoSampling: true},
	"gpt-5.1-codex-max": {MaxOutput: 128000, Reasoning: ByEffort, Efforts: toXHigh, CompletionTokens: true, NoSampling: true},
	"gpt-5.2-chat":      {MaxOutput: 16384, CompletionTokens: true, NoSampling: true},
	"gpt-5.2-codex":     {MaxOutput: 128000, Reasoning: ByEffort, Efforts: toXHigh, CompletionTokens: true, NoSampling: true},
	"gpt-5.2-pro":       {MaxOutput: 128000, Reasoning: ByEffort, Efforts: []string{"medium", "high", "xhigh"}, CompletionTokens: true, NoSampling: true},
	"gpt-5.3-chat":      {MaxOutput: 16384, CompletionTokens: true, NoSampling: true},
	"gpt-5.3-codex":     {MaxOutput: 128000, Reasoning: ByEffort, Efforts: toXHigh, CompletionTokens: true, NoSampling: true},
	"gpt-5.4-pro":       {MaxOutput: 128000, Reasoning: ByEffort, Efforts: []string{"medium", "high", "xhigh"}, CompletionTokens: true, NoSampling: true},
	"gpt-5.5-pro":       {MaxOutput: 128000, Reasoning: ByEffort, Efforts: []string{"medium", "high", "xhigh"}, CompletionTokens: true, NoSampling: true},
	"gpt-5.6":           {MaxOutput: 128000, Reasoning: ByEffort, Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"}, CompletionTokens: true, NoSampling: true},
	"gpt-4.1":           {MaxOutput: 32768},
	"gpt-4o":            {MaxOutput: 16384},
	"gpt-4o-2024-05":    {MaxOutput: 4096},
	"gpt-4-turbo":       {MaxOutput: 4096},
	"gpt-4":             {MaxOutput: 8192},
	"gpt-4.5":           {MaxOutput: 16384},
	"gpt-3.5":           {MaxOutput: 4096},
	"gpt-oss":           {Reasoning: ByEffort, Efforts: toHigh},
	"o1":                {MaxOutput: 100000, Reasoning: ByEffort, CompletionTokens: true, NoSampling: true},
	"o1-mini":           {MaxOutput: 65536, CompletionTokens: true, NoSampling: true},
	"o1-preview":        {MaxOutput: 32768, CompletionTokens: true, NoSampling: true},
	"o3":                {MaxOutput: 100000, Reasoning: ByEffort, CompletionTokens: true, NoSampling: true},
	"o4":                {MaxOutput: 100000, Reasoning: ByEffort, CompletionTokens: true, NoSampling: true},

	"claude-":           {MaxOutput: 64000, Reasoning: Adaptive, Efforts: toMax, NoSampling: true}, // those to come
	"claude-fable-":     {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, AlwaysThinks: true},
	"claude-mythos-":    {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, AlwaysThinks: true},
	"claude-opus-5":     {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, Off: "disabled"},
	"claude-opus-5-5":   {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, AlwaysThinks: true},
	"claude-sonnet-5":   {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toMax, NoSampling: true, Off: "disabled"},
	"claude-sonnet-5-5": {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, Off: "between_tools"},
	"claude-haiku-5-5":  {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true, Off: "disabled"},
	"claude-opus-4-":    {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toXHighMax, NoSampling: true},
	"claude-opus-4-6":   {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toMax},
	"claude-opus-4-5":   {MaxOutput: 64000, Reasoning: ByBudget},
	"claude-opus-4-1":   {MaxOutput: 32000, Reasoning: ByBudget, NoSchemas: true},
	"claude-opus-4-0":   {MaxOutput: 32000, Reasoning: ByBudget, NoSchemas: true},
	"claude-opus-4-2":   {MaxOutput: 32000, Reasoning: ByBudget, NoSchemas: true}, // dated: 20250514
	"claude-opus-4@":    {MaxOutput: 32000, Reasoning: ByBudget, NoSchemas: true},
	"claude-sonnet-4-6": {MaxOutput: 128000, Reasoning: Adaptive, Efforts: toMax},
	"claude-sonnet-4-5": {MaxOutput: 64000, Reasoning: ByBudget},
	"claude-sonnet-4-0": {MaxOutput: 64000, Reasoning: ByBudget, NoSchemas: true},
	"claude-sonnet-4-2": {MaxOutput: 64000, Reasoning: ByBudget, NoSchemas: true},
	"claude-sonnet-4@":  {MaxOutput: 64000, Reasoning: ByBudget, NoSchemas: true},
	"claude-haiku-4-5":  {MaxOutput: 64000, Reasoning: ByBudget},
	"claude-3-7":        {MaxOutput: 64000, Reasoning: ByBudget, NoSchemas: true},
	"claude-3-5":        {MaxOutput: 8192, NoSchemas: true},
	"claude-3-":         {MaxOutput: 4096, NoSchemas: true},

	"gemini-":           {MaxOutput: 65536, Reasoning: ByEffort, Efforts: fromMinimal}, // 2.5 and later
	"gemini-1":          {MaxOutput: 8192},
	"gemini-2.0":        {MaxOutput: 8192},
	"deepseek-":         {Reasoning: ByEffort, Efforts: []string{"low", "high", "max"}},
	"deepseek-chat":     {},
	"deepseek-r1":       {},
	"deepseek-v3":       {},
	"deepseek-reasoner": {},
	"grok-3-mini":       {Reasoning: ByEffort, Efforts: []string{"low", "high"}},
}

// KnownModel is what is known of a model by its name alone, where no table of the
// operator's says it. Names are read as every vendor writes them: after a vendor and '/'
// (OpenRouter, Together, Groq), after a region and "anthropic." (Bedrock), with a date
// after '-' or '@' (Vertex) and a version after ':', and Claude's with dots for dashes.
func KnownModel(name string) Model {
	short := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	if _, after, found := strings.Cut(short, "anthropic."); found {
		short = after
	}
	if strings.HasPrefix(short, "claude-") {
		short = strings.ReplaceAll(short, ".", "-")
	}
	m, found := longestPrefix(known, short)
	if !found {
		m, _ = longestPrefix(hosted, withoutRegion(short))
	}
	m.Name = name
	return m
}

// longestPrefix is the entry whose key is the longest that name begins with.
func longestPrefix(table map[string]Model, name string) (Model, bool) {
	best := ""
	for prefix := range table {
		if strings.HasPrefix(name, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	m, found := table[best]
	return m, found
}

// hosts are vendors by their well-known hosts, which say more than the family that a
// provider was given.
var hosts = map[string]string{
	"api.openai.com": "openai", "api.mistral.ai": "mistral", "api.perplexity.ai": "perplexity", "api.deepseek.com": "deepseek",
	"openrouter.ai": "openrouter", "generativelanguage.googleapis.com": "google_ai", "api.groq.com": "groq", "api.x.ai": "xai",
	"api.cerebras.ai": "cerebras", "api.cohere.ai": "cohere", "api.cohere.com": "cohere", "api.fireworks.ai": "fireworks", "api.together.xyz": "together",
}

// At is the model as one vendor serves it: how its chat departs from what all who are
// compatible with OpenAI's take. family is a provider's, host where it is. Of a vendor
// that is not named here nothing is known, and it gets what all take.
func (m Model) At(family, host string) Model {
	if vendor, ok := hosts[host]; ok {
		family = vendor
	}
	switch family {
	case "openai": // max_tokens is deprecated, and refused by newer models
		m.CompletionTokens, m.Extras, m.Forgets, m.IDs = true, true, chatThoughts, ShortIDs
	case "azure_openai":
		m.Extras, m.Forgets, m.IDs = true, chatThoughts, ShortIDs
	case "openrouter":
		// https://openrouter.ai/docs/api/reference/parameters: what a model does not take is
		// left out there, and so is thinking: /docs/guides/best-practices/reasoning-tokens.
		m.Caches, m.Extras, m.CompletionTokens, m.IDs = true, true, false, ShortIDs
		m.Reasoning, m.Efforts = ByEffort, []string{"none", "minimal", "low", "medium", "high", "xhigh"}
	case "mistral":
		// https://docs.mistral.ai/api: fields that it does not know are a 422, and usage comes
		// unasked. Instructions in the middle are refused (invalid_request_message_order), and
		// so is "role 'user' after role 'tool'".
		m.CompletionTokens, m.NoStreamOptions, m.Alternates, m.Forgets = false, true, true, chatThoughts
		m.AnswersResults, m.IDs = true, ExactIDs
	case "perplexity":
		// https://docs.perplexity.ai/api-reference/chat-completions-post: no functions, and
		// "user and assistant roles should be alternating".
		m.NoStreamOptions, m.Alternates, m.PlainText, m.Forgets = true, true, true, chatThoughts
		m.Traits |= NoTools
	case "deepseek":
		// https://api-docs.deepseek.com/api/create-chat-completion: content is a string,
		// response_format is text or json_object.
		m.PlainText, m.NoSchemas, m.ThinkSwitch = true, true, true
	case "bedrock": // Anthropic's models too: see Inlined
		m.PlainText, m.Bytes = true, true
	case "google_ai", "vertex": // a field that it does not know is a 400 ("Cannot find field")
		m.Forgets = chatThoughts
		m.Bytes = strings.Contains(m.Name, "claude-") // see Inlined
		// https://ai.google.dev/gemini-api/docs/thought-signatures: Gemini 3 refuses a call in
		// the conversation without its signature, and takes this for one of another model.
		if name := strings.ToLower(m.Name); strings.Contains(name, "gemini-") && !strings.Contains(name, "gemini-1") && !strings.Contains(name, "gemini-2") {
			m.CallSignature = "skip_thought_signature_validator"
		}
	case "cohere": // https://docs.cohere.com/docs/compatibility-api
		m.NoStreamOptions, m.PlainText, m.Forgets = true, true, chatThoughts
	case "groq":
		// "property 'reasoning_content' is unsupported". reasoning is its own:
		// https://console.groq.com/docs/api-reference#chat-create
		m.Forgets = []string{"reasoning_content", "reasoning_details"}
	case "cerebras": // the same of both
		m.PlainText, m.Forgets = true, chatThoughts
	case "xai", "together", "fireworks":
	default: // text in parts is not for everyone who says that they are compatible
		m.PlainText = true
	}
	return m
}
