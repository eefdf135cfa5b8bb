package rest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// What a node would refuse is the caller's error, and names the field.
func TestCompilable(t *testing.T) {
	t.Parallel()
	id := uuid.UUID{1}
	good := node.Provider{ID: id, Name: "P", Family: "openai", BaseURL: "https://llm.example/v1"}
	bad := good
	bad.BaseURL = "llm.example"
	for name, c := range map[string]struct {
		snapshot       node.Snapshot
		param, message string
	}{
		"Good":  {node.Snapshot{Providers: []node.Provider{good}, Mappings: []node.Mapping{{ProviderID: id}}}, "", ""},
		"Empty": {node.Snapshot{}, "", ""},
		"Provider": {node.Snapshot{Providers: []node.Provider{good, bad}}, "base_url",
			`the nodes would refuse this: providers[1]: base_url: "llm.example" is not an absolute http or https address`},
		"Policy": {node.Snapshot{AccessPolicies: []node.AccessPolicy{{Type: "greylist"}}}, "policy_type",
			`the nodes would refuse this: access_policies[0]: policy_type: "greylist" is not known here`},
	} {
		err := compilable(&c.snapshot)
		if c.message == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var e *tenant.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		if diff := cmp.Diff(tenant.Error{Kind: tenant.KindInvalid, Code: "does_not_compile", Param: c.param, Message: c.message}, *e); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if compilable(nil) == nil {
		t.Error("a panic is no success")
	}
}
