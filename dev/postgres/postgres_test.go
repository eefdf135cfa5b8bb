package postgres

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience bounds every wait in these tests; nothing takes that long unless it is broken.
const patience = 30 * time.Second

// helperDir makes the test binary a spillway that can be killed: it starts the cluster in that folder, prints its URL and waits.
const helperDir = "POSTGRES_TEST_HELPER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		c, err := Start(context.Background(), Config{Dir: dir})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(c.URL("spillway"))
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // without Stop: that is the case to test
	}
	os.Exit(m.Run())
}

func start(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec1(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func query[T any](t *testing.T, conn *pgx.Conn, sql string) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// eventually polls something that another process does and that sends no signal.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not in time: %s", what)
		case <-tick.C:
		}
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

func TestStart(t *testing.T) {
	t.Parallel()

	t.Run("OK", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "made", "if missing")
		c := start(t, Config{Dir: dir, Durable: true})
		conn := connect(t, c.URL("spillway"))
		got := query[string](t, conn, `SELECT concat_ws(' ', rolname, rolcanlogin, rolcreaterole, rolcreatedb, rolsuper, rolreplication)
			FROM pg_roles WHERE rolname = current_user`)
		if want := "spillway t t t f f"; got != want {
			t.Errorf("got role %q, want %q", got, want)
		}
		if owner := query[string](t, conn, "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'spillway'"); owner != "spillway" {
			t.Errorf("database is owned by %q", owner)
		}
		exec1(t, conn, "CREATE TABLE t (v text)")
		exec1(t, conn, "CREATE ROLE app LOGIN")
		exec1(t, conn, "CREATE DATABASE other")
		connect(t, c.URL("other"))
		if got := query[string](t, connect(t, c.SuperuserURL("other")), "SELECT current_setting('is_superuser')"); got != "on" {
			t.Errorf("got is_superuser %q", got)
		}
		if got := query[string](t, conn, "SHOW fsync"); got != "on" {
			t.Errorf("got fsync %q in a durable cluster", got)
		}
	})

	t.Run("RestartKeepsData", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		first := start(t, Config{Dir: dir})
		conn := connect(t, first.URL("spillway"))
		exec1(t, conn, "CREATE TABLE t AS SELECT 42 AS v")
		if got := query[string](t, conn, "SHOW fsync"); got != "off" {
			t.Errorf("got fsync %q in a cluster for tests", got)
		}
		if err := first.Stop(); err != nil { // with the session open
			t.Fatal(err)
		}
		second := start(t, Config{Dir: dir})
		if got := query[int](t, connect(t, second.URL("spillway")), "SELECT v FROM t"); got != 42 {
			t.Errorf("got %d, want 42", got)
		}
	})

	t.Run("WrongPassword", func(t *testing.T) {
		t.Parallel()
		c := start(t, Config{Dir: t.TempDir()})
		u, err := url.Parse(c.SuperuserURL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("postgres", "guess")
		if _, err := pgx.Connect(t.Context(), u.String()); err == nil {
			t.Error("connected with a wrong password")
		}
		for _, name := range []string{"spillway.password", "postgres.password", "postgres.log"} {
			info, err := os.Stat(c.folder.file(name))
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != 0o600 {
				t.Errorf("%s has mode %o", name, got)
			}
		}
	})

	t.Run("Cancelled", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Start(ctx, Config{Dir: dir}); err == nil {
			t.Fatal("started")
		}
		start(t, Config{Dir: dir})
	})
}

func TestStop(t *testing.T) {
	t.Parallel()

	t.Run("LeavesNoProcess", func(t *testing.T) {
		t.Parallel()
		c := start(t, Config{Dir: t.TempDir()})
		connect(t, c.URL("spillway"))
		pid := c.server.pid()
		group, err := syscall.Getpgid(pid)
		if err != nil || group == syscall.Getpgrp() {
			t.Errorf("group %d, %v: a terminal's Ctrl-C would reach postgres", group, err)
		}
		for range 2 { // again is harmless
			if err := c.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		if left := processesIn(t, c.folder.data()); alive(pid) || len(left) > 0 {
			t.Errorf("left running: postmaster %v, others %v", alive(pid), left)
		}
		<-c.Done()
		if err := c.Err(); err != nil {
			t.Errorf("got %v after Stop", err)
		}
	})

	t.Run("ExitedByItself", func(t *testing.T) {
		t.Parallel()
		c := start(t, Config{Dir: t.TempDir()})
		if err := c.Err(); err != nil {
			t.Errorf("got %v while it runs", err)
		}
		if err := syscall.Kill(c.server.pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("got %v", err)
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		start(t, Config{Dir: c.folder.path}) // at once, with its backends perhaps still there
	})
}

// processesIn lists the processes whose working folder is dir: a postmaster's and its children's is the data folder.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	cwds, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, cwd := range cwds {
		if at, err := os.Readlink(cwd); err == nil && at == dir {
			found = append(found, cwd)
		}
	}
	return found
}

// spillway is a helper process that runs a cluster.
func spillway(t *testing.T, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperDir+"="+dir)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

func firstLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestKilled(t *testing.T) {
	t.Parallel()

	t.Run("StartAgainAtOnce", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		for i := range 3 {
			cmd, out := spillway(t, dir)
			conn := connect(t, firstLine(t, out))
			exec1(t, conn, fmt.Sprintf("CREATE TABLE t%d AS SELECT 1", i))
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		c := start(t, Config{Dir: dir})
		if got := query[int](t, connect(t, c.URL("spillway")), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); got != 3 {
			t.Errorf("got %d tables, want 3", got)
		}
	})

	t.Run("LeavesNoProcess", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		cmd, out := spillway(t, dir)
		firstLine(t, out)
		pid, _ := (&folder{path: dir}).postmaster()
		if pid == 0 || !alive(pid) {
			t.Fatalf("no postmaster: pid %d", pid)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "postgres stops with its owner", func() bool {
			return !isPostmaster(pid, filepath.Join(dir, "data")) && len(processesIn(t, filepath.Join(dir, "data"))) == 0
		})
	})

	t.Run("DuringInitialisation", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		cmd, _ := spillway(t, dir)
		eventually(t, "initdb began", func() bool {
			found, _ := filepath.Glob(filepath.Join(dir, "init-*", "data", "PG_VERSION"))
			return len(found) > 0
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		start(t, Config{Dir: dir})
	})
}

func TestStalePid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := start(t, Config{Dir: dir})
	if err := syscall.Kill(c.server.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	// The number in postmaster.pid now belongs to a process of postgres's user that is no postmaster.
	other := c.account.command(t.Context(), "/bin/sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	path := filepath.Join(dir, "data", "postmaster.pid")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), strconv.Itoa(c.server.pid()), strconv.Itoa(other.Process.Pid), 1))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, Config{Dir: dir})
}
