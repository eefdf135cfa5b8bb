package clients

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// call is a tool call that a model makes.
func call(t *testing.T, name string, input any) *provider.ToolCall {
	t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return &provider.ToolCall{Name: name, Input: raw}
}

// asked fails the test unless each model got exactly these credentials, in this
// order, and nothing that belongs to anyone else.
func asked(t *testing.T, e *env.Env, want map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	for _, r := range e.Provider.Calls() {
		credentials := slices.Concat(r.Header["X-Api-Key"], r.Header["Authorization"])
		if len(credentials) != 1 || len(r.Problems) > 0 {
			t.Errorf("%s got %d credentials; %q", r.Model, len(credentials), r.Problems)
		}
		credential := strings.TrimPrefix(strings.Join(credentials, " "), "Bearer ")
		got[r.Model] = append(got[r.Model], credential)
		for name, values := range r.Header {
			if text := strings.Join(values, " "); strings.Contains(text, canary) && !strings.HasSuffix(text, credential) {
				t.Errorf("%s got a credential in %s", r.Model, name)
			}
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("credentials by model (-got +want):\n%s", diff)
	}
	if strings.Contains(e.Logs(), canary) {
		t.Error("the log holds a caller's token")
	}
}

// canary is part of every caller's token and of nothing else.
const canary = "canary"
