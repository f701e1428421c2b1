// Work runs in the guests of the tests in integration/..., for checks that a shell cannot make. It makes system calls on a mounted
// file system and checks every result and every byte.
//
//	work small-create|small-check|small-remove DIR COUNT
//	work files DIR
//	work sparse DIR | sparse-check DIR
//	work lengths DIR MAX | lengths-check DIR MAX
//	work mmap DIR OTHER
//	work locks DIR OTHER
//	work locked FILE
//	work load DIR ACKS STOP
//	work promises DIR ACKS
//
// The environment variable FS names the file system's behaviour. nfs behaves like a local file system. smb on Linux has no file modes,
// ignores case, keeps time in steps of 100 ns, and has mandatory locks. posix is SMB with the POSIX extensions, where only the steps of
// time differ.
//
// If a check fails, it prints the failure and ends with status 1. Otherwise it prints nothing.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// command is a subcommand; each has its file.
type command struct {
	args int
	run  func(args []string) error
}

var commands = map[string]command{
	"small-create":  {2, counted(smallCreate)},
	"small-check":   {2, counted(smallCheck)},
	"small-remove":  {2, counted(smallRemove)},
	"files":         {1, single(files)},
	"sparse":        {1, single(sparse)},
	"sparse-check":  {1, single(sparseCheck)},
	"lengths":       {2, counted(lengths)},
	"lengths-check": {2, counted(lengthsCheck)},
	"mmap":          {2, mmap},
	"locks":         {2, locks},
	"locked":        {1, single(locked)},
	"load":          {3, load},
	"promises":      {2, promises},
}

// smb reports whether the file system is Linux' cifs.
var smb = os.Getenv("FS") == "smb"

// tick is the step of time stamps.
var tick = map[bool]time.Duration{true: 1, false: 100}[os.Getenv("FS") == "nfs"]

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("usage: work COMMAND [ARG]"))
	}
	c, ok := commands[os.Args[1]]
	if !ok || len(os.Args)-2 != c.args {
		fail(fmt.Errorf("no command %q with %d arguments", os.Args[1], len(os.Args)-2))
	}
	if err := c.run(os.Args[2:]); err != nil {
		fail(fmt.Errorf("%s: %w", os.Args[1], err))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "work:", err)
	os.Exit(1)
}

// counted adapts a command whose second argument is a number.
func counted(f func(dir string, n int) error) func([]string) error {
	return func(args []string) error {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return f(args[0], n)
	}
}

// single adapts a command with one argument.
func single(f func(path string) error) func([]string) error {
	return func(args []string) error { return f(args[0]) }
}

// step is one named check of a command that makes many.
type step struct {
	name string
	run  func() error
}

// all runs every step and joins what failed.
func all(steps []step) error {
	var errs []error
	for _, s := range steps {
		if err := s.run(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return errors.Join(errs...)
}

// want returns an error unless got is wanted.
func want[T comparable](what string, got, wanted T) error {
	if got != wanted {
		return fmt.Errorf("%s is %v, want %v", what, got, wanted)
	}
	return nil
}

// wantErr returns an error unless err is wanted.
func wantErr(what string, err, wanted error) error {
	if !errors.Is(err, wanted) {
		return fmt.Errorf("%s: %v, want %v", what, err, wanted)
	}
	return nil
}
