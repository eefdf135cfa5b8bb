package llm

import (
	"bytes"
	"errors"
	"io"
)

// MaxEventBytes bounds one event of a stream, held in memory until it is whole.
const MaxEventBytes = 32 << 20

// ErrEventTooLarge is a stream whose next event is over MaxEventBytes.
var ErrEventTooLarge = errors.New("an event of the stream is larger than 32 MiB")

// Event is one server-sent event. Name and Data alias the framer's buffer and
// hold until Release.
type Event struct {
	Name []byte // the event field, or empty
	Data []byte // the data lines joined by '\n'; nil for a comment or an empty event
}

// Framer cuts a byte stream into server-sent events (WHATWG HTML section 9.2): LF,
// CRLF and CR line ends, several data lines, comments, a byte order mark, events
// split at any byte. It keeps the raw bytes, so that whole events are forwarded
// as they came.
//
// Use: Read once; Next until it says no; write Taken; Release; again.
type Framer struct {
	buf     []byte
	event   int  // where the current event starts
	last    int  // where the event before it starts
	line    int  // where the current line starts; all before it is parsed
	seen    int  // up to here the current line has no end
	filled  bool // the last read took all the room there was
	afterCR bool // the last line ended in CR: an LF that follows belongs to it

	// Of the current event, as offsets from its start, since buf moves.
	name, data span
	joined     []byte // data of several lines
	lines      int    // data lines so far
	fields     bool   // any line at all
	started    bool   // the first line of the stream was seen
}

type span struct{ from, to int }

const (
	firstBuffer = 2 << 10  // most events of a slow stream fit: thousands of streams may be open
	fastBuffer  = 32 << 10 // up to here the buffer grows for a stream that fills it
)

// Read does one Read from r into the framer.
func (f *Framer) Read(r io.Reader) (int, error) {
	if free := cap(f.buf) - len(f.buf); free == 0 || f.filled && cap(f.buf) < fastBuffer {
		if len(f.buf)-f.event > MaxEventBytes {
			return 0, ErrEventTooLarge
		}
		f.buf = append(make([]byte, 0, max(firstBuffer, 2*cap(f.buf))), f.buf...)
	}
	n, err := r.Read(f.buf[len(f.buf):cap(f.buf)])
	f.buf = f.buf[:len(f.buf)+n]
	f.filled = len(f.buf) == cap(f.buf)
	return n, err
}

// Next returns the next whole event, or false when more bytes are needed.
func (f *Framer) Next() (Event, bool) {
	for {
		line, ok := f.nextLine()
		if !ok {
			return Event{}, false
		}
		if line.from == line.to {
			return f.finish(), true
		}
		f.field(line)
	}
}

// Taken is the raw bytes of the events that Next returned since Release.
func (f *Framer) Taken() []byte { return f.buf[:f.event] }

// Before is Taken without the last of its events.
func (f *Framer) Before() []byte { return f.buf[:f.last] }

// Release forgets what was taken.
func (f *Framer) Release() {
	n := f.event
	if n == 0 {
		return
	}
	f.buf = f.buf[:copy(f.buf, f.buf[n:])]
	f.event, f.last, f.line, f.seen = 0, 0, f.line-n, f.seen-n
}

// Rest ends the stream: it returns the event that only lacks its blank line, if
// there is one. Providers exist that end on "data: [DONE]" and one line end.
func (f *Framer) Rest() (Event, bool) {
	if f.line < len(f.buf) {
		f.field(span{f.line, len(f.buf)})
		f.line = len(f.buf)
	}
	if !f.fields {
		return Event{}, false
	}
	return f.finish(), true
}

// nextLine finds the end of the current line and moves past it.
func (f *Framer) nextLine() (span, bool) {
	if f.afterCR && f.line < len(f.buf) {
		if f.buf[f.line] == '\n' {
			f.line++
			if !f.fields {
				f.event = f.line // the LF ends the event before
			}
		}
		f.afterCR = false
	}
	from := max(f.line, f.seen)
	rest := f.buf[from:]
	end := bytes.IndexByte(rest, '\n')
	until := end
	if end < 0 {
		until = len(rest)
	}
	cr := bytes.IndexByte(rest[:until], '\r')
	width := 1
	if cr >= 0 {
		if cr+1 == end {
			width = 2
		}
		f.afterCR = cr+1 == len(rest)
		end = cr
	}
	if end < 0 {
		f.seen = len(f.buf)
		return span{}, false
	}
	line := span{f.line, from + end}
	f.line = from + end + width
	return line, true
}

var bom = []byte("\xef\xbb\xbf")

func (f *Framer) field(at span) {
	if !f.started {
		f.started = true
		if bytes.HasPrefix(f.buf[at.from:at.to], bom) {
			at.from += len(bom)
		}
	}
	f.fields = true
	line := f.buf[at.from:at.to]
	colon := bytes.IndexByte(line, ':')
	value := span{at.to, at.to}
	name := line
	if colon >= 0 {
		name = line[:colon]
		value.from = at.from + colon + 1
		if value.from < at.to && f.buf[value.from] == ' ' {
			value.from++
		}
	}
	switch string(name) {
	case "event":
		f.name = f.relative(value)
	case "data":
		f.addData(value)
	}
}

func (f *Framer) addData(value span) {
	switch f.lines++; f.lines {
	case 1:
		f.data = f.relative(value)
		return
	case 2:
		f.joined = append(f.joined[:0], f.at(f.data)...)
	}
	f.joined = append(append(f.joined, '\n'), f.buf[value.from:value.to]...)
}

func (f *Framer) relative(s span) span { return span{s.from - f.event, s.to - f.event} }

func (f *Framer) at(s span) []byte { return f.buf[f.event+s.from : f.event+s.to] }

func (f *Framer) finish() Event {
	ev := Event{Name: f.at(f.name)}
	switch {
	case f.lines == 1:
		ev.Data = f.at(f.data)
	case f.lines > 1:
		ev.Data = bytes.Clone(f.joined)
	}
	f.last, f.event = f.event, f.line
	f.name, f.data, f.lines, f.fields = span{}, span{}, 0, false
	return ev
}

// Recycle makes the framer ready for another stream, and reports whether it is
// small enough to be worth keeping.
func (f *Framer) Recycle() bool {
	const worth = 64 << 10
	*f = Framer{buf: f.buf[:0], joined: f.joined[:0]}
	return cap(f.buf) <= worth
}
