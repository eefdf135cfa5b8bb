package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/test/env"
)

var update = flag.Bool("update", false, "write the files under testdata anew")

// shell calls the program in this process, as a person of one organization.
type shell struct {
	t     *testing.T
	env   map[string]string
	stdin string
	log   strings.Builder // what was called and what it said
}

// call returns the exit code and what was printed.
func (s *shell) call(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, errs bytes.Buffer
	code = run(s.t.Context(), args, func(name string) string { return s.env[name] }, strings.NewReader(s.stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// do calls, and notes all of it.
func (s *shell) do(args ...string) {
	s.t.Helper()
	code, stdout, stderr := s.call(args...)
	s.log.WriteString("$ spillway " + strings.Join(args, " ") + "\n" + stdout)
	if stderr != "" {
		s.log.WriteString("(" + strings.TrimSpace(stderr) + ")\n")
	}
	if code != 0 {
		s.log.WriteString("exit code " + string(rune('0'+code)) + "\n")
	}
	s.log.WriteString("\n")
}

// What differs from run to run.
var changing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "<time>"},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "<url>"},
	{regexp.MustCompile(`bd-[a-z2-7]{20,}`), "<key>"},
	{regexp.MustCompile(`bd-[a-z0-9]{5}`), "<prefix>"},
	{regexp.MustCompile(`(?m)\b(unverified|healthy)\b( +-)?$`), "<health>"}, // as the check of the connection is done or not
	{regexp.MustCompile(`(?m) +$`), ""},
	{regexp.MustCompile(` {3,}`), "  "},
}

