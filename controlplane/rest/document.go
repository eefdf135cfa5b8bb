package rest

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/openapi"
)

// document is what the API description says of each operation.
type document struct {
	// operations by method and route, as echo writes a route.
	operations map[string]operation
}

type operation struct {
	id tenant.Operation
	// public operations need no access token.
	public bool
	// form operations take one in place of JSON.
	form bool
	// body is the schema of a JSON request body, or nil.
	body *openapi3.Schema
	// params are those of the path and the query.
	params []*openapi3.Parameter
	// secret operations answer with a secret, which is shown once and kept nowhere.
	secret bool
}

// theDocument is read once: it is part of the program, and nothing changes it.
var theDocument = sync.OnceValues(loadDocument)

func loadDocument() (*document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	if err != nil {
		return nil, fmt.Errorf("reading the API description: %w", err)
	}
	d := &document{operations: map[string]operation{}}
	var errs []error
	for path, item := range spec.Paths.Map() {
		for method, described := range item.Operations() {
			op := newOperation(item, described)
			if _, ok := tenant.LeastRole(op.id); !ok && !op.public {
				errs = append(errs, fmt.Errorf("operation %s is not in the permission table", op.id))
			}
			d.operations[method+" "+echoRoute(path)] = op
		}
	}
	return d, errors.Join(errs...)
}

func newOperation(item *openapi3.PathItem, described *openapi3.Operation) operation {
	op := operation{id: tenant.Operation(described.OperationID)}
	_, op.secret = described.Extensions["x-spillway-secret-answer"]
	op.public = described.Security != nil && len(*described.Security) == 0
	if described.RequestBody != nil {
		if media := described.RequestBody.Value.Content["application/json"]; media != nil {
			op.body = media.Schema.Value
		}
		op.form = described.RequestBody.Value.Content[echo.MIMEApplicationForm] != nil
	}
	for _, p := range slices.Concat(item.Parameters, described.Parameters) {
		op.params = append(op.params, p.Value)
	}
	return op
}

// echoRoute writes /a/{id} as /a/:id.
func echoRoute(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// pathParam is a part of the path as it is meant. The router leaves the escapes of a path
// that could be written otherwise.
func pathParam(c echo.Context, name string) string {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value
	}
	if meant, err := url.PathUnescape(value); err == nil {
		return meant
	}
	return value
}

// checkParams refuses a parameter that the generated code could not read, in our
// own words.
func (op operation) checkParams(c echo.Context) error {
	for _, p := range op.params {
		value := pathParam(c, p.Name)
		if p.In == openapi3.ParameterInQuery {
			value = c.QueryParam(p.Name)
			if p.Required && value == "" {
				return &tenant.Error{Kind: tenant.KindInvalid, Code: "missing_field", Param: p.Name, Message: "missing field `" + p.Name + "`"}
			}
			if !c.QueryParams().Has(p.Name) {
				continue
			}
		}
		switch schema := p.Schema.Value; {
		case schema.Format == "uuid":
			if _, err := uuid.Parse(value); err != nil {
				return tenant.Invalid(p.Name, "%s: UUID parsing failed", p.Name)
			}
		case schema.Type.Is(openapi3.TypeInteger):
			if _, err := strconv.Atoi(value); err != nil {
				return tenant.Invalid(p.Name, "%s: invalid value, expected an integer", p.Name)
			}
		case schema.Type.Is(openapi3.TypeBoolean):
			if value != "true" && value != "false" {
				return tenant.Invalid(p.Name, "%s: invalid value, expected true or false", p.Name)
			}
		case p.In != openapi3.ParameterInHeader && !storableText(value):
			return tenant.Invalid(p.Name, "%s: invalid text: not UTF-8, or with the character U+0000", p.Name)
		}
	}
	return nil
}

func (d *document) operation(c echo.Context) (operation, bool) {
	op, ok := d.operations[c.Request().Method+" "+c.Path()]
	return op, ok
}
