package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Behavior is how one request is answered. The zero value is a good answer. In JSON
// its names are snake_case and durations are strings ("250ms").
type Behavior struct {
	// Status of the answer, 200-599; 0 is 200. An error status brings the dialect's
	// error body for it.
	Status int `json:"status,omitempty"`
	// Kind is a preset, see Kinds: it fills what the other fields leave unset.
	Kind string `json:"kind,omitempty"`
	// RetryAfter is sent as the Retry-After header, as it is.
	RetryAfter string `json:"retry_after,omitempty"`
	// Body replaces the answer's body: JSON, or a whole event stream.
	Body string `json:"body,omitempty"`
	// Headers are set last, over whatever the answer has.
	Headers map[string]string `json:"headers,omitempty"`

	// Hang accepts the request and answers nothing until the client goes away.
	Hang bool `json:"hang,omitempty"`
	// HangAfter streams this many events and then falls silent; -1 falls silent after
	// the response header. An answer that is no stream hangs.
	HangAfter int `json:"hang_after,omitempty"`
	// CutAfter streams this many events and then resets the connection; -1 resets it
	// after the response header. An answer that is no stream is cut in the middle.
	CutAfter int `json:"cut_after,omitempty"`
	// CutAtByte resets the connection at this offset of the body, stream or not.
	CutAtByte int `json:"cut_at_byte,omitempty"`
	// CleanEnd makes a cut a clean end of the body (no terminal event, no reset). Alone
	// it leaves out a stream's closing events and nothing else.
	CleanEnd bool `json:"clean_end,omitempty"`
	// Reset closes the connection with a RST before any byte of an answer.
	Reset bool `json:"reset,omitempty"`

	// ErrorType is an error in a 200: in a stream an error event after ErrorEventAfter
	// content events (0: as the very first event; -1: after the opening ones, before
	// content), else an error body.
	ErrorType       string `json:"error_type,omitempty"`
	ErrorEventAfter int    `json:"error_event_after,omitempty"`

	// HTML, Empty and Malformed are bodies that are no answer: a page, nothing, JSON
	// that does not decode. With Status 0 they come with a 200.
	HTML      bool `json:"html,omitempty"`
	Empty     bool `json:"empty,omitempty"`
	Malformed bool `json:"malformed,omitempty"`

	// Delay comes before the response header, EventDelay before each event but the first.
	Delay      time.Duration `json:"-"`
	EventDelay time.Duration `json:"-"`
	// Tokens is the number of words of the answer: of content deltas in a stream.
	Tokens int `json:"tokens,omitempty"`
	// ID is the answer's, and in that of its tool call, in place of one drawn at random.
	ID string `json:"id,omitempty"`
	// Says is what the model says in place of words of its own; Tokens does not count then.
	Says string `json:"says,omitempty"`
	// Thinks is what it thinks before: in reasoning_content, as DeepSeek and others write
	// it, in a thinking block, or in a reasoning item's summary.
	Thinks string `json:"thinks,omitempty"`
	// Tool is a call of the caller's tool after the words, with which the answer ends.
	Tool *ToolCall `json:"tool,omitempty"`
	// Usage overrides the usage that is reported.
	Usage *Usage `json:"usage,omitempty"`

	// Times is for how many requests this holds; 0 is one, and for the last of a
	// script for good.
	Times int `json:"times,omitempty"`
}

// ToolCall is a call of one of the tools that a request offers. The provider does not
// look whether it offers it.
type ToolCall struct {
	Name string `json:"name"`
	// Input is a JSON object; none is {}.
	Input json.RawMessage `json:"input,omitempty"`
}

// Usage is token usage in the terms both dialects can be written from: Input does
// not include the cached tokens, Output includes Reasoning.
type Usage struct {
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
	Reasoning  int `json:"reasoning"`
}

// presets maps a Kind to what it stands for. Those with a Status and nothing else get
// their body from the dialect's error table, under the same name.
var presets = map[string]Behavior{
	"ok":                 {},
	"invalid_key":        {Status: 401},
	"model_not_found":    {Status: 404},
	"rate_limit":         {Status: 429},
	"insufficient_quota": {Status: 429},
	"long_context":       {Status: 429}, // an entitlement, not a load: Anthropic's wording
	"credit_balance":     {Status: 400},
	"usage_limit":        {Status: 400},
	"content_filter":     {Status: 400},
	"overloaded":         {Status: 529},
	"hang":               {Hang: true},
	"reset":              {Reset: true},
	"html":               {HTML: true},
	"empty":              {Empty: true},
	"malformed":          {Malformed: true},
	"cut":                {CutAfter: 3},
	"clean_end":          {CleanEnd: true},
	"stream_error":       {ErrorType: "overloaded_error"},
}

