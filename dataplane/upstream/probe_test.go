package upstream

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/test/provider"
)

// probed is a provider of a family on the scripted one, as a node has it.
func probed(t *testing.T, key node.Sealed, org uuid.UUID, family, auth, base string) *decide.Provider {
	t.Helper()
	id := uuid.New()
	compiled, err := decide.Compile(&node.Snapshot{OrganizationID: org,
		Providers: []node.Provider{{ID: id, Family: family, AuthType: auth, BaseURL: base, Credential: &key}}}, decide.NewBoard())
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Provider(id)
}

// A check asks for the list of models with the credential as the family sends it, and
// tells what came of it without a word of it.
func TestProbe(t *testing.T) {
	t.Parallel()
	double := provider.New(provider.Config{APIKeys: []string{"canary-secret"}})
	base, err := double.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = double.Close() })
	kem, _, _ := node.SealSuite()
	private, err := kem.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	org := uuid.New()
	host := base[len("http://"):]
	sealed := seal(t, private.PublicKey(), org, host)
	client := New(Config{SealKey: private, Guard: Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	guarded := New(Config{SealKey: private})
	t.Cleanup(client.Close)
	t.Cleanup(guarded.Close)

	openAI := probed(t, *sealed, org, "openai", "bearer_api_key", base+"/v1")
	for family, p := range map[string]*decide.Provider{"openai": openAI, "anthropic": probed(t, *sealed, org, "anthropic", "x_api_key", base)} {
		if outcome, detail := client.Probe(t.Context(), p); outcome != node.ProbeOK || detail != "" {
			t.Errorf("%s: got %s, %q", family, outcome, detail)
		}
	}
	for _, r := range double.Requests() {
		if r.Method != http.MethodGet || r.Path != "/v1/models" || len(r.Problems) > 0 || r.Header.Get("User-Agent") != "" {
			t.Errorf("asked %s %s: %v %v", r.Method, r.Path, r.Problems, r.Header)
		}
	}
	double.Script("/v1/models", provider.Behavior{Status: 401}, provider.Behavior{Status: 500}, provider.Behavior{Reset: true})
	for _, want := range []node.ProbeOutcome{node.ProbeRejected, node.ProbeInconclusive, node.ProbeUnreachable} {
		if outcome, detail := client.Probe(t.Context(), openAI); outcome != want || detail == "" {
			t.Errorf("got %s, %q, want %s", outcome, detail, want)
		}
	}
	other := *sealed
	other.Host = "elsewhere.example"
	for name, c := range map[string]struct {
		client *Client
		p      *decide.Provider
		want   node.ProbeOutcome
	}{
		"Guarded":     {guarded, probed(t, *sealed, org, "openai", "bearer_api_key", base+"/v1"), node.ProbeUnreachable},
		"OtherHost":   {client, probed(t, other, org, "openai", "bearer_api_key", base+"/v1"), node.ProbeInconclusive},
		"Passthrough": {client, probed(t, *sealed, org, "anthropic", "claude_oauth", base), node.ProbeUnsupported},
		"Unknown":     {client, probed(t, *sealed, org, "vertex", "google_service_account", base), node.ProbeUnsupported}, // no project
		"Away":        {client, probed(t, *seal(t, private.PublicKey(), org, "127.0.0.1:1"), org, "openai", "bearer_api_key", "http://127.0.0.1:1/v1"), node.ProbeUnreachable},
	} {
		asked := len(double.Requests())
		outcome, detail := c.client.Probe(t.Context(), c.p)
		if outcome != c.want || detail == "" {
			t.Errorf("%s: got %s, %q, want %s", name, outcome, detail, c.want)
		}
		if got := len(double.Requests()); got != asked {
			t.Errorf("%s: the provider was asked", name)
		}
	}
}

// AWS is asked, in signed requests or with a key, for what it shows to whoever it knows.
func TestProbeOfBedrock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		auth, credentials string
		want              node.ProbeOutcome
	}{
		"Keys":        {"aws_keys", storedKey, node.ProbeOK},
		"WrongSecret": {"aws_keys", strings.Replace(storedKey, "EXAMPLEKEY", "EXAMPLEKEZ", 1), node.ProbeRejected},
		"UnknownKeys": {"aws_keys", strings.Replace(storedKey, "AKIDEXAMPLE", "AKIDNOBODY", 1), node.ProbeRejected},
		"APIKey":      {"bedrock_api_key", `{"api_key":"bearer-key"}`, node.ProbeOK},
		"WrongAPIKey": {"bedrock_api_key", `{"api_key":"canary-key"}`, node.ProbeRejected},
		"Role":        {"aws_role", storedRole(""), node.ProbeOK},
		"OtherRole":   {"aws_role", strings.Replace(storedRole(""), "role/spillway", "role/other", 1), node.ProbeRejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := awsSetup(t, false)
			b.aws.AddAWSRole(roleARN, b.org.String(), time.Hour)
			outcome, detail := b.client.Probe(t.Context(), b.target(t, c.auth, c.credentials, claudeID).Provider)
			if outcome != c.want || (detail == "") != (c.want == node.ProbeOK) || strings.Contains(detail, "canary") {
				t.Errorf("got %s, %q, want %s", outcome, detail, c.want)
			}
			if c.want == node.ProbeOK {
				b.clean(t)
			}
		})
	}
}

// Google is asked for the place that the provider's models are at.
func TestProbeOfVertex(t *testing.T) {
	t.Parallel()
	client, p, server := vertexBundle(t, decide.GoogleKeyAuth, false, ofAccount)
	place := *p.Base
	place.Path = "/v1/projects/proj/locations/us-east5"
	p.Family, p.Check = "vertex", &place
	if outcome, detail := client.Probe(t.Context(), p); outcome != node.ProbeOK || detail != "" {
		t.Errorf("got %s, %q", outcome, detail)
	}
	server.Script("location", provider.Behavior{Status: 401}, provider.Behavior{Status: 403})
	for _, want := range []node.ProbeOutcome{node.ProbeRejected, node.ProbeInconclusive} {
		if outcome, detail := client.Probe(t.Context(), p); outcome != want || detail == "" {
			t.Errorf("got %s, %q, want %s", outcome, detail, want)
		}
	}
	client, p, server = vertexBundle(t, decide.GoogleKeyAuth, false, ofAccount)
	p.Family, p.Check = "vertex", p.Base
	server.Script(provider.GoogleTokenPath, provider.Behavior{Status: 400})
	if outcome, detail := client.Probe(t.Context(), p); outcome != node.ProbeRejected || detail != "the vendor's token service refused the credential" {
		t.Errorf("without a token: got %s, %q", outcome, detail)
	}
}
