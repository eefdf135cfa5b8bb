package manifest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/client"
	"github.com/spillway-gateway/spillway/cmd/spillway/manifest"
	"github.com/spillway-gateway/spillway/controlplane/rest/resttest"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

func TestMain(m *testing.M) {
	// An organization takes a hundred calls to make; the command line may ask for more.
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	storetest.Main(m)
}

// org is an organization, and who may configure it.
type org struct {
	t fataler
	*client.Client
}

// fataler is what *testing.T and *rapid.T have in common.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func newOrg(t *testing.T, report fataler, p *resttest.Plane) *org {
	t.Helper()
	id, secret := p.Account(t)
	c, err := client.New(client.Config{URL: p.URL, ClientID: id, ClientSecret: secret, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return &org{report, c}
}

func setup(t *testing.T) *org {
	t.Helper()
	return newOrg(t, t, resttest.Start(t, nil))
}

// post creates a resource and returns its id. A refusal is returned as "" where it is one
// of those that a random organization meets.
func (o *org) post(call func(context.Context, string, io.Reader) (*http.Response, error), body map[string]any) string {
	o.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		o.t.Fatal(err)
	}
	resp, err := call(context.Background(), "application/json", bytes.NewReader(raw))
	if err != nil {
		o.t.Fatalf("%s: %v", raw, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var made struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil {
		o.t.Fatal(err)
	}
	return made.ID
}

// creating drops the parameters of a generated call.
func creating[P any](call func(context.Context, *P, string, io.Reader, ...admin.RequestEditorFn) (*http.Response, error)) func(context.Context, string, io.Reader) (*http.Response, error) {
	return func(ctx context.Context, media string, body io.Reader) (*http.Response, error) {
		return call(ctx, nil, media, body)
	}
}

func (o *org) export() string {
	o.t.Helper()
	out, err := manifest.Export(context.Background(), o.Client)
	if err != nil {
		o.t.Fatal(err)
	}
	return string(out)
}

// secret is the environment of the tests: every credential is set.
func secret(string) string { return "sk-canary" }

func (o *org) plan(text string, opt manifest.Options) *manifest.Plan {
	o.t.Helper()
	p, err := o.tryPlan(text, opt)
	if err != nil {
		o.t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func (o *org) tryPlan(text string, opt manifest.Options) (*manifest.Plan, error) {
	file, err := manifest.Read("test.yaml", ".", []byte(text))
	if err != nil {
		return nil, err
	}
	if opt.Env == nil {
		opt.Env = secret
	}
	return manifest.New(context.Background(), o.Client, file, opt)
}

func (o *org) apply(text string, opt manifest.Options) (changes, steps string) {
	o.t.Helper()
	p := o.plan(text, opt)
	var done []string
	if err := p.Apply(context.Background(), func(step string) { done = append(done, step) }); err != nil {
		o.t.Fatalf("%v\n%s", err, strings.Join(p.Text(), "\n"))
	}
	return strings.Join(p.Text(), "\n"), strings.Join(done, "\n")
}

// unchanged demands that a file changes nothing.
func (o *org) unchanged(text string, opt manifest.Options) {
	o.t.Helper()
	if p := o.plan(text, opt); len(p.Changes) > 0 {
		o.t.Errorf("the file changes something:\n%s\n\n%s", strings.Join(p.Text(), "\n"), text)
	}
}

// A file that was exported changes nothing in its organization, makes the same
// organization anew, and makes any other into it.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	plane := resttest.Start(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		one, other, fresh := newOrg(t, rt, plane), newOrg(t, rt, plane), newOrg(t, rt, plane)
		populate(rt, one)
		populate(rt, other)
		text := one.export()
		one.unchanged(text, manifest.Options{Prune: true})
		if again := one.export(); again != text {
			rt.Errorf("two exports differ:\n%s", cmp.Diff(text, again))
		}
		if strings.Contains(text, "sk-canary") {
			rt.Errorf("the file has a credential:\n%s", text)
		}
		for name, o := range map[string]*org{"a new organization": fresh, "another organization": other} {
			p, err := o.tryPlan(text, manifest.Options{Prune: true})
			if err != nil && (strings.Contains(err.Error(), "is disabled, so that no target can be made of it") || strings.Contains(err.Error(), "is needed and not in the file")) {
				continue // it would leave something that does not hold together
			}
			if err != nil {
				rt.Fatalf("%s: %v\n%s", name, err, text)
			}
			before := o.export()
			if err := p.Apply(context.Background(), func(string) {}); err != nil {
				rt.Fatalf("%s: %v\n%s\n\nit was\n%s\nand the file is\n%s", name, err, strings.Join(p.Text(), "\n"), before, text)
			}
			if got := o.export(); got != text {
				rt.Errorf("%s differs from what the file says:\n%s\nthe plan:\n%s\nit was\n%s", name, cmp.Diff(text, got), strings.Join(p.Text(), "\n"), before)
			}
			o.unchanged(text, manifest.Options{Prune: true})
		}
	})
}

// populate makes an organization by the API alone. What cannot be changed later is the
// same for a name in all organizations.
func populate(rt *rapid.T, o *org) {
	connection := ""
	if rapid.Bool().Draw(rt, "connection") {
		connection = o.post(creating(o.CreateConnectionWithBody), map[string]any{"name": "Shared", "model_provider": "openai", "base_url": "https://shared.example/v1", "api_key": "sk-canary-0123"})
	}
	providers := map[string]string{}
	for i, name := range []string{"OpenAI EU", "claude", "Local"} {
		if !rapid.Bool().Draw(rt, name) {
			continue
		}
		body := map[string]any{"name": name, "model_provider": []string{"openai", "anthropic", "custom"}[i], "base_url": "https://" + rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "host") + ".example/v1"}
		if i == 0 && connection != "" && rapid.Bool().Draw(rt, "shared") {
			body["connection_id"], body["base_url"] = connection, "https://shared.example/v1"
		} else {
			body["api_key"] = "sk-canary"
		}
		some(rt, body, map[string]any{"enabled": rapid.Bool(), "enforce_health_check": rapid.Bool(), "request_timeout_secs": rapid.IntRange(1, 600), "stream_idle_timeout_secs": rapid.IntRange(1, 300)})
		if rapid.Bool().Draw(rt, "settings") {
			body["settings"] = map[string]any{"region": rapid.SampledFrom([]string{"eu", "true", "1", "null", "ä: #"}).Draw(rt, "region"), "n": rapid.SampledFrom([]any{1, 1.5, true, nil, []any{"x", map[string]any{}}}).Draw(rt, "n")}
		}
		if rapid.Bool().Draw(rt, "metered") {
			body["billing_mode"], body["billing_reason"] = "not_metered", "local"
			some(rt, body, map[string]any{"billing_note": rapid.SampledFrom([]string{"why", "-"})})
		}
		providers[name] = o.post(creating(o.CreateProviderWithBody), body)
	}
	routes := populateRoutes(rt, o, providers)
	populatePolicies(rt, o, providers, routes)
}

