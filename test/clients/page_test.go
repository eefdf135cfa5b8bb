package clients

import (
	"os"
	"strings"
	"testing"
)

const pagePath = "../../docs/clients.md"

// settings returns the blocks of settings under a heading of docs/clients.md with
// the page's examples replaced: pairs are an example and what stands for it here. So
// the page says what was tried, or a test fails.
func settings(t *testing.T, heading string, pairs ...string) []string {
	t.Helper()
	raw, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(raw), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", pagePath, heading)
	}
	var blocks []string
	inside := false
	for line := range strings.Lines(section) {
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "#"):
			return replaced(t, blocks, pairs)
		case indented && !inside:
			blocks, inside = append(blocks, code), true
		case indented:
			blocks[len(blocks)-1] += code
		case strings.TrimSpace(line) != "":
			inside = false
		case inside:
			blocks[len(blocks)-1] += "\n"
		}
	}
	return replaced(t, blocks, pairs)
}

func replaced(t *testing.T, blocks, pairs []string) []string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(strings.Join(blocks, ""), pairs[i]) {
			t.Fatalf("the settings of %s lack %q:\n%s", pagePath, pairs[i], blocks)
		}
	}
	r := strings.NewReplacer(pairs...)
	for i := range blocks {
		blocks[i] = r.Replace(blocks[i])
	}
	return blocks
}
