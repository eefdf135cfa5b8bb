package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spillway-gateway/spillway/test/provider"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

// golden is a file of sections, each after a line "-- name --".
type golden struct {
	names []string
	text  map[string]string
}

func readGolden(t *testing.T, path string) *golden {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{text: map[string]string{}}
	name := ""
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(rest, " --\n") {
			name = strings.TrimSuffix(rest, " --\n")
			g.names = append(g.names, name)
			continue
		}
		g.text[name] += line
	}
	return g
}

// check compares the sections that a test made with the file's, or rewrites those.
func (g *golden) check(t *testing.T, path string, got []section) {
	t.Helper()
	if *update {
		var b strings.Builder
		for _, name := range g.names {
			if !strings.HasPrefix(name, "as ") {
				b.WriteString("-- " + name + " --\n" + g.text[name])
			}
		}
		for _, s := range got {
			b.WriteString("-- as " + s.name + " --\n" + s.text)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, s := range got {
		if diff := cmp.Diff(s.text, g.text["as "+s.name]); diff != "" {
			t.Errorf("%s as %s (-got +want):\n%s", path, s.name, diff)
		}
	}
	for _, name := range g.names {
		if rest, ok := strings.CutPrefix(name, "as "); ok && !containsSection(got, rest) {
			t.Errorf("%s has a section %q that nothing made", path, name)
		}
	}
}

type section struct{ name, text string }

func containsSection(list []section, name string) bool {
	for _, s := range list {
		if s.name == name {
			return true
		}
	}
	return false
}

var dialects = map[string]Dialect{"chat": Chat, "messages": Messages, "responses": Responses, "converse": Converse}

// dialectOf is the one that a golden file's name begins with.
func dialectOf(t *testing.T, path string) Dialect {
	t.Helper()
	name, _, _ := strings.Cut(filepath.Base(path), "_")
	d, ok := dialects[name]
	if !ok {
		t.Fatalf("%s: a golden file's name begins with its dialect", path)
	}
	return d
}

// files calls f for each golden file of a kind.
func files(t *testing.T, kind string, f func(t *testing.T, path string, from Dialect)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", kind, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			f(t, path, dialectOf(t, path))
		})
	}
}

// indented is JSON for people. It fails on what is not JSON, or not on one line.
func indented(t *testing.T, body []byte) string {
	t.Helper()
	if bytes.ContainsAny(body, "\n\r") {
		t.Errorf("a body of several lines: %s", body)
	}
	if err := checkTwice(body); err != nil {
		t.Errorf("%v: %s", err, body)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		t.Errorf("not JSON: %v: %s", err, body)
		return string(body) + "\n"
	}
	return b.String() + "\n"
}

// checkTwice looks for a name that an object has twice.
func checkTwice(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // numbers keep their text, however large
	var value func() error
	value = func() error {
		token, err := d.Token()
		if err != nil {
			return err
		}
		delim, ok := token.(json.Delim)
		if !ok {
			return nil
		}
		seen := map[any]bool{}
		for d.More() {
			if delim == '{' {
				key, err := d.Token()
				if err != nil {
					return err
				}
				if seen[key] {
					return errors.New("given twice: " + key.(string))
				}
				seen[key] = true
			}
			if err := value(); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	}
	return value()
}

// hopTo is the hop of the golden files: to a recent model of the dialect's vendor, or
// to the one the section "models" names.
func hopTo(to Dialect, models string) Hop {
	name := map[Dialect]string{Chat: "gpt-5.1", Messages: "claude-opus-4-6", Responses: "gpt-5.1", Converse: "us.amazon.nova-2-lite-v1:0"}[to]
	for field := range strings.FieldsSeq(models) {
		if d, model, _ := strings.Cut(field, "="); d == to.String() {
			name = model
		}
	}
	family := "openai"
	if vendor, _, ok := strings.Cut(name, "/"); ok {
		family = vendor
	}
	m := KnownModel(name).At(family, "")
	return Hop{To: to, Model: m, ID: "req1", Now: 1700000000}
}

// targets are the dialects that a request of a caller's may be translated into.
func targets(from Dialect) []Dialect { return append(others(from), Converse) }

// others are the dialects of callers but for one.
func others(from Dialect) (list []Dialect) {
	for _, d := range []Dialect{Chat, Messages, Responses} {
		if d != from {
			list = append(list, d)
		}
	}
	return list
}

func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	files(t, "requests", func(t *testing.T, path string, from Dialect) {
		g := readGolden(t, path)
		body := []byte(g.text["request"])
		q, err := Parse(from, body)
		var got []section
		for _, to := range targets(from) {
			if err != nil {
				got = append(got, section{to.String(), "cannot: " + err.Error() + "\n"})
				continue
			}
			tr, err := q.Translate(hopTo(to, g.text["models"]))
			if err != nil {
				got = append(got, section{to.String(), "cannot: " + err.Error() + "\n"})
				continue
			}
			again, err := q.Translate(hopTo(to, g.text["models"]))
			if err != nil || !bytes.Equal(again.Body(), tr.Body()) {
				t.Error("the same request gave other bytes")
			}
			if hop := hopTo(to, g.text["models"]); to == Converse {
				if why := provider.ConverseRefuses(hop.Model.Name, q.Stream && !tr.Whole(), tr.Body()); why != "" {
					t.Errorf("the service refuses it: %s: %s", why, tr.Body())
				}
			} else {
				vendorReads(t, to, tr.Body(), "request")
			}
			got = append(got, section{to.String(), indented(t, tr.Body())})
		}
		g.check(t, path, got)
	})
}

