package llm

import "encoding/json"

// Number is a JSON number as it was written, or empty for none: what a caller asked
// for does not change by being read.
type Number string

// Role is whose turn it is.
type Role uint8

// Roles.
const (
	System    Role = iota // instructions; OpenAI's developer too
	User                  // and the results of tools
	Assistant             // the model
)

// Request is what the dialects can say to a model, in none of them. Decoders build
// it, encoders read it and change nothing, so one Request serves every target that is
// tried.
type Request struct {
	From   Dialect // what it was decoded from
	Model  string  // as the caller named it
	Stream bool
	// StreamUsage: the caller wants usage at the end of a chat stream.
	StreamUsage bool
	System      []Part // the instructions that come first, in order
	Turns       []Turn // neighbours have different roles, but for System
	Tools       []Tool
	Choice      Choice
	Settings    Settings
	tokens      int64 // Estimate of the body
}

// Turn is what one side says before the other does.
type Turn struct {
	Role  Role
	Parts []Part
}

// PartKind is what a Part is.
type PartKind uint8

// Kinds of part.
const (
	Text     PartKind = iota // Text
	Refusal                  // Text: the model says no
	Thinking                 // Text, Seal
	Image                    // Media
	Document                 // Media
	ToolCall                 // Call
	Result                   // Output
)

// Part is one piece of a turn or an answer.
type Part struct {
	Kind   PartKind
	Text   string
	Media  *Media
	Call   *Call
	Output *Output
	// Seal is a signature or an encrypted form of Thinking, bound to its vendor: it
	// never crosses, and the thinking in a request's history is dropped with it.
	Seal string
	// Cache is Anthropic's cache_control, kept where the target understands it.
	Cache json.RawMessage
}

// Media is an image or a document by exactly one of Data, URL, FileID and Plain.
type Media struct {
	MIME   string
	Data   string // base64
	URL    string
	FileID string // bound to its vendor
	Plain  string // the text of a text document
	Name   string // file name or title, or empty
	Detail string // OpenAI's low, high, auto, or empty
	At     string // where the caller wrote URL or FileID, for errors
}

// Call is a model's call of a tool.
type Call struct {
	ID        string
	Namespace string // of the tool, or empty
	Name      string
	Arguments string // JSON text of an object; for Custom any text
	Custom    bool   // a tool that takes text, not JSON
	Search    bool   // of the caller's own search for tools
}

// Output is what a tool said to a call.
type Output struct {
	ID     string // of the call
	Parts  []Part // Text, Image, Document
	Failed bool
	Custom bool
}

// ToolKind is what a Tool is.
type ToolKind uint8

// Kinds of tool.
const (
	Function  ToolKind = iota // takes a JSON object
	Custom                    // takes text
	WebSearch                 // the vendor searches
)

// Tool is one tool of a request.
type Tool struct {
	Kind        ToolKind
	Namespace   string // OpenAI's grouping, or empty
	Name        string
	Description string
	Schema      json.RawMessage // of a Function, or nil
	Strict      *bool
	Format      json.RawMessage // of a Custom tool: its grammar
	Cache       json.RawMessage
	Domains     []string // of WebSearch: only these, or nil
	// Search: the caller looks for more tools itself (OpenAI's tool_search). For other
	// dialects it is a function like others; only the items that call it differ.
	Search bool
}

// ChoiceMode is which tools the model may or must call.
type ChoiceMode uint8

// Modes of choice.
const (
	ChoiceUnset ChoiceMode = iota
	ChoiceAuto
	ChoiceRequired // some tool
	ChoiceTool     // Names[0]
	ChoiceNone
)

// Choice is the tool choice. Names narrows ChoiceAuto and ChoiceRequired too (OpenAI's
// allowed_tools). Parallel is whether several calls may come at once.
type Choice struct {
	Mode     ChoiceMode
	Names    []string
	Parallel *bool
}

// ThinkMode is whether the model should think first.
type ThinkMode uint8

// Modes of thinking.
const (
	ThinkUnset ThinkMode = iota
	ThinkOff
	ThinkOn       // with a budget or an effort
	ThinkAdaptive // as the model finds right
)

// Think is how much a model should think.
type Think struct {
	Mode   ThinkMode
	Budget int64  // tokens, or 0
	Effort string // minimal, low, medium, high, xhigh, max, or empty
	Show   bool   // the caller asked to see a summary
	Hide   bool   // the caller asked not to see what was thought
}

// Format is the form an answer must have.
type Format struct {
	Name        string
	Description string
	Schema      json.RawMessage // nil: any JSON object
	Strict      *bool
}

// Settings is everything beside the conversation and the tools.
type Settings struct {
	MaxTokens   int64 // of output, 0 for none given
	Temperature Number
	TopP        Number
	TopK        Number
	Stop        []string
	Think       Think
	Format      *Format
	Verbosity   string
	User        string          // an opaque id of the end user
	Metadata    json.RawMessage // OpenAI's map
	CacheKey    string          // OpenAI's prompt_cache_key
	Tier        string          // OpenAI's service_tier
	Store       *bool           // OpenAI keeps the answer
}

// StopReason is why a model stopped.
type StopReason uint8

// Reasons to stop.
const (
	StopUnknown  StopReason = iota
	StopEnd                 // it was done, or paused
	StopSequence            // one of Settings.Stop came
	StopLength              // no tokens left, of output or of context
	StopTools               // it waits for the results of calls
	StopRefusal             // the answer is withheld
)

// Usage counts tokens. Input is without those read from or written to a cache, as
// Anthropic counts; OpenAI's prompt_tokens is the three together.
type Usage struct {
	Input      int64
	CacheRead  int64
	CacheWrite int64
	Output     int64 // Reasoning included
	Reasoning  int64
}

func (u Usage) prompt() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// openAIUsage is usage by OpenAI's count, where a provider may say nonsense.
func openAIUsage(prompt, cached, written, output, reasoning int64) Usage {
	cached = min(cached, prompt)
	written = min(written, prompt-cached)
	return Usage{prompt - cached - written, cached, written, output, reasoning}
}

// Answer is a whole answer.
type Answer struct {
	ID      string
	Model   string
	Created int64 // Unix seconds, or 0
	Parts   []Part
	Stop    StopReason
	// StopText is the stop sequence that came, where the provider says it.
	StopText string
	Usage    Usage
}

// calls reports whether the model called tools before.
func (r *Request) calls() bool {
	for i := range r.Turns {
		for j := range r.Turns[i].Parts {
			if r.Turns[i].Parts[j].Kind == ToolCall {
				return true
			}
		}
	}
	return false
}

// add appends to the last turn, if it has the role, or begins one.
func (r *Request) add(role Role, parts ...Part) {
	if n := len(r.Turns); n > 0 && r.Turns[n-1].Role == role && role != System {
		r.Turns[n-1].Parts = append(r.Turns[n-1].Parts, parts...)
		return
	}
	r.Turns = append(r.Turns, Turn{role, parts})
}

// addSystem appends instructions: the leading ones stand apart.
func (r *Request) addSystem(parts ...Part) {
	if len(r.Turns) == 0 {
		r.System = append(r.System, parts...)
		return
	}
	if len(parts) > 0 {
		r.add(System, parts...)
	}
}
