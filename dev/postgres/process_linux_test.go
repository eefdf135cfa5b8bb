package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClosedParent has the data below a folder that only root may enter, like a checkout in /root or a folder of `mktemp -d`.
func TestClosedParent(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root drops to another user")
	}
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(closed, "open", "dir")
	first := start(t, Config{Dir: dir})
	if first.account.capability == 0 {
		t.Errorf("user %s was given no capability for %s", first.account.name, dir)
	}
	exec1(t, connect(t, first.URL("spillway")), "CREATE TABLE t AS SELECT 1 AS v")
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, Config{Dir: dir})
	if got := query[int](t, connect(t, second.URL("spillway")), "SELECT v FROM t"); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}

func TestOpenParentNeedsNoCapability(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil { // TempDir's own parent is closed
		t.Fatal(err)
	}
	c := start(t, Config{Dir: dir})
	a, err := chooseAccount(c.folder.data()) // the programs may be in a closed folder
	if err != nil || a.capability != 0 {
		t.Errorf("got capability %d, %v", a.capability, err)
	}
}

// TestCopiedAsRoot has the data of another owner: a backup that root restored, or a cluster from before the machine had a user postgres.
func TestCopiedAsRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give the data back")
	}
	dir := t.TempDir()
	makeCluster(t, dir)
	if err := (account{name: "root"}).own(filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	start(t, Config{Dir: dir})
}

func TestChooseCapability(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, status string
		want         uintptr
		wantErr      bool
	}{
		{"All", "Name:\tx\nCapPrm:\t000001ffffffffff\n", capDacReadSearch, false},
		{"ContainerDefault", "CapPrm:\t00000000a80425fb\n", capDacOverride, false},
		{"None", "CapPrm:\t0000000000000000\n", 0, true},
		{"NoLine", "Name:\tx\n", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := chooseCapability(tt.status)
			if got != tt.want || (err != nil) != tt.wantErr {
				t.Errorf("got %d, %v; want %d, error %v", got, err, tt.want, tt.wantErr)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}
