package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScanReadsControlFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   string
		model  string
		stream bool
	}{
		"ModelAndStream":       {`{"model":"gpt-4o","stream":true,"messages":[]}`, "gpt-4o", true},
		"StreamNullIsFalse":    {`{"stream":null,"model":"m"}`, "m", false},
		"Space":                {" \n{ \"model\" :\t\"m\" , \"n\" : [ 1 , 2.5e-3 , -0 ] } \r\n", "m", false},
		"EscapedKey":           {`{"mod\u0065l":"m"}`, "m", false},
		"EscapedValue":         {`{"model":"a\/b\u00e9"}`, "a/bé", false},
		"NestedModelIsAnother": {`{"metadata":{"model":"x","MODEL":"y"},"model":"m"}`, "m", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Scan([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if got.Model != c.model || got.Stream != c.stream {
				t.Errorf("got %q, %v, want %q, %v", got.Model, got.Stream, c.model, c.stream)
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, param string }{
		"Empty":              {``, ""},
		"NotAnObject":        {`["model"]`, ""},
		"NoModel":            {`{"stream":true}`, "model"},
		"ModelNotAString":    {`{"model":7}`, "model"},
		"ModelEmpty":         {`{"model":""}`, "model"},
		"ModelTwice":         {`{"model":"a","model":"b"}`, "model"},
		"ModelTwiceEscaped":  {`{"model":"a","m\u006fdel":"b"}`, "model"},
		"ModelOtherCase":     {`{"model":"a","MODEL":"b"}`, "MODEL"},
		"StreamOtherCase":    {`{"model":"a","Stream":true}`, "Stream"},
		"StreamFoldedByRune": {`{"model":"a","` + "\u017f" + `tream":true}`, "\u017ftream"},
		"StreamNotABoolean":  {`{"model":"a","stream":1}`, "stream"},
		"TrailingData":       {`{"model":"a"}{}`, ""},
		"TrailingComma":      {`{"model":"a",}`, ""},
		"Unterminated":       {`{"model":"a`, ""},
		"ControlCharacter":   {"{\"model\":\"a\nb\"}", ""},
		"BadEscape":          {`{"model":"\x"}`, ""},
		"BadNumber":          {`{"model":"a","n":01}`, ""},
		"BadLiteral":         {`{"model":"a","n":nul}`, ""},
		"ControlInAnEscape":  {"{\"model\":\"a\",\"x\":\"\\u0\x1341\"}", ""},
		"NotUTF8":            {"{\"model\":\"\xff\"}", ""},
		"TooDeep":            {`{"model":"a","x":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Scan([]byte(c.body))
			var scan *ScanError
			if !errors.As(err, &scan) {
				t.Fatalf("got error %v, want a ScanError", err)
			}
			if scan.Param != c.param {
				t.Errorf("got param %q, want %q", scan.Param, c.param)
			}
		})
	}
}

func TestSpliceReplacesOnlyTheModel(t *testing.T) {
	t.Parallel()
	body := []byte(`{"a": "model", "model" : "old", "z":[1,  2]}`)
	c, err := Scan(body)
	if err != nil {
		t.Fatal(err)
	}
	parts := c.Splice(body, `new"name`)
	got := string(bytes.Join(parts[:], nil))
	if want := `{"a": "model", "model" : "new\"name", "z":[1,  2]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	same := c.Splice(body, "old")
	if &same[0][0] != &body[0] || len(same[0]) != len(body) {
		t.Error("the same model must forward the body itself")
	}
}

// checkSkip holds the quick way over a value against the one that reads it.
func checkSkip(t *testing.T, text []byte) {
	t.Helper()
	quick, slow := scanner{b: text}, scanner{b: text}
	quick.space()
	slow.space()
	if slow.value(0) != nil {
		return
	}
	// In a valid text a delimiter follows a number or a literal.
	if c, next := text[quick.i], slow.peek(); c != '"' && c != '{' && c != '[' && slow.i < len(text) && !isDelimiter[next] {
		return
	}
	if quick.skip(); quick.i != slow.i {
		t.Fatalf("skips %d bytes of %q, and reads %d", quick.i, text, slow.i)
	}
}

func TestSkip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`1`, `-1.5e+3 `, `true,`, `null]`, `"a"`, `""`, `"\"" `, `"\\"x"`, `"\\\""}`, `{}x`, `[]`, `[1,"]",{"}":"\"}"}] `, "{\n\"a\":[[\"\\\\\"]]}\t1", ` {"a":1}`,
	} {
		checkSkip(t, []byte(text))
	}
}

// What Scan accepts, encoding/json accepts and reads the same; what is well-formed
// and unambiguous, Scan accepts.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","stream":true}`, `{"model":"m","x":[{"y":"\ud83d\ude00\\\""}]}`, `{"model":"m","n":-1.5E+10}`, `{"Model":"m"}`,
		`{"model":"m","x":{"a":[null,true,false,0]}}`, "{\"model\":\"\u2028\"}", `{"model":"m"} x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := Scan(body)
		var std struct {
			Model  string
			Stream *bool
		}
		stdErr := json.Unmarshal(body, &std)
		checkSkip(t, body)
		if err == nil {
			if stdErr != nil {
				t.Fatalf("accepted what encoding/json refuses: %v", stdErr)
			}
			if diff := cmp.Diff(std.Model, c.Model); diff != "" {
				t.Fatal(diff)
			}
			if (std.Stream != nil && *std.Stream) != c.Stream {
				t.Fatalf("stream: got %v", c.Stream)
			}
			parts := c.Splice(body, "replaced")
			again, err := Scan(bytes.Join(parts[:], nil))
			if err != nil || again.Model != "replaced" || again.Stream != c.Stream {
				t.Fatalf("after splicing: %+v, %v", again, err)
			}
		}
	})
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dialect Dialect
		body    string
		want    AnswerKind
	}{
		"Chat":              {Chat, `{"id":"x","choices":[{"index":0}]}`, RealAnswer},
		"ChatErrorNull":     {Chat, `{"error":null,"choices":[{}]}`, RealAnswer},
		"ChatNoChoices":     {Chat, `{"choices":[ ]}`, NoAnswer},
		"ChatError":         {Chat, `{"error":{"message":"x"}}`, ErrorAnswer},
		"ChatErrorAndMore":  {Chat, `{"choices":[{}],"error":"x"}`, ErrorAnswer},
		"ChatOnlyMessage":   {Chat, `{"id":"x","message":"no"}`, ErrorAnswer},
		"ChatMessageOfMore": {Chat, `{"message":"wait","progress":3}`, NoAnswer},
		"Messages":          {Messages, `{"type":"message","content":[]}`, RealAnswer},
		"MessagesError":     {Messages, `{"type":"error","error":{"type":"overloaded_error"}}`, ErrorAnswer},
		"MessagesOfAnother": {Messages, `{"choices":[{}]}`, NoAnswer},
		"Converse":          {Converse, `{"output":{"message":{"role":"assistant","content":[]}},"stopReason":"content_filtered"}`, RealAnswer},
		"ConverseMalformed": {Converse, `{"output":{"message":{"content":[{"text":"x"}]}},"stopReason":"malformed_model_output"}`, NoAnswer},
		"ConverseError":     {Converse, `{"message":"m"}`, ErrorAnswer},
		"ConverseAWSError":  {Converse, `{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}`, NoAnswer},
		"ConverseOfAnother": {Converse, `{"choices":[{}]}`, NoAnswer},
		"ConverseCutShort":  {Converse, `{"output":{"message":{"content":[`, NoAnswer},
		"HTML":              {Chat, `<html></html>`, NoAnswer},
		"Empty":             {Chat, ``, NoAnswer},
		"CutShort":          {Chat, `{"choices":[{"index":0}`, NoAnswer},
		"Trailing":          {Chat, `{"choices":[{}]} x`, NoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.dialect.ReadAnswer([]byte(c.body)); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func BenchmarkScan64KiB(b *testing.B) {
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("The quick brown fox. ", 64<<10/21) + `"}]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := Scan(body); err != nil {
			b.Fatal(err)
		}
	}
}
