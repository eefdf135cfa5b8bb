package manifest_test

import (
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/cmd/spillway/manifest"
)

// What is wrong with a file is said with the place where it is.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"NoYAML":            {"providers: [", "f.yaml:2:1: did not find expected node content"},
		"TwoDocuments":      {"providers: []\n---\nroutes: []\n", "f.yaml:1:1: expected single document, found multiple"},
		"NoMapping":         {"- a\n", "f.yaml:1:1: must be a mapping of lists, such as providers and routes"},
		"UnknownList":       {"routes: []\nrouts: []\n", `f.yaml:2:1: unknown field "routs": use connections, providers, models, routes, route_groups, model_access, rate_limits, budgets, governance`},
		"ListTwice":         {"routes: []\nroutes: []\n", `f.yaml:2:1: the field "routes" is there twice`},
		"EmptyList":         {"models:\n# - {provider: a, upstream_model: b}\nroutes: []\n", "f.yaml:1:8: models must be a list: write [] for an empty one"},
		"NoTruth":           {"models:\n- {provider: a, upstream_model: b, enabled: !!bool yes}\n", "f.yaml:2:45: must be true or false"},
		"CredentialAsName":  {"providers:\n- {name: a, model_provider: openai, base_url: b, api_key: {env: sk-canary}}\n", "f.yaml:2:59: api_key: env must be the name of an environment variable"},
		"NoList":            {"providers: {}\n", "f.yaml:1:12: providers must be a list"},
		"UnknownField":      {"route_groups:\n- name: a\n  rutes: []\n", `f.yaml:3:3: unknown field "rutes" of a route group`},
		"FieldTwice":        {"route_groups:\n- name: a\n  name: b\n", `f.yaml:3:3: the field "name" is there twice`},
		"MissingField":      {"providers:\n- name: a\n  model_provider: openai\n", `f.yaml:2:3: missing field "base_url" of a provider`},
		"NumberForString":   {"models:\n- {provider: a, upstream_model: 4.5}\n", "f.yaml:2:33: upstream_model must be a string: put it in quotes"},
		"DateForString":     {"models:\n- {provider: a, upstream_model: 2025-01-01}\n", "f.yaml:2:33: upstream_model must be a string: put it in quotes"},
		"NumberForName":     {"models:\n- {provider: 1, upstream_model: a}\n", "f.yaml:2:14: provider must be a name"},
		"StringForBool":     {"models:\n- {provider: a, upstream_model: b, enabled: yes please}\n", "f.yaml:2:45: enabled must be true or false"},
		"OutOfRange":        {"models:\n- {provider: a, upstream_model: b, retry_on_429_count: 11}\n", "f.yaml:2:56: retry_on_429_count must be between 0 and 10"},
		"NoSuchWord":        {"governance: {default_model_access: maybe}\n", "f.yaml:1:36: default_model_access must be one of [allow deny]"},
		"SettingsNoMapping": {"connections:\n- {name: a, model_provider: openai, base_url: b, settings: [1]}\n", "f.yaml:2:60: settings must be a mapping"},
		"ItemOfAList":       {"budgets:\n- {name: a, scope_type: org, period: daily, alert_thresholds: [1, x]}\n", "f.yaml:2:67: alert_thresholds[1] must be a whole number"},
		"CredentialItself":  {"providers:\n- {name: a, model_provider: openai, base_url: b, api_key: sk-canary}\n", "f.yaml:2:59: api_key is one of {env: VARIABLE} and {file: PATH}: the credential itself never stands in this file"},
		"CredentialTwice":   {"providers:\n- {name: a, model_provider: openai, base_url: b, api_key: {env: A, file: b}}\n", "f.yaml:2:59: api_key is one of {env: VARIABLE} and {file: PATH}: the credential itself never stands in this file"},
		"TwoCredentials":    {"providers:\n- {name: a, model_provider: openai, base_url: b, api_key: {env: A}, credentials: {env: B}}\n", "f.yaml:2:69: give api_key or credentials, not both"},
		"SameTwice":         {"providers:\n- {name: Open AI, model_provider: openai, base_url: b}\n- {name: open-ai, model_provider: openai, base_url: b}\n", `f.yaml:3:4: the provider "open-ai" is already at f.yaml:2:3`},
		"NoTargets":         {"routes:\n- name: a\n", "f.yaml:2:3: the route needs at least one target"},
		"TargetTwice":       {"routes:\n- name: a\n  targets: [{provider: a, upstream_model: b}, {provider: A, upstream_model: b}]\n", "f.yaml:3:47: the target A/b is already at f.yaml:3:13"},
		"OwnTargetSettings": {"routes:\n- name: b\n  targets: [{provider: a, upstream_model: b, enabled: true}]\n", "f.yaml:3:46: the target is the model itself, since the route has its name: give enabled under models"},
		"AccessTarget":      {"model_access:\n- {name: a, scope_type: org, policy_type: allowlist, targets: [{kind: model, modl: x}]}\n", `f.yaml:2:78: unknown field "modl" of a target`},
		"Alias":             {"routes: *nowhere\n", "f.yaml:1:9: unknown anchor 'nowhere' referenced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Read("f.yaml", ".", []byte(c.text))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Error("the error shows a credential")
			}
		})
	}
}

