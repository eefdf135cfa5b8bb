package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// responsesLifecycle is the reader for an event of the responses dialect. Events are
// those of https://platform.openai.com/docs/api-reference/responses-streaming; one
// that is not known counts as content.
func responsesLifecycle(ev Event) func(*scanner) (bool, error) {
	kind := string(ev.kind())
	switch kind {
	case "response.created", "response.queued", "response.in_progress", "keepalive", "ping", "codex.rate_limits":
		return anyObject
	case "response.output_item.added":
		return emptyIn("item", emptyItem)
	case "response.output_item.done":
		return emptyIn("item", emptyDoneItem)
	case "response.content_part.added", "response.reasoning_summary_part.added":
		return emptyIn("part", emptyItem)
	}
	switch {
	case strings.HasSuffix(kind, ".delta"):
		return emptyDelta
	// What a hosted tool is about, without what comes of it: web_search_call and its like.
	case strings.HasSuffix(kind, ".in_progress"), strings.HasSuffix(kind, ".searching"), strings.HasSuffix(kind, ".generating"),
		strings.HasSuffix(kind, ".interpreting"), strings.HasSuffix(kind, ".compacting"):
		return anyObject
	}
	return noLifecycle
}

// emptyIn reads an object and lets the function judge one of its members.
func emptyIn(field string, empty func(*scanner) (bool, error)) func(*scanner) (bool, error) {
	return func(s *scanner) (held bool, err error) {
		err = s.fields(0, func(key string) error {
			if key != field {
				return s.value(1)
			}
			var err error
			held, err = empty(s)
			return err
		})
		return held, err
	}
}

// carrying are the fields of an item or a part that an answer is made of.
var carrying = []string{
	"action", "arguments", "code", "content", "delta", "error", "input", "output", "outputs", "refusal", "result", "results", "summary", "text", "tools",
	"transcript",
}

// item reads an item or a part.
func (s *scanner) item() (kind string, empty bool, err error) {
	empty = true
	err = s.fields(1, func(key string) error {
		value, err := s.raw(2)
		switch {
		case key == "type":
			kind = value
		case slices.Contains(carrying, key):
			empty = empty && blank(value)
		}
		return err
	})
	return kind, empty, err
}

// emptyItem: an item or a part that has begun, and whose content follows.
func emptyItem(s *scanner) (bool, error) {
	_, empty, err := s.item()
	return empty, err
}

// emptyDoneItem: an item that came to nothing. Any call is something, and reasoning
// that nobody can read (it is encrypted, and no use without the item it led to) is not.
func emptyDoneItem(s *scanner) (bool, error) {
	kind, empty, err := s.item()
	return empty && (kind == `"reasoning"` || kind == `"message"`), err
}

func emptyDelta(s *scanner) (bool, error) {
	empty := false
	err := s.fields(0, func(key string) error {
		if key != "delta" {
			return s.value(1)
		}
		value, err := s.raw(1)
		empty = blank(value)
		return err
	})
	return empty, err
}

// blank reports whether a JSON value says nothing.
func blank(value string) bool {
	switch value {
	case "null", `""`, "[]", "{}":
		return true
	}
	return len(value) > 2 && (value[0] == '[' || value[0] == '{') && strings.Trim(value[1:len(value)-1], " \t\r\n") == ""
}

// Trail is what of a stream has to be known to end it in the gateway's own words.
// Only the responses dialect leaves one.
type Trail struct {
	sequence int64 // the highest that was seen
	counted  bool
	id       string
	model    string
	created  int64 // Unix seconds
}

// Follow notes what of an event the stream's end has to go on from.
func (t *Trail) Follow(d Dialect, ev Event) {
	if d != Responses || ev.Data == nil {
		return
	}
	if n, ok := sequenceNumber(ev.Data); ok && (n > t.sequence || !t.counted) {
		t.sequence, t.counted = n, true
	}
	if t.id == "" && t.wants(ev) {
		t.begin(ev.Data)
	}
}

func (t *Trail) wants(ev Event) bool {
	switch string(ev.kind()) {
	case "response.created", "response.queued", "response.in_progress":
		return true
	}
	return false
}

