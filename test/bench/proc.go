package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// cpuTime returns the CPU time a process has used, in nanoseconds: what the scheduler
// counted for each of its threads. The ticks of /proc/PID/stat are a hundred times
// coarser than a round is long. Threads that ended are not in it; Go's do not end.
func cpuTime(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(raw), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += time.Duration(ns)
	}
	if sum == 0 {
		return 0, fmt.Errorf("process %d: no CPU time in /proc", pid)
	}
	return sum, nil
}

// memory returns the resident set of a process in bytes.
func memory(pid int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	kb, err := field(string(raw), "VmRSS:")
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	return kb << 10, nil
}

// field reads a number after a name at the start of a line.
func field(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			words := strings.Fields(rest)
			if len(words) == 0 {
				break
			}
			return strconv.ParseInt(words[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("no %s", name)
}

// machine describes where the figures are from: they compare within one machine only.
func machine() string {
	model := "unknown CPU"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores, %s, %s %s/%s", runtime.NumCPU(), model, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
