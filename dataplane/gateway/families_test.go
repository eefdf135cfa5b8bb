package gateway

import (
	"testing"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// Every family of the admin API has a label of its own, and whatever else a snapshot may
// say has one together: how many series there are is not for a snapshot to say.
func TestFamiliesInMetrics(t *testing.T) {
	t.Parallel()
	all := []admin.ModelProvider{
		admin.ModelProviderAnthropic, admin.ModelProviderAzureOpenai, admin.ModelProviderBedrock, admin.ModelProviderCohere, admin.ModelProviderCustom,
		admin.ModelProviderDeepseek, admin.ModelProviderFireworks, admin.ModelProviderGoogleAi, admin.ModelProviderGroq, admin.ModelProviderMistral,
		admin.ModelProviderOpenai, admin.ModelProviderOpenrouter, admin.ModelProviderPerplexity, admin.ModelProviderTogether, admin.ModelProviderVertex, admin.ModelProviderXai,
	}
	if len(families) != len(all) {
		t.Errorf("%d families have labels, and the API has %d", len(families), len(all))
	}
	for _, family := range append(all, "", "Bedrock", "new\nseries") {
		want := string(family)
		if !family.Valid() {
			want = "other"
		}
		if got := familyOf(&decide.Target{Provider: &decide.Provider{Family: string(family)}}); got != want {
			t.Errorf("%q is told as %q, want %q", family, got, want)
		}
	}
}