// asks are requests that answers of golden files go back to.
var asks = map[Dialect]string{
	Chat:      `{"model":"route","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]}`,
	Messages:  `{"model":"route","stream":true,"max_tokens":4096,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"Hi"}]}`,
	Responses: `{"model":"route","stream":true,"input":"Hi"}`,
}

// translation is one from a caller to a target, asked as the golden file's section
// "ask <dialect>" says.
func translation(t testing.TB, g *golden, caller, target Dialect) *Translation {
	t.Helper()
	ask := asks[caller]
	if g != nil && g.text["ask "+caller.String()] != "" {
		ask = g.text["ask "+caller.String()]
	}
	q, err := Parse(caller, []byte(ask))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := q.Translate(hopTo(target, ""))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestGoldenAnswers(t *testing.T) {
	t.Parallel()
	files(t, "answers", func(t *testing.T, path string, target Dialect) {
		g := readGolden(t, path)
		var got []section
		for _, caller := range others(target) {
			body, _, err := translation(t, g, caller, target).Answer([]byte(g.text["answer"]))
			if err != nil {
				got = append(got, section{caller.String(), "not an answer: " + err.Error() + "\n"})
				continue
			}
			vendorReads(t, caller, body, "answer")
			got = append(got, section{caller.String(), indented(t, body)})
		}
		g.check(t, path, got)
	})
}

// pump gives a whole stream's bytes to a translation, as a gateway does, and returns
// what the caller would see and how it ended.
func pump(s *Stream, stream []byte, chunk int) (out []byte, end Meaning) {
	var f Framer
	r := &chunked{stream, chunk}
	for {
		_, err := f.Read(r)
		for {
			ev, ok := f.Next()
			if !ok {
				break
			}
			b, m := s.Event(ev)
			out = append(out, b...)
			if m == Done || m == Failed || m == Garbled {
				return out, m
			}
		}
		f.Release()
		if err != nil {
			break
		}
	}
	if b, ok := s.End(); ok {
		return append(out, b...), Done
	}
	return out, Lifecycle
}

type chunked struct {
	rest []byte
	size int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, errors.New("the end")
	}
	n := copy(p, c.rest[:min(len(c.rest), c.size)])
	c.rest = c.rest[n:]
	return n, nil
}

func TestGoldenStreams(t *testing.T) {
	t.Parallel()
	files(t, "streams", func(t *testing.T, path string, target Dialect) {
		g := readGolden(t, path)
		stream := []byte(g.text["stream"])
		var got []section
		for _, caller := range others(target) {
			s := translation(t, g, caller, target).Stream()
			out, end := pump(s, stream, 1<<20)
			if end != Done && end != Failed {
				out = append(out, s.Fail(&Error{Code: "upstream_stream_broken", Message: "the provider's stream broke off"})...)
			}
			bytewise, _ := pump(translation(t, g, caller, target).Stream(), stream, 1)
			if !bytes.HasPrefix(out, bytewise) {
				t.Error("one byte at a time gives another stream")
			}
			checkStream(t, caller, out)
			got = append(got, section{caller.String(), string(out)})
		}
		g.check(t, path, got)
	})
}
