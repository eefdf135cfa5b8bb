package llm

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Files at URLs are put into a body wherever a message may have them, and nothing else of
// it changes.
func TestInlined(t *testing.T) {
	t.Parallel()
	fetched := map[string]File{
		"http://x/a": {MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}, "http://x/b": {MIME: "application/pdf", Data: []byte("%PDF-1.7")},
	}
	const (
		image = `{"type":"image","source":{"type":"url","url":"http://x/a"},"cache_control":{"type":"ephemeral"}}`
		png   = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="},"cache_control":{"type":"ephemeral"}}`
		doc   = `{"type":"document","title":"t","source":{"url":"http://x/b", "type":"url"}}`
		pdf   = `{"type":"document","title":"t","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjc="}}`
	)
	for name, c := range map[string]struct{ body, want, field string }{
		"None":     {`{ "messages":[{"role":"user","content":"url"}] }`, "", ""},
		"OnlyWord": {`{"messages":[{"role":"user","content":[{"type":"text","text":"a","url":1.0},{"type":"image","source":{"type":"base64","data":"url"}}]}],"x":"url"}`, "", ""},
		"Parts": {`{"model":"m", "n":1.0,"messages":[{"role":"user","content":"\"url\""},{"role":"user","content":[{"type":"text","text":"a"},` + image + `,` + doc + `]}]}`,
			`{"model":"m","n":1.0,"messages":[{"role":"user","content":"\"url\""},{"role":"user","content":[{"type":"text","text":"a"},` + png + `,` + pdf + `]}]}`, ""},
		"Result": {`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[` + image + `]},{"type":"tool_result","tool_use_id":"u","content":"\"url\""}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[` + png + `]},{"type":"tool_result","tool_use_id":"u","content":"\"url\""}]}]}`, ""},
		"OfACall":   {`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"source":{"type":"url","url":"http://x/c"}}}]}]}`, "", ""},
		"NotThere":  {`{"messages":[{"role":"user","content":[` + image + `,{"type":"image","source":{"type":"url","url":"http://x/c"}}]}]}`, "", "messages[0].content[1].source.url"},
		"OtherKind": {`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"http://x/a"}}]}]}`, "", "messages[0].content[0].source.url"},
		"NoURL":     {`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url"}},"url"]}],"x":"url"}`, "", "messages[0].content[0].source.url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Inlined([]byte(c.body), fetched)
			var cannot *CannotError
			if errors.As(err, &cannot) != (c.field != "") || cannot != nil && cannot.Field != c.field {
				t.Fatalf("%v, want one of %q", err, c.field)
			}
			if wants := name == "NotThere"; cannot != nil && wants != (len(cannot.Fetch) == 1 && cannot.Fetch[0] == Wanted{c.field, "http://x/c"}) {
				t.Errorf("wants %v", cannot.Fetch)
			}
			if c.want == "" {
				c.want = c.body
			}
			if diff := cmp.Diff(string(got), c.want); err == nil && diff != "" {
				t.Errorf("(-got +want)\n%s", diff)
			}
		})
	}
}
