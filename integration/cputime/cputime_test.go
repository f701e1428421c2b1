package cputime

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// burn uses about a tenth of a second of processor time, some of it in a child that ends first.
const burn = `(i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done); i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo; read x`

// TestGroup wants the time of a process and of its child that has ended, and not that of other processes.
func TestGroup(t *testing.T) {
	cmd := exec.Command("sh", "-c", burn)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	own, err := Process(cmd.Process.Pid)
	if err != nil {
		t.Error(err)
	}
	all, err := Group(cmd.Process.Pid)
	if err != nil {
		t.Error(err)
	}
	in.Close()
	_ = cmd.Wait() // read fails at the end of its input
	u := cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime()
	if own == 0 || all <= own || all > u+20*time.Millisecond {
		t.Errorf("the process used %v and its group %v; after it ended, %v", own, all, u)
	}
	if _, err := Process(1 << 30); err == nil {
		t.Error("no error for a process that does not exist")
	}
}
