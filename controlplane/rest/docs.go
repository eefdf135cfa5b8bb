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

func newStatic(media, policy string, content []byte) (static, error) {
	sum := sha256.Sum256(content)
	s := static{media: media, policy: policy, etag: hex.EncodeToString(sum[:12]), plain: content}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return s, err
	}
	if _, err := w.Write(content); err != nil {
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
func serveDocs(e *echo.Echo, spec *openapi3.T) error {
	page, err := reference.Render(spec)
	if err != nil {
		return fmt.Errorf("rendering the API description: %w", err)
	}
	asJSON, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("rendering the API description: %w", err)
	}
	const nothing = "default-src 'none'; frame-ancestors 'none'"
	for _, a := range []struct {
		paths         []string
		media, policy string
		content       []byte
	}{
		{[]string{"/docs", "/docs/"}, "text/html; charset=utf-8", page.Policy, page.HTML},
		{[]string{"/docs/openapi.yaml"}, "application/yaml", nothing, openapi.Document},
		{[]string{"/docs/openapi.json"}, "application/json", nothing, asJSON},
	} {
		s, err := newStatic(a.media, a.policy, a.content)
		if err != nil {
			return err
		}
		for _, path := range a.paths {
			e.GET(path, s.serve)
			e.HEAD(path, s.serve)
		}
	}
	return nil
}
