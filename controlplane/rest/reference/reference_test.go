package reference

import "testing"

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