func (t *Trail) begin(data []byte) {
	var body struct {
		Response struct {
			ID        string  `json:"id"`
			Model     string  `json:"model"`
			CreatedAt float64 `json:"created_at"`
		} `json:"response"`
	}
	if json.Unmarshal(data, &body) == nil {
		t.id, t.model, t.created = body.Response.ID, body.Response.Model, int64(body.Response.CreatedAt)
	}
}

// sequenceNumber finds the event's own number without decoding it. An unescaped key
// cannot stand inside a JSON string; a schema that has one of this name has no number
// behind it.
func sequenceNumber(data []byte) (n int64, ok bool) {
	const key = `"sequence_number":`
	for {
		_, rest, found := bytes.Cut(data, []byte(key))
		if !found {
			return 0, false
		}
		data = rest
		rest = bytes.TrimLeft(rest, " ")
		digits := 0
		for digits < len(rest) && digits < 18 && rest[digits]-'0' <= 9 {
			n = 10*n + int64(rest[digits]-'0')
			digits++
		}
		if digits > 0 {
			return n, true
		}
	}
}

// failedResponse is the end of a broken stream: a response with every field that
// clients' types require, as OpenAI sends it.
type failedResponse struct {
	ID         string            `json:"id"`
	Object     string            `json:"object"`
	CreatedAt  int64             `json:"created_at"`
	Status     string            `json:"status"`
	Error      responseError     `json:"error"`
	Incomplete *struct{}         `json:"incomplete_details"`
	System     *string           `json:"instructions"`
	Metadata   map[string]string `json:"metadata"`
	Model      string            `json:"model"`
	Output     []struct{}        `json:"output"`
	Parallel   bool              `json:"parallel_tool_calls"`
	Choice     string            `json:"tool_choice"`
	Tools      []struct{}        `json:"tools"`
	Usage      *struct{}         `json:"usage"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Metadata is the gateway's own, which OpenAI's clients leave alone.
	Metadata any `json:"metadata,omitempty"`
}

// failed writes e as the event response.failed.
func (t *Trail) failed(e *Error, requestID string) []byte {
	id := t.id
	if id == "" {
		id = "resp_" + requestID
	}
	next := t.sequence
	if t.counted {
		next++
	}
	data, err := json.Marshal(struct {
		Type     string         `json:"type"`
		Sequence int64          `json:"sequence_number"`
		Response failedResponse `json:"response"`
	}{"response.failed", next, failedResponse{
		ID: id, Object: "response", CreatedAt: t.created, Status: "failed", Error: responseError{e.Code, e.Message, e.Metadata}, Model: t.model,
		Metadata: map[string]string{}, Output: []struct{}{}, Parallel: true, Choice: "auto", Tools: []struct{}{},
	}})
	if err != nil { // nothing in it can fail
		return []byte("event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":" + strconv.FormatInt(next, 10) + "}\n\n")
	}
	return append(append([]byte("event: response.failed\ndata: "), data...), "\n\n"...)
}

// Closing is what must follow a provider's own failure so that the stream has an end
// in the dialect's sense, or nil: OpenAI's "error" event is none, clients wait for
// response.failed. metadata is the error's, where not nil.
func (t *Trail) Closing(d Dialect, ev Event, requestID string, metadata any) []byte {
	if d != Responses || string(ev.kind()) != "error" {
		return nil
	}
	said := ReadError(ev.Data)
	if said.Code == "" {
		said.Code = "server_error"
	}
	return t.failed(&Error{Code: said.Code, Message: said.Message, Metadata: metadata}, requestID)
}

// readResponse judges a whole response.
func readResponse(body []byte) AnswerKind {
	s := scanner{b: body}
	s.space()
	if s.peek() != '{' {
		return NoAnswer
	}
	var output, failure, status string
	err := s.object(1, func(key string) error {
		value, err := s.raw(1)
		switch key {
		case "output":
			output = value
		case "error":
			failure = value
		case "status":
			status = value
		}
		return err
	})
	s.space()
	switch {
	case err != nil || s.i != len(body):
		return NoAnswer
	case failure != "" && failure != "null", status == `"failed"`:
		return ErrorAnswer
	case output == "" || output[0] != '[':
		return NoAnswer
	case blank(output) && (status == "" || status == `"completed"`):
		return NoAnswer // complete, and nothing there
	}
	return RealAnswer
}