// What the file says that the organization cannot be.
func TestWrongPlans(t *testing.T) {
	t.Parallel()
	o := setup(t)
	o.apply(twoProviders, manifest.Options{})
	o.apply("connections: [{name: Shared, model_provider: openai, base_url: \"https://old.example/v1\", api_key: {env: A}}]\n"+
		"providers: [{name: Sharing, model_provider: openai, base_url: \"https://old.example/v1\", connection: Shared}]\n"+
		"models: [{provider: Sharing, upstream_model: own, bare_alias: true}]\n"+
		"route_groups: [{name: Held}]\nmodel_access: [{name: Holds, scope_type: org, policy_type: denylist, targets: [{kind: route_group, group: Held}]}]\n", manifest.Options{})
	for name, c := range map[string]struct {
		text, want string
		prune      bool
	}{
		"NoSuchProvider":   {"models:\n- {provider: Other, upstream_model: a}\n", `test.yaml:2:4: there is no provider "Other", and the file has none`, false},
		"NoSuchGroup":      {"model_access:\n- {name: a, scope_type: org, policy_type: denylist, targets: [{kind: route_group, group: x}]}\n", `test.yaml:2:53: there is no route group "x", and the file has none`, false},
		"ModelNotEnabled":  {"routes:\n- name: new\n  targets: [{provider: Old, upstream_model: other}]\n", "test.yaml:3:29: the model Old/other is not enabled: add it under models", false},
		"ModelDisabled":    {"models: [{provider: Old, upstream_model: gpt-5, enabled: false}]\nroutes:\n- name: new\n  targets: [{provider: Old, upstream_model: gpt-5}]\n", "test.yaml:4:29: the model Old/gpt-5 is disabled, so that no target can be made of it", false},
		"OtherFamily":      {"providers: [{name: Old, model_provider: anthropic, base_url: \"https://old.example/v1\"}]\n", "test.yaml:1:25: model_provider of the provider Old cannot be changed from openai to anthropic: delete it first", false},
		"PrunedAndNeeded":  {"models: [{provider: Old, upstream_model: other}]\nroutes:\n- name: smart\n  targets: [{provider: Old, upstream_model: gpt-5}]\n", "test.yaml:4:29: the model Old/gpt-5 is needed and not in the file, whose list of models would delete it", true},
		"PrunedProvider":   {"providers: []\nmodels: [{provider: Old, upstream_model: gpt-5}]\n", `test.yaml:2:11: the provider "Old" is needed and not in the file, whose list of providers would delete it`, true},
		"PrunedRoute":      {"routes: []\nroute_groups: [{name: G, routes: [smart]}]\n", `test.yaml:2:26: the route "smart" is needed and not in the file, which leaves it no target`, true},
		"OfAPrunedOne":     {"providers: []\nroute_groups: [{name: G, routes: [smart]}]\n", `test.yaml:2:26: the route "smart" is needed and not in the file, which leaves it no target`, true},
		"NoMoreOwnRoute":   {"models: [{provider: Sharing, upstream_model: own}]\nroute_groups: [{name: G, routes: [own]}]\n", `test.yaml:2:26: the route "own" is needed and not in the file, which leaves it no target`, false},
		"NotItsOwnRoute":   {"models: [{provider: Old, upstream_model: gpt-5}]\nroutes:\n- name: gpt-5\n  targets: [{provider: Old, upstream_model: gpt-5}]\n", "test.yaml:1:10: bare_alias must be true, since the route gpt-5 at test.yaml:3:3 has the model in it", false},
		"PrunedConnection": {"connections: []\n", `the connection "Shared" is not in the file, whose list of connections would delete it, and the provider "Sharing" needs it`, true},
		"PrunedGroup":      {"route_groups: []\n", `the route group "Held" is not in the file, whose list of route_groups would delete it, and the model access policy "Holds" needs it`, true},
		"Detached":         {"providers: [{name: Sharing, model_provider: openai, base_url: \"https://old.example/v1\"}]\n", "test.yaml:1:13: the provider Sharing has its connection's credential, and without the connection needs its own: give api_key or credentials", false},
		"KeyAndConnection": {"connections: [{name: C, model_provider: openai, base_url: \"https://old.example/v1\", api_key: {env: A}}]\nproviders: [{name: New, model_provider: openai, base_url: \"https://old.example/v1\", connection: C, api_key: {env: A}}]\n", "test.yaml:2:100: a connection excludes a credential of the provider's own", false},
	} {
		_, err := o.tryPlan(c.text, manifest.Options{Prune: c.prune})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got  %v\nwant %s", name, err, c.want)
		}
	}
}

// No file makes the reader fall, or go on for ever.
func FuzzRead(f *testing.F) {
	f.Add("providers:\n- &a {name: x, model_provider: openai, base_url: y, api_key: {env: A}, settings: {n: 1.5e3, m: 0x1f}}\n- {<<: *a, name: z}\n")
	f.Add("routes: [{name: a, targets: [{provider: a, upstream_model: '8.10', enabled: no}]}]\nmodel_access: [{name: a, targets: [{kind: model}]}]\n")
	f.Add("providers: &a [*a]\n")
	f.Add("providers: [{name: a, settings: &a {b: [*a, *a, *a], <<: [*a, *a]}}]\n")
	f.Add("budgets: [{name: a, scope_type: org, period: daily, cost_limit: 1e99, alert_thresholds: [~, {}]}]\ngovernance: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := manifest.Read("f.yaml", ".", []byte(text))
		if (file == nil) == (err == nil) {
			t.Errorf("file %v, error %v", file, err)
		}
	})
}