// golden compares what was noted with a file.
func (s *shell) golden(name string) {
	s.t.Helper()
	got := s.log.String()
	for _, c := range changing {
		got = c.pattern.ReplaceAllString(got, c.with)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		s.t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// newShell is for an organization of its own.
func newShell(t *testing.T, e *env.Env, name string) *shell {
	t.Helper()
	return &shell{t: t, env: map[string]string{"SPILLWAY_URL": e.Info.BaseURL, "SPILLWAY_TOKEN": e.NewOrg(name).Token, "K": "sk-canary-0123"}, stdin: "sk-canary-0123\n"}
}

// The commands, as an administrator sees them. The files under testdata are read like a
// terminal's history.
func TestAdmin(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for name, story := range map[string]func(s *shell){
		"routes.txt": func(s *shell) {
			openai := []string{"--family", "openai", "--base-url", e.ProviderURL + "/v1", "--api-key-file", "-"}
			s.do(append([]string{"admin", "providers", "create", "Open AI", "--model", "big", "--model", "small", "--setting", "organization=acme", "--note", "first"}, openai...)...)
			s.do(append([]string{"admin", "providers", "create", "Backup", "--disabled"}, openai...)...)
			s.do("admin", "providers", "list")
			s.do("admin", "providers", "get", "open-ai")
			s.do("admin", "providers", "enable", "Backup")
			s.do("admin", "providers", "rotate", "Backup", "--api-key-env", "K")
			s.do("admin", "models", "enable", "backup/big")
			s.do("admin", "routes", "create", "smart", "open-ai/big", "backup/big")
			s.do("admin", "routes", "create", "other", "Open AI/huge")
			s.do("admin", "routes", "add-target", "smart", "open-ai/small")
			s.do("admin", "routes", "reorder", "smart", "open-ai/small", "backup/big")
			s.do("admin", "routes", "disable-target", "smart", "open-ai/big", "--note", "too slow")
			s.do("admin", "routes", "get", "smart")
			s.do("admin", "groups", "create", "all", "smart")
			s.do("admin", "routes", "rename", "smart", "smarter")
			s.do("admin", "routes", "duplicate", "smarter", "copy")
			s.do("admin", "routes", "remove-target", "copy", "open-ai/big", "--yes")
			s.do("admin", "routes", "enable-target", "smarter", "open-ai/big")
			s.do("admin", "routes", "list")
			s.do("admin", "routes", "delete", "copy")
			s.do("admin", "routes", "delete", "copy", "--yes")
			s.do("admin", "routes", "get", "copy")
			s.do("admin", "models", "disable", "backup/big")
			s.do("admin", "models", "list", "--provider", "backup")
			s.do("admin", "models", "delete", "backup/big", "--yes")
			s.do("admin", "groups", "list")
			s.do("admin", "groups", "add", "all", "copy", "smart")
			s.do("admin", "groups", "remove", "all", "copy")
			s.do("admin", "groups", "get", "all")
			s.do("admin", "groups", "delete", "all", "--yes")
			s.do("admin", "providers", "delete", "Backup", "--yes")
			s.do("admin", "audit", "--limit", "4")
		},
		"own-route.txt": func(s *shell) {
			s.do("admin", "providers", "create", "A", "--family", "custom", "--base-url", e.ProviderURL+"/v1", "--api-key-env", "K", "--model", "m", "--model", "n")
			s.do("admin", "routes", "create", "m", "A/n")
			s.do("admin", "routes", "add-target", "m", "a/m")
			s.do("admin", "routes", "list")
			s.do("admin", "routes", "remove-target", "m", "A/m", "--yes")
			s.do("admin", "routes", "list")
			s.do("admin", "models", "list")
		},
		"keys.txt": func(s *shell) {
			s.do("admin", "keys", "create", "ci", "--scope", "chat")
			s.do("admin", "keys", "create", "ci")
			s.do("admin", "keys", "create", "agent", "--user", "nobody@acme.example")
			s.do("admin", "keys", "get", "ci")
			s.do("admin", "keys", "list", "-o", "csv")
			s.do("admin", "keys", "rotate", "test", "--grace", "1h")
			s.do("admin", "keys", "disable", "test")
			s.do("admin", "keys", "enable", "test")
			s.do("admin", "keys", "disable", "test")
			s.do("admin", "keys", "revoke", "test", "--yes")
			s.do("admin", "keys", "revoke", "test", "--yes")
			s.do("admin", "keys", "rotate", "test", "--grace", "1000h")
		},
		"explain.txt": func(s *shell) {
			s.do("admin", "providers", "create", "A", "--family", "openai", "--base-url", e.ProviderURL+"/v1", "--api-key-env", "K", "--model", "m", "--model", "n")
			s.do("admin", "routes", "create", "r", "A/m", "A/n")
			s.do("admin", "explain", "r", "--answer", "1=503", "--ignore-health")
			s.do("admin", "explain", "r", "--answer", "1=429", "--answer", "2=timeout", "--ignore-health")
			s.do("admin", "explain", "nothing")
			s.do("admin", "explain", "r", "--answer", "first")
			s.do("admin", "explain", "r", "--key", "test", "--endpoint", "messages", "--stream", "--ignore-health")
			s.do("admin", "health", "reset", "A/m")
			s.do("admin", "providers", "test", "A")
		},
		"help.txt": func(s *shell) {
			s.do("admin")
			s.do("admin", "routes")
			s.do("admin", "routes", "create", "--help")
			s.do("apply", "--help")
			s.do("admin", "rotues")
			s.do("admin", "routes", "lsit")
			s.do("admin", "routes", "get")
			s.do("admin", "routes", "get", "a", "b")
			s.do("admin", "routes", "get", "a", "--wide")
			s.do("admin", "providers", "create", "x", "--family", "custom", "--api-key-file", "-")
			s.do("admin", "providers", "create", "x", "--api-key-file", "-")
		},
	} {
		t.Run(strings.TrimSuffix(name, ".txt"), func(t *testing.T) {
			t.Parallel()
			s := newShell(t, e, t.Name())
			story(s)
			if strings.Contains(s.log.String(), "sk-canary") {
				t.Errorf("a credential is shown:\n%s", &s.log)
			}
			s.golden(name)
		})
	}
	t.Run("JSON", func(t *testing.T) { t.Parallel(); testAdminJSON(t, newShell(t, e, t.Name())) })
	t.Run("Apply", func(t *testing.T) { t.Parallel(); testApply(t, newShell(t, e, t.Name())) })
	t.Run("Connects", func(t *testing.T) { t.Parallel(); testConnects(t, e) })
}
