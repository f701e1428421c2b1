package fusetest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// childEnv makes the test binary a process that locks what it is told to.
const childEnv = "FILESERVER_FUSETEST_FILE"

func TestMain(m *testing.M) {
	if file := os.Getenv(childEnv); file != "" {
		serveChild(file)
		return
	}
	os.Exit(m.Run())
}

// serveChild opens the file, executes lines of "command type start length" and answers each with a line: ok, or the error.
func serveChild(file string) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ok")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var cmd string
		var kind int16
		var start, length int64
		fmt.Sscan(in.Text(), &cmd, &kind, &start, &length)
		lk := syscall.Flock_t{Type: kind, Start: start, Len: length}
		var err error
		switch cmd {
		case "setlk":
			err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lk)
		case "setlkw":
			err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLKW, &lk)
		case "flock":
			err = syscall.Flock(int(f.Fd()), int(start))
		case "reopen": // closing any descriptor ends the locks
			var g *os.File
			if g, err = os.Open(file); err == nil {
				err = g.Close()
			}
		}
		if err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("ok")
		}
	}
}

// child is such a process.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  interface{ Write([]byte) (int, error) }
	out chan string
}

func newChild(t *testing.T, file string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+file)
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
	c := &child{t: t, cmd: cmd, in: in, out: make(chan string, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.out <- s.Text()
		}
	}()
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		<-done
		cmd.Wait()
	})
	c.expect("ok")
	return c
}

func (c *child) send(line string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		c.t.Fatal(err)
	}
}

// expect waits for the answer to what was sent.
func (c *child) expect(want string) {
	c.t.Helper()
	if got := <-c.out; got != want {
		c.t.Fatalf("answer is %q, want %q", got, want)
	}
}

func (c *child) do(line, want string) {
	c.t.Helper()
	c.send(line)
	c.expect(want)
}

// as runs a shell script as another user.
func as(t *testing.T, uid uint32, script string) (string, error) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
