package rest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// answers is how each kind of error is answered.
var answers = map[tenant.Kind]struct {
	status int
	word   admin.ErrorErrorType
}{
	tenant.KindInvalid:         {http.StatusBadRequest, admin.ErrorErrorTypeInvalidRequestError},
	tenant.KindUnprocessable:   {http.StatusUnprocessableEntity, admin.ErrorErrorTypeInvalidRequestError},
	tenant.KindUnauthenticated: {http.StatusUnauthorized, admin.ErrorErrorTypeAuthenticationError},
	tenant.KindForbidden:       {http.StatusForbidden, admin.ErrorErrorTypePermissionError},
	tenant.KindNotFound:        {http.StatusNotFound, admin.ErrorErrorTypeNotFoundError},
	tenant.KindConflict:        {http.StatusConflict, admin.ErrorErrorTypeConflictError},
	tenant.KindStale:           {http.StatusPreconditionFailed, admin.ErrorErrorTypeConflictError},
	tenant.KindUnavailable:     {http.StatusServiceUnavailable, admin.ErrorErrorTypeInternalError},
	tenant.KindTooMany:         {http.StatusTooManyRequests, admin.ErrorErrorTypeInvalidRequestError},
}

// answerError is the one place that turns an error into an answer. An error that
// is not the domain's is none of the caller's business: it is logged whole and
// answered with the id under which it is found.
func (s *server) answerError(err error, c echo.Context) {
	if c.Response().Committed {
		s.log.Error("answer failed after it began", "request_id", requestID(c), "error", err)
		return
	}
	status, body := s.explain(err, c)
	if status == http.StatusUnauthorized {
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, "Bearer")
	}
	if err := c.JSON(status, body); err != nil {
		s.log.Info("error answer not sent", "request_id", requestID(c), "error", err)
	}
}

func (s *server) explain(err error, c echo.Context) (int, admin.Error) {
	var (
		domain   *tenant.Error
		tooLarge *http.MaxBytesError
		routing  *echo.HTTPError
	)
	switch {
	case errors.As(err, &domain):
		answer := answers[domain.Kind]
		if domain.RetryAfter > 0 {
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(domain.RetryAfter.Seconds()))))
		}
		return answer.status, envelope(answer.word, domain.Message, domain.Code, domain.Param)
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, envelope(admin.ErrorErrorTypeInvalidRequestError, "the request body is larger than 1 MiB", "", "")
	case errors.As(err, &routing) && routing.Code == http.StatusNotFound:
		return http.StatusNotFound, envelope(admin.ErrorErrorTypeNotFoundError, "there is nothing at this path", "", "")
	case errors.As(err, &routing) && routing.Code == http.StatusMethodNotAllowed:
		return http.StatusMethodNotAllowed, envelope(admin.ErrorErrorTypeInvalidRequestError,
			fmt.Sprintf("the method %s is not allowed here", c.Request().Method), "", "")
	case errors.As(err, &routing) && routing.Code < http.StatusInternalServerError:
		return routing.Code, envelope(admin.ErrorErrorTypeInvalidRequestError, fmt.Sprint(routing.Message), "", "")
	}
	if !errors.Is(err, context.Canceled) { // the caller went away: nothing is wrong here
		s.log.Error("request failed", "method", c.Request().Method, "route", c.Path(), "request_id", requestID(c), "error", err)
	}
	return http.StatusInternalServerError, envelope(admin.ErrorErrorTypeInternalError, "internal error; request id "+requestID(c), "", "")
}

func envelope(word admin.ErrorErrorType, message, code, param string) admin.Error {
	var e admin.Error
	e.Error.Type, e.Error.Message = word, message
	if code != "" {
		e.Error.Code = &code
	}
	if param != "" {
		e.Error.Param = &param
	}
	return e
}

// isKind reports whether the error is the domain's and of the kind.
func isKind(err error, kind tenant.Kind) bool {
	var e *tenant.Error
	return errors.As(err, &e) && e.Kind == kind
}
