package rest_test

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestDocumentSaysWhatEverythingIs: an operation, a parameter and a field have a
// description, a number that callers send has a range, and what goes over the wire without
// one has an example.
func TestDocumentSaysWhatEverythingIs(t *testing.T) {
	t.Parallel()
	doc := theDocument()
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			where := method + " " + path
			if op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s has no summary, or not one tag", where)
			}
			for status, response := range op.Responses.Map() {
				if *response.Value.Description == "" {
					t.Errorf("%s: %s is not described", where, status)
				}
			}
			for _, p := range op.Parameters {
				checkParameter(t, where, p.Value)
			}
		}
		for _, p := range item.Parameters {
			checkParameter(t, path, p.Value)
		}
	}
	for name, schema := range doc.Components.Schemas {
		sent := strings.HasSuffix(name, "Create") || strings.HasSuffix(name, "Update")
		checkFields(t, name, schema.Value, sent)
	}
}

func checkParameter(t *testing.T, where string, p *openapi3.Parameter) {
	t.Helper()
	if p.Description == "" {
		t.Errorf("%s: parameter %s is not described", where, p.Name)
	}
	schema := p.Schema.Value
	closed := len(schema.Enum) > 0 || schema.Type.Is("boolean") || schema.Format == "uuid" || schema.Min != nil && schema.Max != nil
	if !closed && p.Example == nil && schema.Example == nil {
		t.Errorf("%s: parameter %s has no example", where, p.Name)
	}
}

func checkFields(t *testing.T, path string, schema *openapi3.Schema, sent bool) {
	t.Helper()
	for name, property := range schema.Properties {
		at := path + "." + name
		if !isDescribed(property) {
			t.Errorf("%s is not described", at)
		}
		if s := meant(property); sent && s.Type.Is("integer") && s.Min == nil {
			t.Errorf("%s has no range", at)
		}
		checkFields(t, at, property.Value, sent)
		if items := property.Value.Items; items != nil {
			checkFields(t, at+"[]", items.Value, sent)
		}
	}
}

// meant is the schema behind a reference that has a description or null beside it.
func meant(ref *openapi3.SchemaRef) *openapi3.Schema {
	if len(ref.Value.AllOf) == 1 {
		return ref.Value.AllOf[0].Value
	}
	return ref.Value
}

func text(ref *openapi3.SchemaRef) string { return ref.Value.Description + meant(ref).Description }

func isDescribed(ref *openapi3.SchemaRef) bool { return text(ref) != "" }
