package decide

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ family, base, settings, want string }{
		{"openai", "https://api.openai.com/v1", "", "https://api.openai.com/v1/models"},
		{"openai", "https://api.openai.com/", "", "https://api.openai.com/v1/models"},
		{"anthropic", "https://api.anthropic.com", "", "https://api.anthropic.com/v1/models"},
		{"anthropic", "https://proxy.example/anthropic/v1/", "", "https://proxy.example/anthropic/v1/models"},
		{"custom", "http://llm.example:8080/api", "", "http://llm.example:8080/api/models"},
		{"custom", "http://llm.example", `{"model_api_family":"anthropic"}`, "http://llm.example/v1/models"},
		{"google_ai", "https://generativelanguage.googleapis.com/v1beta/openai", "", "https://generativelanguage.googleapis.com/v1beta/openai/models"},
		{"openrouter", "https://openrouter.ai/api/v1", "", "https://openrouter.ai/api/v1/key"},
		{"cohere", "https://api.cohere.ai/compatibility/v1", "", "https://api.cohere.ai/v1/models"},
		{"azure_openai", "https://r.openai.azure.com", "", "https://r.openai.azure.com/openai/v1/models"},
		{"azure_openai", "https://r.openai.azure.com/openai/deployments/d/chat/completions", `{"api_version":"2024-10-21"}`,
			"https://r.openai.azure.com/openai/models?api-version=2024-10-21"},
		{"bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com", "", "https://bedrock-runtime.us-east-1.amazonaws.com/async-invoke?maxResults=1"},
		{"vertex", "https://us-east5-aiplatform.googleapis.com", `{"project":"p"}`, "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5"},
		{"vertex", "https://us-east5-aiplatform.googleapis.com", "", ""},
	} {
		settings := json.RawMessage(c.settings)
		id := uuid.New()
		org, err := Compile(&node.Snapshot{Providers: []node.Provider{{ID: id, Family: c.family, BaseURL: c.base, AuthType: "bearer_api_key", Settings: settings,
			Credential: &node.Sealed{}}}}, NewBoard())
		if err != nil {
			t.Fatal(err)
		}
		p, got := org.Provider(id), ""
		if p.Check != nil {
			got = p.Check.String()
		}
		if got != c.want || p.Checkable() != (c.want != "") {
			t.Errorf("%s %s: got %q, checkable %v, want %q", c.family, c.base, got, p.Checkable(), c.want)
		}
	}
	org, err := Compile(&node.Snapshot{Providers: []node.Provider{{ID: uuid.Max, Family: "anthropic", BaseURL: "https://api.anthropic.com", AuthType: "claude_oauth"}}}, NewBoard())
	if err != nil {
		t.Fatal(err)
	}
	if org.Provider(uuid.Max).Checkable() || org.Provider(uuid.New()) != nil {
		t.Error("a provider without a stored credential is checked, or one is known that is not there")
	}
}

