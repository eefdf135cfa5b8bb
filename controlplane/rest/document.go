package rest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
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
	// body is the schema of a JSON request body, or nil.
	body *openapi3.Schema
	// uuidParams are the path parameters that are UUIDs.
	uuidParams []string
}

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
	op.public = described.Security != nil && len(*described.Security) == 0
	if described.RequestBody != nil {
		if media := described.RequestBody.Value.Content["application/json"]; media != nil {
			op.body = media.Schema.Value
		}
	}
	for _, p := range append(item.Parameters, described.Parameters...) {
		if p.Value.In == openapi3.ParameterInPath && p.Value.Schema.Value.Format == "uuid" {
			op.uuidParams = append(op.uuidParams, p.Value.Name)
		}
	}
	return op
}

// echoRoute writes /a/{id} as /a/:id.
func echoRoute(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

func (d *document) operation(c echo.Context) (operation, bool) {
	op, ok := d.operations[c.Request().Method+" "+c.Path()]
	return op, ok
}
