package clients

import (
	"os"
	"strings"
	"testing"
)

const pagePath = "../../docs/clients.md"

// settings returns the block of settings under a heading of docs/clients.md with
// the page's examples replaced: pairs are an example and what stands for it here. So
// the page says what was tried, or a test fails.
func settings(t *testing.T, heading string, pairs ...string) string {
	t.Helper()
	raw, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(raw), heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", pagePath, heading)
	}
	var block strings.Builder
	for line := range strings.Lines(section) {
		code, indented := strings.CutPrefix(line, "    ")
		if !indented && strings.TrimSpace(line) != "" {
			if block.Len() > 0 || strings.HasPrefix(line, "#") {
				break
			}
			continue // what is said before the block
		}
		if indented {
			block.WriteString(code)
		}
	}
	out := block.String()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(out, pairs[i]) {
			t.Fatalf("%s, %q: the settings lack %q:\n%s", pagePath, heading, pairs[i], out)
		}
	}
	return strings.NewReplacer(pairs...).Replace(out)
}
