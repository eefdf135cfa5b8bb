package llm

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// CannotError is a request or an answer that another dialect has no words for, or
// that has no single reading. For a request the gateway either skips the target or
// answers 400 with Field and the text.
type CannotError struct {
	Field  string // in the caller's own dialect, e.g. "messages[2].content[0].source" or "n"
	Reason string // a clause, e.g. "messages answers have one choice"
	// Fetch, where not empty, are the files whose bytes would make it possible: fetch them
	// (guarded and capped) and translate again with them in Hop.Fetched.
	Fetch []Wanted
}

// Wanted is a file that a request gives by its URL and the target takes as bytes only.
type Wanted struct {
	Field string // where the caller wrote the URL
	URL   string
}

func (e *CannotError) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + ": " + e.Reason
}

// raw is the text of one JSON value that was found valid.
type raw []byte

func (v raw) kind() byte {
	if len(v) == 0 {
		return 0
	}
	return v[0]
}

type member struct {
	key   []byte
	value raw
}

// members are those of one object, in order, none of them null.
type members []member

func (m members) get(key string) raw {
	for i := range m {
		if string(m[i].key) == key {
			return m[i].value
		}
	}
	return nil
}

// reader takes JSON apart. Names are exact, and a name that stands twice is refused:
// libraries disagree on which of the two counts. The first error stays, and all reads
// after it give zero values, so that only the end has to look.
type reader struct {
	err  *CannotError
	path []step
	// answer: it is a model's answer, which may have been cut off in the middle of a
	// call's arguments; Answer.settle looks at them.
	answer bool
	found  []member // backs the members of all objects that were read
	// changes are what a request's conversation says of its tools, in order.
	changes []toolChange
}

// again makes the reader ready for another document. What the last one gave is void.
func (r *reader) again() { *r = reader{path: r.path[:0], found: r.found[:0], answer: r.answer} }

type step struct {
	key   string
	index int // -1: none
}

func (r *reader) fail(key, format string, args ...any) {
	if r.err != nil {
		return
	}
	r.err = &CannotError{Field: r.where(key), Reason: fmt.Sprintf(format, args...)}
}

// where is the place of a member of what is being read, from the document's top.
func (r *reader) where(key string) string {
	var at []byte
	for _, s := range append(r.path, step{key, -1}) {
		if s.key != "" && len(at) > 0 {
			at = append(at, '.')
		}
		at = append(at, s.key...)
		if s.index >= 0 {
			at = append(strconv.AppendInt(append(at, '['), int64(s.index), 10), ']')
		}
	}
	return string(at)
}

// document reads a whole text, which must be one object.
func (r *reader) document(text []byte) members {
	s := scanner{b: text}
	s.space()
	start := s.i
	if s.peek() != '{' {
		r.fail("", "not a JSON object")
		return nil
	}
	if err := s.value(0); err != nil {
		r.fail("", "%s", err.Error())
		return nil
	}
	end := s.i
	if s.space(); s.i != len(text) {
		r.fail("", "data after the JSON object")
		return nil
	}
	return r.object("", text[start:end])
}

// object reads the members of v, which the document's reading has validated.
func (r *reader) object(key string, v raw) members {
	if r.err != nil || v == nil {
		return nil
	}
	if v.kind() != '{' {
		r.fail(key, "must be an object")
		return nil
	}
	if r.found == nil {
		// So that an empty object is not none, and room for what a text of the size has.
		r.found = make([]member, 0, min(max(64, len(v)/64), 1024))
	}
	from := len(r.found)
	m := members(r.found[from:])
	var seen map[string]bool
	s := scanner{b: v, i: 1}
	for s.space(); s.peek() == '"'; s.space() {
		name := s.name()
		s.space()
		s.i++ // ':'
		s.space()
		start := s.i
		s.skip()
		if seen == nil && m.get(string(name)) != nil || seen[string(name)] {
			r.fail(key, "%q is given twice", name)
			return nil
		}
		if value := v[start:s.i]; string(value) != "null" {
			r.found = append(r.found, member{name, value})
			m = r.found[from:]
			switch {
			case seen != nil:
				seen[string(name)] = true
			case len(m) == 32: // from here on looking at all of them would be quadratic
				seen = make(map[string]bool, 64)
				for i := range m {
					seen[string(m[i].key)] = true
				}
			}
		}
		if s.space(); s.peek() == ',' {
			s.i++
		}
	}
	return m[:len(m):len(m)]
}

