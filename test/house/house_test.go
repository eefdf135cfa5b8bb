// Package house holds the rules of who may import whom, as ARCHITECTURE.md tells
// them. A rule is changed there and here, with its reason, or not at all.
package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/spillway-gateway/spillway"

// pkg is a package of this module and what its hand-written, non-test files import.
type pkg struct {
	ImportPath string
	Imports    []string
	GoFiles    []string
}

func (p pkg) path() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, &stderr)
	}
	var list []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 10 {
		t.Fatalf("go list found only %d packages", len(list))
	}
	return list
}

// within reports whether path is one of the folders or below one.
func within(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}

// Where each technology may be known. Tests may know any.
var technologies = []struct {
	imports string // this package and those below it
	in      []string
	reason  string
}{
	{"github.com/labstack/echo/v4", []string{"controlplane/rest", "api/admin"}, "one place turns HTTP into domain calls"},
	{"github.com/jackc/pgx/v5", []string{"controlplane/store", "migrations", "test"}, "every query is in the store, behind the organization's wall; migrations needs the driver"},
	{"github.com/nats-io/nats.go", []string{"controlplane/bus", "dataplane/link"}, "one place in each plane may lose the bus"},
	{"github.com/nats-io/nats-server/v2", []string{"dev"}, "only the one-process product embeds a server"},
	{"github.com/golang-migrate/migrate/v4", []string{"migrations"}, "the schema has one history"},
	{"github.com/aws", []string{"dataplane/upstream"}, "one place signs for AWS and reads its frames; roles and the node's identity come from its own packages"},
	{"golang.org/x/oauth2", []string{"dataplane/upstream"}, "one place gets tokens from vendors' services; it has no more below it than the metadata client"},
	{"github.com/prometheus/client_golang", []string{"metrics", "dataplane", "controlplane", "dev", "cmd"}, "each plane counts where things happen, and whoever runs them tells of it; what is pure below them counts nothing"},
	{"go.yaml.in/yaml", []string{"cmd/spillway/manifest"}, "one file of people's is YAML"},
	{"golang.org/x/crypto", []string{"controlplane/identity"}, "passwords are hashed in one place"},
	{"flag", []string{"cmd", "test/bench"}, "main parses; everything else takes a Config"},
	{"os/signal", []string{"cmd", "test/bench"}, "main waits; everything else takes a context"},
	{"os/exec", []string{"dev/postgres", "test"}, "only the embedded Postgres is a process of its own"},
	{"crypto/hpke", []string{"api/node", "dataplane/upstream", "dataplane", "controlplane", "controlplane/store", "dev"}, "secrets are sealed in one place and opened in one"},
}

func TestTechnologiesStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			for _, tech := range technologies {
				if within(imported, tech.imports) && !within(p.path(), tech.in...) {
					t.Errorf("%s imports %s, which belongs in %q: %s", p.path(), imported, tech.in, tech.reason)
				}
			}
		}
	}
}

