package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

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

// Anthropic's SDK turns the pages of a list by itself, and each entry has what its type
// has.
func TestModelListIsTurnedByAnthropicsSDK(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	e.AddProvider("many", "anthropic", "m1", "m2", "m3", "m4", "m5")
	e.Live()
	var list struct {
		Data    []struct{ ID string }
		HasMore bool `json:"has_more"`
	}
	e.Must(e.Call(0, "/api/llm-gateway/v1/models", "", map[string]string{"Anthropic-Version": "2023-06-01"}), &list)
	client := anthropic.NewClient(anthropicoption.WithoutEnvironmentDefaults(), anthropicoption.WithBaseURL(e.Info.GatewayURLs[0]),
		anthropicoption.WithAPIKey(e.APIKey), anthropicoption.WithMaxRetries(0))
	pages := client.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(2)})
	var got, want []string
	for pages.Next() {
		m := pages.Current()
		got = append(got, m.ID)
		if m.Type != "model" || m.DisplayName == "" || m.CreatedAt.IsZero() {
			t.Errorf("incomplete: %s", m.RawJSON())
		}
	}
	for _, m := range list.Data {
		want = append(want, m.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || pages.Err() != nil || list.HasMore || len(got) < 6 {
		t.Errorf("%v, has_more %v, -want +got\n%s", pages.Err(), list.HasMore, diff)
	}
	if a := e.Call(0, "/v1/models?limit=0", "", map[string]string{"Anthropic-Version": "2023-06-01"}); a.Status != 400 || !strings.Contains(string(a.Body), "invalid_request_error") {
		t.Errorf("limit 0: status %d: %s", a.Status, a.Body)
	}
}
