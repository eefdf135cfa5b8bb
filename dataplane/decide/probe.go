package decide

import (
	"bytes"
	"encoding/json"
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
	switch p.Family {
	case "bedrock":
		// The list of models is on another host than the credential may go to. This one lists
		// nothing of use, costs nothing, and needs the credential.
		// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ListAsyncInvokes.html
		return queried(onHost(base, "/async-invoke"), "maxResults=1")
	case "vertex":
		// https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations/get
		place := node.VertexPlaceOf(base, p.Settings)
		if place.Project == "" || place.Location == "" {
			return nil
		}
		return onHostEscaped(base, place.Root+"/v1/projects/"+url.PathEscape(place.Project)+"/locations/"+url.PathEscape(place.Location))
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

// JudgeCheck is what a check of the connection found, with words for a person that hold
// nothing of the credential, of the provider's answer or of its address. An answer that
// nobody foresaw says nothing of the credential.
func (p *Provider) JudgeCheck(e Evidence) (node.ProbeOutcome, string) {
	v := Classify(e)
	switch {
	case e.Cause == NoCause && e.Status == http.StatusForbidden && p.Family == "bedrock" && awsKnows(e):
		return node.ProbeOK, "" // it may not look here, and may well ask models
	case e.Cause == NoCause && e.Status == http.StatusForbidden && p.Family == "vertex":
		return node.ProbeInconclusive, "Google takes the credential and lets it see nothing of the project (403): it needs roles/aiplatform.user"
	case e.Cause == CredentialRefused:
		return node.ProbeRejected, "the vendor's token service refused the credential"
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

// awsKnows reports whether a refusal of AWS's is one of somebody whom it knows. Who signs
// wrongly, with keys that are unknown or that have ended, is refused under another name, and
// an unknown API key with these words.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html
func awsKnows(e Evidence) bool {
	kind, _, _ := strings.Cut(e.Header.Get("X-Amzn-Errortype"), ":")
	var said struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(e.Body, &said) // what cannot be read says nothing
	if kind == "" {
		kind = said.Type[strings.LastIndex(said.Type, "#")+1:]
	}
	return kind == "AccessDeniedException" && !strings.HasPrefix(said.Message, "Authentication failed")
}

func startsJSON(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n\ufeff")
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}
