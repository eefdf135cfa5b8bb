package manifest_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/cmd/spillway/manifest"
	"github.com/spillway-gateway/spillway/controlplane/rest/resttest"
)

var update = flag.Bool("update", false, "write the files under testdata anew")

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// What is shown before a file is applied, and the steps in their order. Applied a second
// time, it changes nothing.
func TestPlans(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/plans/*")
	if err != nil || len(cases) < 5 {
		t.Fatal(cases, err)
	}
	for _, dir := range cases {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			o := setup(t)
			o.apply(readFile(t, dir+"/before.yaml"), manifest.Options{})
			opt := manifest.Options{Prune: strings.Contains(dir, "prune")}
			text := readFile(t, dir+"/after.yaml")
			p, err := o.tryPlan(text, opt)
			if err != nil {
				golden(t, dir+"/want.txt", "refused: "+err.Error()+"\n")
				return
			}
			plan, steps := o.apply(text, opt)
			if plan != strings.Join(p.Text(), "\n") {
				t.Error("two plans of the same differ")
			}
			o.unchanged(text, opt)
			golden(t, dir+"/want.txt", plan+"\n\nin this order:\n"+steps+"\n")
		})
	}
}

// watched is a control plane whose writes are watched.
type watched struct {
	mu     sync.Mutex
	after  func(next http.Handler, r *http.Request) // every write that was answered
	refuse func(writes int) bool
	writes int
	bodies []string
}

func (w *watched) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.URL.Path == "/oauth/token" {
			next.ServeHTTP(rw, r)
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		raw, _ := io.ReadAll(r.Body)
		w.bodies = append(w.bodies, r.Method+" "+r.URL.Path+" "+string(raw))
		r.Body = io.NopCloser(bytes.NewReader(raw))
		w.writes++
		if w.refuse != nil && w.refuse(w.writes) {
			http.Error(rw, `{"error":{"message":"internal error","type":"internal_error"}}`, http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(rw, r)
		if w.after != nil {
			w.after(next, r)
		}
	})
}

// sent returns what was written since it was last asked, and forgets it.
func (w *watched) sent() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.bodies = nil }()
	return strings.Join(w.bodies, "\n")
}

func setupWatched(t *testing.T) (*org, *watched) {
	t.Helper()
	w := &watched{}
	return newOrg(t, t, resttest.Start(t, w.around)), w
}

const twoProviders = `
providers:
- {name: Old, model_provider: openai, base_url: "https://old.example/v1", api_key: {env: OLD}}
models:
- {provider: Old, upstream_model: gpt-5}
routes:
- name: smart
  targets: [{provider: Old, upstream_model: gpt-5}]
`

const otherProvider = `
providers:
- {name: New, model_provider: openai, base_url: "https://new.example/v1", api_key: {env: NEW}}
models:
- {provider: New, upstream_model: gpt-5}
routes:
- name: smart
  targets: [{provider: New, upstream_model: gpt-5}]
`

// A route that moves from one provider to another always has a target that can serve,
// although all that it had is disabled or deleted.
func TestNoRouteIsDarkOnTheWay(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]string{
		"Deleted": otherProvider,
		"Disabled": strings.ReplaceAll(strings.ReplaceAll(otherProvider, "\nmodels:\n", "\n- {name: Old, model_provider: openai, base_url: \"https://old.example/v1\", enabled: false}\nmodels:\n- {provider: Old, upstream_model: gpt-5, enabled: false}\n"),
			"targets: [", "targets: [{provider: Old, upstream_model: gpt-5, enabled: false}, "),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, w := setupWatched(t)
			o.apply(twoProviders, manifest.Options{})
			looked := 0
			w.after = func(next http.Handler, r *http.Request) {
				look := httptest.NewRequest(http.MethodGet, "/api/llm-gateway/admin/routes/smart", nil)
				look.Header.Set("Authorization", r.Header.Get("Authorization"))
				answer := httptest.NewRecorder()
				next.ServeHTTP(answer, look)
				if looked++; strings.Contains(answer.Body.String(), `"targets_available":0`) || answer.Code != http.StatusOK {
					t.Errorf("after %s %s the route is dark", r.Method, r.URL.Path)
				}
			}
			o.apply(after, manifest.Options{Prune: true})
			if looked < 4 {
				t.Errorf("only %d writes were seen", looked)
			}
		})
	}
}

// What was changed after the plan was made is not overwritten.
func TestChangedSinceThePlan(t *testing.T) {
	t.Parallel()
	o, w := setupWatched(t)
	o.apply(twoProviders, manifest.Options{})
	p := o.plan(otherProvider, manifest.Options{Prune: true})
	if _, err := o.CreateModelRouteGroupWithResponse(t.Context(), nil, admin.ModelRouteGroupCreate{Name: "by somebody else"}); err != nil {
		t.Fatal(err)
	}
	w.sent()
	if err := p.Apply(t.Context(), func(string) { t.Error("a step was made") }); !errors.Is(err, manifest.ErrChangedMeanwhile) {
		t.Errorf("got %v", err)
	}
	if sent := w.sent(); sent != "" {
		t.Errorf("something was written:\n%s", sent)
	}
}

// What is changed while a plan is applied is not overwritten either; what was done before
// stays, and applying the file again ends it.
func TestChangedOnTheWay(t *testing.T) {
	t.Parallel()
	o := setup(t)
	o.apply(twoProviders, manifest.Options{})
	text := strings.Replace(twoProviders, "gpt-5}]", "gpt-5, retry_on_429_count: 3}]", 1) + "route_groups:\n- {name: G, routes: [smart]}\n"
	text = strings.Replace(text, "api_key: {env: OLD}", "request_timeout_secs: 99, api_key: {env: OLD}", 1)
	p := o.plan(text, manifest.Options{})
	err := p.Apply(t.Context(), func(step string) {
		if step != "change the provider Old" {
			return
		}
		route, err := o.GetRouteWithResponse(t.Context(), "smart")
		if err == nil {
			_, err = o.UpdateModelMappingWithResponse(t.Context(), route.JSON200.Targets[0].Id, nil, admin.ModelMappingUpdate{RetryOn429Count: new(7)})
		}
		if err != nil {
			t.Error(err)
		}
	})
	failed, ok := errors.AsType[*manifest.StepsError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff([]string{"change the provider Old"}, failed.Done[:1]); diff != "" || !strings.Contains(err.Error(), "somebody changed it meanwhile") || !strings.HasPrefix(err.Error(), "test.yaml:8:") {
		t.Errorf("got %v, done %q", err, failed.Done)
	}
	route, err := o.GetRouteWithResponse(t.Context(), "smart")
	if err != nil || route.JSON200.Targets[0].RetryOn429Count != 7 {
		t.Errorf("the other change is lost: %v", err)
	}
	o.apply(text, manifest.Options{})
	o.unchanged(text, manifest.Options{})
}

// An order that somebody gave a route meanwhile stays, too.
func TestReorderedOnTheWay(t *testing.T) {
	t.Parallel()
	o := setup(t)
	before := readFile(t, "testdata/plans/reorder/before.yaml")
	o.apply(before, manifest.Options{})
	text := `
routes:
- name: smart
  targets: [{provider: B, upstream_model: gpt-5, retry_on_429_count: 1}, {provider: A, upstream_model: gpt-5}, {provider: A, upstream_model: gpt-4}]
`
	order := func() (ids []admin.ModelMappingPriority) {
		route, err := o.GetRouteWithResponse(t.Context(), "smart")
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range route.JSON200.Targets {
			ids = append(ids, admin.ModelMappingPriority{Id: m.Id, Priority: i})
		}
		return ids
	}
	theirs := order()
	theirs[0].Priority, theirs[2].Priority = 2, 0
	err := o.plan(text, manifest.Options{}).Apply(t.Context(), func(string) {
		if _, err := o.ReorderModelMappingsWithResponse(t.Context(), nil, admin.ModelMappingReorder{Entries: theirs}); err != nil {
			t.Error(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "could not put the targets of the route smart in order: somebody changed it meanwhile") {
		t.Errorf("got %v", err)
	}
	if got := order(); got[0].Id != theirs[2].Id || got[2].Id != theirs[0].Id {
		t.Error("their order is lost")
	}
	o.apply(text, manifest.Options{})
	o.unchanged(text, manifest.Options{})
}

// Wherever it is interrupted, applying the file again ends it.
func TestGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	o, w := setupWatched(t)
	text := readFile(t, "testdata/plans/create/after.yaml")
	total := 0
	for at := 1; ; at++ {
		w.mu.Lock()
		first := w.writes
		w.refuse = func(writes int) bool { return writes == first+2 } // one step is made each time
		w.mu.Unlock()
		p := o.plan(text, manifest.Options{})
		if len(p.Changes) == 0 {
			break
		}
		err := p.Apply(context.Background(), func(string) { total++ })
		if failed, ok := errors.AsType[*manifest.StepsError](err); err != nil && (!ok || len(failed.Done) != 1 || len(failed.Left) == 0) {
			t.Fatalf("got %v", err)
		}
		if at > 30 {
			t.Fatal("it comes to no end")
		}
	}
	if total < 8 {
		t.Errorf("%d steps were made", total)
	}
}

// A credential is sent when it must be, or when that is asked for; nothing ever shows it.
func TestCredentials(t *testing.T) {
	t.Parallel()
	o, w := setupWatched(t)
	with := func(change ...string) string { return strings.NewReplacer(change...).Replace(twoProviders) }
	for _, c := range []struct {
		name, text string
		opt        manifest.Options
		sent       bool
	}{
		{"Created", twoProviders, manifest.Options{}, true},
		{"Again", twoProviders, manifest.Options{}, false},
		{"Another field", with("api_key:", "enforce_health_check: false, api_key:"), manifest.Options{}, false},
		{"Another path", with("old.example/v1", "old.example/v2"), manifest.Options{}, false},
		{"Another host", with("old.example/v1", "older.example/v2"), manifest.Options{}, true},
		{"Another scheme", with("https://old.example/v1", "http://older.example/v2"), manifest.Options{}, true},
		{"Another way", with("https://old.example/v1", "http://older.example/v2", "api_key:", "auth_type: azure_api_key, api_key:"), manifest.Options{}, true},
		{"Rotated", with("https://old.example/v1", "http://older.example/v2", "api_key:", "auth_type: azure_api_key, api_key:"), manifest.Options{Rotate: true}, true},
	} {
		w.sent()
		plan, steps := o.apply(c.text, c.opt)
		if sent := strings.Contains(w.sent(), "sk-canary"); sent != c.sent || strings.Contains(plan, "api_key: (") != c.sent {
			t.Errorf("%s: sent %t, want %t:\n%s", c.name, sent, c.sent, plan)
		}
		if strings.Contains(plan+steps, "sk-canary") {
			t.Errorf("%s: the credential is shown:\n%s\n%s", c.name, plan, steps)
		}
	}
	none := func(string) string { return "" }
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"NotSet":      {with("old.example", "third.example"), "test.yaml:3:77: api_key: the environment variable OLD is not set"},
		"NoFile":      {with("old.example", "third.example", "{env: OLD}", "{file: nowhere/key}"), "test.yaml:3:77: api_key: the file nowhere/key cannot be read: no such file or directory"},
		"NoReference": {with("old.example", "third.example", ", api_key: {env: OLD}", ""), "test.yaml:3:39: moving the provider Old to another host needs its credential: give api_key or credentials"},
	} {
		w.sent()
		if _, err := o.tryPlan(c.text, manifest.Options{Env: none}); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// A provider that gets a credential of its own in place of its connection's is sent it.
func TestDetached(t *testing.T) {
	t.Parallel()
	o, w := setupWatched(t)
	shared := "connections: [{name: C, model_provider: openai, base_url: \"https://old.example/v1\", api_key: {env: A}}]\n"
	provider := "providers: [{name: P, model_provider: openai, base_url: \"https://old.example/v1\", "
	o.apply(shared+provider+"connection: C}]\n", manifest.Options{})
	w.sent()
	own := provider + "api_key: {env: A}}]\n"
	o.apply(own, manifest.Options{})
	if sent := w.sent(); !strings.Contains(sent, `"api_key":"sk-canary"`) {
		t.Errorf("got %s", sent)
	}
	o.unchanged(own, manifest.Options{})
}

// A limit outlives its provider. What is exported then changes nothing.
func TestLimitOfWhatIsGone(t *testing.T) {
	t.Parallel()
	o := setup(t)
	o.apply(twoProviders+"rate_limits: [{name: L, scope_type: org, requests_per_minute: 5, target_provider: Old}]\n", manifest.Options{})
	if text := strings.Join(o.plan("providers: []\nrate_limits: []\n", manifest.Options{Prune: true}).Text(), "\n"); strings.Contains(text, "counts nothing") {
		t.Errorf("a limit that goes too:\n%s", text)
	}
	plan, _ := o.apply("providers: []\n", manifest.Options{Prune: true})
	for _, note := range []string{"its model gpt-5 goes with it", "the rate limit L is for it, and counts nothing any more"} {
		if !strings.Contains(plan, note) {
			t.Errorf("the plan does not say %q:\n%s", note, plan)
		}
	}
	text := o.export()
	o.unchanged(text, manifest.Options{Prune: true})
	o.apply(strings.Replace(text, "requests_per_minute: 5", "requests_per_minute: 6", 1), manifest.Options{Prune: true})
}

// A route that goes is taken out of its groups, which the plan says.
func TestGroupLosesARoute(t *testing.T) {
	t.Parallel()
	o := setup(t)
	o.apply(twoProviders+"route_groups: [{name: G, routes: [smart]}]\n", manifest.Options{})
	if plan, _ := o.apply("routes: []\n", manifest.Options{Prune: true}); !strings.Contains(plan, "the route group G loses it") {
		t.Errorf("got\n%s", plan)
	}
}

// An empty file is no order to delete.
func TestEmptyFile(t *testing.T) {
	t.Parallel()
	o := setup(t)
	o.apply(twoProviders, manifest.Options{})
	for _, text := range []string{"", "# nothing\n", "---\n", "{}\n", "null\n"} {
		o.unchanged(text, manifest.Options{Prune: true})
	}
}

// A credential in a file is read from beside the file that names it.
func TestCredentialFromAFile(t *testing.T) {
	t.Parallel()
	o, w := setupWatched(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("sk-canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := manifest.Read("x.yaml", dir, []byte(strings.Replace(twoProviders, "{env: OLD}", "{file: key}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := manifest.New(t.Context(), o.Client, file, manifest.Options{Env: secret, Note: "why"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	if sent := w.sent(); !strings.Contains(sent, `"api_key":"sk-canary"`) || strings.Count(sent, `"change_note":"why"`) != 3 {
		t.Errorf("got %s", sent)
	}
}

// The file that the documentation shows can be applied.
func TestDocumentedFile(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(readFile(t, "../../../docs/cli.md"), "```yaml\n")
	text, _, ok := strings.Cut(text, "```\n")
	if !ok {
		t.Fatal("docs/cli.md shows no file")
	}
	o := setup(t)
	o.apply(text, manifest.Options{})
	o.unchanged(text, manifest.Options{Prune: true})
}

// Policies may have the same name, and then no file can tell them apart.
func TestSameNames(t *testing.T) {
	t.Parallel()
	o := setup(t)
	o.apply(twoProviders, manifest.Options{})
	for range 2 {
		if _, err := o.CreateModelAccessWithResponse(t.Context(), nil, admin.ModelAccessPolicyCreate{Name: "Twins", ScopeType: admin.ScopeTypeOrg, PolicyType: admin.PolicyTypeDenylist,
			Targets: &[]admin.ModelAccessTarget{{Kind: admin.ModelAccessTargetKindModelAlias, Alias: new("x")}}}); err != nil {
			t.Fatal(err)
		}
	}
	const want = `there are several model access policies named "Twins": give them different names, since a file knows them by it`
	if _, err := manifest.Export(t.Context(), o.Client); err == nil || err.Error() != want {
		t.Errorf("export: got %v", err)
	}
	if _, err := o.tryPlan("model_access: [{name: Twins, scope_type: org, policy_type: denylist}]", manifest.Options{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a file that names them: got %v", err)
	}
	o.unchanged(twoProviders, manifest.Options{Prune: true})
}
