package web

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"regexp"
	"testing"
)

// What a browser loads before the first page stands there. Fonts are packed by themselves.
const maxFirstLoad = 400_000 // bytes, packed

var (
	named = regexp.MustCompile(`(?:src|href)="/([^"]+)"`)
	font  = regexp.MustCompile(`url\(/(assets/inter-latin-wght[^)]+)\)`)
)

func TestFirstLoad(t *testing.T) {
	t.Parallel()
	files, built := Files()
	if !built {
		t.Fatal("the portal was not built into this test: run make portal")
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	page := read("index.html")
	total, scripts := packed(page), 0
	for _, m := range named.FindAllSubmatch(page, -1) {
		content := read(string(m[1]))
		total += packed(content)
		scripts++
		for _, f := range font.FindAllSubmatch(content, -1) {
			total += len(read(string(f[1])))
		}
	}
	if scripts < 3 {
		t.Errorf("index.html names only %d files", scripts)
	}
	if total > maxFirstLoad {
		t.Errorf("the first load is %d bytes, want at most %d", total, maxFirstLoad)
	}
	t.Logf("first load: %d bytes", total)
}

func packed(plain []byte) int {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(plain)
	_ = z.Close()
	return b.Len()
}
