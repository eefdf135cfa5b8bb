package llm

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// encoding is what the encoders of requests have in common: what is written, what it is
// written from and for, and the first thing that the target's dialect has no words for.
type encoding struct {
	writer
	q   *Request
	hop *Hop
	m   *Model
	err *CannotError
}

func encode(q *Request, hop *Hop) encoding {
	// About as long as what came.
	return encoding{writer: writer{b: make([]byte, 0, min(1024+3*q.tokens, 1<<20))}, q: q, hop: hop, m: &hop.Model}
}

func (e *encoding) cannot(field, reason string) {
	if e.err == nil {
		e.err = &CannotError{Field: field, Reason: reason}
	}
}

// body is what was written, or why it cannot be said.
func (e *encoding) body() ([]byte, error) {
	if e.err != nil {
		return nil, e.err
	}
	return e.b, nil
}

// asFunction is a tool as a function that takes JSON; false: it is another vendor's own.
func (e *encoding) asFunction(t *Tool) (Tool, bool) {
	switch t.Kind {
	case WebSearch:
		e.cannot("tools", "the target has no tool \""+t.Name+"\"")
		return Tool{}, false
	case Custom:
		return t.wrapped(), true
	}
	return *t, true
}

// schema refuses a format that the target's model cannot be held to.
func (e *encoding) schema(f *Format, dialect string) {
	field := "response_format"
	if e.q.From == Responses {
		field = "text.format"
	}
	switch {
	case f.Schema == nil:
		e.cannot(field, dialect+" has no JSON mode without a schema")
	case e.m.NoSchemas:
		e.cannot(field, "the target's model keeps to no schema")
	}
}

// fetched is a file by its bytes, where the target takes no URLs.
func (e *encoding) fetched(m *Media, reason string) *Media {
	if m.URL == "" {
		return m
	}
	file, ok := e.hop.fetched(m.URL)
	if !ok && e.err == nil {
		e.err = &CannotError{Field: "url", Reason: reason, Fetch: m.URL}
	}
	return &Media{MIME: file.MIME, Data: encodeBase64(file.Data), Name: m.Name}
}

// own refuses a file that its vendor keeps.
func (e *encoding) own(m *Media) {
	if m.FileID != "" {
		e.cannot("file_id", "a file kept by one vendor is not known to another")
	}
}

// asText is a document of text as just that, where a vendor takes no others of its kind.
func asText(m *Media) *Media {
	if !strings.HasPrefix(m.MIME, "text/") && m.MIME != "application/json" {
		return m
	}
	text, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil || !utf8.Valid(text) || strings.TrimSpace(string(text)) == "" {
		return m
	}
	return &Media{Plain: string(text), Name: m.Name}
}

// opened is the conversation as vendors want it who keep instructions apart: turns that
// take turns, at least one, and the user's first.
func (e *encoding) opened() (system []Part, turns []Turn) {
	system, turns = e.q.System, e.turns()
	if len(turns) == 0 {
		return nil, []Turn{{User, system}}
	}
	if turns[0].Role == Assistant {
		turns = append([]Turn{{User, []Part{{Kind: Text, Text: "(The conversation begins.)"}}}}, turns...)
	}
	return system, turns
}

// turns are the conversation without what does not cross, neighbours of one role made
// one: all results of one turn belong in one message. Instructions in the middle become
// marked text of the user's, in place. The lists of parts are the encoder's own.
func (e *encoding) turns() []Turn {
	var turns []Turn
	for _, t := range e.q.Turns {
		var parts []Part
		for _, p := range t.Parts {
			if p.Kind == Thinking {
				continue
			}
			if t.Role == System {
				p.Text = marked(p.Text)
			}
			parts = append(parts, p)
		}
		if t.Role == System {
			t.Role = User
		}
		if len(parts) == 0 {
			continue
		}
		if n := len(turns); n > 0 && turns[n-1].Role == t.Role {
			turns[n-1].Parts = append(turns[n-1].Parts, parts...)
			continue
		}
		turns = append(turns, Turn{t.Role, parts})
	}
	return turns
}

// resultsFirst is the order in which vendors take a turn's parts.
func resultsFirst(parts []Part) []Part {
	sorted := make([]Part, 0, len(parts))
	for _, results := range []bool{true, false} {
		for _, p := range parts {
			if (p.Kind == Result) == results {
				sorted = append(sorted, p)
			}
		}
	}
	return sorted
}

// marked are instructions where only the user's text can stand.
func marked(instructions string) string { return "<system>\n" + instructions + "\n</system>" }
