package rest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/openapi"
)

// stranger reads a path without credentials.
func (a *api) stranger(t *testing.T, path string, header map[string]string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: res.StatusCode, header: res.Header, body: raw}
}

// The page shows every operation and every schema, and each of its links leads somewhere.
func TestDocsPage(t *testing.T) {
	t.Parallel()
	a := setup(t)
	page := a.stranger(t, "/docs", nil)
	page.want(t, http.StatusOK)
	ids := map[string]bool{}
	for _, found := range regexp.MustCompile(` id="([^"]+)"`).FindAllSubmatch(page.body, -1) {
		if ids[string(found[1])] {
			t.Errorf("the id %s is there twice", found[1])
		}
		ids[string(found[1])] = true
	}
	for _, found := range regexp.MustCompile(`href="([^"]+)"`).FindAllSubmatch(page.body, -1) {
		switch target := string(found[1]); {
		case strings.HasPrefix(target, "#"):
			if !ids[target[1:]] {
				t.Errorf("nothing is at %s", target)
			}
		case a.stranger(t, target, nil).status != http.StatusOK:
			t.Errorf("the link %s leads nowhere", target)
		}
	}
	for _, found := range regexp.MustCompile(`operationId: (\w+)`).FindAllSubmatch(openapi.Document, -1) {
		if !ids[string(found[1])] {
			t.Errorf("the operation %s is not on the page", found[1])
		}
	}
	for _, found := range regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllSubmatch(openapi.Document, -1) {
		if !ids["schema-"+string(found[1])] {
			t.Errorf("the schema %s is not on the page", found[1])
		}
	}
}

// Whatever is at fault in the page, a browser runs nothing but what came with it, and loads
// nothing.
func TestDocsArePublicAndStrict(t *testing.T) {
	t.Parallel()
	a := setup(t)
	for path, media := range map[string]string{"/docs": "text/html; charset=utf-8", "/docs/": "text/html; charset=utf-8", "/docs/openapi.yaml": "application/yaml", "/docs/openapi.json": "application/json"} {
		got := a.stranger(t, path, nil)
		got.want(t, http.StatusOK)
		policy := got.header.Get("Content-Security-Policy")
		if got.header.Get("Content-Type") != media || !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, got.header)
		}
		if strings.Contains(string(got.body), a.clientID) {
			t.Errorf("%s names a client", path)
		}
		again := a.stranger(t, path, map[string]string{"If-None-Match": got.header.Get("ETag")})
		again.want(t, http.StatusNotModified)
		packed := a.stranger(t, path, map[string]string{"Accept-Encoding": "gzip"})
		if packed.header.Get("Content-Encoding") != "gzip" || len(packed.body)*3 > len(got.body) || packed.header.Get("ETag") == got.header.Get("ETag") {
			t.Errorf("%s: %d bytes packed of %d, headers %v", path, len(packed.body), len(got.body), packed.header)
		}
		r, err := gzip.NewReader(bytes.NewReader(packed.body))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(r); err != nil || !bytes.Equal(plain, got.body) {
			t.Errorf("%s: packed it is something else, %v", path, err)
		}
		// A new version shows at once, and no cache gives one form for the other.
		if got.header.Get("Cache-Control") != "no-cache" || got.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: headers %v", path, got.header)
		}
		head, err := http.Head(a.url + path)
		if err != nil {
			t.Fatal(err)
		}
		if _ = head.Body.Close(); head.StatusCode != http.StatusOK || head.Header.Get("Content-Type") != media {
			t.Errorf("HEAD %s: %d, headers %v", path, head.StatusCode, head.Header)
		}
	}
	if got := a.stranger(t, "/docs/openapi.yaml", nil); !bytes.Equal(got.body, openapi.Document) {
		t.Error("openapi.yaml is not the document")
	}
	var doc struct {
		OpenAPI string                    `json:"openapi"`
		Paths   map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(a.stranger(t, "/docs/openapi.json", nil).body, &doc); err != nil || doc.OpenAPI != "3.0.3" || len(doc.Paths) < 50 {
		t.Errorf("openapi.json: %v, %d paths", err, len(doc.Paths))
	}
	a.stranger(t, "/docs/other", nil).want(t, http.StatusNotFound)
}
