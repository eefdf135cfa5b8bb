package llm

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deeply a request body may nest.
const MaxDepth = 64

// Control is what the gateway reads of a request before it forwards the bytes.
type Control struct {
	Model  string
	Stream bool
	// The model's JSON string in the body, quotes included.
	modelStart, modelEnd int
}

// ScanError is a request body that has no single strict reading.
type ScanError struct {
	Param string // the field at fault, or empty
	Text  string
}

func (e *ScanError) Error() string { return e.Text }

// Scan looks at a request body once: it must be one JSON object (RFC 8259), valid
// UTF-8, nested at most MaxDepth deep, with nothing after it. "model" must be a
// non-empty string and "stream" a boolean or null; each may stand there once and
// in no other letter case, because JSON libraries disagree on which of two wins
// and what is judged here must be what the provider reads.
func Scan(body []byte) (Control, error) {
	s := scanner{b: body}
	c, err := s.document()
	if err != nil {
		return Control{}, err
	}
	if c.Model == "" {
		return Control{}, &ScanError{Param: "model", Text: "you must provide a model parameter"}
	}
	return c, nil
}

// Splice returns the body with model in place of the one it names. The parts
// alias body; nothing is copied but the model.
func (c *Control) Splice(body []byte, model string) [3][]byte {
	if model == c.Model {
		return [3][]byte{body}
	}
	return [3][]byte{body[:c.modelStart], appendQuoted(nil, model), body[c.modelEnd:]}
}

func appendQuoted(dst []byte, s string) []byte {
	q, _ := json.Marshal(s) // a string always encodes
	return append(dst, q...)
}

// scanner validates JSON without building anything.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) fail(what string) error {
	return &ScanError{Text: fmt.Sprintf("the request body is not valid JSON: %s at byte %d", what, s.i)}
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// document reads the whole body.
func (s *scanner) document() (Control, error) {
	var c Control
	var seen struct{ model, stream bool }
	s.space()
	if s.peek() != '{' {
		return c, &ScanError{Text: "the request body must be a JSON object"}
	}
	err := s.object(1, func(key string) error {
		switch {
		case key == "model":
			if seen.model {
				return twice("model")
			}
			seen.model = true
			return s.model(&c)
		case key == "stream":
			if seen.stream {
				return twice("stream")
			}
			seen.stream = true
			return s.stream(&c)
		case strings.EqualFold(key, "model"), strings.EqualFold(key, "stream"):
			return &ScanError{Param: key, Text: fmt.Sprintf("%q is ambiguous: write it in lower case", key)}
		}
		return s.value(1)
	})
	if err != nil {
		return c, err
	}
	s.space()
	if s.i != len(s.b) {
		return c, s.fail("data after the object")
	}
	return c, nil
}

func twice(field string) error {
	return &ScanError{Param: field, Text: fmt.Sprintf("%q is given twice", field)}
}

func (s *scanner) model(c *Control) error {
	start := s.i
	if s.peek() != '"' {
		return &ScanError{Param: "model", Text: "model must be a string"}
	}
	text, err := s.text()
	if err != nil {
		return err
	}
	if text == "" {
		return &ScanError{Param: "model", Text: "model must not be empty"}
	}
	c.Model, c.modelStart, c.modelEnd = text, start, s.i
	return nil
}

func (s *scanner) stream(c *Control) error {
	start := s.i
	if err := s.value(1); err != nil {
		return err
	}
	switch string(s.b[start:s.i]) {
	case "true":
		c.Stream = true
	case "false", "null":
	default:
		return &ScanError{Param: "stream", Text: "stream must be a boolean"}
	}
	return nil
}

// object reads from '{' to '}'. member is called with each key and reads the value.
func (s *scanner) object(depth int, member func(key string) error) error {
	s.i++
	s.space()
	if s.peek() == '}' {
		s.i++
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.fail("expected a member name")
		}
		var key string
		var err error
		if member != nil {
			key, err = s.text()
		} else {
			_, err = s.skipString()
		}
		if err != nil {
			return err
		}
		s.space()
		if s.peek() != ':' {
			return s.fail("expected ':'")
		}
		s.i++
		s.space()
		if member != nil {
			err = member(key)
		} else {
			err = s.value(depth)
		}
		if err != nil {
			return err
		}
		more, err := s.more('}')
		if !more {
			return err
		}
	}
}

func (s *scanner) array(depth int) error {
	return s.elements(func() error { return s.value(depth) })
}

// elements reads from '[' to ']'; element reads each.
func (s *scanner) elements(element func() error) error {
	s.i++
	s.space()
	if s.peek() == ']' {
		s.i++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		more, err := s.more(']')
		if !more {
			return err
		}
	}
}

// more reads what follows a member or element: a comma, or the end.
func (s *scanner) more(end byte) (bool, error) {
	s.space()
	switch s.peek() {
	case ',':
		s.i++
		s.space()
		return true, nil
	case end:
		s.i++
		return false, nil
	}
	return false, s.fail("expected ',' or '" + string(end) + "'")
}

