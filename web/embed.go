// Package web holds the built portal. Its source stands beside this file; `make build`
// builds it into dist/app, which is not checked in, so a build without it has no portal.
package web

import (
	"embed"
	"io/fs"
)

// The folder is never empty: it has a README of its own, or nothing could be embedded.
//
//go:embed all:dist
var dist embed.FS

// Files returns the built portal, with index.html at its root; false: it was not built.
func Files() (fs.FS, bool) {
	app, err := fs.Sub(dist, "dist/app")
	if err != nil {
		return nil, false
	}
	if _, err := fs.Stat(app, "index.html"); err != nil {
		return nil, false
	}
	return app, true
}
