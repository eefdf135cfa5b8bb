package postgres

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLock(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Dir: t.TempDir()})
	_, err := Start(t.Context(), Config{Dir: c.folder.path})
	want := fmt.Sprintf("the data folder %s is in use by another spillway (pid %d)", c.folder.path, os.Getpid())
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestBrokenFolder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		want string // DIR is the folder
	}{
		{"IsFile", func(t *testing.T, dir string) { write(t, dir, "") }, "the data folder DIR is a file"},
		{"BelowFile", func(t *testing.T, dir string) { write(t, filepath.Dir(dir), "") }, "the data folder DIR cannot be made: "},
		{"DataIsFile", func(t *testing.T, dir string) { write(t, dir+"/data", "") }, "DIR/data is a file, not a PostgreSQL folder"},
		{"Garbage", func(t *testing.T, dir string) { write(t, dir+"/data/notes.txt", "") }, "DIR/data is not a PostgreSQL folder"},
		{"GarbageVersion", func(t *testing.T, dir string) { write(t, dir+"/data/PG_VERSION", "new") }, "DIR/data is not a PostgreSQL folder"},
		{"OtherVersion", func(t *testing.T, dir string) { write(t, dir+"/data/PG_VERSION", "9\n") }, "DIR/data was made by PostgreSQL 9, but "},
		{"PasswordLost", func(t *testing.T, dir string) {
			makeCluster(t, dir)
			if err := os.Remove(dir + "/spillway.password"); err != nil {
				t.Fatal(err)
			}
		}, "the password of PostgreSQL role spillway is lost, move DIR/data away to begin anew: "},
		{"ControlFileLost", func(t *testing.T, dir string) {
			makeCluster(t, dir)
			if err := os.Remove(dir + "/data/global/pg_control"); err != nil {
				t.Fatal(err)
			}
		}, "PostgreSQL did not start: postgres: could not find the database system"},
		{"BadConfiguration", func(t *testing.T, dir string) {
			makeCluster(t, dir)
			write(t, dir+"/data/postgresql.conf", "nonsense = on\n")
		}, `PostgreSQL did not start: LOG:  unrecognized configuration parameter "nonsense"`},
		{"NotWritable", func(t *testing.T, dir string) {
			if os.Geteuid() == 0 {
				t.Skip("root may write everywhere")
			}
			if err := os.Mkdir(dir, 0o500); err != nil {
				t.Fatal(err)
			}
		}, "the data folder DIR is not writable: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "parent", "dir")
			if tt.name != "BelowFile" {
				if err := os.Mkdir(filepath.Dir(dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			tt.make(t, dir)
			c, err := Start(t.Context(), Config{Dir: dir})
			if err == nil {
				t.Fatal(errors.Join(errors.New("started"), c.Stop()))
			}
			if want := strings.ReplaceAll(tt.want, "DIR", dir); !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			t.Log(err)
		})
	}
}

func makeCluster(t *testing.T, dir string) {
	t.Helper()
	if err := start(t, Config{Dir: dir}).Stop(); err != nil {
		t.Fatal(err)
	}
}

func TestEmptyDataFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/data", 0o755); err != nil {
		t.Fatal(err)
	}
	start(t, Config{Dir: dir})
}

func TestLogRotation(t *testing.T) {
	t.Parallel()
	f := &folder{path: t.TempDir()}
	write(t, f.log(), strings.Repeat("x", maxLogSize+1))
	file, offset, err := f.openLog()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := os.Stat(f.log() + ".1"); err != nil || offset != 0 {
		t.Errorf("got offset %d, %v", offset, err)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, output, want string }{
		{"Nothing", " \n", "it printed nothing"},
		{"OnlyRoutine", "2026-01-02 03:04:05.678 UTC [9] LOG:  database system is shut down\n", "LOG:  database system is shut down"},
		{"Fatal", "2026-01-02 03:04:05.678 UTC [9] LOG:  starting\n2026-01-02 03:04:05.678 UTC [9] FATAL:  no\n" +
			"2026-01-02 03:04:05.678 UTC [9] HINT:  Try.\n2026-01-02 03:04:05.678 UTC [9] LOG:  database system is shut down\n", "FATAL:  no; HINT:  Try."},
		{"CauseInLog", "2026-01-02 03:04:05.678 GMT [9] LOG:  unrecognized configuration parameter\n2026-01-02 03:04:05.678 GMT [9] FATAL:  errors\n",
			"LOG:  unrecognized configuration parameter; FATAL:  errors"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := summary(tt.output); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Dir: t.TempDir()})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := c.launchOnce(t.Context(), l.Addr().(*net.TCPAddr).Port); !errors.Is(err, errPortTaken) {
		t.Errorf("got %v, want %v", err, errPortTaken)
	}
}

func TestOrphansHoldMemory(t *testing.T) {
	t.Parallel()
	err := startError("FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use\n")
	if !errors.Is(err, errStillInUse) {
		t.Errorf("got %v, want %v", err, errStillInUse)
	}
}
