package decide

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// bedrockTarget compiles a provider with one model, on a node that lends its identity or not.
func bedrockTarget(t *testing.T, p node.Provider, model string, ambient bool) *Target {
	t.Helper()
	p.ID, p.Name, p.Family, p.Enabled, p.Serving = uuid.New(), "p", "bedrock", true, true
	board := NewBoard()
	board.Ambient = ambient
	org, err := Compile(&node.Snapshot{Format: node.Format, OrganizationID: uuid.New(), Providers: []node.Provider{p},
		Mappings: []node.Mapping{{ID: uuid.New(), ProviderID: p.ID, Alias: model, UpstreamModel: model, Enabled: true}}}, board)
	if err != nil {
		t.Fatal(err)
	}
	return org.Resolve("p/" + model).Targets[0]
}

const bedrockEast = "https://bedrock-runtime.us-east-1.amazonaws.com"

// Anthropic's models are asked in Anthropic's dialect, whatever way they are called; all
// others in Bedrock's. Names are escaped as AWS signs them.
func TestBedrockEndpoints(t *testing.T) {
	t.Parallel()
	const account = "arn:aws:bedrock:us-east-1:123456789012:"
	type endpoint struct{ url, stream string }
	invoke := func(root, id string) map[llm.Dialect]endpoint {
		return map[llm.Dialect]endpoint{llm.Messages: {root + "/model/" + id + "/invoke", root + "/model/" + id + "/invoke-with-response-stream"}}
	}
	converse := func(root, id string) map[llm.Dialect]endpoint {
		return map[llm.Dialect]endpoint{llm.Converse: {root + "/model/" + id + "/converse", root + "/model/" + id + "/converse-stream"}}
	}
	const claude, escaped = "anthropic.claude-3-haiku-20240307-v1:0", "anthropic.claude-3-haiku-20240307-v1%3A0"
	for name, c := range map[string]struct {
		base, settings, model string
		want                  map[llm.Dialect]endpoint
	}{
		"Claude":          {bedrockEast, ``, claude, invoke(bedrockEast, escaped)},
		"Profile":         {bedrockEast, ``, "us.anthropic.claude-sonnet-4-6", invoke(bedrockEast, "us.anthropic.claude-sonnet-4-6")},
		"Global":          {bedrockEast, ``, "global." + claude, invoke(bedrockEast, "global."+escaped)},
		"ModelARN":        {bedrockEast, ``, "arn:aws:bedrock:us-east-1::foundation-model/" + claude, invoke(bedrockEast, "arn%3Aaws%3Abedrock%3Aus-east-1%3A%3Afoundation-model%2F"+escaped)},
		"ProfileARN":      {bedrockEast, ``, account + "inference-profile/eu." + claude, invoke(bedrockEast, "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Feu."+escaped)},
		"Opaque":          {bedrockEast, ``, account + "application-inference-profile/x1", converse(bedrockEast, "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fx1")},
		"OpaqueAnthropic": {bedrockEast, `{"model_api_family":"anthropic"}`, account + "application-inference-profile/x1", invoke(bedrockEast, "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fx1")},
		"Provisioned":     {bedrockEast, `{"model_api_family":"anthropic"}`, account + "provisioned-model/x1", invoke(bedrockEast, "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aprovisioned-model%2Fx1")},
		"Nova":            {bedrockEast, `{"model_api_family":"anthropic"}`, "us.amazon.nova-pro-v1:0", converse(bedrockEast, "us.amazon.nova-pro-v1%3A0")},
		"NovaARN":         {bedrockEast, `{"model_api_family":"anthropic"}`, account + "inference-profile/us.amazon.nova-pro-v1:0", converse(bedrockEast, "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.amazon.nova-pro-v1%3A0")},
		"NotAnthropics":   {bedrockEast, ``, "mistral.anthropic-like", converse(bedrockEast, "mistral.anthropic-like")},
		"Slash":           {bedrockEast + "/", ``, claude, invoke(bedrockEast, escaped)},
		"V1":              {bedrockEast + "/v1", ``, claude, invoke(bedrockEast, escaped)},
		"AsCopied":        {bedrockEast + "/model/x/invoke", ``, claude, invoke(bedrockEast, escaped)},
		"Confused":        {"https://bedrock.us-east-1.amazonaws.com", ``, claude, invoke(bedrockEast, escaped)},
		"FIPS":            {"https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", ``, claude, invoke("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", escaped)},
		"Proxy":           {"https://llm.example/aws%2Fx/", `{"region":"us-east-1"}`, claude, invoke("https://llm.example/aws%2Fx", escaped)},
		"ProxyAsCopied":   {"https://llm.example/aws/model/x/converse", `{"region":"us-east-1"}`, claude, invoke("https://llm.example/aws", escaped)},
	} {
		target := bedrockTarget(t, node.Provider{BaseURL: c.base, AuthType: "aws_keys", Settings: json.RawMessage(c.settings), Credential: &node.Sealed{}}, c.model, false)
		got := map[llm.Dialect]endpoint{}
		for d := range llm.Dialect(llm.Dialects) {
			if e := target.Endpoint(d); e != nil {
				got[d] = endpoint{e.URL.String(), e.Stream.String()}
				if (e.Form == llm.BedrockForm) != (d == llm.Messages) || e.Count != nil {
					t.Errorf("%s: form %d, count %v", name, e.Form, e.Count)
				}
				if e.URL.Host != target.Provider.Base.Host {
					t.Errorf("%s: at %s, with a seal for %s", name, e.URL.Host, target.Provider.Base.Host)
				}
			}
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(endpoint{})); diff != "" || target.Unservable != "" {
			t.Errorf("%s: %s -want +got\n%s", name, target.Unservable, diff)
		}
	}
}

