package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// account is the user that PostgreSQL's programs run as. Its zero value is the user that we are.
type account struct {
	name     string // empty: ourselves
	uid, gid int
	// capability lets a dropped user pass folders that only root may enter; 0 is none (CAP_CHOWN, which is never wanted).
	capability uintptr
}

// chooseAccount drops root, as which PostgreSQL refuses to run, and sees to it that the other user can reach the paths.
func chooseAccount(paths ...string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	a, err := lookupAccount("postgres", "nobody")
	if err != nil {
		return a, err
	}
	for _, path := range paths {
		closed, err := a.closedFolder(path)
		if err != nil {
			return a, err
		}
		if closed == "" {
			continue
		}
		if a.capability, err = reachCapability(); err != nil {
			return a, fmt.Errorf("PostgreSQL runs as user %s, who cannot enter %s (%w): choose another --data-dir, or SPILLWAY_PG_BIN if "+
				"the programs are there", a.name, closed, err)
		}
	}
	return a, nil
}

func lookupAccount(names ...string) (account, error) {
	var failed error
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		uid, badUID := strconv.Atoi(u.Uid)
		gid, badGID := strconv.Atoi(u.Gid)
		if err := errors.Join(badUID, badGID); err != nil {
			return account{}, err
		}
		return account{name: name, uid: uid, gid: gid}, nil
	}
	return account{}, fmt.Errorf("PostgreSQL does not run as root, and this machine has neither a user %q nor %q: start spillway as another user", names[0], names[1])
}

// closedFolder returns the first folder on the way to path that the user may not enter, "" if there is none. Access lists are not read: at
// worst PostgreSQL gets a capability that it does not need.
func (a account) closedFolder(path string) (string, error) {
	var closed string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return "", err
		}
		if !a.mayEnter(info) {
			closed = dir
		}
		if dir == filepath.Dir(dir) {
			return closed, nil
		}
	}
}

func (a account) mayEnter(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	switch mode := info.Mode().Perm(); {
	case int(owner.Uid) == a.uid:
		return mode&0o100 != 0
	case int(owner.Gid) == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// own gives a folder and what is in it to the account, if it has another owner: it is new, was copied as root, or is from before this
// machine had a user postgres.
func (a account) own(dir string) error {
	if a.name == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) == a.uid {
		return nil
	}
	// The folder itself comes last, so that an interrupted walk is done again.
	var paths []string
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		return err
	}
	for i := len(paths) - 1; i >= 0; i-- {
		if err := os.Lchown(paths[i], a.uid, a.gid); err != nil {
			return err
		}
	}
	return nil
}

// command prepares a program of PostgreSQL. Its environment is fixed: PGDATA, PGPORT, a locale that is not installed or a slow search for
// the time zone would change what it does.
func (a account) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"}
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // initdb's children too
	// Its own group: a terminal's Ctrl-C goes to us, and we stop PostgreSQL when its clients have finished.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a.name != "" {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid), Groups: []uint32{uint32(a.gid)}}
	}
	return cmd
}

// process is a child that does not outlive us, where the system can see to that.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of Wait; written before exited is closed
}

// startProcess starts and waits in one goroutine that keeps its thread: Linux sends the death signal when the thread that started the child
// ends, not the process.
func startProcess(cmd *exec.Cmd, a account) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Never unlocked: the thread, whose security bits may have changed, ends with the goroutine.
		runtime.LockOSThread()
		prepareThread(cmd.SysProcAttr, a)
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.exited)
	}()
	if err := <-started; err != nil {
		who := ""
		if a.name != "" {
			who = " as user " + a.name
		}
		return nil, fmt.Errorf("start %s%s: %w", filepath.Base(cmd.Path), who, err)
	}
	return p, nil
}

func (p *process) pid() int                      { return p.cmd.Process.Pid }
func (p *process) signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// state says how an exited process ended.
func (p *process) state() string { return p.cmd.ProcessState.String() }
