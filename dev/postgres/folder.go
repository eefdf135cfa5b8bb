package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// lockWait lets a killed spillway finish exiting: its lock falls when its last thread is gone.
	lockWait   = time.Second
	maxLogSize = 10 << 20
	// logTail is how much of the server's log is read to explain a failed start.
	logTail = 16 << 10
)

// folder is Config.Dir, locked.
type folder struct {
	path string // absolute, without links
	lock *os.File
}

type passwords struct {
	spillway, superuser string
}

func (f *folder) data() string            { return filepath.Join(f.path, "data") }
func (f *folder) log() string             { return filepath.Join(f.path, "postgres.log") }
func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// openFolder makes the folder and takes its lock, which the kernel releases however this process ends.
func openFolder(ctx context.Context, dir string) (*folder, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("the data folder %s is a file: choose another --data-dir", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be made: %w", dir, err)
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	f := &folder{path: path}
	f.lock, err = os.OpenFile(f.file("lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s is not writable: %w", path, err)
	}
	if err := f.takeLock(ctx); err != nil {
		return nil, errors.Join(err, f.lock.Close())
	}
	return f, nil
}

func (f *folder) takeLock(ctx context.Context) error {
	for deadline := time.Now().Add(lockWait); ; {
		err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("lock the data folder %s: %w", f.path, err)
		}
		if time.Now().After(deadline) {
			owner, _ := os.ReadFile(f.file("lock"))
			return fmt.Errorf("the data folder %s is in use by another spillway (pid %s)", f.path, strings.TrimSpace(string(owner)))
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
	if err := f.lock.Truncate(0); err != nil {
		return fmt.Errorf("the data folder %s is not writable: %w", f.path, err)
	}
	if _, err := f.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("the data folder %s is not writable: %w", f.path, err)
	}
	return nil
}

// close releases the lock. The file stays: removing it would let two processes lock two files of one name.
func (f *folder) close() error { return f.lock.Close() }

// checkData reports whether there is a cluster that these binaries can run.
func (f *folder) checkData(bin binaries) (bool, error) {
	entries, err := os.ReadDir(f.data())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, fmt.Errorf("%s is a file, not a PostgreSQL folder: move it away or choose another --data-dir", f.data())
	case err != nil:
		return false, fmt.Errorf("%s cannot be read, it may have been made by another user: %w", f.data(), err)
	case len(entries) == 0:
		return false, nil
	}
	text, err := os.ReadFile(filepath.Join(f.data(), "PG_VERSION"))
	major, notNumber := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || notNumber != nil {
		return false, fmt.Errorf("%s is not a PostgreSQL folder (no usable PG_VERSION in it): move it away or choose another --data-dir", f.data())
	}
	if major != bin.major {
		return false, fmt.Errorf("%s was made by PostgreSQL %d, but %s is PostgreSQL %d: set SPILLWAY_PG_BIN to the bin folder of PostgreSQL %d "+
			"or choose another --data-dir", f.data(), major, bin.dir, bin.major, major)
	}
	return true, nil
}

func (f *folder) readPasswords() (passwords, error) {
	read := func(role string) (string, error) {
		text, err := os.ReadFile(f.file(role + ".password"))
		if err == nil && len(text) == 0 {
			err = errors.New("the file is empty")
		}
		if err != nil {
			return "", fmt.Errorf("the password of PostgreSQL role %s is lost, move %s away to begin anew: %w", role, f.data(), err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	spillway, err := read(spillwayName)
	if err != nil {
		return passwords{}, err
	}
	superuser, err := read(superuserName)
	return passwords{spillway: spillway, superuser: superuser}, err
}

func (f *folder) writePasswords(p passwords) error {
	return errors.Join(
		writeSecret(f.file(spillwayName+".password"), p.spillway),
		writeSecret(f.file(superuserName+".password"), p.superuser),
	)
}

func writeSecret(path, text string) error {
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o600) // WriteFile keeps the mode of a file that was there
}

// postmaster reads data/postmaster.pid: pid 0 if there is none. Line 8 is the status that pg_ctl waits for (the server's miscadmin.h,
// LOCK_FILE_LINE_PM_STATUS).
func (f *folder) postmaster() (pid int, status string) {
	text, err := os.ReadFile(filepath.Join(f.data(), "postmaster.pid"))
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(text), "\n")
	pid, err = strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 0 {
		return 0, ""
	}
	if len(lines) > 7 {
		status = strings.TrimSpace(lines[7])
	}
	return pid, status
}

// waitForOldPostmaster waits for the server of a spillway that was killed. This process holds the lock, so that server has no owner and may
// be told to stop; on Linux the kernel has told it already.
func (f *folder) waitForOldPostmaster(ctx context.Context, deadline time.Time) error {
	pid, _ := f.postmaster()
	if pid == 0 {
		return nil
	}
	if !isPostmaster(pid, f.data()) {
		return f.disownPostmaster(pid)
	}
	_ = syscall.Kill(pid, syscall.SIGINT) // it may be gone by now
	for now, _ := f.postmaster(); now == pid && isPostmaster(pid, f.data()); now, _ = f.postmaster() {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is in use by PostgreSQL (pid %d), which did not stop when asked: stop it", f.data(), pid)
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
	return nil
}

// disownPostmaster handles a stale postmaster.pid whose number now belongs to another process or thread of our user, which is common where
// numbers are few: in a container that was killed and started again. Postgres would refuse to start. It takes the number of its own parent
// for stale, so the file gets ours; removing it would lose the shared memory key in it, by which postgres finds orphaned backends.
func (f *folder) disownPostmaster(pid int) error {
	if syscall.Kill(pid, 0) != nil {
		return nil // nobody has the number: postgres sees that
	}
	path := filepath.Join(f.data(), "postmaster.pid")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	return os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600)
}

// openLog opens the server's log and returns where this start's part of it begins.
func (f *folder) openLog() (*os.File, int64, error) {
	if info, err := os.Stat(f.log()); err == nil && info.Size() > maxLogSize {
		if err := os.Rename(f.log(), f.log()+".1"); err != nil {
			return nil, 0, err
		}
	}
	file, err := os.OpenFile(f.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("the data folder %s is not writable: %w", f.path, err)
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, end, nil
}

func (f *folder) logSince(offset int64) string {
	file, err := os.Open(f.log())
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil {
		offset = max(offset, info.Size()-logTail)
	}
	text, err := io.ReadAll(io.NewSectionReader(file, offset, logTail))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

var (
	logPrefix = regexp.MustCompile(`^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\] `)
	routine   = regexp.MustCompile(`^(LOG:  (starting|listening|database system|received|shutting down|aborting)|backend>)`)
)

// summary puts the last lines of PostgreSQL's output, without its routine messages, on one line.
func summary(output string) string {
	var all, notable []string
	for line := range strings.Lines(output) {
		line = logPrefix.ReplaceAllString(strings.TrimSpace(line), "")
		if line == "" {
			continue
		}
		all = append(all, line)
		if !routine.MatchString(line) {
			notable = append(notable, line)
		}
	}
	if len(notable) == 0 {
		notable = all
	}
	if len(notable) == 0 {
		return "it printed nothing"
	}
	return strings.Join(notable[max(0, len(notable)-4):], "; ")
}
