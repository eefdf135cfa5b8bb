package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// texts that say something: what is blank does not cross.
var someText = rapid.Custom(func(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "ü", "\"", "\\", "\n", "日本", "</b>", "😀", "\u2028", "\x7f", "\x01"}).Draw(t, "first") + "x" + rapid.String().Draw(t, "rest")
})

func somePart(t *rapid.T, images bool) Part {
	switch n := rapid.IntRange(0, 3).Draw(t, "part"); {
	case n == 0 && images:
		return Part{Kind: Image, Media: &Media{MIME: "image/png", Data: "iVBORw0KGgo="}}
	case n == 1 && images:
		return Part{Kind: Image, Media: &Media{URL: "https://e.com/" + rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "url")}}
	case n == 2 && images:
		return Part{Kind: Document, Media: &Media{MIME: "application/pdf", Data: "JVBERi0=", Name: "a.pdf"}}
	}
	return Part{Kind: Text, Text: someText.Draw(t, "text")}
}

func someParts(t *rapid.T, least, most int, images bool) (parts []Part) {
	for range rapid.IntRange(least, most).Draw(t, "parts") {
		parts = append(parts, somePart(t, images))
	}
	return parts
}

func someCall(t *rapid.T, id int) Part {
	arguments, err := json.Marshal(map[string]any{"a": someText.Draw(t, "argument"), "n": json.Number("12345678901234567890")})
	if err != nil {
		t.Fatal(err)
	}
	return Part{Kind: ToolCall, Call: &Call{ID: fmt.Sprintf("call_%d", id), Name: rapid.SampledFrom([]string{"f", "g"}).Draw(t, "name"), Arguments: string(arguments)}}
}

// someTurns is a conversation that every dialect can say: results first, text before
// calls, and every call answered.
func someTurns(t *rapid.T) (turns []Turn) {
	calls := 0
	results := []Part(nil)
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		turns = append(turns, Turn{User, append(results, someParts(t, 1, 3, true)...)})
		answer := Turn{Role: Assistant, Parts: []Part{{Kind: Text, Text: someText.Draw(t, "answer")}}}
		results = nil
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			call := someCall(t, calls)
			calls++
			answer.Parts = append(answer.Parts, call)
			results = append(results, Part{Kind: Result, Output: &Output{ID: call.Call.ID, Parts: []Part{{Kind: Text, Text: someText.Draw(t, "result")}}}})
		}
		turns = append(turns, answer)
	}
	return append(turns, Turn{User, append(results, someParts(t, 1, 1, false)...)})
}

