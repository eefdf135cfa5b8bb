package llm

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
)

// seeds adds a section of every golden file of a kind to the corpus.
func seeds(f *testing.F, kind, section string) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", kind, "*.txt"))
	if err != nil || len(paths) == 0 {
		f.Fatal("no golden files", err)
	}
	for _, path := range paths {
		var t testing.T
		f.Add(corpusOf(dialectOf(&t, path)), []byte(readGolden(&t, path).text[section]))
	}
}

// bare is a body without thoughts, or nil.
func bare(d Dialect, body []byte) []byte {
	if out, changed := WithoutThoughts(d, body, &Model{ThinkSwitch: true}); changed {
		return out
	}
	return nil
}

// corpusOf is the number that both functions below take for a dialect.
func corpusOf(d Dialect) uint8 {
	for n := range uint8(12) {
		if someTarget(n) == d && (d == Converse || someDialect(n) == d) {
			return n
		}
	}
	return 0
}

func someDialect(n uint8) Dialect { return Dialect(n%3) + Chat }

// someTarget is what a provider may speak.
func someTarget(n uint8) Dialect { return [...]Dialect{Chat, Messages, Responses, Converse}[n%4] }

// Whatever a request says, it is refused with a typed error or becomes one JSON object
// that the target's own decoder reads.
func FuzzRequest(f *testing.F) {
	seeds(f, "requests", "request")
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		from := someDialect(n)
		for _, out := range [][]byte{Native(from, body), bare(from, body)} {
			if json.Valid(body) && out != nil && !json.Valid(out) {
				t.Fatalf("not JSON without thoughts: %s", out)
			}
		}
		Estimate(body)
		q, err := Parse(from, body)
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatal("took what is not JSON")
		}
		for _, to := range targets(from) {
			tr, err := q.Translate(hopTo(to, ""))
			if err != nil {
				continue
			}
			if !json.Valid(tr.Body()) || bytes.ContainsAny(tr.Body(), "\n\r") {
				t.Fatalf("%s: not one line of JSON: %s", to, tr.Body())
			}
			if err := checkTwice(tr.Body()); err != nil {
				t.Fatalf("%s: %v: %s", to, err, tr.Body())
			}
			if _, err := Parse(to, tr.Body()); err != nil && to != Converse { // no caller's, and so without a decoder
				t.Fatalf("%s: its own decoder: %v: %s", to, err, tr.Body())
			}
		}
	})
}

func FuzzAnswer(f *testing.F) {
	seeds(f, "answers", "answer")
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		target := someTarget(n)
		for _, caller := range others(target) {
			tr := translation(t, nil, caller, target)
			if out, _, err := tr.Answer(body); err == nil {
				if !json.Valid(out) {
					t.Fatalf("%s: not JSON: %s", caller, out)
				}
				vendorReads(t, caller, out, "answer")
			}
			if target == Converse {
				if out, end := pump(tr.Stream(), ConverseEvents(body), 1000); (end == Done) != (Converse.ReadAnswer(body) == RealAnswer) && end != Garbled {
					t.Fatalf("%s: told in events it ends %v: %s", caller, end, out)
				}
			}
			if out := tr.Error(500, body); !json.Valid(out) {
				t.Fatalf("%s: not JSON: %s", caller, out)
			}
		}
	})
}

func FuzzStream(f *testing.F) {
	seeds(f, "streams", "stream")
	f.Fuzz(func(t *testing.T, n uint8, stream []byte) {
		target := someTarget(n)
		for _, caller := range others(target) {
			tr := translation(t, nil, caller, target)
			s := tr.Stream()
			out, end := pump(s, stream, 1+int(n))
			if hasEnd(caller, out) != (end == Done) {
				t.Fatalf("%s: %v, but %s", caller, end, out)
			}
			if end != Done && end != Failed {
				out = append(bytes.Clone(out), s.Fail(&Error{Status: 502, Message: "cut"})...)
			}
			if _, ended := checkStream(t, caller, out); !ended && end != Garbled {
				t.Fatalf("%s: %v, without an end: %s", caller, end, out)
			}
			if whole, again := pump(tr.Stream(), stream, 1<<20); again != end || !bytes.HasPrefix(out, whole) {
				t.Fatalf("%s: the size of reads makes a difference: %v and %v", caller, end, again)
			}
		}
	})
}
