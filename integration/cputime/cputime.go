// Package cputime returns the processor time of processes, for measurements. It depends less than elapsed time on other work of the machine.
package cputime

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stat holds fields of /proc/PID/stat.
type stat struct {
	group         int
	own, children time.Duration // children: those that the process has waited for, and their descendants
}

// read reads a process's stat file (proc_pid_stat(5)).
func read(path string) (s stat, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return s, fmt.Errorf("cputime: %w", err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	var n [15]int64
	for _, i := range []int{2, 11, 12, 13, 14} { // pgrp, utime, stime, cutime, cstime
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return s, fmt.Errorf("cputime: %s: %w", path, err)
		}
	}
	const tick = time.Second / 100
	return stat{group: int(n[2]), own: time.Duration(n[11]+n[12]) * tick, children: time.Duration(n[13]+n[14]) * tick}, nil
}

// Process returns the processor time that a process has used, in steps of 10 ms.
func Process(pid int) (time.Duration, error) {
	s, err := read(fmt.Sprintf("/proc/%d/stat", pid))
	return s.own, err
}

// Group returns the processor time that a process group has used. It includes processes that have ended and were waited for.
func Group(id int) (sum time.Duration, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, fmt.Errorf("cputime: %w", err)
	}
	for _, file := range files {
		if s, err := read(file); err == nil && s.group == id { // an error means that the process has just ended
			sum += s.own + s.children
		}
	}
	return sum, nil
}
