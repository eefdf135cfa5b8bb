package postgres

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// From linux/capability.h and linux/securebits.h.
const (
	capDacOverride         = 1
	capDacReadSearch       = 2
	prSetSecurebits        = 28
	secbitNoSetuidFixup    = 1 << 2
	capabilitiesLinePrefix = "CapPrm:"
)

// prepareThread is called on the thread that starts the child.
func prepareThread(attr *syscall.SysProcAttr, a account) {
	attr.Pdeathsig = syscall.SIGINT // to the postmaster: fast shutdown
	if a.capability == 0 {
		return
	}
	attr.AmbientCaps = []uintptr{a.capability}
	// PostgreSQL looks for its own program with access(2), which ignores capabilities of a user who is not root unless this bit is set. It
	// needs CAP_SETPCAP; without it only programs (not data) below a closed folder are out of reach, and initdb says so.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetSecurebits, secbitNoSetuidFixup, 0)
}

// reachCapability chooses the weaker of the two capabilities that let a user enter every folder.
func reachCapability() (uintptr, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	return chooseCapability(string(status))
}

func chooseCapability(status string) (uintptr, error) {
	for line := range strings.Lines(status) {
		value, ok := strings.CutPrefix(line, capabilitiesLinePrefix)
		if !ok {
			continue
		}
		permitted, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil {
			return 0, err
		}
		for _, c := range []uintptr{capDacReadSearch, capDacOverride} {
			if permitted&(1<<c) != 0 {
				return c, nil
			}
		}
	}
	return 0, errors.New("and we have neither CAP_DAC_READ_SEARCH nor CAP_DAC_OVERRIDE to lend")
}

// isPostmaster reports whether the process runs the cluster in data: a postmaster's working folder is its data folder. Where that may not
// be read (root without CAP_SYS_PTRACE), the program's name has to do.
func isPostmaster(pid int, data string) bool {
	proc := fmt.Sprintf("/proc/%d/", pid)
	cwd, err := os.Stat(proc + "cwd")
	if err == nil {
		folder, err := os.Stat(data)
		if err != nil || !os.SameFile(cwd, folder) {
			return false
		}
	} else if !errors.Is(err, os.ErrPermission) {
		return false // gone, or a zombie that nobody reaps
	}
	name, err := os.ReadFile(proc + "comm")
	return err == nil && strings.HasPrefix(string(name), "postgres")
}
