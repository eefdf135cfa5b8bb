package rest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// The headers by which a caller puts a condition on a call.
const (
	headerETag           = "ETag"
	headerIfMatch        = "If-Match"
	headerIdempotencyKey = "Idempotency-Key"
	headerReplayed       = "Idempotent-Replayed"
)

// maxKeyLen is the most characters of an Idempotency-Key.
const maxKeyLen = 255

// conditions puts the caller's conditions on a call into its principal. Only those that
// the document names for the operation count.
func (op operation) conditions(p *tenant.Principal, header http.Header) error {
	for _, param := range op.params {
		value := header.Get(param.Name)
		switch {
		case param.In != "header" || value == "":
		case param.Name == headerIfMatch:
			if !entityTags(value) {
				return tenant.Invalid(headerIfMatch, `If-Match must be "*" or ETags in their quotation marks`)
			}
			p.IfMatch = value
		case param.Name == headerIdempotencyKey:
			if len(value) > maxKeyLen || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
				return tenant.Invalid(headerIdempotencyKey, "Idempotency-Key must be at most %d printable ASCII characters", maxKeyLen)
			}
			p.IdempotencyKey = value
		}
	}
	return nil
}

// entityTags reports whether text is what If-Match may be.
func entityTags(text string) bool {
	for tag := range strings.SplitSeq(text, ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/") // which matches nothing, and is well-formed
		if tag != "*" && (len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' || strings.Contains(tag[1:len(tag)-1], `"`)) {
			return false
		}
	}
	return true
}

// once lets a call with an Idempotency-Key through to its handler once, and answers the
// calls after it as the first was answered.
func (s *server) once(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		p := principal(c.Request().Context())
		if p.IdempotencyKey == "" {
			return next(c)
		}
		fingerprint, err := s.fingerprint(c.Request())
		if err != nil {
			return err
		}
		op, _ := s.doc.operation(c)
		kept, err := s.store.IdempotencyKeys().Begin(c.Request().Context(), p, fingerprint, op.secret)
		if err != nil {
			return err
		}
		if kept != nil {
			c.Response().Header().Set(headerReplayed, "true")
			if kept.ETag != "" {
				c.Response().Header().Set(headerETag, kept.ETag)
			}
			return c.Blob(kept.Status, echo.MIMEApplicationJSON, kept.Body)
		}
		copied := &copier{ResponseWriter: c.Response().Writer}
		c.Response().Writer = copied
		err = next(c)
		c.Response().Writer = copied.ResponseWriter
		s.endOnce(c, p, copied.body.Bytes(), err)
		return err
	}
}

// endOnce keeps the answer of a first call, or frees the key of one that failed. Where that
// fails itself, the change is made all the same and the key is not to be used again.
func (s *server) endOnce(c echo.Context, p tenant.Principal, answer []byte, failed error) {
	ctx := context.WithoutCancel(c.Request().Context()) // the caller may have left
	var err error
	switch op, _ := s.doc.operation(c); {
	case failed != nil:
		err = s.store.IdempotencyKeys().Forget(ctx, p)
	case !op.secret:
		err = s.store.IdempotencyKeys().Keep(ctx, p, store.KeptAnswer{Status: c.Response().Status, Body: answer, ETag: c.Response().Header().Get(headerETag)})
	}
	if err != nil {
		s.log.Error("the answer to an Idempotency-Key is not kept", "request_id", requestID(c), "error", err)
	}
}

// fingerprint tells one request from another, and leaves its body to be read.
func (s *server) fingerprint(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return s.identity.Fingerprint([]byte(r.Method+" "+r.URL.RequestURI()+"\n"), body), nil
}

// copier keeps what is answered.
type copier struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (w *copier) Write(b []byte) (int, error) {
	w.body.Write(b)
	return w.ResponseWriter.Write(b)
}
