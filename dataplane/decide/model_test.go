package decide

import (
	"testing"

	"github.com/spillway-gateway/spillway/api/node"
)

// What a host is known not to take, or to take beyond its dialect, is told to the encoder.
func TestModelKnowsTheHost(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]struct{ caches, noStreamOptions bool }{
		"https://openrouter.ai/api/v1": {caches: true}, "https://api.cohere.ai/compatibility/v1": {noStreamOptions: true},
		"https://api.cohere.com": {noStreamOptions: true}, "https://api.openai.com/v1": {},
	} {
		m := compileProvider(t, node.Provider{Family: "custom", BaseURL: base, AuthType: "bearer_api_key", Credential: &node.Sealed{}}).Model()
		if m.Caches != want.caches || m.NoStreamOptions != want.noStreamOptions {
			t.Errorf("%s: got %+v", base, m)
		}
	}
}
