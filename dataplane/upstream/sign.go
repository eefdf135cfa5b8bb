package upstream

import (
	"net/http"

	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// signer puts a provider's credential on a request. It serves many at once. The error,
// if any, is an *Error: nothing was sent.
type signer interface {
	sign(req *http.Request, call *Call) error
}

// key is a stored secret that is sent as it is. The value is shared by requests and must
// not be changed.
type key struct {
	header string
	value  []string
}

func keyOf(auth decide.Auth, secret string) key {
	switch auth {
	case decide.XAPIKeyAuth:
		return key{"X-Api-Key", []string{secret}}
	case decide.AzureKeyAuth:
		return key{"Api-Key", []string{secret}}
	}
	return key{"Authorization", []string{"Bearer " + secret}}
}

func (k key) sign(req *http.Request, _ *Call) error {
	req.Header[k.header] = k.value
	return nil
}

// ownToken passes on what the caller came with.
type ownToken struct{}

func (ownToken) sign(req *http.Request, call *Call) error {
	req.Header["Authorization"] = []string{call.Own}
	return nil
}