// some puts some of the fields into a body, each with a drawn value.
func some(rt *rapid.T, body map[string]any, fields map[string]any) {
	for _, name := range []string{"enabled", "enforce_health_check", "request_timeout_secs", "stream_idle_timeout_secs", "billing_note", "bare_alias", "source", "priority", "retry_on_429_count",
		"cooldown_failure_threshold", "cooldown_max_secs", "description", "traffic_type", "tokens_per_minute", "target_model_alias", "alert_thresholds", "cost_limit", "action_on_exhaust"} {
		g, ok := fields[name]
		if !ok || !rapid.Bool().Draw(rt, name+"?") {
			continue
		}
		switch g := g.(type) {
		case *rapid.Generator[bool]:
			body[name] = g.Draw(rt, name)
		case *rapid.Generator[int]:
			body[name] = g.Draw(rt, name)
		case *rapid.Generator[string]:
			body[name] = g.Draw(rt, name)
		case *rapid.Generator[any]:
			body[name] = g.Draw(rt, name)
		}
	}
}

// modelFields are what a model mapping may have.
func modelFields() map[string]any {
	return map[string]any{"enabled": rapid.Bool(), "request_timeout_secs": rapid.SampledFrom([]int{1, 120, 600}), "stream_idle_timeout_secs": rapid.SampledFrom([]int{1, 180, 300}),
		"bare_alias": rapid.Bool(), "priority": rapid.IntRange(0, 2), "retry_on_429_count": rapid.IntRange(0, 10), "cooldown_failure_threshold": rapid.IntRange(0, 20), "cooldown_max_secs": rapid.IntRange(30, 60)}
}

