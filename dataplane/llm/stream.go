package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Meaning is what one event says about the stream it is part of.
type Meaning uint8

// Meanings. While only Lifecycle events have come, nothing of the answer is lost
// by asking another target.
const (
	Lifecycle Meaning = iota // start markers, pings, comments, role-only deltas
	Content                  // some of the answer, or an event nobody here knows
	Done                     // the protocol's own end
	Failed                   // the provider reports an error inside the stream
	Garbled                  // not an event of the dialect; only Judge says so
)

// Judge says what an event of a stream in dialect d means. It reads the event;
// Outcome is the cheap form for streams that have started.
func (d Dialect) Judge(ev Event) Meaning {
	m := d.Outcome(ev)
	if m == Failed || m == Done && d != Responses {
		return m
	}
	if ev.Data == nil {
		return Lifecycle
	}
	lifecycle := chatLifecycle
	switch d {
	case Messages:
		lifecycle = messagesLifecycle(ev)
	case Responses:
		if len(ev.kind()) == 0 {
			return Garbled // every event of the dialect says what it is
		}
		lifecycle = responsesLifecycle(ev)
	case Converse:
		lifecycle = converseLifecycle(ev)
	}
	s := scanner{b: ev.Data}
	s.space()
	held, err := lifecycle(&s)
	s.space()
	if err != nil || s.i != len(s.b) {
		return Garbled
	}
	if held {
		return Lifecycle
	}
	return m
}

// messagesLifecycle is the reader for an event of the messages dialect.
func messagesLifecycle(ev Event) func(*scanner) (bool, error) {
	switch string(ev.kind()) {
	case "message_start", "ping":
		return anyObject
	case "content_block_start":
		return emptyBlock
	}
	return noLifecycle
}

// The readers below read one value and report whether it carries no content.

func anyObject(s *scanner) (bool, error) { return true, s.value(0) }

func noLifecycle(s *scanner) (bool, error) { return false, s.value(0) }

// fields reads an object and gives each member to the function, which reads its
// value. Anything else is read and ignored.
func (s *scanner) fields(depth int, member func(key string) error) error {
	if s.peek() != '{' {
		return s.value(depth)
	}
	return s.object(depth+1, member)
}

// raw reads a value and returns its text.
func (s *scanner) raw(depth int) (string, error) {
	start := s.i
	err := s.value(depth)
	return string(s.b[start:s.i]), err
}

// chatLifecycle: chunks without choices, and deltas that only name the role.
func chatLifecycle(s *scanner) (bool, error) {
	held := true
	delta := func(key string) error {
		value, err := s.raw(3)
		switch value {
		case "null", `""`, "[]", "{}":
		default:
			held = held && key == "role"
		}
		return err
	}
	choice := func(key string) error {
		switch key {
		case "delta":
			return s.fields(3, delta)
		case "finish_reason":
			value, err := s.raw(3)
			held = held && value == "null"
			return err
		}
		return s.value(3)
	}
	err := s.fields(0, func(key string) error {
		if key != "choices" || s.peek() != '[' {
			return s.value(1)
		}
		return s.elements(func() error { return s.fields(2, choice) })
	})
	return held, err
}

// emptyBlock: the start of a block that comes empty, since its content follows in
// deltas.
func emptyBlock(s *scanner) (bool, error) {
	var kind string
	empty := true
	err := s.fields(0, func(key string) error {
		if key != "content_block" {
			return s.value(1)
		}
		return s.fields(1, func(key string) error {
			value, err := s.raw(2)
			switch key {
			case "type":
				kind = value
			case "text", "thinking":
				empty = empty && value == `""`
			case "input":
				empty = empty && strings.Trim(value, "{} \t") == ""
			}
			return err
		})
	})
	switch kind {
	case `"text"`, `"thinking"`, `"tool_use"`, `"server_tool_use"`:
		return empty, err
	}
	return false, err
}

// Outcome reports Done and Failed; every other event is Content. It decodes
// nothing but events that look like errors.
func (d Dialect) Outcome(ev Event) Meaning {
	switch d {
	case Chat:
		if string(ev.Data) == "[DONE]" {
			return Done
		}
		if string(ev.Name) == "error" || hasError(ev.Data) {
			return Failed
		}
	case Messages:
		switch string(ev.kind()) {
		case "message_stop":
			return Done
		case "error":
			return Failed
		}
	case Responses:
		switch string(ev.kind()) {
		case "response.completed", "response.incomplete":
			return Done
		case "response.failed", "error":
			return Failed
		}
	case Converse:
		return converseOutcome(ev)
	}
	return Content
}

// Finished reports whether an event says that the answer is complete although
// the protocol's end has not come: some providers end a chat stream without
// "[DONE]". An unescaped key cannot stand inside a JSON string.
func (d Dialect) Finished(ev Event) bool {
	if d != Chat {
		return false
	}
	_, after, found := bytes.Cut(ev.Data, []byte(`"finish_reason":`))
	return found && bytes.HasPrefix(bytes.TrimLeft(after, " "), []byte(`"`))
}

// EndAnswers reports whether the dialect's end is an answer by itself, whatever came
// before it: OpenAI's ends of a response hold all of it.
func (d Dialect) EndAnswers() bool { return d == Responses }

// KeepAlive is what keeps a silent stream's connection open and says nothing: an
// event where the dialect has one for it, else a comment, for clients stumble over
// events that they do not know.
func (d Dialect) KeepAlive() []byte {
	if d == Messages {
		return []byte("event: ping\ndata: {\"type\": \"ping\"}\n\n")
	}
	return []byte(": keep-alive\n\n")
}

// EndMarker reports whether an event that lacks its blank line is certainly the
// whole of the dialect's end marker.
func (d Dialect) EndMarker(ev Event) bool {
	return d.Outcome(ev) == Done && (d == Chat || json.Valid(ev.Data))
}

// hasError reports whether data tells of an error, in OpenAI's shape or a vendor's own.
func hasError(data []byte) bool {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return !bytes.Contains(data, []byte(`"choices"`)) && saysOnlyMessage(data)
	}
	return saysError(data)
}

// kind is the event's type: the event line, or where a provider leaves it out the
// data's own "type".
func (ev Event) kind() []byte {
	if len(ev.Name) > 0 {
		return ev.Name
	}
	const first = `{"type":"` // as all providers write it; no JSON text means anything else by it
	if rest, ok := bytes.CutPrefix(ev.Data, []byte(first)); ok {
		if kind, _, ok := bytes.Cut(rest, []byte(`"`)); ok {
			return kind
		}
	}
	var body struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(ev.Data, &body) != nil {
		return nil
	}
	return []byte(body.Type)
}
