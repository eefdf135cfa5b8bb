package e2e

import (
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// onEverySurface asks a route on all three surfaces, streamed and not, wants the model that
// goes by wire upstream to answer in the caller's dialect, and shows what it was sent.
func onEverySurface(t *testing.T, e *env.Env, route, wire string, seen func(stream bool, r provider.Request)) {
	t.Helper()
	for _, family := range []string{"openai", "anthropic", responses} {
		for _, stream := range []bool{false, true} {
			a := call(e, 0, family, route, stream)
			if a.Status != 200 || !strings.Contains(said(t, family, stream, a.Body), "Hello from "+wire) {
				t.Errorf("%s as %s, streamed %t: status %d: %s", route, family, stream, a.Status, a.Body)
				continue
			}
			wantDialect(t, a, family, stream)
			r := last(t, e, wire)
			if len(r.Problems) > 0 {
				t.Errorf("%s as %s asked at %s?%s: %q", route, family, r.Path, r.Query, r.Problems)
			}
			seen(stream, r)
		}
	}
}
