package clients

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// secret is what word.txt says; dot.png is a picture so small that tools send it as it is.
const secret = "xylophone"

// furnish puts the files in a tool's folder that models ask for.
func furnish(t *testing.T, c *tool) {
	t.Helper()
	write(t, filepath.Join(c.work, "word.txt"), "the word is "+secret+"\n")
	write(t, filepath.Join(c.work, "dot.png"), string(dot(t)))
}

func dot(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
