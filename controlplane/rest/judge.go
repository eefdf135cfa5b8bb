package rest

import (
	"errors"
	"fmt"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// compilable refuses, in words for the caller, a configuration that a node would refuse:
// it is compiled with the code that the nodes run.
func compilable(s *node.Snapshot) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("compiling panicked: %v", p)
		}
	}()
	_, err = decide.Compile(s, decide.NewBoard())
	var defect *decide.Defect
	if errors.As(err, &defect) {
		return &tenant.Error{Kind: tenant.KindInvalid, Code: "does_not_compile", Param: defect.Field, Message: "the nodes would refuse this: " + defect.Error()}
	}
	return err
}

// serves refuses a model of a provider that no node could ask for, with the nodes' own
// code: saved, it would be skipped on every request, and nobody would be told.
func serves(p *node.Provider, upstreamModel string) error {
	if field := decide.Unserved(p, upstreamModel); field != "" {
		return tenant.Unservable(field, p.Family, upstreamModel)
	}
	return nil
}
