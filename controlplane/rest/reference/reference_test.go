package reference

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/spillway-gateway/spillway/openapi"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                    "",
		"one\ntwo\n\nthree":                   "<p>one\ntwo</p><p>three</p>",
		"`a<b` and **c**":                     "<p><code>a&lt;b</code> and <strong>c</strong></p>",
		"`**a**` <script>":                    "<p><code>**a**</code> &lt;script&gt;</p>",
		"| A | B |\n|---|---|\n| `x` | <y> |": "<div class=scroll><table><tr><th>A</th><th>B</th></tr><tr><td><code>x</code></td><td>&lt;y&gt;</td></tr></table></div>",
	} {
		if got := string(markdown(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// Every example on the page is what the document says a body is: what it shows to send can
// be sent, and what it shows as an answer has nothing that is only sent.
func TestSamplesFit(t *testing.T) {
	t.Parallel()
	spec, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	if err != nil {
		t.Fatal(err)
	}
	bodies := 0
	check := func(where string, content openapi3.Content, request bool, as openapi3.SchemaValidationOption) {
		media := content.Get("application/json")
		if media == nil {
			return
		}
		bodies++
		var v any
		text := sample(media, request)
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Errorf("%s: %v\n%s", where, err, text)
			return
		}
		if err := media.Schema.Value.VisitJSON(v, as); err != nil {
			t.Errorf("%s: %v\n%s", where, err, text)
		}
	}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody != nil {
				check(method+" "+path, op.RequestBody.Value.Content, true, openapi3.VisitAsRequest())
			}
			for status, response := range op.Responses.Map() {
				check(method+" "+path+" "+status, response.Value.Content, false, openapi3.VisitAsResponse())
			}
		}
	}
	if bodies < 300 {
		t.Errorf("only %d bodies", bodies)
	}
}

// A field's example goes before its default, and that before what its type alone says.
func TestSampleOfAField(t *testing.T) {
	t.Parallel()
	seven, three := 7.0, 3.0
	word := &openapi3.Types{"string"}
	for want, s := range map[any]*openapi3.Schema{
		"e":   {Type: word, Example: "e", Default: "d", Enum: []any{"x"}},
		"d":   {Type: word, Default: "d", Enum: []any{"x"}},
		"x":   {Type: word, Enum: []any{"x"}},
		seven: {Type: &openapi3.Types{"integer"}, Default: seven, Min: &three},
		three: {Type: &openapi3.Types{"integer"}, Min: &three},
	} {
		if got := sampleOf(s, true, 0); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	secret := openapi3.NewObjectSchema().WithProperty("key", &openapi3.Schema{Type: word, WriteOnly: true, Example: "k"})
	for request, want := range map[bool]int{true: 1, false: 0} {
		if got := sampleOf(secret, request, 0).(map[string]any); len(got) != want {
			t.Errorf("what is only sent, in a request %v: %v", request, got)
		}
	}
	for _, c := range []struct {
		security *openapi3.SecurityRequirements
		want     bool
	}{{openapi3.NewSecurityRequirements(), true}, {openapi3.NewSecurityRequirements().With(openapi3.NewSecurityRequirement()), false}, {nil, false}} {
		op := showOperation("GET", "/x", &openapi3.PathItem{}, &openapi3.Operation{Security: c.security, Summary: "Say", Responses: openapi3.NewResponses()})
		if op.Public != c.want || !strings.Contains(op.Search, "say") {
			t.Errorf("public %v, want %v; found by %q", op.Public, c.want, op.Search)
		}
	}
}
