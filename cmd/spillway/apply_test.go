package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
)

// Every listing is a list in JSON, an empty one too, and what is printed is the API's own.
func testAdminJSON(t *testing.T, s *shell) {
	for _, noun := range []string{"providers", "models", "routes", "groups", "keys"} {
		code, stdout, stderr := s.call("admin", noun, "list", "-o", "json")
		var list []map[string]any
		if err := json.Unmarshal([]byte(stdout), &list); err != nil || list == nil || code != 0 || stderr != "" {
			t.Errorf("%s: exit code %d, %v: %s%s", noun, code, err, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"admin", "nodes"}, {"admin", "config-status"}, {"admin", "health", "list"}, {"admin", "explain", "x"}, {"admin", "keys", "create", "k"}, {"admin", "groups", "create", "g"}} {
		code, stdout, stderr := s.call(append(args, "-o", "json")...)
		var object map[string]any
		if err := json.Unmarshal([]byte(stdout), &object); err != nil || len(object) == 0 || code != 0 || stderr != "" {
			t.Errorf("%q: exit code %d, %v: %s%s", args, code, err, stdout, stderr)
		}
	}
	code, stdout, _ := s.call("admin", "audit", "-o", "json", "--operation", "createModelRouteGroup")
	var events []struct{ Operation string }
	if err := json.Unmarshal([]byte(stdout), &events); err != nil || code != 0 || len(events) != 1 || events[0].Operation != "createModelRouteGroup" {
		t.Errorf("audit: %v: %s", err, stdout)
	}
}

const manifestText = `
providers:
- {name: A, model_provider: openai, base_url: "https://a.example/v1", api_key: {env: K}}
models:
- {provider: A, upstream_model: gpt-5}
routes:
- name: smart
  targets: [{provider: A, upstream_model: gpt-5}]
`

// The codes by which scripts tell how it ended, and what is printed where.
func testApply(t *testing.T, s *shell) {
	dir := t.TempDir()
	file := filepath.Join(dir, "routes.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(manifestText)
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stdout string // what it ends with
		stderr string // what it has in it
	}{
		{"NoFile", []string{"apply"}, 2, "", "-f is needed"},
		{"FileNotThere", []string{"apply", "-f", dir + "/other"}, 2, "", "no such file"},
		{"Argument", []string{"apply", file}, 2, "", "unexpected argument"},
		{"Diff", []string{"diff", "-f", file}, 3, "3 to create, 0 to change, 0 to delete.\n", ""},
		{"DryRun", []string{"apply", "--dry-run", "-f", file}, 3, "3 to create, 0 to change, 0 to delete.\n", ""},
		{"NobodyToAsk", []string{"apply", "-f", file}, 2, "0 to delete.\n", "there is no terminal to ask on: give --yes"},
		{"StandardInputCannotAsk", []string{"apply", "-f", "-"}, 2, "", "give --yes"},
		{"Apply", []string{"apply", "--yes", "-f", file}, 0, "3 to create, 0 to change, 0 to delete.\n", "done: create the route smart"},
		{"Again", []string{"apply", "-f", file}, 0, "No changes.\n", ""},
		{"DiffAgain", []string{"diff", "-f", file, "-o", "json"}, 0, "{\n  \"changes\": []\n}\n", ""},
	} {
		code, stdout, stderr := s.call(c.args...)
		if code != c.code || !strings.HasSuffix(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" || c.stdout == "" && stdout != "" {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.name, code, c.code, stdout, stderr)
		}
		if strings.Contains(stdout+stderr, "canary") {
			t.Errorf("%s shows a credential", c.name)
		}
	}
	_, exported, _ := s.call("export")
	write(exported)
	if code, stdout, stderr := s.call("diff", "--prune", "-f", file); code != 0 {
		t.Errorf("the exported file: exit code %d: %s%s", code, stdout, stderr)
	}
	s.stdin = strings.Replace(manifestText, "upstream_model: gpt-5}]", "upstream_model: gpt-5, retry_on_429_count: 2}]", 1)
	code, stdout, stderr := s.call("apply", "-f", "-", "--yes", "-o", "json", "--note", "why not")
	var planned struct {
		Changes []struct {
			Action, Kind, Name string
			Fields             []struct {
				Field    string
				Old, New any
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &planned); err != nil || code != 0 || len(planned.Changes) != 1 || planned.Changes[0].Fields[0].New != 2.0 {
		t.Errorf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if _, stdout, _ := s.call("admin", "audit", "--limit", "1"); !strings.Contains(stdout, "why not") {
		t.Errorf("the note is not kept:\n%s", stdout)
	}
	write("providers: [{nam: x}]")
	if code, _, stderr := s.call("diff", "-f", file); code != 2 || !strings.Contains(stderr, `routes.yaml:1:14: unknown field "nam" of a provider`) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a wrong file: exit code %d: %s", code, stderr)
	}
}

// How the control plane and who calls are found.
func testConnects(t *testing.T, e *env.Env) {
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "dev.json"), []byte(`{"base_url":"http://gateway.example","client_id":"a","client_secret":"canary"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	account := map[string]string{"SPILLWAY_CLIENT_ID": e.Info.ClientID, "SPILLWAY_CLIENT_SECRET": e.Info.ClientSecret}
	with := func(more ...string) map[string]string {
		out := map[string]string{}
		for k, v := range account {
			out[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		code int
		want string
	}{
		"Account":       {with("SPILLWAY_URL", e.Info.BaseURL), nil, 0, ""},
		"URLFlag":       {with("SPILLWAY_URL", "http://127.0.0.1:1"), []string{"--url", e.Info.BaseURL + "/"}, 0, ""},
		"Token":         {map[string]string{"SPILLWAY_URL": e.Info.BaseURL, "SPILLWAY_TOKEN": e.Token}, nil, 0, ""},
		"TokenFirst":    {with("SPILLWAY_URL", e.Info.BaseURL, "SPILLWAY_CLIENT_SECRET", "wrong", "SPILLWAY_TOKEN", e.Token), nil, 0, ""},
		"Dev":           {map[string]string{"SPILLWAY_DATA_DIR": e.Options.DataDir}, nil, 0, ""},
		"NoDev":         {map[string]string{"SPILLWAY_DATA_DIR": t.TempDir()}, nil, 2, "SPILLWAY_URL is not set"},
		"DevElsewhere":  {map[string]string{"SPILLWAY_DATA_DIR": other}, nil, 2, "not this machine's"},
		"NoURL":         {account, nil, 2, "SPILLWAY_URL is not set"},
		"NobodyCalls":   {map[string]string{"SPILLWAY_URL": e.Info.BaseURL}, nil, 2, "SPILLWAY_CLIENT_ID"},
		"HalfACaller":   {map[string]string{"SPILLWAY_URL": e.Info.BaseURL, "SPILLWAY_CLIENT_ID": "a"}, nil, 2, "SPILLWAY_CLIENT_SECRET"},
		"WrongSecret":   {with("SPILLWAY_URL", e.Info.BaseURL, "SPILLWAY_CLIENT_SECRET", "canary"), nil, 1, "the client id or the client secret is wrong"},
		"NobodyAnswers": {with("SPILLWAY_URL", "http://127.0.0.1:1"), nil, 1, "connection refused"},
		"NotAURL":       {with("SPILLWAY_URL", "gateway.example"), nil, 2, "absolute"},
	} {
		s := &shell{t: t, env: c.env}
		code, _, stderr := s.call(append([]string{"admin", "providers", "list"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) || c.code != 0 && strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "canary") {
			t.Errorf("%s: exit code %d, want %d and %q: %s", name, code, c.code, c.want, stderr)
		}
	}
}