// Kinds lists the presets.
func Kinds() []string {
	kinds := make([]string, 0, len(presets))
	for kind := range presets {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

func (b *Behavior) validate() error {
	if b.Status != 0 && (b.Status < 200 || b.Status > 599) {
		return fmt.Errorf("status must be between 200 and 599, got %d", b.Status)
	}
	if _, known := presets[b.Kind]; !known && b.Kind != "" {
		return fmt.Errorf("unknown kind %q, want one of %q", b.Kind, Kinds())
	}
	if b.Tool != nil && (b.Tool.Name == "" || (b.Tool.Input != nil && !json.Valid(b.Tool.Input))) {
		return errors.New("a tool needs a name, and an input that is JSON")
	}
	for name, n := range map[string]int{
		"times": b.Times, "tokens": b.Tokens, "cut_at_byte": b.CutAtByte, "error_event_after": b.ErrorEventAfter + 1,
		"hang_after": b.HangAfter + 1, "cut_after": b.CutAfter + 1,
	} {
		if n < 0 {
			return fmt.Errorf("%s is out of range", name)
		}
	}
	return nil
}

// expanded returns b with its preset filled in.
func (b Behavior) expanded() Behavior {
	p := presets[b.Kind]
	if b.Status == 0 {
		b.Status = p.Status
	}
	if b.CutAfter == 0 {
		b.CutAfter = p.CutAfter
	}
	if b.ErrorType == "" {
		b.ErrorType = p.ErrorType
	}
	b.Hang = b.Hang || p.Hang
	b.Reset = b.Reset || p.Reset
	b.HTML = b.HTML || p.HTML
	b.Empty = b.Empty || p.Empty
	b.Malformed = b.Malformed || p.Malformed
	b.CleanEnd = b.CleanEnd || p.CleanEnd
	if b.Status == 0 {
		b.Status = 200
	}
	return b
}

type behaviorFields Behavior

type behaviorJSON struct {
	*behaviorFields
	Delay      string `json:"delay,omitempty"`
	EventDelay string `json:"event_delay,omitempty"`
}

// MarshalJSON writes durations as strings.
func (b Behavior) MarshalJSON() ([]byte, error) {
	out := behaviorJSON{behaviorFields: (*behaviorFields)(&b)}
	if b.Delay != 0 {
		out.Delay = b.Delay.String()
	}
	if b.EventDelay != 0 {
		out.EventDelay = b.EventDelay.String()
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads durations as strings and refuses names it does not know: a
// mistyped one would otherwise be a provider that does not fail.
func (b *Behavior) UnmarshalJSON(raw []byte) error {
	in := behaviorJSON{behaviorFields: (*behaviorFields)(b)}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return err
	}
	for _, d := range []struct {
		text string
		into *time.Duration
	}{{in.Delay, &b.Delay}, {in.EventDelay, &b.EventDelay}} {
		if d.text == "" {
			continue
		}
		var err error
		if *d.into, err = time.ParseDuration(d.text); err != nil {
			return err
		}
	}
	return nil
}

type scriptKey struct{ model, apiKey string }

// maxCounted bounds the names counted: a client chooses them.
const maxCounted = 10_000

// script is what to answer next, and how often each model was asked.
type script struct {
	mu     sync.Mutex
	queues map[scriptKey][]Behavior
	counts map[string]int
}

func (s *script) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues, s.counts = map[scriptKey][]Behavior{}, map[string]int{}
}

func (s *script) set(key scriptKey, b []Behavior) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b) == 0 {
		delete(s.queues, key)
		return
	}
	s.queues[key] = slices.Clone(b)
}

// next counts a request and takes the behavior for it. "*" is for models only: a
// provider whose models fail still lists them.
func (s *script) next(model, apiKey string) Behavior {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.counts[model]; known || len(s.counts) < maxCounted {
		s.counts[model]++
	}
	keys := []scriptKey{{model, apiKey}, {model, ""}, {"*", apiKey}, {"*", ""}}
	if strings.HasPrefix(model, "/") {
		keys = keys[:2]
	}
	for _, key := range keys {
		if b, ok := s.take(key); ok {
			return b
		}
	}
	return Behavior{}
}

func (s *script) take(key scriptKey) (Behavior, bool) {
	queue, ok := s.queues[key]
	if !ok {
		return Behavior{}, false
	}
	b := queue[0]
	switch {
	case b.Times > 1:
		queue[0].Times--
	case len(queue) > 1:
		s.queues[key] = queue[1:]
	case b.Times == 1:
		delete(s.queues, key)
	}
	return b, true
}
