package postgres

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFindBinaries(t *testing.T) {
	t.Parallel()
	dir, err := FindBinaries()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil || !filepath.IsAbs(dir) {
			t.Errorf("got %s: %v", dir, err)
		}
	}
}

// Not parallel: the search reads the environment.
func TestFindBinariesVariable(t *testing.T) {
	good, err := FindBinaries()
	if err != nil {
		t.Fatal(err)
	}
	program := func(t *testing.T, version string) string {
		dir := t.TempDir()
		for _, name := range []string{"postgres", "initdb"} {
			write(t, filepath.Join(dir, name), "#!/bin/sh\necho '"+version+"'\n")
			if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	tests := []struct {
		name, dir, want string // "" for no error
	}{
		{"OK", good, ""},
		{"Missing", "/nowhere", "SPILLWAY_PG_BIN: no PostgreSQL in that folder: "},
		{"Empty", t.TempDir(), "SPILLWAY_PG_BIN: "},
		{"Old", program(t, "postgres (PostgreSQL) 14.9 (Debian 14.9)"), "SPILLWAY_PG_BIN: "},
		{"Beta", program(t, "postgres (PostgreSQL) 18beta1"), ""},
		{"NotPostgres", program(t, "hello"), "SPILLWAY_PG_BIN: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("SPILLWAY_PG_BIN", tt.dir)
			got, err := FindBinaries()
			if tt.want == "" {
				if err != nil || got != tt.dir {
					t.Errorf("got %q, %v; want %q", got, err, tt.dir)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line: %s", err, tt.want)
			}
		})
	}
}

func TestHighestFirst(t *testing.T) {
	t.Parallel()
	dirs := []string{"/usr/lib/postgresql/9/bin", "/usr/lib/postgresql/15/bin", "/usr/pgsql-18/bin", "/opt/homebrew/opt/postgresql@17/bin"}
	highestFirst(dirs)
	want := []string{"/usr/pgsql-18/bin", "/opt/homebrew/opt/postgresql@17/bin", "/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/9/bin"}
	if !slices.Equal(dirs, want) {
		t.Errorf("got %v, want %v", dirs, want)
	}
}

func TestCheckout(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example\n")
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := checkout(deep); got != root {
		t.Errorf("got %s, want %s", got, root)
	}
	if outside := t.TempDir(); checkout(outside) != outside {
		t.Errorf("got %s, want %s", checkout(outside), outside)
	}
}
