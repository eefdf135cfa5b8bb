package decide

import (
	"testing"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// Where several things keep a target from serving, the first of them is told: as the
// admin API's serving_status tells it.
func TestFirstReasonIsTold(t *testing.T) {
	t.Parallel()
	reasons := []Reason{TargetDisabled, ProviderDisabled, ProviderModelDisabled, ProviderNotServing, ""}
	for mask := range 16 {
		off := func(bit int) bool { return mask&(1<<bit) == 0 }
		s := &node.Snapshot{OrganizationID: uuid.UUID{1}, Providers: []node.Provider{{ID: uuid.UUID{2}, Name: "P", Family: "openai",
			BaseURL: "https://llm.example/v1", AuthType: "bearer_api_key", Enabled: off(1), Serving: off(3), Credential: &node.Sealed{}}}}
		for i, m := range []node.Mapping{{Alias: "m", Enabled: off(2)}, {Alias: "r", BareAlias: true, Enabled: off(0)}} {
			m.ID, m.ProviderID, m.UpstreamModel = uuid.UUID{3, byte(i)}, uuid.UUID{2}, "m"
			s.Mappings = append(s.Mappings, m)
		}
		org, err := Compile(s, NewBoard())
		if err != nil {
			t.Fatal(err)
		}
		want := reasons[4]
		for bit := range 4 {
			if !off(bit) {
				want = reasons[bit]
				break
			}
		}
		if got := org.Resolve("r").Targets[0].Unservable; got != want {
			t.Errorf("mask %04b: got %q, want %q", mask, got, want)
		}
		if org.Resolve("r").Direct || !org.Resolve("p/m").Direct {
			t.Error("only the provider's own address is direct")
		}
	}
}
