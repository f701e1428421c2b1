package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stat is what /proc/PID/stat says of a process.
type stat struct {
	group         int
	own, children time.Duration // children: those that it has waited for, and theirs
}

// procStat reads a process's stat file (proc_pid_stat(5)).
func procStat(path string) (s stat, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	var n [15]int64
	for _, i := range []int{2, 11, 12, 13, 14} { // pgrp, utime, stime, cutime, cstime
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return s, fmt.Errorf("%s: %w", path, err)
		}
	}
	const tick = time.Second / 100
	return stat{group: int(n[2]), own: time.Duration(n[11]+n[12]) * tick, children: time.Duration(n[13]+n[14]) * tick}, nil
}

// groupCPU is the processor time that a process group has used, with what those of it used that have ended.
func groupCPU(group int) (sum time.Duration, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		s, err := procStat(file)
		if err != nil || s.group != group {
			continue // it may just have ended
		}
		sum += s.own + s.children
	}
	return sum, nil
}