func someRequest(t *rapid.T) *Request {
	q := &Request{Model: "m", Stream: rapid.Bool().Draw(t, "stream"), Turns: someTurns(t)}
	for range rapid.IntRange(0, 2).Draw(t, "system") {
		q.System = append(q.System, Part{Kind: Text, Text: someText.Draw(t, "instruction")})
	}
	yes := true
	q.Tools = []Tool{
		{Name: "f", Description: "d", Schema: []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`), Strict: &yes},
		{Name: "g", Schema: []byte(`{"type":"object","properties":{}}`)},
	}
	q.Choice.Mode = rapid.SampledFrom([]ChoiceMode{ChoiceAuto, ChoiceRequired, ChoiceTool, ChoiceNone}).Draw(t, "mode")
	if q.Choice.Mode == ChoiceTool {
		q.Choice.Names = []string{"g"}
	}
	if q.Choice.Mode != ChoiceNone && rapid.Bool().Draw(t, "one") {
		no := false
		q.Choice.Parallel = &no
	}
	s := &q.Settings
	s.MaxTokens = rapid.Int64Range(16, 1<<40).Draw(t, "max")
	s.User = rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "user")
	if rapid.Bool().Draw(t, "sampled") {
		s.Temperature = Number(rapid.SampledFrom([]string{"0", "0.70", "1e-1", "1.0"}).Draw(t, "temperature"))
	} else if q.Choice.Mode != ChoiceRequired && q.Choice.Mode != ChoiceTool { // else messages does not think
		s.Think = Think{Mode: ThinkOn, Effort: rapid.SampledFrom([]string{"low", "medium", "high"}).Draw(t, "effort")}
	}
	if rapid.Bool().Draw(t, "format") {
		s.Format = &Format{Name: "output", Schema: []byte(`{"type":"object"}`), Strict: &yes}
	}
	return q
}

func roundHop(to Dialect) Hop {
	m := Model{Name: "m", Reasoning: ByEffort, Extras: true}
	if to == Messages {
		m.Reasoning = Adaptive
	}
	return Hop{To: to, Model: m, ID: "r", Now: 1}
}

// crossed is a request after a hop.
func crossed(t *rapid.T, q *Request, to Dialect) *Request {
	tr, err := q.Translate(roundHop(to))
	if err != nil {
		t.Fatalf("%s to %s: %v", q.From, to, err)
	}
	back, err := Parse(to, tr.Body())
	if err != nil {
		t.Fatalf("%s: %v: %s", to, err, tr.Body())
	}
	return back
}

// comparable leaves out what may differ: where it came from, and words that mean the
// same.
func comparable(q *Request) *Request {
	c := *q
	c.From, c.tokens, c.StreamUsage = NoDialect, 0, false
	c.Settings.Think = Think{Effort: q.Settings.Think.Effort}
	c.Settings.Store = nil // only responses says it, and says no
	c.Tools = nil
	for _, t := range q.Tools {
		if t.Strict != nil && !*t.Strict {
			t.Strict = nil
		}
		c.Tools = append(c.Tools, t)
	}
	c.Turns = nil
	for _, turn := range q.Turns {
		parts := []Part{}
		for _, p := range turn.Parts {
			if p.Media != nil {
				media := *p.Media
				media.At = ""
				if media.Detail == "auto" {
					media.Detail = ""
				}
				p.Media = &media
			}
			parts = append(parts, p)
		}
		c.Turns = append(c.Turns, Turn{turn.Role, parts})
	}
	if f := q.Settings.Format; f != nil && f.Name == "" {
		named := *f
		named.Name = "output"
		c.Settings.Format = &named
	}
	return &c
}

// What one dialect can say and another too survives the way there and back.
func TestRequestsThereAndBack(t *testing.T) {
	t.Parallel()
	for _, from := range []Dialect{Chat, Messages, Responses} {
		for _, to := range others(from) {
			t.Run(from.String()+" "+to.String(), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					q := someRequest(t)
					q.From = others(from)[0]
					first := crossed(t, q, from)
					second := crossed(t, crossed(t, first, to), from)
					if diff := cmp.Diff(comparable(second), comparable(first), cmp.AllowUnexported(Request{})); diff != "" {
						t.Fatalf("(-back +first):\n%s", diff)
					}
					if diff := cmp.Diff(comparable(first), comparable(q), cmp.AllowUnexported(Request{})); diff != "" {
						t.Fatalf("(-first +meant):\n%s", diff)
					}
				})
			})
		}
	}
}

// A conversation that went on begins with the same bytes, or the provider's cache of the
// prompt is for nothing.
func TestLongerConversationsBeginTheSame(t *testing.T) {
	t.Parallel()
	for _, from := range []Dialect{Chat, Messages, Responses} {
		for _, to := range targets(from) {
			t.Run(from.String()+" "+to.String(), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					q := someRequest(t)
					q.From = others(from)[0]
					long := *q
					long.Turns = append(slices.Clone(q.Turns), Turn{Assistant, []Part{{Kind: Text, Text: "so"}}}, Turn{User, []Part{{Kind: Text, Text: "on"}}})
					a, b := conversation(t, crossed(t, q, from), to), conversation(t, crossed(t, &long, from), to)
					if !strings.HasPrefix(b, strings.TrimSuffix(a, "]")) {
						t.Fatalf("%s\nis not the beginning of\n%s", a, b)
					}
				})
			})
		}
	}
}

// conversation is the list of messages of a request for a target.
func conversation(t *rapid.T, q *Request, to Dialect) string {
	tr, err := fetching(q, roundHop(to))
	if err != nil {
		t.Fatal(err)
	}
	var r reader
	return string(r.document(tr.Body()).get(inputField(to)))
}

// fetching translates with whatever files that takes.
func fetching(q *Request, hop Hop) (*Translation, error) {
	hop.Fetched = map[string]File{}
	for {
		tr, err := q.Translate(hop)
		var cannot *CannotError
		if !errors.As(err, &cannot) || len(cannot.Fetch) == 0 {
			return tr, err
		}
		for _, w := range cannot.Fetch {
			hop.Fetched[w.URL] = File{"image/png", []byte("\x89PNG")}
		}
	}
}

func someAnswer(t *rapid.T) *Answer {
	a := &Answer{ID: "x1", Created: 1, Stop: rapid.SampledFrom([]StopReason{StopEnd, StopLength, StopRefusal}).Draw(t, "stop")}
	if rapid.Bool().Draw(t, "thinks") {
		a.Parts = append(a.Parts, Part{Kind: Thinking, Text: someText.Draw(t, "thought")})
	}
	a.Parts = append(a.Parts, Part{Kind: Text, Text: someText.Draw(t, "text")})
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		a.Parts = append(a.Parts, someCall(t, i))
		if a.Stop == StopEnd {
			a.Stop = StopTools
		}
	}
	count := rapid.Int64Range(0, 1<<30)
	a.Usage = Usage{Input: count.Draw(t, "input") + 1, CacheRead: count.Draw(t, "read"), CacheWrite: count.Draw(t, "write"), Output: count.Draw(t, "output")}
	return a
}

func answerTo(t *rapid.T, caller, target Dialect) *Translation {
	q, err := Parse(caller, []byte(asks[caller]))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := q.Translate(roundHop(target))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// decoded is an answer body of a dialect in the neutral form.
func decoded(t *rapid.T, d Dialect, body []byte) *Answer {
	r := reader{answer: true}
	m := r.document(body)
	var a *Answer
	switch d {
	case Chat:
		a = decodeChatAnswer(&r, m)
	case Messages:
		a = decodeMessagesAnswer(&r, m)
	default:
		a = decodeResponsesAnswer(&r, m)
	}
	if r.err != nil {
		t.Fatalf("%s: %v: %s", d, r.err, body)
	}
	a.ID, a.Created, a.Model = "", 0, ""
	for i := range a.Parts {
		a.Parts[i].Seal = ""
		if c := a.Parts[i].Call; c != nil && !json.Valid([]byte(c.Arguments)) {
			t.Fatalf("arguments %q", c.Arguments)
		}
	}
	return a
}

// encoded is an answer as a provider of a dialect would give it.
func encoded(t *rapid.T, a *Answer, d Dialect) []byte {
	tr := answerTo(t, d, others(d)[0])
	switch d {
	case Chat:
		return encodeChatAnswer(a, tr)
	case Messages:
		return encodeMessagesAnswer(a, tr)
	}
	return encodeResponsesAnswer(a, tr)
}

func TestAnswersThereAndBack(t *testing.T) {
	t.Parallel()
	for _, from := range []Dialect{Chat, Messages, Responses} {
		for _, to := range others(from) {
			t.Run(from.String()+" "+to.String(), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					first := encoded(t, someAnswer(t), from)
					there, usage, err := answerTo(t, to, from).Answer(first)
					if err != nil {
						t.Fatal(err)
					}
					back, again, err := answerTo(t, from, to).Answer(there)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(decoded(t, from, back), decoded(t, from, first)); diff != "" || usage != again {
						t.Fatalf("%+v %+v (-back +first):\n%s", usage, again, diff)
					}
				})
			})
		}
	}
}

// A stream says what the whole answer of the same parts says.
func TestStreamsSayWhatWholeAnswersSay(t *testing.T) {
	t.Parallel()
	for _, target := range []Dialect{Chat, Messages, Responses} {
		for _, caller := range others(target) {
			t.Run(target.String()+" "+caller.String(), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					a := someAnswer(t)
					stream := streamed(t, a, target)
					out, end := pump(answerTo(t, caller, target).Stream(), stream, rapid.IntRange(1, 200).Draw(t, "chunk"))
					if end != Done {
						t.Fatalf("ended %v: %s", end, stream)
					}
					back, end := pump(answerTo(t, target, caller).Stream(), out, 1000)
					if end != Done {
						t.Fatalf("ended %v: %s", end, out)
					}
					// The ids of a stream are derived; all else is the same to the byte.
					if string(back) != string(stream) {
						t.Fatalf("got\n%s\nwant\n%s", back, stream)
					}
				})
			})
		}
	}
}

// streamed is an answer as a provider of a dialect would stream it.
func streamed(t *rapid.T, a *Answer, d Dialect) []byte {
	s := answerTo(t, d, others(d)[0]).Stream()
	s.to.put(&Delta{Kind: DeltaStart, ID: "x1", Created: 1, Usage: Usage{}})
	for i, p := range a.Parts {
		text := p.Text
		if p.Call != nil {
			text = p.Call.Arguments
			call := *p.Call
			call.Arguments = ""
			p.Call = &call
		}
		p.Text = ""
		s.to.put(&Delta{Kind: DeltaOpen, Part: i, Opens: p})
		half := strings.IndexByte(text, 'x') + 1
		if p.Call != nil {
			half = len(text) // chat does not say that a call is over before all are, so others wait and come in one piece
		}
		s.to.put(&Delta{Kind: DeltaGrow, Part: i, Text: text[:half]})
		s.to.put(&Delta{Kind: DeltaGrow, Part: i, Text: text[half:]})
		s.to.put(&Delta{Kind: DeltaClose, Part: i})
	}
	s.to.put(&Delta{Kind: DeltaStop, Stop: a.Stop})
	s.to.put(&Delta{Kind: DeltaUsage, Usage: a.Usage})
	s.to.put(&Delta{Kind: DeltaEnd})
	return s.w.b
}