// value skips one value inside a container that is depth deep.
func (s *scanner) value(depth int) error {
	switch c := s.peek(); c {
	case '"':
		_, err := s.skipString()
		return err
	case '{', '[':
		if depth++; depth > MaxDepth {
			return &ScanError{Text: "the request body nests deeper than " + strconv.Itoa(MaxDepth)}
		}
		if c == '{' {
			return s.object(depth, nil)
		}
		return s.array(depth)
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

// skip passes over one value of a text that was found valid: reading it again costs
// several times as much, and values in values are passed over at each level.
func (s *scanner) skip() {
	switch s.peek() {
	case '"':
		s.pass()
	case '{', '[':
		for depth := 0; s.i < len(s.b); {
			switch s.b[s.i] {
			case '"':
				s.pass()
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if s.i++; depth == 0 {
				return
			}
		}
	default:
		for s.i < len(s.b) && !isDelimiter[s.b[s.i]] {
			s.i++
		}
	}
}

// pass is skip for a string: its end is the quote that no backslash escapes.
func (s *scanner) pass() {
	for s.i++; s.i < len(s.b); s.i++ {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			s.i = len(s.b)
			return
		}
		s.i += n
		slashes := 0
		for s.b[s.i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			s.i++
			return
		}
	}
}

// isDelimiter are the characters that end a number or a literal.
var isDelimiter = [256]bool{',': true, ']': true, '}': true, ' ': true, '\t': true, '\n': true, '\r': true}

func (s *scanner) literal(word string) error {
	if !strings.HasPrefix(string(s.b[s.i:min(len(s.b), s.i+len(word))]), word) {
		return s.fail("unknown literal")
	}
	s.i += len(word)
	return nil
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	return s.i > start
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else if !s.digits() {
		return s.fail("expected a value")
	}
	if s.peek() == '.' {
		s.i++
		if !s.digits() {
			return s.fail("malformed number")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		if !s.digits() {
			return s.fail("malformed number")
		}
	}
	return nil
}

// text reads a string and returns what it says.
func (s *scanner) text() (string, error) {
	start := s.i
	escaped, err := s.skipString()
	if err != nil {
		return "", err
	}
	if !escaped {
		return string(s.b[start+1 : s.i-1]), nil
	}
	var text string
	if err := json.Unmarshal(s.b[start:s.i], &text); err != nil {
		return "", s.fail("malformed string")
	}
	return text, nil
}

// skipString reads a string and reports whether it has an escape. Prompts are
// nearly all string, so the search for its end is left to bytes.IndexByte, which
// looks at many bytes at once. Outside strings JSON is ASCII, so this is also
// where UTF-8 is checked.
func (s *scanner) skipString() (escaped bool, err error) {
	start := s.i
	s.i++
	quote := s.i - 1 // the next '"', found at most once however many escapes come before it
	for {
		if quote < s.i {
			next := bytes.IndexByte(s.b[s.i:], '"')
			if next < 0 {
				return false, s.fail("unterminated string")
			}
			quote = s.i + next
		}
		run := s.b[s.i:quote]
		slash := bytes.IndexByte(run, '\\')
		if slash >= 0 {
			run = run[:slash]
		}
		if hasControl(run) {
			return false, s.fail("control character in a string")
		}
		s.i += len(run)
		if slash < 0 {
			break
		}
		escaped = true
		if err := s.escape(); err != nil {
			return false, err
		}
	}
	s.i++
	if !utf8.Valid(s.b[start:s.i]) {
		s.i = start
		return false, s.fail("a string that is not UTF-8")
	}
	return escaped, nil
}

// hasControl looks for a byte below 0x20, eight at a time: subtracting 0x20 from
// such a byte borrows into its top bit, which it did not have before.
func hasControl(b []byte) bool {
	const spaces, highs = 0x2020202020202020, 0x8080808080808080
	var found uint64
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		found |= (x - spaces) &^ x
	}
	for _, c := range b {
		if c < 0x20 {
			return true
		}
	}
	return found&highs != 0
}

func (s *scanner) escape() error {
	s.i++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return nil
	case 'u':
		s.i++
		for end := s.i + 4; s.i < end; s.i++ {
			c := s.peek()
			if c-'0' > 9 && (c|0x20)-'a' > 5 {
				return s.fail("malformed escape")
			}
		}
		return nil
	}
	return s.fail("unknown escape")
}

// AnswerKind is what a whole 2xx body is.
type AnswerKind uint8

// Kinds of answer.
const (
	NoAnswer    AnswerKind = iota // HTML, cut short, not JSON, or without any content
	RealAnswer                    // an answer of the dialect
	ErrorAnswer                   // an error under a 2xx
)

// ReadAnswer judges a whole 2xx body: one valid JSON object that has what an
// answer of the dialect must have.
func (d Dialect) ReadAnswer(body []byte) AnswerKind {
	switch d {
	case Responses:
		return readResponse(body)
	case Embeddings:
		return readEmbeddings(body)
	case Converse:
		return readConverse(body)
	}
	s := scanner{b: body}
	s.space()
	if s.peek() == '[' && saysError(body) {
		return ErrorAnswer
	}
	if s.peek() != '{' {
		return NoAnswer
	}
	field := "choices"
	if d == Messages {
		field = "content"
	}
	kind := NoAnswer
	err := s.object(1, func(key string) error {
		start := s.i
		if err := s.value(1); err != nil {
			return err
		}
		value := s.b[start:s.i]
		switch {
		case key == "error" && string(value) != "null", key == "object" && string(value) == `"error"`:
			kind = ErrorAnswer
		case key == field && d == Chat && bytes.Contains(value, []byte(`"error"`)) && saysError(body):
			kind = ErrorAnswer // a choice that ends in one
		case key == field && kind == NoAnswer && value[0] == '[' && (d == Messages || !emptyArray(value)):
			// Anthropic answers with no content blocks when there is nothing to say.
			kind = RealAnswer
		}
		return nil
	})
	s.space()
	if err != nil || s.i != len(body) {
		return NoAnswer
	}
	if kind == NoAnswer && d == Chat && saysOnlyMessage(body) {
		return ErrorAnswer
	}
	return kind
}

func emptyArray(value []byte) bool {
	s := scanner{b: value, i: 1}
	s.space()
	return s.peek() == ']'
}