func TestBedrockRegionAndCredential(t *testing.T) {
	t.Parallel()
	sealed := &node.Sealed{}
	for name, c := range map[string]struct {
		base, auth, settings string
		sealed               *node.Sealed
		ambient              bool
		region               string
		want                 Reason
	}{
		"Host":            {bedrockEast, "aws_keys", ``, sealed, false, "us-east-1", ""},
		"Agreed":          {bedrockEast, "aws_keys", `{"region":"us-east-1"}`, sealed, false, "us-east-1", ""},
		"Setting":         {"https://llm.example", "aws_keys", `{"region":"eu-west-1"}`, sealed, false, "eu-west-1", ""},
		"Differ":          {bedrockEast, "aws_keys", `{"region":"eu-west-1"}`, sealed, false, "", NotSupported},
		"None":            {"https://llm.example", "aws_keys", ``, sealed, false, "", NotSupported},
		"NoRegion":        {"https://llm.example", "aws_keys", `{"region":"evil.example/"}`, sealed, false, "", NotSupported},
		"BearerNone":      {"https://llm.example", "bedrock_api_key", ``, sealed, false, "", ""},
		"KeysMissing":     {bedrockEast, "aws_keys", ``, nil, true, "us-east-1", NotSupported},
		"BearerMissing":   {bedrockEast, "bedrock_api_key", ``, nil, true, "us-east-1", NotSupported},
		"Role":            {bedrockEast, "aws_role", ``, sealed, false, "us-east-1", ""},
		"AmbientAllowed":  {bedrockEast, "aws_role", ``, nil, true, "us-east-1", ""},
		"AmbientRefused":  {bedrockEast, "aws_role", ``, nil, false, "us-east-1", AmbientForbidden},
		"AnotherAuthType": {bedrockEast, "x_api_key_of_nobody", ``, sealed, true, "us-east-1", NotSupported},
	} {
		target := bedrockTarget(t, node.Provider{BaseURL: c.base, AuthType: c.auth, Settings: json.RawMessage(c.settings), Credential: c.sealed}, "amazon.nova-pro-v1:0", c.ambient)
		if target.Unservable != c.want || target.Provider.Region != c.region {
			t.Errorf("%s: got %q in %q, want %q in %q", name, target.Unservable, target.Provider.Region, c.want, c.region)
		}
	}
	for _, auth := range []string{"aws_keys", "aws_role", "bedrock_api_key"} {
		if target := compileProvider(t, node.Provider{Family: "custom", AuthType: auth, BaseURL: bedrockEast, Credential: sealed}); target.Unservable != NotSupported {
			t.Errorf("custom with %s: got %q", auth, target.Unservable)
		}
	}
}

