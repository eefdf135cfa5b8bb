package rest

import (
	"errors"
	"fmt"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// Compilable refuses, in words for the caller, a configuration that a node would refuse:
// it is compiled with the code that the nodes run. It is store.Config.Compile.
func Compilable(s *node.Snapshot) (err error) {
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
