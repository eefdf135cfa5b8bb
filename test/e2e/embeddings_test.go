package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// twins makes a route of three targets at three providers: two with one model, and one
// with another between them.
func twins(e *env.Env, route string) (model, other string) {
	model, other = route+"-small", route+"-large"
	for i, m := range []string{model, other, model} {
		e.AddTarget(route, e.AddProvider(fmt.Sprintf("%s-%d", route, i+1), "openai", m), m, i+1, nil)
	}
	return model, other
}

// The body goes as it is, and vectors of another model are never given for the route's.
func TestEmbeddingsFailOverWithinOneModel(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	model, other := twins(e, "vectors")
	e.Live()
	embed := func(base string) env.Answer {
		return e.Call(0, base+"/v1/embeddings", `{"input":["a"], "encoding_format":"base64","model":"vectors" ,"user":"u"}`, nil)
	}
	if a := embed("/api/llm-gateway"); a.Status != 200 || attempt(a) != "1" || !strings.Contains(string(a.Body), `"model":"`+model+`"`) {
		t.Errorf("status %d by attempt %s: %s", a.Status, attempt(a), a.Body)
	}
	r := last(t, e, model)
	if want := `{"input":["a"], "encoding_format":"base64","model":"` + model + `" ,"user":"u"}`; string(r.Body) != want || r.Path != "/v1/embeddings" || len(r.Problems) > 0 {
		t.Errorf("the provider got %s %s: %q", r.Path, r.Body, r.Problems)
	}
	for name, b := range map[string]provider.Behavior{
		"503": {Status: 503}, "NoVectors": {Body: `{"object":"list","data":[]}`}, "ErrorInside": {ErrorType: "server_error"}, "Cut": {CutAfter: 1},
	} {
		e.Provider.ScriptKey(model, "upstream-secret-of-vectors-1", b)
		if a := embed(""); a.Status != 200 || attempt(a) != "3" || a.Header.Get("X-Bd-Provider-Failover-Count") != "1" {
			t.Errorf("%s: status %d by attempt %s: %s", name, a.Status, attempt(a), a.Body)
		}
	}
	e.Provider.ScriptKey(model, "upstream-secret-of-vectors-1")
	e.Provider.Script(model, provider.Behavior{Status: 503})
	if a := embed(""); a.Status != 503 || !strings.Contains(string(a.Body), `"reason":"different_embedding_model"`) {
		t.Errorf("all of the model fail: status %d: %s", a.Status, a.Body)
	}
	if n := asked(e, other); n != 0 {
		t.Errorf("the other model was asked %d times", n)
	}
}

// A target that says so gives vectors in place of the route's model, and one that does not
// say so never does.
func TestEmbeddingsFailOverToAnotherModel(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for route, fields := range map[string]map[string]any{"strict": nil, "open": {"embeddings_failover": "any_model"}} {
		for i, m := range []string{route + "-small", route + "-large"} {
			e.AddTarget(route, e.AddProvider(fmt.Sprintf("%s-%d", route, i+1), "openai", m), m, i+1, fields)
		}
		e.Provider.Script(route+"-small", provider.Behavior{Status: 503})
	}
	e.Live()
	if a := e.Call(0, "/v1/embeddings", `{"input":["a"],"model":"strict"}`, nil); a.Status != 503 || !strings.Contains(string(a.Body), `"reason":"different_embedding_model"`) {
		t.Errorf("strict: status %d: %s", a.Status, a.Body)
	}
	if n := asked(e, "strict-large"); n != 0 {
		t.Errorf("strict: the other model was asked %d times", n)
	}
	if a := e.Call(0, "/v1/embeddings", `{"input":["a"],"model":"open"}`, nil); a.Status != 200 || attempt(a) != "2" || !strings.Contains(string(a.Body), `"model":"open-large"`) {
		t.Errorf("open: status %d by attempt %s: %s", a.Status, attempt(a), a.Body)
	}
	said := explain(e, map[string]any{"model": "open", "endpoint": "embeddings", "answers": []any{map[string]any{"position": 1, "status": 503}}})
	if len(said.Steps) != 2 || said.Steps[1].Decision != "tried" {
		t.Errorf("explained: %+v", said)
	}
}

// A target that fails at embeddings cools down as it would for answers.
func TestEmbeddingsCountForHealth(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	model := "lame-small"
	e.AddTarget("lame", e.AddProvider("lame", "openai", model), model, 1, map[string]any{"cooldown_failure_threshold": 2})
	e.Live()
	e.Provider.Script(model, provider.Behavior{Status: 500})
	var statuses []int
	for range 3 {
		statuses = append(statuses, e.Call(0, "/v1/embeddings", `{"model":"lame","input":"a"}`, nil).Status)
	}
	if diff := cmp.Diff([]int{500, 500, http.StatusTooManyRequests}, statuses); diff != "" || asked(e, model) != 2 {
		t.Errorf("asked %d times: %s", asked(e, model), diff)
	}
}

// An SDK that asks for floats and one that asks for base64 see the same vectors.
func TestOpenAISDKsEmbed(t *testing.T) {
	t.Parallel()
	if err := installClients(); err != nil {
		t.Fatal(err)
	}
	e := env.Start(t, env.Options{})
	model, _ := twins(e, "embedded")
	e.Live()
	e.Provider.ScriptKey(model, "upstream-secret-of-embedded-1", provider.Behavior{Status: 404})
	vectors := map[string]string{}
	for name, ask := range map[string]func(context.Context, sdkCall) (sdkOutcome, error){
		"openai-go": askEmbeddings, "openai-node": startNode(t, "openai.mjs", "openai").ask, "openai-node-6": startNode(t, "openai.mjs", "openai6").ask,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		got, err := ask(ctx, sdkCall{"embed", e.Info.GatewayURLs[0], e.APIKey, "embedded"})
		cancel()
		if err != nil || got.Error != nil || got.Tokens == 0 || got.Route != (routeHeader{"3", "3", "1"}) {
			t.Errorf("%s: %+v, %v, %v", name, got, got.Error, err)
		}
		vectors[name] = got.Text
		asBase64 := strings.Contains(string(last(t, e, model).Body), `"encoding_format":"base64"`)
		if asBase64 != strings.HasPrefix(name, "openai-node") {
			t.Errorf("%s: base64 is %v", name, asBase64)
		}
	}
	if v := vectors["openai-go"]; strings.Count(v, "\n") != 1 || v != vectors["openai-node"] || v != vectors["openai-node-6"] {
		t.Errorf("vectors differ: %q", vectors)
	}
}

func askEmbeddings(ctx context.Context, c sdkCall) (got sdkOutcome, _ error) {
	client := openai.NewClient(openaioption.WithBaseURL(c.BaseURL+"/v1"), openaioption.WithAPIKey(c.Key), openaioption.WithMaxRetries(0))
	var resp *http.Response
	answer, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: c.Model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"Hello", "Bye"}},
	}, openaioption.WithResponseInto(&resp))
	if err != nil {
		return got, got.fail(err)
	}
	var lines []string
	for _, d := range answer.Data {
		var numbers []string
		for _, x := range d.Embedding {
			numbers = append(numbers, fmt.Sprintf("%.5f", x))
		}
		lines = append(lines, strings.Join(numbers, " "))
	}
	got.Text, got.Tokens = strings.Join(lines, "\n"), answer.Usage.PromptTokens
	got.read(resp)
	return got, nil
}
