package rest

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/identity"
)

// readForm parses the form of a request for a token, so that a bad one is answered
// in the words of RFC 6749, section 5.2, instead of the envelope.
func (s *server) readForm(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if op, ok := s.doc.operation(c); !ok || !op.form {
			return next(c)
		}
		if media, _, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType)); err != nil || media != echo.MIMEApplicationForm {
			return refuse(admin.TokenErrorErrorInvalidRequest, "the body must be "+echo.MIMEApplicationForm).VisitCreateTokenResponse(c.Response())
		}
		if err := c.Request().ParseForm(); err != nil {
			return refuse(admin.TokenErrorErrorInvalidRequest, "the form cannot be read").VisitCreateTokenResponse(c.Response())
		}
		return next(c)
	}
}

// readTokenRequest reads the request for a token itself: the generated code would
// take credentials from the address too, and cannot see HTTP Basic.
func readTokenRequest(next admin.StrictHandlerFunc, _ string) admin.StrictHandlerFunc {
	return func(c echo.Context, request any) (any, error) {
		r, ok := request.(admin.CreateTokenRequestObject)
		if !ok {
			return next(c, request)
		}
		body, refused := tokenRequest(c.Request())
		if refused != "" {
			return refuse(admin.TokenErrorErrorInvalidRequest, refused), nil
		}
		r.Body = &body
		response, err := next(c, r)
		if unauthorized, ok := response.(admin.CreateToken401JSONResponse); ok && c.Request().Header.Get(echo.HeaderAuthorization) != "" {
			// RFC 6749, section 5.2: answer in the scheme that the client used.
			unauthorized.Headers.WWWAuthenticate = new("Basic")
			return unauthorized, err
		}
		return response, err
	}
}

// tokenRequest returns the form with the credentials of HTTP Basic in it, or why
// it is refused (RFC 6749, sections 2.3.1 and 3.2).
func tokenRequest(r *http.Request) (body admin.TokenRequest, refused string) {
	if r.URL.RawQuery != "" {
		return body, "parameters belong in the body, not in the address"
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return body, "parameter given twice: " + name
		}
	}
	body.GrantType = r.PostForm.Get("grant_type")
	if body.GrantType == "" {
		return body, "grant_type is missing"
	}
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if basicID, basicSecret, ok := r.BasicAuth(); ok {
		if secret != "" || id != "" && id != basicID {
			return body, "client credentials given twice"
		}
		var errID, errSecret error
		id, errID = url.QueryUnescape(basicID)
		secret, errSecret = url.QueryUnescape(basicSecret)
		if errors.Join(errID, errSecret) != nil {
			return body, "client credentials are not form-encoded"
		}
	}
	body.ClientId, body.ClientSecret = &id, &secret
	return body, ""
}

func (s *server) CreateToken(ctx context.Context, r admin.CreateTokenRequestObject) (admin.CreateTokenResponseObject, error) {
	if r.Body.GrantType != "client_credentials" {
		return refuse(admin.TokenErrorErrorUnsupportedGrantType, ""), nil
	}
	token, err := s.identity.Issue(ctx, *r.Body.ClientId, *r.Body.ClientSecret)
	if errors.Is(err, identity.ErrInvalidClient) {
		var refused admin.CreateToken401JSONResponse
		refused.Body.Error = admin.TokenErrorErrorInvalidClient
		refused.Headers.CacheControl = new("no-store")
		return refused, nil
	}
	if err != nil {
		return nil, err
	}
	return admin.CreateToken200JSONResponse{
		Body: admin.Token{AccessToken: token.Access.Reveal(), TokenType: admin.TokenTokenTypeBearer,
			ExpiresIn: int(token.ExpiresIn.Seconds())},
		Headers: admin.CreateToken200ResponseHeaders{CacheControl: new("no-store")},
	}, nil
}

// refuse is an error answer of RFC 6749, section 5.2.
func refuse(word admin.TokenErrorError, description string) admin.CreateToken400JSONResponse {
	refused := admin.TokenRefusedJSONResponse{Body: admin.TokenError{Error: word}}
	if description != "" {
		refused.Body.ErrorDescription = &description
	}
	refused.Headers.CacheControl = new("no-store")
	return admin.CreateToken400JSONResponse{TokenRefusedJSONResponse: refused}
}
