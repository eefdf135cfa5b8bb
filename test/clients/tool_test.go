package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/test/env"
)

// deadline is for one run of a tool: most take two seconds, up to ten where the tool tries
// again, and many times that where the machine has other things to do.
const deadline = 5 * time.Minute

// tool is one person's tool on a machine of its own: an empty home and a folder to
// work in.
type tool struct {
	home, work string
	program    string
	settings   string   // a shell script that exports them
	env        []string // what else is set
}

func newTool(t *testing.T, program, settings string) *tool {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("tools/node_modules/.bin", program))
	if err != nil {
		t.Fatal(err)
	}
	return &tool{
		home: t.TempDir(), work: t.TempDir(), program: path, settings: settings,
	}
}

// outcome is what a run of a tool came to.
type outcome struct {
	code           int
	stdout, stderr string
}

func (o outcome) String() string {
	return fmt.Sprintf("exit code %d\nstdout: %s\nstderr: %s", o.code, o.stdout, o.stderr)
}

// command is a run of the tool, as from a shell in which the settings were typed. It has
// none of this process's environment, since the tools read much from there.
func (c *tool) command(t *testing.T, args ...string) (cmd *exec.Cmd, stderr *env.Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, "sh", append([]string{"-c", c.settings + "\n" + `exec "$@"`, "sh", c.program}, args...)...)
	cmd.Dir = c.work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8"}
	cmd.Env = append(cmd.Env, c.env...)
	// The tools start processes of their own, which must not outlive them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	stderr = new(env.Log)
	cmd.Stderr = stderr
	return cmd, stderr
}

// run runs the tool once.
func (c *tool) run(t *testing.T, args ...string) outcome {
	t.Helper()
	cmd, stderr := c.command(t, args...)
	var stdout env.Log
	cmd.Stdout = &stdout
	err := cmd.Run()
	out := outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	var exit *exec.ExitError
	if !cmd.ProcessState.Exited() || (err != nil && !errors.As(err, &exit)) {
		t.Fatalf("%s %q: %v, ended after at most %v: %s", filepath.Base(c.program), args, err, deadline, out)
	}
	return out
}
