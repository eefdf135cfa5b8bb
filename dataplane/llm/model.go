package llm

import "slices"

// Reasoning is how a model is told to think.
type Reasoning uint8

// Ways to think. The zero value sends nothing about thinking, which every model takes.
const (
	NoReasoning Reasoning = iota
	ByEffort              // OpenAI: a word
	ByBudget              // Anthropic: a number of tokens
	Adaptive              // Anthropic: as the model finds right, and a word
	ByConfig              // Amazon: an object with a word
)

// Model is what has to be known of the target's model. The zero value but for Name is
// a model about which nothing is known: it gets what every model takes.
type Model struct {
	Name string // upstream, sent as model
	// MaxOutput is the most tokens the model can put out: a higher limit is lowered to
	// it. 0: unknown, limits are passed on as they are.
	MaxOutput int64
	// DefaultOutput is the limit that messages, which needs one, gets where the caller
	// gave none. 0: MaxOutput but at most 32000 (rate limits count it before it is
	// used), or where that is unknown 8192.
	DefaultOutput int64
	Reasoning     Reasoning
	// Efforts are the words the model takes, lowest first; nil: low, medium, high. With
	// "none" among them it can be told not to think.
	Efforts []string
	// CompletionTokens: chat's limit is max_completion_tokens, not max_tokens.
	CompletionTokens bool
	// Caches: the target reads cache_control although it speaks chat (OpenRouter), or
	// Converse's form of it.
	Caches bool
	// Bytes: the target takes no URLs of images and documents, only what is behind them.
	Bytes bool
	// PlainText: the target takes a text as one string only, not as a list of parts.
	PlainText bool
	// NoSchemas: the target cannot be held to a schema: messages models from before
	// output_config.format and strict tools, who knows JSON mode only, and some on AWS.
	NoSchemas bool
	// NoSampling: the model refuses temperature and top_p.
	NoSampling bool
	// Traits are how the model differs from what most take.
	Traits Trait
	// Off is the thinking.type by which a messages model that thinks unasked is told not
	// to, or empty: it does not. AlwaysThinks: nothing keeps it from thinking.
	Off          string
	AlwaysThinks bool

	// What follows is about who serves the model on chat, see At.

	// Extras: the target takes what is OpenAI's own (user, metadata, prompt_cache_key,
	// service_tier, verbosity, allowed_tools).
	Extras bool
	// NoStreamOptions: the target refuses stream_options, and sends usage unasked.
	NoStreamOptions bool
	// Alternates: after the leading instructions user and assistant must take turns.
	Alternates bool
	// AnswersResults: after results the model speaks before the user does (Mistral).
	AnswersResults bool
	// IDs is what a call's id may look like.
	IDs IDForm
	// ThinkSwitch: the model thinks unless thinking.type says disabled (DeepSeek).
	ThinkSwitch bool
	// Forgets are the fields of an assistant's message in which the target takes no thoughts
	// back: it refuses the request for them, or has no use for any.
	Forgets []string
	// CallSignature stands for the model's own signature of a call that another model
	// made (Gemini).
	CallSignature string
}

// IDForm is what calls' ids look like on chat.
type IDForm uint8

// Forms of ids. The zero value is any.
const (
	AnyIDs   IDForm = iota
	ShortIDs        // of maxChatID bytes at most
	ExactIDs        // of exactChatID letters and digits
)

// effortOrder is every effort there is, from the least.
var effortOrder = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// effort is the nearest word that the model takes, or empty. Between two it is the
// lower: nobody pays for more than was asked.
func (m *Model) effort(word string) string {
	efforts := m.Efforts
	if efforts == nil {
		efforts = []string{"low", "medium", "high"}
	}
	want := slices.Index(effortOrder, word)
	if want < 0 {
		return ""
	}
	best := ""
	for _, e := range efforts {
		at := slices.Index(effortOrder, e)
		if e == "none" {
			continue
		}
		if at <= want || best == "" {
			best = e
		}
	}
	return best
}

// budgets are the tokens that an effort stands for.
var budgets = map[string]int64{"minimal": 1024, "low": 1024, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 32768}

// minBudget is the least that Anthropic takes.
const minBudget = 1024

// word is the effort that thinking stands for, or empty.
func (t *Think) word() string {
	switch {
	case t.Effort != "":
		return t.Effort
	case t.Mode != ThinkOn:
		return "" // the model's own default
	case t.Budget < 4096:
		return "low"
	case t.Budget < 12288:
		return "medium"
	case t.Budget < 24576:
		return "high"
	}
	return "xhigh"
}

// limit is the most tokens to ask for, 0 for none.
func (m *Model) limit(asked int64) int64 {
	if m.MaxOutput > 0 && asked > m.MaxOutput {
		return m.MaxOutput
	}
	return asked
}

// limitOr is limit for a dialect that needs one.
func (m *Model) limitOr(asked int64) int64 {
	const most, least = 32000, 8192 // every Claude that can still be called has the latter, or is in the table
	switch {
	case asked > 0:
		return m.limit(asked)
	case m.DefaultOutput > 0:
		return m.DefaultOutput
	case m.MaxOutput > 0:
		return min(m.MaxOutput, most)
	}
	return least
}

// openAIEffort is what to send as effort to an OpenAI model, or empty.
func (m *Model) openAIEffort(t Think) string {
	if m.Reasoning != ByEffort {
		return ""
	}
	if t.Mode == ThinkOff {
		if slices.Contains(m.Efforts, "none") {
			return "none"
		}
		return m.effort("minimal") // it cannot be told not to
	}
	return m.effort(t.word())
}
