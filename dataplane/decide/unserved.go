package decide

import "github.com/spillway-gateway/spillway/api/node"

// Unserved says which field of a provider keeps every node from asking it for a model
// through any endpoint, whatever its health and its credential; empty: none does. It is
// what Compile makes NotSupported, before it is stored.
func Unserved(p *node.Provider, upstreamModel string) (field string) {
	base, err := baseOf(p)
	if err != nil {
		return "base_url"
	}
	switch auth := authOf(p); {
	case auth == NoAuth:
		return "auth_type"
	case auth.Signs() && awsRegionOf(p, base) == "":
		return "settings.region"
	}
	takes, _, named := endpointsOfModel(p, base, upstreamModel)
	if !named {
		takes = endpointsOf(p, base)
	}
	if takes == (Endpoints{}) {
		return "settings"
	}
	return ""
}