// name reads a member's name.
func (s *scanner) name() []byte {
	start := s.i
	escaped, _ := s.skipString()
	text := s.b[start:s.i]
	if escaped {
		return []byte(unquote(text))
	}
	return text[1 : len(text)-1]
}

// at reads an object that is a member.
func (r *reader) at(m members, key string) members { return r.object(key, m.get(key)) }

// inside gives f the members of an object that is a member, none where it is absent.
func (r *reader) inside(m members, key string, f func(m members)) {
	inner := r.at(m, key)
	r.path = append(r.path, step{key, -1})
	f(inner)
	r.path = r.path[:len(r.path)-1]
}

// each gives the elements of a list that is a member.
func (r *reader) each(m members, key string, f func(v raw)) {
	v := m.get(key)
	if r.err != nil || v == nil {
		return
	}
	if v.kind() != '[' {
		r.fail(key, "must be a list")
		return
	}
	r.path = append(r.path, step{key, 0})
	s := scanner{b: v}
	_ = s.elements(func() error {
		start := s.i
		s.skip()
		if r.err == nil {
			f(v[start:s.i])
		}
		r.path[len(r.path)-1].index++
		return nil
	})
	r.path = r.path[:len(r.path)-1]
}

func (r *reader) text(m members, key string) string {
	v := m.get(key)
	if r.err != nil || v == nil {
		return ""
	}
	if v.kind() != '"' {
		r.fail(key, "must be a string")
		return ""
	}
	return unquote(v)
}

// texts reads a list of strings, or one string as a list of one.
func (r *reader) texts(m members, key string) (list []string) {
	if m.get(key).kind() == '"' {
		return []string{r.text(m, key)}
	}
	r.each(m, key, func(v raw) {
		if v.kind() != '"' {
			r.fail("", "must be a string")
			return
		}
		list = append(list, unquote(v))
	})
	return list
}

// integer reads a number without a fraction that is not negative, 0 where it is absent.
func (r *reader) integer(m members, key string) int64 {
	v := m.get(key)
	if r.err != nil || v == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 0 {
		r.fail(key, "must be a whole number")
		return 0
	}
	return n
}

// number reads a number from low to high as it is written.
func (r *reader) number(m members, key string, low, high float64) Number {
	v := m.get(key)
	if r.err != nil || v == nil {
		return ""
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if v.kind() == '"' || err != nil || !(low <= f && f <= high) {
		r.fail(key, "must be a number from %g to %g", low, high)
		return ""
	}
	return Number(v)
}

func (r *reader) boolean(m members, key string) *bool {
	v := m.get(key)
	if r.err != nil || v == nil {
		return nil
	}
	yes := string(v) == "true"
	if !yes && string(v) != "false" {
		r.fail(key, "must be true or false")
		return nil
	}
	return &yes
}

func (r *reader) truth(m members, key string) bool {
	b := r.boolean(m, key)
	return b != nil && *b
}

// unquote is what a JSON string says. Half of a surrogate pair, which UTF-8 has no
// bytes for, is kept in the three bytes it would have if it had any; quote writes it
// back as the escape it came as, so that nothing is lost that a provider split.
func unquote(v raw) string {
	v = v[1 : len(v)-1]
	slash := bytes.IndexByte(v, '\\')
	if slash < 0 {
		return string(v)
	}
	var out strings.Builder
	out.Grow(len(v))
	out.Write(v[:slash])
	for i := slash; i < len(v); i++ {
		if v[i] != '\\' {
			end := bytes.IndexByte(v[i:], '\\')
			if end < 0 {
				end = len(v) - i
			}
			out.Write(v[i : i+end])
			i += end - 1
			continue
		}
		i++
		switch v[i] {
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case 'u':
			c := hex4(v[i+1:])
			i += 4
			if c>>10 == 0x36 && i+6 < len(v) && v[i+1] == '\\' && v[i+2] == 'u' && hex4(v[i+3:])>>10 == 0x37 {
				c = 0x10000 + (c&0x3ff)<<10 + hex4(v[i+3:])&0x3ff
				i += 6
			}
			writeRune(&out, c)
		default:
			out.WriteByte(v[i])
		}
	}
	return out.String()
}

func hex4(v []byte) rune {
	n, _ := strconv.ParseUint(string(v[:4]), 16, 32)
	return rune(n)
}

func writeRune(out *strings.Builder, c rune) {
	if isSurrogate(c) {
		out.Write([]byte{0xe0 | byte(c>>12), 0x80 | byte(c>>6)&0x3f, 0x80 | byte(c)&0x3f})
		return
	}
	out.WriteRune(c)
}

func isSurrogate(c rune) bool { return c>>11 == 0x1b }
