package link

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// What a node does not know it refuses, and the control plane is told where it stands. A
// document that takes the compiler down is refused like any other.
func TestUncompilable(t *testing.T) {
	t.Parallel()
	org := uuid.New()
	for name, c := range map[string]struct {
		snapshot *node.Snapshot
		want     node.Ack
	}{
		"Policy": {&node.Snapshot{OrganizationID: org, AccessPolicies: []node.AccessPolicy{{ScopeType: "org", Type: "greylist"}}},
			node.Ack{OrganizationID: org, Code: "does_not_compile", Field: "access_policies[0].policy_type", Message: `access_policies[0]: policy_type: "greylist" is not known here`}},
		"Default": {&node.Snapshot{OrganizationID: org, DefaultModelAccess: "maybe"},
			node.Ack{OrganizationID: org, Code: "does_not_compile", Field: "default_model_access", Message: `default_model_access: "maybe" is neither allow nor deny`}},
		"Panic": {nil, node.Ack{OrganizationID: org, Code: "does_not_compile",
			Message: "compiling panicked: runtime error: invalid memory address or nil pointer dereference"}},
	} {
		_, err := compile(c.snapshot, decide.NewBoard())
		if err == nil {
			t.Fatalf("%s: compiled", name)
		}
		if diff := cmp.Diff(c.want, uncompilable(node.Ack{OrganizationID: org}, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
