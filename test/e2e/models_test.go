package e2e

import (
	"encoding/json"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
)

// Codex takes a list without "models" for unreadable. Nobody else gets one.
func TestModelListIsReadableToCodex(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for query, codex := range map[string]bool{"": false, "?client_version=0.171.0": true} {
		var list map[string]json.RawMessage
		e.Must(e.Call(0, "/v1/models"+query, "", nil), &list)
		models, there := list["models"]
		if there != codex || (codex && string(models) != "[]") {
			t.Errorf("%q: models is %s", query, models)
		}
		var data []struct{ ID string }
		if err := json.Unmarshal(list["data"], &data); err != nil || len(data) == 0 {
			t.Errorf("%q: %v, data is %s", query, err, list["data"])
		}
	}
}
