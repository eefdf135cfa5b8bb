// Package rest serves the admin API of openapi.yaml over tenant and store. What a
// handler has to do is little: turn the wire's types into the domain's, call the
// store, and turn the answer back. The rest holds for every operation and is done
// once: authentication, permission, the body against the document, and errors.
package rest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/identity"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// maxBodyBytes bounds a request body.
const maxBodyBytes = 1 << 20

// Starts of the addresses of every resource, and of what is the caller's own.
const (
	pathPrefix = "/api/llm-gateway/admin/"
	ownPrefix  = "/api/llm-gateway/user/"
)

// Config is what the API is served from.
type Config struct {
	Store    *store.DB        // required
	Identity *identity.Tokens // required
	People   *identity.People // required
	Fleet    Fleet            // nil: the data plane is out of reach
	Portal   fs.FS            // the built portal; nil: a page that says so
	// GatewayURL is where callers reach the gateway, for people to read; "": not known.
	GatewayURL string
	// AWSPrincipals are the identities of AWS that nodes act as, which customers' roles have
	// to trust; none: customers are not told.
	AWSPrincipals []string
	Log           *slog.Logger // nil: no log
}

// server implements the operations of the document.
type server struct {
	store    *store.DB
	identity *identity.Tokens
	people   *identity.People
	fleet    Fleet
	log      *slog.Logger
	doc      *document
	gateway  string // its URL
	streams  streams

	awsPrincipals []string
}

var _ admin.StrictServerInterface = (*server)(nil)

// New returns the handler of the admin API and of the portal. It fails when the document
// and the permission table do not name the same operations.
func New(cfg Config) (http.Handler, error) {
	if cfg.Store == nil || cfg.Identity == nil || cfg.People == nil {
		return nil, errors.New("rest: Config.Store, Config.Identity and Config.People are required")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	doc, err := theDocument()
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	cfg.Store.JudgeWith(store.Judge{Compile: compilable, Serves: serves})
	s := &server{store: cfg.Store, identity: cfg.Identity, people: cfg.People, fleet: cfg.Fleet, log: cfg.Log, doc: doc, gateway: cfg.GatewayURL, streams: streams{open: map[uuid.UUID]int{}}, awsPrincipals: cfg.AWSPrincipals}
	if s.fleet == nil {
		s.fleet = nobody{}
	}

	e := echo.New()
	e.HTTPErrorHandler = s.answerError
	e.Binder = binder{doc}
	e.Use(s.observe, s.recoverPanic, harden, s.authenticate, s.once, s.readForm)
	admin.RegisterHandlers(e, admin.NewStrictHandler(s, []admin.StrictMiddlewareFunc{readTokenRequest, withEcho}))
	if err := serveDocs(e); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	pages := newPortal(cfg.Portal)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if forPrograms(r.URL.Path) {
			e.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	}), nil
}

// observe gives a request its id and writes one line about it.
func (s *server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begun, id := time.Now(), uuid.NewString()
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		if err := next(c); err != nil {
			c.Error(err) // answers now, so that the status below is the one sent
		}
		s.log.Info("request", "method", c.Request().Method, "route", c.Path(), "status", c.Response().Status,
			"duration", time.Since(begun), "organization", principal(c.Request().Context()).OrganizationID, "request_id", id)
		return nil
	}
}

func requestID(c echo.Context) string { return c.Response().Header().Get(echo.HeaderXRequestID) }

func (s *server) recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return next(c)
	}
}

// harden bounds the body and keeps answers, which may hold a secret, out of caches
// and out of a browser's guesses.
func harden(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set(echo.HeaderXContentTypeOptions, "nosniff")
		h.Set(echo.HeaderCacheControl, "no-store")
		c.Request().Body = http.MaxBytesReader(c.Response(), c.Request().Body, maxBodyBytes)
		return next(c)
	}
}

// authenticate lets an operation through to its handler only for a principal that
// may perform it, and with parameters that can be read. A path that is no operation
// goes on to its 404 or 405.
func (s *server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		op, ok := s.doc.operation(c)
		if !ok || op.public {
			return next(c)
		}
		p, session, err := s.identify(c)
		if err != nil {
			return err
		}
		if err := p.Permit(op.id); err != nil {
			return err
		}
		if err := op.checkParams(c); err != nil {
			return err
		}
		if err := op.conditions(&p, c.Request().Header); err != nil {
			return err
		}
		ctx := context.WithValue(c.Request().Context(), principalKey{}, p)
		c.SetRequest(c.Request().WithContext(context.WithValue(ctx, sessionKey{}, session)))
		return next(c)
	}
}

// bearer returns the token of the Authorization header (RFC 6750, section 2.1), or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get(echo.HeaderAuthorization), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

type principalKey struct{}

// principal returns the caller. Without one it is the zero principal, which no
// store method permits anything.
func principal(ctx context.Context) tenant.Principal {
	p, _ := ctx.Value(principalKey{}).(tenant.Principal)
	return p
}
