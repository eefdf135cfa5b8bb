//go:build !linux

package postgres

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func prepareThread(*syscall.SysProcAttr, account) {}

func reachCapability() (uintptr, error) {
	return 0, errors.New("it is closed to other users")
}

// isPostmaster reports whether the process is a PostgreSQL server; postmaster.pid of that folder names it.
func isPostmaster(pid int, _ string) bool {
	name, err := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(filepath.Base(strings.TrimSpace(string(name))), "postgres")
}
