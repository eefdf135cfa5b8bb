package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"github.com/oapi-codegen/nullable"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/identity"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// The cookie of a session. A browser takes one of the first name over https only, and only
// from the host itself, so that no neighbour can plant one (RFC 6265bis, section 4.1.3.2).
const (
	secureCookie = "__Host-spillway-session"
	plainCookie  = "spillway-session"
)

// headerSameSite shows that a request comes from this site: another one cannot add it
// without asking, and is not answered.
const headerSameSite = "X-Spillway-Request"

// overTLS reports whether the browser sees https, as the proxy before this says. Whoever
// lies about it chooses the name of their own cookie and nothing else.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// sessionToken is that of the request's cookie, or empty.
func sessionToken(r *http.Request) string {
	name := plainCookie
	if overTLS(r) {
		name = secureCookie
	}
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// sessionCookie is the header that sets the cookie, or without a token takes it away.
func sessionCookie(r *http.Request, token string, expires time.Time) string {
	cookie := &http.Cookie{Name: plainCookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Expires: expires}
	if overTLS(r) {
		cookie.Name, cookie.Secure = secureCookie, true
	}
	if token == "" {
		cookie.MaxAge, cookie.Expires = -1, time.Time{}
	}
	return cookie.String()
}

// crossOrigin is what browsers say of where a request comes from.
var crossOrigin = http.NewCrossOriginProtection()

// fromThisSite refuses a request that another site may have made a browser send: a cookie
// goes along whoever asks. It has to be shown, so that a browser that says nothing of its
// origin is refused too.
func fromThisSite(r *http.Request) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return nil
	}
	shown := r.Header.Get(headerSameSite) != "" || r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
	if !shown || crossOrigin.Check(r) != nil {
		return tenant.CrossSite()
	}
	return nil
}

// identify returns who calls: by a bearer token, which goes first, or by a session. The
// cookie of a session that has ended is taken away.
func (s *server) identify(c echo.Context) (tenant.Principal, tenant.Session, error) {
	r := c.Request()
	token := sessionToken(r)
	if token == "" || r.Header.Get(echo.HeaderAuthorization) != "" {
		p, err := s.identity.Verify(r.Context(), bearer(r))
		return p, tenant.Session{}, err
	}
	p, session, err := s.people.Resume(r.Context(), token)
	if err != nil {
		if isKind(err, tenant.KindUnauthenticated) {
			c.Response().Header().Set(echo.HeaderSetCookie, sessionCookie(r, "", time.Time{}))
		}
		return p, session, err
	}
	return p, session, fromThisSite(r)
}

type (
	sessionKey struct{}
	echoKey    struct{}
)

// withEcho hands an operation what the generated code hides from it: the connection that
// the request came over, and the cookies of the answer.
func withEcho(next admin.StrictHandlerFunc, _ string) admin.StrictHandlerFunc {
	return func(c echo.Context, request any) (any, error) {
		c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), echoKey{}, c)))
		return next(c, request)
	}
}

func echoOf(ctx context.Context) echo.Context { return ctx.Value(echoKey{}).(echo.Context) }

func (s *server) Login(ctx context.Context, r admin.LoginRequestObject) (admin.LoginResponseObject, error) {
	c := echoOf(ctx)
	if crossOrigin.Check(c.Request()) != nil {
		return nil, tenant.CrossSite() // or another site could sign its visitors in as somebody else
	}
	signed, err := s.people.SignIn(ctx, identity.SignIn{
		Email: r.Body.Email, Password: tenant.NewSecret(r.Body.Password), Organization: valueOr(r.Body.Organization, ""),
		Source: c.Request().RemoteAddr, Client: c.Request().UserAgent(),
	})
	if err != nil {
		if isKind(err, tenant.KindUnauthenticated) || isKind(err, tenant.KindTooMany) {
			s.log.Info("sign-in refused", "source", c.Request().RemoteAddr, "request_id", requestID(c))
		}
		return nil, err
	}
	p := signed.User.Principal(signed.Session.ID)
	s.log.Info("signed in", "user_id", p.UserID, "organization", p.OrganizationID, "session_id", p.SessionID, "request_id", requestID(c))
	out, err := s.showCurrent(ctx, p, signed.Session)
	if err != nil {
		return nil, err
	}
	cookie := sessionCookie(c.Request(), signed.Token.Reveal(), signed.Session.ExpiresAt)
	return admin.Login200JSONResponse{Body: out, Headers: admin.Login200ResponseHeaders{SetCookie: &cookie}}, nil
}

func (s *server) Logout(ctx context.Context, _ admin.LogoutRequestObject) (admin.LogoutResponseObject, error) {
	if err := s.store.Sessions().SignOut(ctx, principal(ctx)); err != nil {
		return nil, err
	}
	var out admin.Logout200JSONResponse
	out.Body.Ok = true
	out.Headers.SetCookie = new(sessionCookie(echoOf(ctx).Request(), "", time.Time{}))
	return out, nil
}

func (s *server) GetSession(ctx context.Context, _ admin.GetSessionRequestObject) (admin.GetSessionResponseObject, error) {
	session, _ := ctx.Value(sessionKey{}).(tenant.Session)
	out, err := s.showCurrent(ctx, principal(ctx), session)
	if err != nil {
		return nil, err
	}
	return admin.GetSession200JSONResponse(out), nil
}

func (s *server) showCurrent(ctx context.Context, p tenant.Principal, session tenant.Session) (admin.CurrentSession, error) {
	name, err := s.store.OrganizationName(ctx, p)
	out := admin.CurrentSession{Kind: admin.CurrentSessionKindServiceAccount, Id: p.Subject(), Name: p.Name, Role: admin.CurrentSessionRole(p.Role),
		Email: orNull(p.Actor().Email), ExpiresAt: nullable.NewNullNullable[time.Time](), GatewayUrl: nullable.NewNullNullable[string]()}
	if s.gateway != "" {
		out.GatewayUrl.Set(s.gateway)
	}
	out.Organization.Id, out.Organization.Name = p.OrganizationID, name
	if p.UserID != uuid.Nil {
		out.Kind = admin.CurrentSessionKindUser
	}
	if session.ID != uuid.Nil {
		out.ExpiresAt = timeOrNull(&session.ExpiresAt)
	}
	return out, err
}
