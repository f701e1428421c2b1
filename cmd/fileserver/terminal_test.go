package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty opens a pseudo-terminal: the user's side and the program's side.
func pty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// echoes reports whether the terminal shows what is typed.
func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return s.Lflag&unix.ECHO != 0
}

// untilHidden waits until the terminal no longer shows what is typed.
func untilHidden(t *testing.T, f *os.File) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); echoes(t, f); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the terminal shows what is typed")
		}
	}
}

type asked struct {
	line string
	err  error
}

func asking(slave *os.File, out io.Writer) <-chan asked {
	done := make(chan asked, 1)
	go func() {
		line, err := ask(slave, out, "password: ")
		done <- asked{line, err}
	}()
	return done
}

// TestAsk: ask hides what is typed, reads one line, and leaves the next line to the next question.
func TestAsk(t *testing.T) {
	master, slave := pty(t)
	if !isTerminal(slave) || !echoes(t, slave) {
		t.Fatal("not a terminal that echoes")
	}
	for _, want := range []string{"secret", "a b"} {
		var out bytes.Buffer
		done := asking(slave, &out)
		untilHidden(t, slave)
		fmt.Fprintln(master, want)
		if got := <-done; got.err != nil || got.line != want {
			t.Errorf("%q, %v; want %q", got.line, got.err, want)
		}
		if !echoes(t, slave) {
			t.Error("the terminal stays hidden")
		}
		if out.String() != "password: \n" {
			t.Errorf("shown: %q", &out)
		}
	}
}

// TestAskInterrupted: Ctrl-C switches the echo on again, and the error says that nothing was changed.
func TestAskInterrupted(t *testing.T) {
	_, slave := pty(t)
	var out bytes.Buffer
	done := asking(slave, &out)
	untilHidden(t, slave)
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := <-done; !errors.Is(got.err, errInterrupted) || !strings.Contains(got.err.Error(), "nothing has been changed") {
		t.Errorf("%q, %v", got.line, got.err)
	}
	if !echoes(t, slave) {
		t.Error("the terminal stays hidden")
	}
}
