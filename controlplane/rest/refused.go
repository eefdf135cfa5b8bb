package rest

import (
	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// refused refuses a model of a provider that no node could ask for, with the nodes' own
// code: saved, it would be skipped on every request, and nobody would be told.
func refused(p *node.Provider, upstreamModel string) error {
	if field := decide.Unserved(p, upstreamModel); field != "" {
		return tenant.Unservable(field, p.Family, upstreamModel)
	}
	return nil
}
