package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// binder reads a request body as the document describes it. What does not fit is
// refused here, with the place and the reason. Whether a value is allowed (ranges,
// enumerations) is left to package tenant, whose messages are part of the API.
type binder struct{ doc *document }

// Bind implements echo.Binder. The generated server calls it for JSON bodies only.
func (b binder) Bind(into any, c echo.Context) error {
	op, ok := b.doc.operation(c)
	if !ok || op.body == nil {
		return fmt.Errorf("%s %s has no JSON body in the document", c.Request().Method, c.Path())
	}
	data, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return err
	}
	value, err := parseJSON(data)
	if err != nil {
		return err
	}
	if err := fits(op.body, value, ""); err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return misfit(jsonPath(err), "%s", "does not fit its type")
	}
	return nil
}

// jsonPath is the field that encoding/json could not store: what fits the document
// but not the generated type, such as a number of more than 64 bits.
func jsonPath(err error) string {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return mismatch.Field
	}
	return "body"
}

// fits checks a value against its schema: type, required and unknown fields, and
// the formats that the generated types parse.
func fits(schema *openapi3.Schema, value any, path string) error {
	nullable := schema.Nullable
	if len(schema.AllOf) == 1 { // how a reference gets a description or null beside it
		schema = schema.AllOf[0].Value
	}
	if value == nil && (nullable || schema.Type == nil) {
		return nil
	}
	switch {
	case schema.Type == nil:
		return nil
	case schema.Type.Is(openapi3.TypeObject):
		return fitsObject(schema, value, path)
	case schema.Type.Is(openapi3.TypeArray):
		return fitsArray(schema, value, path)
	case schema.Type.Is(openapi3.TypeString):
		return fitsString(schema, value, path)
	case schema.Type.Is(openapi3.TypeInteger):
		return fitsInteger(schema, value, path)
	case schema.Type.Is(openapi3.TypeBoolean):
		if _, ok := value.(bool); !ok {
			return wrongType(path, value, "a boolean")
		}
		return nil
	case schema.Type.Is(openapi3.TypeNumber):
		if _, ok := value.(json.Number); !ok {
			return wrongType(path, value, "a number")
		}
		return nil
	}
	return fmt.Errorf("the document has a type that is not checked: %v at %q", schema.Type, path)
}

func fitsObject(schema *openapi3.Schema, value any, path string) error {
	object, ok := value.(jsonObject)
	if !ok {
		return wrongType(path, value, "an object")
	}
	if open := schema.AdditionalProperties.Has; open != nil && *open {
		return nil
	}
	if values := schema.AdditionalProperties.Schema; values != nil {
		return fitsMap(values.Value, object, path)
	}
	for _, m := range object {
		if schema.Properties[m.name] == nil {
			return &tenant.Error{Kind: tenant.KindInvalid, Code: "unknown_field", Param: join(path, m.name),
				Message: within(path, "unknown field `"+m.name+"`")}
		}
	}
	for _, name := range schema.Required {
		if !slices.ContainsFunc(object, func(m jsonMember) bool { return m.name == name }) {
			return &tenant.Error{Kind: tenant.KindUnprocessable, Code: "missing_field", Param: join(path, name),
				Message: within(path, "missing field `"+name+"`")}
		}
	}
	for _, m := range object {
		if m.value == nil && !slices.Contains(schema.Required, m.name) {
			continue // null in an optional field reads as absent, or clears it
		}
		if err := fits(schema.Properties[m.name].Value, m.value, join(path, m.name)); err != nil {
			return err
		}
	}
	return nil
}

// fitsMap checks an object whose names are the caller's own; the document has none
// that names some of them.
func fitsMap(values *openapi3.Schema, object jsonObject, path string) error {
	for _, m := range object {
		if err := fits(values, m.value, join(path, m.name)); err != nil {
			return err
		}
	}
	return nil
}

func fitsArray(schema *openapi3.Schema, value any, path string) error {
	array, ok := value.([]any)
	if !ok {
		return wrongType(path, value, "an array")
	}
	for i, item := range array {
		if err := fits(schema.Items.Value, item, path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	return nil
}

func fitsString(schema *openapi3.Schema, value any, path string) error {
	text, ok := value.(string)
	if !ok {
		return wrongType(path, value, "a string")
	}
	switch schema.Format {
	case "uuid":
		if new(uuid.UUID).UnmarshalText([]byte(text)) != nil {
			return misfit(path, "UUID parsing failed")
		}
	case "date-time":
		if new(time.Time).UnmarshalText([]byte(text)) != nil {
			return misfit(path, "invalid time: expected RFC 3339, such as 2027-01-31T12:00:00Z")
		}
	}
	return nil
}

func fitsInteger(schema *openapi3.Schema, value any, path string) error {
	number, ok := value.(json.Number)
	if !ok {
		return wrongType(path, value, "an integer")
	}
	bits := 64
	if schema.Format == "int32" {
		bits = 32
	}
	_, err := strconv.ParseInt(number.String(), 10, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return misfit(path, "invalid value: %s does not fit an integer of %d bits", number, bits)
	case err != nil:
		return misfit(path, "invalid type: number %s, expected an integer", number)
	}
	return nil
}

func wrongType(path string, value any, want string) error {
	return misfit(path, "invalid type: %s, expected %s", typeName(value), want)
}

// misfit is a value that does not fit its type, as "path: reason".
func misfit(path, format string, args ...any) error {
	return &tenant.Error{Kind: tenant.KindUnprocessable, Code: "invalid_type", Param: path, Message: within(path, fmt.Sprintf(format, args...))}
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func within(path, message string) string {
	if path == "" {
		return message
	}
	return path + ": " + message
}