func TestJudgeCheck(t *testing.T) {
	t.Parallel()
	answered := func(status int, body string) Evidence {
		return Evidence{Phase: Answered, Status: status, Header: http.Header{}, Body: []byte(body)}
	}
	for name, c := range map[string]struct {
		evidence Evidence
		want     node.ProbeOutcome
		detail   string
	}{
		"List":         {answered(200, `{"data":[]}`), node.ProbeOK, ""},
		"BareList":     {answered(200, "\n[]"), node.ProbeOK, ""},
		"WebPage":      {answered(200, "<html>"), node.ProbeInconclusive, "what answers at the address does not answer as a provider does"},
		"Empty":        {answered(204, ""), node.ProbeInconclusive, "what answers at the address does not answer as a provider does"},
		"Unauthorized": {answered(401, `{"error":{"message":"Incorrect API key provided: sk-canary"}}`), node.ProbeRejected, "the provider refused the credential (401)"},
		"Forbidden":    {answered(403, ""), node.ProbeRejected, "the provider refused the credential (403)"},
		"SpentOut":     {answered(403, `{"error":{"code":"insufficient_quota","message":"x"}}`), node.ProbeRejected, "the provider refused the credential (403)"},
		"GoogleKey": {answered(400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`),
			node.ProbeRejected, "the provider refused the credential (400)"},
		"NotFound":     {answered(404, `{"error":{"message":"sk-canary"}}`), node.ProbeInconclusive, "the provider answered 404 when asked for its models, which says nothing of the credential"},
		"RateLimited":  {answered(429, ""), node.ProbeInconclusive, "the provider answered 429 when asked for its models, which says nothing of the credential"},
		"Broken":       {answered(503, ""), node.ProbeInconclusive, "the provider answered 503 when asked for its models, which says nothing of the credential"},
		"Redirect":     {answered(302, ""), node.ProbeInconclusive, "the provider answered 302 when asked for its models, which says nothing of the credential"},
		"TokenRefused": {Evidence{Phase: Dialing, Cause: CredentialRefused}, node.ProbeRejected, "the vendor's token service refused the credential"},
		"Refused":      {Evidence{Phase: Dialing, Cause: Refused}, node.ProbeUnreachable, "the connection to the provider could not be made"},
		"Silent":       {Evidence{Phase: Sent, Cause: TimedOut}, node.ProbeUnreachable, "the provider did not answer in time"},
		"CutOff":       {Evidence{Phase: Sent, Cause: Broken}, node.ProbeUnreachable, "the connection to the provider broke"},
		"NoSeal":       {Evidence{Cause: GatewayFault}, node.ProbeInconclusive, "the stored credential cannot be used: store it again"},
		"Stopped":      {Evidence{Phase: Sent, Cause: CallerGone}, node.ProbeInconclusive, "the check was not made to its end"},
	} {
		if got, detail := new(Provider).JudgeCheck(c.evidence); got != c.want || detail != c.detail {
			t.Errorf("%s: got %s, %q; want %s, %q", name, got, detail, c.want, c.detail)
		}
	}
}

// A cloud that knows who asks, and does not let it look, says nothing against its
// credential.
func TestJudgeCheckOfClouds(t *testing.T) {
	t.Parallel()
	const unknown, noRole = "the provider refused the credential (403)", "Google takes the credential and lets it see nothing of the project (403): it needs roles/aiplatform.user"
	for name, c := range map[string]struct {
		family, kind, body string
		want               node.ProbeOutcome
		detail             string
	}{
		"MayNotList":   {"bedrock", "AccessDeniedException:http://internal.amazon.com/", `{"message":"User: x is not authorized to perform: bedrock:ListAsyncInvokes"}`, node.ProbeOK, ""},
		"InBody":       {"bedrock", "", `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"User: x is not authorized"}`, node.ProbeOK, ""},
		"UnknownKeys":  {"bedrock", "UnrecognizedClientException", `{"message":"The security token included in the request is invalid."}`, node.ProbeRejected, unknown},
		"Signature":    {"bedrock", "InvalidSignatureException", `{"message":"The request signature we calculated does not match"}`, node.ProbeRejected, unknown},
		"Ended":        {"bedrock", "ExpiredTokenException", `{"message":"The security token included in the request is expired"}`, node.ProbeRejected, unknown},
		"APIKey":       {"bedrock", "AccessDeniedException", `{"message":"Authentication failed: Please make sure your API Key is valid."}`, node.ProbeRejected, unknown},
		"NothingSaid":  {"bedrock", "", "", node.ProbeRejected, unknown},
		"OfNobody":     {"openai", "AccessDeniedException", `{"message":"x"}`, node.ProbeRejected, unknown},
		"VertexNoRole": {"vertex", "", `{"error":{"code":403,"status":"PERMISSION_DENIED"}}`, node.ProbeInconclusive, noRole},
	} {
		e := Evidence{Phase: Answered, Status: 403, Header: http.Header{"X-Amzn-Errortype": {c.kind}}, Body: []byte(c.body)}
		if got, detail := (&Provider{Family: c.family}).JudgeCheck(e); got != c.want || detail != c.detail {
			t.Errorf("%s: got %s, %q; want %s, %q", name, got, detail, c.want, c.detail)
		}
	}
}
