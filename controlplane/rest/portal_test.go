package rest

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const appScript = "console.log('a script that is long enough to be worth packing, packing, packing, packing, packing')"

func builtPortal() *portal {
	return newPortal(fstest.MapFS{
		"index.html":         {Data: []byte("<!doctype html><title>the portal</title>")},
		"scheme.js":          {Data: []byte("void 0")},
		"assets/app-1a2b.js": {Data: []byte(appScript)},
	})
}

func visit(h http.Handler, method, path string, header map[string]string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestPortalFiles(t *testing.T) {
	t.Parallel()
	h := builtPortal()
	for _, c := range []struct {
		path           string
		status         int
		media, caching string
	}{
		{"/", 200, "text/html; charset=utf-8", "no-cache"},
		{"/routes", 200, "text/html; charset=utf-8", "no-cache"},
		{"/settings/models", 200, "text/html; charset=utf-8", "no-cache"},
		{"/../../etc/passwd", 200, "text/html; charset=utf-8", "no-cache"},
		{"/scheme.js", 200, "text/javascript; charset=utf-8", "no-cache"},
		{"/assets/app-1a2b.js", 200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"/assets/app-old.js", 404, "text/plain; charset=utf-8", "no-cache"},
	} {
		r := visit(h, http.MethodGet, c.path, nil)
		if r.StatusCode != c.status || r.Header.Get("Content-Type") != c.media || r.Header.Get("Cache-Control") != c.caching {
			t.Errorf("%s: %d, %q, %q", c.path, r.StatusCode, r.Header.Get("Content-Type"), r.Header.Get("Cache-Control"))
		}
	}
	if r := visit(h, http.MethodPost, "/routes", nil); r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, allowed is %q", r.StatusCode, r.Header.Get("Allow"))
	}
}

func TestPortalIsPackedAndNotSentTwice(t *testing.T) {
	t.Parallel()
	h := builtPortal()
	r := visit(h, http.MethodGet, "/assets/app-1a2b.js", map[string]string{"Accept-Encoding": "gzip, br"})
	if r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("headers: %v", r.Header)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != appScript {
		t.Errorf("got %q, %v", got, err)
	}
	// Who cannot unpack gets it plain, and what packing makes longer is plain for all.
	for path, coding := range map[string]string{"/assets/app-1a2b.js": "", "/scheme.js": "gzip"} {
		if got := visit(h, http.MethodGet, path, map[string]string{"Accept-Encoding": coding}).Header.Get("Content-Encoding"); got != "" {
			t.Errorf("%s for who takes %q: %q", path, coding, got)
		}
	}
	again := visit(h, http.MethodGet, "/assets/app-1a2b.js", map[string]string{"If-None-Match": r.Header.Get("ETag")})
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("asked again: %d", again.StatusCode)
	}
	head := visit(h, http.MethodHead, "/", nil)
	if body, _ := io.ReadAll(head.Body); head.StatusCode != 200 || head.Header.Get("Content-Length") == "" || len(body) > 0 {
		t.Errorf("HEAD: %d, %v, %q", head.StatusCode, head.Header, body)
	}
}

// No page runs a script that did not come with the portal, and none stands in a frame.
func TestPortalPolicy(t *testing.T) {
	t.Parallel()
	h := visit(builtPortal(), http.MethodGet, "/", nil).Header
	policy := map[string]string{}
	for part := range strings.SplitSeq(h.Get("Content-Security-Policy"), "; ") {
		name, value, _ := strings.Cut(part, " ")
		policy[name] = value
	}
	want := map[string]string{
		"default-src": "'none'", "script-src": "'self'", "style-src": "'self' 'unsafe-inline'", "font-src": "'self'", "img-src": "'self' data:", "connect-src": "'self'",
		"manifest-src": "'self'", "base-uri": "'none'", "form-action": "'self'", "frame-ancestors": "'none'",
	}
	if diff := cmp.Diff(want, policy); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestPortalNotBuilt(t *testing.T) {
	t.Parallel()
	r := visit(newPortal(nil), http.MethodGet, "/routes", nil)
	body, _ := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "make build") {
		t.Errorf("%d: %s", r.StatusCode, body)
	}
}

// What programs ask for is never answered with a page.
func TestPortalIsNoAnswerToPrograms(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/api": true, "/api/llm-gateway/admin/nothing": true, "/auth/nothing": true, "/oauth/token": true, "/v1/models": true, "/docs/x": true,
		"/healthz": true, "/readyz": true, "/metrics": true,
		"/": false, "/apis": false, "/v1x": false, "/routes": false, "/models": false,
	} {
		if got := forPrograms(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