// A path that is signed is the path that is sent.
func TestAWSEscape(t *testing.T) {
	t.Parallel()
	const name = "a/b:c d~e_f-g.h%2Fé+@"
	const want = "a%2Fb%3Ac%20d~e_f-g.h%252F%C3%A9%2B%40"
	if got := awsEscape(name); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	base, err := url.Parse(bedrockEast)
	if err != nil {
		t.Fatal(err)
	}
	if u := onHostEscaped(base, "/model/"+want+"/invoke"); u.EscapedPath() != "/model/"+want+"/invoke" || u.Path != "/model/"+name+"/invoke" {
		t.Errorf("got %s (%s)", u.EscapedPath(), u.Path)
	}
}

// Bedrock's exceptions are judged by name, with the status they come with and inside a
// stream, where there is none.
func TestClassifyBedrock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exception, message string
		status             int
		want               Class
	}{
		"Throttled":        {"ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/", "Too many requests, please wait before trying again.", 429, RateLimited},
		"ThrottledInside":  {"throttlingException", "Too many requests, please wait before trying again.", 0, RateLimited},
		"TokensPerDay":     {"ThrottlingException", "Too many tokens per day, please wait before trying again.", 429, UsageLimit},
		"Quota":            {"ServiceQuotaExceededException", "x", 400, UsageLimit},
		"NotReady":         {"ModelNotReadyException", "x", 429, RateLimited},
		"Unavailable":      {"ServiceUnavailableException", "Bedrock is unable to process your request.", 503, Overloaded},
		"UnavailableIn":    {"serviceUnavailableException", "x", 0, Overloaded},
		"Timeout":          {"ModelTimeoutException", "x", 408, Timeout},
		"TimeoutInside":    {"modelTimeoutException", "x", 0, Timeout},
		"Model":            {"ModelErrorException", "x", 424, ServerError},
		"ModelStream":      {"modelStreamErrorException", "x", 0, ServerError},
		"Internal":         {"InternalServerException", "x", 500, ServerError},
		"InternalInside":   {"internalServerException", "x", 0, ServerError},
		"Denied":           {"AccessDeniedException", "User: arn:aws:iam::1:user/u is not authorized to perform: bedrock:InvokeModel", 403, AuthRejected},
		"NoModelAccess":    {"AccessDeniedException", "You don't have access to the model with the specified model ID.", 403, ModelNotFound},
		"Expired":          {"ExpiredTokenException", "x", 403, AuthRejected},
		"Unknown":          {"UnrecognizedClientException", "x", 403, AuthRejected},
		"Signature":        {"InvalidSignatureException", "x", 403, AuthRejected},
		"Incomplete":       {"IncompleteSignature", "x", 400, AuthRejected},
		"Retired":          {"ResourceNotFoundException", "This model version has reached the end of its life.", 404, ModelNotFound},
		"NoSuchModel":      {"ValidationException", "The provided model identifier is invalid.", 400, ModelNotFound},
		"ByProfileOnly":    {"ValidationException", "Invocation of model ID anthropic.x with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile.", 400, ModelNotFound},
		"Validation":       {"ValidationException", "messages: roles must alternate", 400, BadRequest},
		"ValidationInside": {"validationException", "messages: roles must alternate", 0, BadRequest},
		"Nameless":         {"", "x", 503, ServerError},
	} {
		raw, err := json.Marshal(map[string]string{"message": c.message})
		if err != nil {
			t.Fatal(err)
		}
		e := Evidence{Phase: Answered, Status: c.status, Body: llm.BedrockError(c.exception, c.status, raw), Now: now}
		if c.status == 0 {
			e.Status, e.Cause = 200, ErrorInside
		}
		if got := Classify(e).Class; got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
