package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// damage is what was wrong with streams.
type damage struct {
	Streams      int `json:"streams"`
	Lost         int `json:"lost"`
	Reordered    int `json:"reordered"`
	Doubled      int `json:"doubled"`
	Unterminated int `json:"unterminated"` // ended without the terminal event, or not at all
}

func (d *damage) add(o damage) {
	d.Streams += o.Streams
	d.Lost += o.Lost
	d.Reordered += o.Reordered
	d.Doubled += o.Doubled
	d.Unterminated += o.Unterminated
}

func (d damage) any() bool { return d.Lost+d.Reordered+d.Doubled+d.Unterminated > 0 }

func (d damage) String() string {
	if !d.any() {
		return fmt.Sprintf("%d ok", d.Streams)
	}
	return fmt.Sprintf("%d: %d lost, %d reordered, %d doubled, %d cut", d.Streams, d.Lost, d.Reordered, d.Doubled, d.Unterminated)
}

// checkStream reads a stream to its end and compares it with what the upstream sent:
// chunks 0 to want-1 and the terminal event. seen is called after each chunk.
func checkStream(r io.Reader, want int, seen func(n int)) damage {
	d := damage{Streams: 1, Lost: want}
	got := make([]bool, want)
	highest, terminated := -1, false
	lines := readers.Get().(*bufio.Reader)
	defer readers.Put(lines)
	lines.Reset(r)
	for {
		line, err := lines.ReadSlice('\n')
		if n := chunkNumber(line); n >= 0 && n < want {
			switch {
			case got[n]:
				d.Doubled++
			case n < highest:
				d.Reordered++
			}
			if !got[n] {
				d.Lost--
			}
			got[n], highest = true, max(highest, n)
			if seen != nil {
				seen(n)
			}
		}
		terminated = terminated || bytes.HasPrefix(line, []byte("data: [DONE]")) || bytes.HasPrefix(line, []byte("event: message_stop"))
		if err != nil {
			if !terminated || !errors.Is(err, io.EOF) {
				d.Unterminated = 1
			}
			return d
		}
	}
}

// chunkNumber returns the number of a chunk, -1 for another line.
func chunkNumber(line []byte) int {
	at := bytes.Index(line, []byte(mark))
	if at < 0 || len(line) < at+len(mark)+6 {
		return -1
	}
	n := 0
	for _, c := range line[at+len(mark):][:6] {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}
