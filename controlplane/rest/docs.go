package rest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"github.com/spillway-gateway/spillway/controlplane/rest/reference"
	"github.com/spillway-gateway/spillway/openapi"
)

// static is an answer that is the same for everybody: the document or its page.
type static struct {
	media, policy, etag string
	plain, packed       []byte
}

// pack fills in what follows from the content.
func (s static) pack() (static, error) {
	sum := sha256.Sum256(s.plain)
	s.etag = hex.EncodeToString(sum[:12])
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return s, err
	}
	if _, err := w.Write(s.plain); err != nil {
		return s, err
	}
	err = w.Close()
	s.packed = out.Bytes()
	return s, err
}

// serve answers anybody: the page holds nothing that the source of the product does not.
func (s static) serve(c echo.Context) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, s.media)
	h.Set(echo.HeaderCacheControl, "no-cache") // a newer version must show at once
	h.Set(echo.HeaderVary, echo.HeaderAcceptEncoding)
	h.Set(echo.HeaderContentSecurityPolicy, s.policy)
	h.Set(echo.HeaderReferrerPolicy, "no-referrer")
	content, suffix := s.plain, ""
	if strings.Contains(c.Request().Header.Get(echo.HeaderAcceptEncoding), "gzip") {
		h.Set(echo.HeaderContentEncoding, "gzip")
		content, suffix = s.packed, "-gzip"
	}
	h.Set(headerETag, `"`+s.etag+suffix+`"`)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(content))
	return nil
}

// serveDocs puts the document and its page under /docs.
func serveDocs(e *echo.Echo) error {
	answers, err := docs()
	for path, s := range answers {
		e.GET(path, s.serve)
		e.HEAD(path, s.serve)
	}
	return err
}

// docs are the answers by path. They take a tenth of a second to make, and are the same for
// every server of a process.
var docs = sync.OnceValues(func() (map[string]static, error) {
	spec, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	if err != nil {
		return nil, fmt.Errorf("reading the API description: %w", err)
	}
	page, err := reference.Render(spec)
	if err != nil {
		return nil, fmt.Errorf("rendering the API description: %w", err)
	}
	asJSON, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("rendering the API description: %w", err)
	}
	const nothing = "default-src 'none'; frame-ancestors 'none'"
	out := map[string]static{}
	for path, a := range map[string]static{
		"/docs":              {media: "text/html; charset=utf-8", policy: page.Policy, plain: page.HTML},
		"/docs/openapi.yaml": {media: "application/yaml", policy: nothing, plain: openapi.Document},
		"/docs/openapi.json": {media: "application/json", policy: nothing, plain: asJSON},
	} {
		if out[path], err = a.pack(); err != nil {
			return nil, err
		}
	}
	out["/docs/"] = out["/docs"]
	return out, nil
})
