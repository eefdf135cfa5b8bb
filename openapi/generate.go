// Package openapi holds the one description of the admin API. The types, the
// server and the client of api/admin are generated from it, and the control
// plane checks every request body against it.
package openapi

import _ "embed"

//go:generate go tool oapi-codegen -config types.yaml openapi.yaml
//go:generate go tool oapi-codegen -config server.yaml openapi.yaml
//go:generate go tool oapi-codegen -config client.yaml openapi.yaml

// Document is openapi.yaml.
//
//go:embed openapi.yaml
var Document []byte
