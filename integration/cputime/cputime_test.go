package cputime

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// burn takes about a tenth of a second of a processor, with a child that ends before it does.
const burn = `(i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done); i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo; read x`

// TestGroup counts what a process and its child that has ended used, and nothing of others.
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
		t.Errorf("the process used %v, its group %v; when it was over, %v", own, all, u)
	}
	if _, err := Process(1 << 30); err == nil {
		t.Error("a process that is not there used time")
	}
}