// Who may import what of this module. A package not named may import nothing of it.
var directions = []struct {
	path   string
	may    []string
	reason string
}{
	{"api/node", nil, "both planes depend on it, so it depends on neither"},
	{"api/admin", nil, "generated"},
	{"api/client", []string{"api/admin"}, "what callers of the generated code need alike"},
	{"openapi", nil, "a document"},
	{"migrations", nil, "SQL"},
	{"web", nil, "the portal's files"},
	{"controlplane/tenant", []string{"api/node"}, "the domain knows no technology"},
	{"controlplane/store/storetest", []string{"api/node", "controlplane/store", "controlplane/tenant", "migrations", "dev/postgres"}, "a real database for tests"},
	{"controlplane/store", []string{"api/node", "controlplane/tenant"}, "an adapter knows the domain, not its siblings"},
	{"controlplane/identity", []string{"controlplane/store", "controlplane/tenant", "api/node"}, "who calls"},
	{"controlplane/rest/reference", nil, "a document as a page"},
	{"controlplane/rest/resttest", []string{"controlplane/identity", "controlplane/rest", "controlplane/store", "controlplane/tenant"}, "a real control plane for tests"},
	{"controlplane/rest", []string{"controlplane/rest/reference", "api/admin", "api/node", "openapi", "controlplane/identity", "controlplane/store", "controlplane/tenant", "dataplane/decide"}, "operations; decide to explain and to refuse what a node would"},
	{"controlplane/bus", []string{"api/node", "controlplane/store"}, "what is committed goes out"},
	{"controlplane", []string{"api", "controlplane", "web"}, "wires its children; never the other plane"},
	{"dataplane/llm", nil, "wire formats, pure"},
	{"dataplane/decide", []string{"api/node", "dataplane/llm"}, "decisions, pure"},
	{"dataplane/upstream", []string{"api/node", "dataplane/decide", "dataplane/llm"}, "one attempt"},
	{"dataplane/link", []string{"api/node", "dataplane/decide"}, "the bus"},
	{"dataplane/gateway", []string{"api/node", "dataplane/decide", "dataplane/llm", "dataplane/upstream"}, "where decisions and I/O meet"},
	{"dataplane", []string{"api/node", "dataplane"}, "wires its children; never the other plane"},
	{"metrics", nil, "a process's registry and the listener that serves it"},
	{"dev/postgres", nil, "a Postgres for whoever needs one"},
	{"dev", []string{"api/node", "controlplane", "dataplane", "dev", "metrics", "migrations", "test/provider"}, "the planes meet here, in cmd and in test"},
	{"cmd/spillway/manifest", []string{"api/admin", "api/client", "openapi"}, "a file against the admin API, as any client of it"},
	{"cmd", []string{"cmd/spillway/manifest", "api", "controlplane", "dataplane", "dev", "metrics", "migrations", "test/provider"}, "main"},
	{"test", []string{"api", "controlplane", "dataplane", "dev", "metrics", "migrations", "test", "openapi", "web"}, "tests see everything"},
}

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		i := slices.IndexFunc(directions, func(d struct {
			path   string
			may    []string
			reason string
		}) bool {
			return within(p.path(), d.path)
		})
		if i < 0 {
			t.Errorf("%s has no place in the house: give it a row here and in ARCHITECTURE.md", p.path())
			continue
		}
		for _, imported := range p.Imports {
			own, ok := strings.CutPrefix(imported, module+"/")
			if ok && !within(own, directions[i].may...) {
				t.Errorf("%s imports %s, and may import %q: %s", p.path(), own, directions[i].may, directions[i].reason)
			}
		}
	}
}

// What pure packages may import beside each other: no clock, no I/O, no goroutines
// that outlive a call. What embed reads is read by the compiler.
var (
	pure    = []string{"api/node", "controlplane/tenant", "dataplane/decide", "dataplane/llm"}
	allowed = []string{
		"bytes", "cmp", "crypto/ecdh", "crypto/ed25519", "crypto/hpke", "crypto/rand", "crypto/rsa", "crypto/sha256", "crypto/subtle", "crypto/x509", "embed", "encoding", "encoding/base32",
		"encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "encoding/pem", "errors", "fmt", "hash/crc32", "hash/fnv", "io", "iter", "log/slog", "maps", "math",
		"math/bits", "net/http", "net/netip", "net/url", "regexp", "slices", "sort", "strconv", "strings", "sync", "sync/atomic", "time", "unicode",
		"unicode/utf8", "net/mail",
		"github.com/google/uuid", "github.com/klauspost/compress/zstd",
	}
)

func TestPurePackagesStayPure(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if !slices.Contains(pure, p.path()) {
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, module+"/") && !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s: it must stay pure", p.path(), imported)
			}
		}
	}
}

// The names by which code reads the clock or does I/O although its import is
// allowed. time is allowed for its types, net/http for Header and status names.
var impure = []string{"time.Now", "time.Since", "time.Sleep", "time.AfterFunc", "time.NewTimer", "http.Get", "http.Client", "http.Default", "os.", "rand.Int"}

func TestPurePackagesReadNoClock(t *testing.T) {
	t.Parallel()
	for _, folder := range pure {
		args := []string{"grep", "-n"}
		for _, name := range impure {
			args = append(args, "-e", `\b`+strings.ReplaceAll(name, ".", `\.`))
		}
		cmd := exec.Command("git", append(args, "--", ":(top)"+folder+"/*.go", ":(top,exclude)"+folder+"/*_test.go")...)
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1 is: nothing found
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			t.Errorf("not pure: %s", line)
		}
	}
}

// The ways around the guard of outgoing connections, and to a token service that is not
// the vendor's, are for tests.
func TestNothingDialsUnguarded(t *testing.T) {
	t.Parallel()
	for _, hook := range []struct {
		pattern string
		in      []string // where it may stand, as prefixes
	}{
		{`\bDialUnguarded\b`, []string{"dataplane/upstream/upstream.go:"}},
		{`\bTokenServices{`, []string{"test/env/env.go:"}},
	} {
		cmd := exec.Command("git", "grep", "-n", "--untracked", hook.pattern, "--", ":(top)*.go", ":(top,exclude)*_test.go")
		cmd.Dir = "../.." // so that paths are the repository's
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err) // the field itself is found, or the rule guards nothing
		}
		for line := range strings.Lines(string(out)) {
			if !slices.ContainsFunc(hook.in, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
				t.Errorf("reaches providers past the guard: %s", line)
			}
		}
	}
}
