package rest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// portalPolicy lets the portal's pages load what comes with them and call this host, and
// nothing else: no script that stands in a page, no frame around it. Styles may be inline,
// since its components set some; they can call nobody.
const portalPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; " +
	"img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Paths that belong to programs. An address below one that is nothing is a 404 in the words
// of the API: a page in its place would look like an answer.
var programPaths = []string{"/api", "/auth", "/oauth", "/v1", "/docs", "/healthz", "/readyz", "/metrics"}

// forPrograms reports whether a path is one of the API's and not of the portal's pages.
func forPrograms(path string) bool {
	for _, p := range programPaths {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// notBuilt is the page of a binary without the portal.
const notBuilt = `<!doctype html><html lang="en"><title>Spillway</title><h1>The portal was not built</h1>
<p>This binary has the admin API and no portal: run <code>make build</code>, which needs Node.js 20 or later with npm.
`

// portal serves the pages of the portal: a file where there is one of the path, and else
// index.html, since its pages have addresses of their own.
type portal struct {
	files fs.FS // nil: not built

	mu     sync.Mutex
	loaded map[string]*asset
}

// asset is a file as it is sent.
type asset struct {
	plain, packed []byte // packed is nil where gzip makes it no smaller
	etag, media   string
}

func newPortal(files fs.FS) *portal { return &portal{files: files, loaded: map[string]*asset{}} }

func (p *portal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", portalPolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache") // asks each time, and is told by ETag that nothing is new
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	if p.files == nil {
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(notBuilt))
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	a := p.asset(name)
	switch {
	case a != nil && strings.HasPrefix(name, "assets/"):
		h.Set("Cache-Control", "public, max-age=31536000, immutable") // its name has a hash of what is in it
	case a == nil && strings.HasPrefix(name, "assets/"):
		// A page in place of a script of an older version would be a riddle.
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	case a == nil:
		a = p.asset("index.html")
	}
	a.serve(w, r)
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.media)
	h.Set("ETag", a.etag)
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), a.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.plain
	if a.packed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.packed
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body)
	}
}

// asset returns a file, or nil where there is none of the name. Each is read and packed
// when it is first asked for.
func (p *portal) asset(name string) *asset {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a, ok := p.loaded[name]; ok {
		return a
	}
	if !fs.ValidPath(name) || name == "." {
		return nil
	}
	plain, err := fs.ReadFile(p.files, name)
	if err != nil {
		return nil // not kept: anybody may ask for any number of names
	}
	sum := sha256.Sum256(plain)
	a := &asset{plain: plain, etag: `W/"` + hex.EncodeToString(sum[:8]) + `"`, media: mediaType(name)}
	if packed := pack(plain); len(packed) < len(plain) {
		a.packed = packed
	}
	p.loaded[name] = a
	return a
}

// mediaType is what a file is by its name. Those of the portal are written out: a machine's own table
// may lack them.
func mediaType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	default:
		if media := mime.TypeByExtension(ext); media != "" {
			return media
		}
		return "application/octet-stream"
	}
}

func pack(plain []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
	_, _ = z.Write(plain)                                 // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
