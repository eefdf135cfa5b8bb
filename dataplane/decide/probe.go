package decide

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// credentialPaths are where well-known hosts answer only to a good credential, of those
// whose list of models is elsewhere, or open to all.
var credentialPaths = map[string]string{
	"openrouter.ai": "/api/v1/key", // https://openrouter.ai/docs/api-reference/limits
	"api.cohere.ai": "/v1/models",  // https://docs.cohere.com/reference/list-models
}

// checkURLOf is what is read to check a provider's connection: its list of models, or nil
// where none is known.
func checkURLOf(p *node.Provider, base *url.URL, endpoints *Endpoints) *url.URL {
	if path, known := credentialPaths[base.Hostname()]; known {
		return onHost(base, path)
	}
	if p.Family == "azure_openai" {
		root, query, _ := azureAddress(p, base)
		return queried(onHost(base, root+"/models"), query)
	}
	switch {
	case endpoints[llm.Chat] != nil:
		return onHost(base, strings.TrimSuffix(endpoints[llm.Chat].URL.Path, "/chat/completions")+"/models")
	case endpoints[llm.Messages] != nil:
		return onHost(base, strings.TrimSuffix(endpoints[llm.Messages].URL.Path, "/messages")+"/models")
	}
	return nil
}

// Provider is a provider of the organization, or nil.
func (o *Org) Provider(id uuid.UUID) *Provider { return o.providers[id] }

// Checkable reports whether this build can check the provider's connection: it has a
// stored credential that the build can send, and something to read with it.
func (p *Provider) Checkable() bool {
	return p.Check != nil && p.Auth != NoAuth && p.Auth.Vendor() == NoVendor && p.Sealed != nil
}

// JudgeCheck is what a check of a connection found, with words for a person that hold
// nothing of the credential, of the provider's answer or of its address. An answer that
// nobody foresaw says nothing of the credential.
func JudgeCheck(e Evidence) (node.ProbeOutcome, string) {
	v := Classify(e)
	switch {
	case e.Cause == Refused || e.Cause == Broken || e.Cause == TimedOut:
		return node.ProbeUnreachable, v.Message
	case e.Cause == GatewayFault:
		return node.ProbeInconclusive, "the stored credential cannot be used: store it again"
	case e.Cause != NoCause:
		return node.ProbeInconclusive, "the check was not made to its end"
	case v.Class == AuthRejected || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return node.ProbeRejected, fmt.Sprintf("the provider refused the credential (%d)", e.Status)
	case v.Class != Succeeded:
		return node.ProbeInconclusive, fmt.Sprintf("the provider answered %d when asked for its models, which says nothing of the credential", e.Status)
	case !startsJSON(e.Body):
		return node.ProbeInconclusive, "what answers at the address does not answer as a provider does"
	}
	return node.ProbeOK, ""
}

func startsJSON(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n\ufeff")
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}
