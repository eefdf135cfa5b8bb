package provider

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// dialect is one wire format. What the server does with an answer (delay it, cut it,
// leave it hanging) knows nothing of it.
type dialect interface {
	// credential returns the key or token of a request, "" without one.
	credential(h http.Header) string
	// authorize refuses a request by its headers; known says whether a key is accepted.
	authorize(h http.Header, known func(key string) bool) *fault
	// parse reads a request and refuses what the real provider would refuse.
	parse(body []byte) (call, *fault)
	// document is the whole answer, stream the same as events.
	document(c call, a answer) any
	stream(c call, a answer) []event
	// fault is the error for a status and a preset.
	fault(status int, kind, model string) fault
	// errorBody and errorEvent write a fault; at is how many events came before.
	errorBody(f fault, requestID string) any
	errorEvent(f fault, at int) event
	headers(h http.Header, status int, requestID string, took time.Duration)
}

// call is what the server needs of a request.
type call struct {
	model        string
	stream       bool
	includeUsage bool
	userText     string
	maxTokens    int
	promptTokens int
	embed        vectors // for embeddings
}

// answer is what a model said, before a dialect wrote it down.
type answer struct {
	id        string
	created   time.Time
	thoughts  []string // before the words; like them, each with the blank before it
	words     []string // each with the blank before it
	truncated bool     // by the caller's token limit
	tool      *toolUse // after the words
	usage     Usage
}

func (a answer) text() string    { return strings.Join(a.words, "") }
func (a answer) thought() string { return strings.Join(a.thoughts, "") }

// toolUse is a tool call as it is answered.
type toolUse struct {
	id, name string
	input    json.RawMessage
}

// parts is the input as it is streamed: in pieces that are no JSON by themselves.
func (t *toolUse) parts() []string {
	half := len(t.input) / 2
	return []string{string(t.input[:half]), string(t.input[half:])}
}

// fault is a provider's error.
type fault struct {
	status  int
	typ     string
	code    string
	param   string
	message string
}

// place says what part of a stream an event is.
type place int

const (
	opening place = iota // before content: role chunk, message_start
	content
	closing // after content; without it the stream is not complete
)

// event is one server-sent event, framed, with its blank line.
type event struct {
	place place
	wire  []byte
}

// newEvent frames a payload; name is "" where the dialect has no event lines.
func newEvent(p place, name string, payload any) event {
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	b.Write(encode(payload))
	b.WriteString("\n\n")
	return event{p, b.Bytes()}
}

// encode writes JSON as providers do: "<" and "&" stay as they are.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("provider: " + err.Error()) // our own types: cannot fail
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// object is a JSON object with its names in the order that providers write them, which
// some readers have come to rely on.
func object(namesAndValues ...any) json.RawMessage {
	out := []byte{'{'}
	for i := 0; i < len(namesAndValues); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, encode(namesAndValues[i])...), ':'), encode(namesAndValues[i+1])...)
	}
	return append(out, '}')
}

// newID returns an id as providers write them.
func newID(prefix string) string { return prefix + rand.Text() }

const maxEcho = 200

// compose makes up what the model says to a call.
func compose(c call, b Behavior, now time.Time) answer {
	echo := []rune(c.userText)
	if len(echo) > maxEcho {
		echo = append(echo[:maxEcho], '…')
	}
	words := strings.Fields("Hello from " + c.model + ". You said: " + string(echo))
	if b.Tokens > 0 {
		for len(words) < b.Tokens {
			words = append(words, "and", "so", "on")
		}
		words = words[:b.Tokens]
	}
	spaced(words)
	if b.Says != "" {
		words = strings.SplitAfter(b.Says, " ")
	}
	a := answer{id: cmp.Or(b.ID, rand.Text()), created: now, words: words}
	if b.Thinks != "" {
		a.thoughts = strings.SplitAfter(b.Thinks, " ")
	}
	if c.maxTokens > 0 && c.maxTokens < len(words) {
		a.words, a.truncated = words[:c.maxTokens], true
	}
	if b.Tool != nil && !a.truncated {
		a.tool = &toolUse{cmp.Or(b.ID, rand.Text()), b.Tool.Name, b.Tool.Input}
		if a.tool.input == nil {
			a.tool.input = json.RawMessage("{}")
		}
	}
	a.usage = Usage{Input: c.promptTokens, Output: len(a.thoughts) + len(a.words), Reasoning: len(a.thoughts)}
	if b.Usage != nil {
		a.usage = *b.Usage
	}
	return a
}

// spaced puts a blank before each word but the first.
func spaced(words []string) {
	for i := 1; i < len(words); i++ {
		words[i] = " " + words[i]
	}
}

// text reads a content field: a string, or an array of parts of which the text ones
// count.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = text(s)
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	var texts []string
	for _, part := range parts {
		if part.Type == "text" {
			texts = append(texts, part.Text)
		}
	}
	*t = text(strings.Join(texts, "\n"))
	return nil
}

// estimateTokens is the rule of thumb of four bytes to a token.
func estimateTokens(body []byte) int { return len(body)/4 + 1 }