func populateRoutes(rt *rapid.T, o *org, providers map[string]string) []string {
	routes := []string{"smart", "team/fast x", "gpt-5"} // the last is a model's name too
	for _, name := range []string{"OpenAI EU", "claude", "Local"} {
		provider, ok := providers[name]
		if !ok {
			continue
		}
		for _, model := range []string{"gpt-5", "8.10"} {
			if !rapid.Bool().Draw(rt, model) {
				continue
			}
			body := map[string]any{"provider_id": provider, "model_alias": model, "upstream_model": model}
			fields := modelFields()
			fields["source"] = rapid.SampledFrom([]string{"catalog", "custom"})
			some(rt, body, fields)
			o.post(creating(o.CreateModelMappingWithBody), body)
			if body["enabled"] == false {
				continue
			}
			for _, route := range routes {
				if route == model || !rapid.Bool().Draw(rt, route) {
					continue
				}
				body := map[string]any{"provider_id": provider, "model_alias": route, "upstream_model": model}
				some(rt, body, modelFields())
				o.post(creating(o.CreateModelMappingWithBody), body)
			}
		}
	}
	return routes
}

func populatePolicies(rt *rapid.T, o *org, providers map[string]string, routes []string) {
	group := ""
	if rapid.Bool().Draw(rt, "group") {
		body := map[string]any{"name": "Group 1", "model_aliases": rapid.SliceOfDistinct(rapid.SampledFrom(routes), rapid.ID[string]).Draw(rt, "aliases")}
		some(rt, body, map[string]any{"description": rapid.SampledFrom([]string{"", "what: it is"})})
		group = o.post(creating(o.CreateModelRouteGroupWithBody), body)
	}
	targets := []any{map[string]any{"kind": "model_alias", "alias": "team*"}, map[string]any{"kind": "provider", "provider_id": "0198c5a2-7d3e-7c41-9a55-0b8a4f6f2c11"}}
	if group != "" {
		targets = append(targets, map[string]any{"kind": "route_group", "group_id": group})
	}
	if p := providers["claude"]; p != "" {
		targets = append(targets, map[string]any{"kind": "provider_model", "provider_id": p, "model": "gpt-5"})
	}
	if rapid.Bool().Draw(rt, "access") {
		body := map[string]any{"name": "Interns", "scope_type": "group", "scope_value": "interns", "policy_type": rapid.SampledFrom([]string{"allowlist", "denylist"}).Draw(rt, "policy"),
			"targets": rapid.SliceOfN(rapid.SampledFrom(targets), 1, 3).Draw(rt, "targets")}
		if rapid.Bool().Draw(rt, "everybody") {
			body["scope_type"] = "org"
			delete(body, "scope_value")
		}
		some(rt, body, map[string]any{"enabled": rapid.Bool(), "traffic_type": rapid.SampledFrom([]string{"llm", "all"})})
		o.post(creating(o.CreateModelAccessWithBody), body)
	}
	if rapid.Bool().Draw(rt, "limit") {
		body := map[string]any{"name": "Limit", "scope_type": "org", "requests_per_minute": rapid.IntRange(0, 9).Draw(rt, "rpm")}
		some(rt, body, map[string]any{"enabled": rapid.Bool(), "tokens_per_minute": rapid.IntRange(0, 9), "target_model_alias": rapid.SampledFrom(routes), "traffic_type": rapid.SampledFrom([]string{"llm", "all"})})
		o.post(creating(o.CreateRateLimitWithBody), body)
	}
	if rapid.Bool().Draw(rt, "budget") {
		body := map[string]any{"name": "Budget", "scope_type": "org", "period": "daily", "token_limit": rapid.IntRange(1, 9).Draw(rt, "tokens")}
		some(rt, body, map[string]any{"enabled": rapid.Bool(), "cost_limit": rapid.SampledFrom([]any{1, 12.5, json.Number("0.0001")}), "alert_thresholds": rapid.SampledFrom([]any{[]int{}, []int{50}, []int{90, 80}}),
			"action_on_exhaust": rapid.SampledFrom([]string{"warn", "block"})})
		o.post(creating(o.CreateBudgetWithBody), body)
	}
	if rapid.Bool().Draw(rt, "governance") {
		if _, err := o.UpdateGovernanceConfigWithResponse(context.Background(), nil, admin.GovernanceConfigUpdate{DefaultModelAccess: new(admin.DefaultModelAccessDeny)}); err != nil {
			rt.Fatal(err)
		}
	}
}
