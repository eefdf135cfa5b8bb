package decide

import "github.com/spillway-gateway/spillway/dataplane/llm"

// embeds is the upstream model that a route's vectors are of: that of the first target
// which the configuration lets serve them, and the caller may use. No failure and no cooldown changes it, since
// vectors of two models cannot be compared, and a caller's index that has both is spoiled
// without anyone noticing. A target of another model is asked only where its own row says
// so (AnyVectors): it is the one that is entered, so a target that is added to a route is
// never asked unless whoever added it said so. Empty where no target serves embeddings.
func (r *Route) embeds(access *Access) string {
	for _, t := range r.Targets {
		if t.Unservable == "" && t.Endpoint(llm.Embeddings) != nil && access.allows(r, t) {
			return t.UpstreamModel
		}
	}
	return ""
}
