package llm

import (
	"bytes"
	"encoding/json"
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
	Garbled                  // not an event of any dialect; only Judge says so
)

// Judge says what an event of a stream in dialect d means. It decodes the event;
// Outcome is the cheap form for streams that have started.
func (d Dialect) Judge(ev Event) Meaning {
	switch m := d.Outcome(ev); {
	case m != Content:
		return m
	case ev.Data == nil:
		return Lifecycle
	case !json.Valid(ev.Data):
		return Garbled
	case d == Messages && messagesLifecycle(ev):
		return Lifecycle
	case d == Chat && chatLifecycle(ev.Data):
		return Lifecycle
	}
	return Content
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
		switch string(messagesType(ev)) {
		case "message_stop":
			return Done
		case "error":
			return Failed
		}
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

// EndMarker reports whether an event that lacks its blank line is certainly the
// whole of the dialect's end marker.
func (d Dialect) EndMarker(ev Event) bool {
	return d.Outcome(ev) == Done && (d == Chat || json.Valid(ev.Data))
}

// hasError reports whether data is an object with a non-null "error".
func hasError(data []byte) bool {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return false
	}
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(data, &body) == nil && len(body.Error) > 0 && string(body.Error) != "null"
}

// messagesType is the event's type: the event line, or where a provider leaves
// it out the data's own "type".
func messagesType(ev Event) []byte {
	if len(ev.Name) > 0 {
		return ev.Name
	}
	var body struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(ev.Data, &body) != nil {
		return nil
	}
	return []byte(body.Type)
}

// messagesLifecycle: message_start and ping; and the start of a block that comes
// empty, since its content follows in deltas.
func messagesLifecycle(ev Event) bool {
	switch string(messagesType(ev)) {
	case "message_start", "ping":
		return true
	case "content_block_start":
		var body struct {
			Block struct {
				Type     string          `json:"type"`
				Text     string          `json:"text"`
				Thinking string          `json:"thinking"`
				Input    json.RawMessage `json:"input"`
			} `json:"content_block"`
		}
		if json.Unmarshal(ev.Data, &body) != nil {
			return false
		}
		switch b := body.Block; b.Type {
		case "text", "thinking":
			return b.Text == "" && b.Thinking == ""
		case "tool_use", "server_tool_use":
			return len(bytes.Trim(b.Input, "{} \t")) == 0
		}
	}
	return false
}

// chatLifecycle: chunks without choices, and deltas that only name the role.
func chatLifecycle(data []byte) bool {
	var chunk struct {
		Choices []struct {
			Delta        map[string]json.RawMessage `json:"delta"`
			FinishReason json.RawMessage            `json:"finish_reason"`
		} `json:"choices"`
	}
	if json.Unmarshal(data, &chunk) != nil {
		return false
	}
	for _, c := range chunk.Choices {
		if len(c.FinishReason) > 0 && string(c.FinishReason) != "null" {
			return false
		}
		for field, value := range c.Delta {
			switch string(value) {
			case "null", `""`, "[]", "{}":
			default:
				if field != "role" {
					return false
				}
			}
		}
	}
	return true
}
