package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// ask writes the prompt and reads a line from a terminal without showing it.
func ask(in *os.File, out io.Writer, prompt string) (string, error) {
	fd := int(in.Fd())
	old, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return "", err
	}
	quiet := *old
	quiet.Lflag &^= unix.ECHO
	quiet.Lflag |= unix.ICANON | unix.ISIG
	restore := func() error { return unix.IoctlSetTermios(fd, unix.TCSETS, old) }
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &quiet); err != nil {
		return "", err
	}
	fmt.Fprint(out, prompt)
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := readLine(in)
		done <- result{line, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-interrupted:
		r.err = errors.New("interrupted; nothing has been changed")
	}
	fmt.Fprintln(out)
	return r.line, errors.Join(r.err, restore())
}

// secret asks once at a terminal, and otherwise reads the first line of standard input.
func secret(c *cobra.Command) (string, error) {
	in := c.InOrStdin()
	if f, ok := in.(*os.File); ok && isTerminal(f) {
		return ask(f, c.ErrOrStderr(), "password: ")
	}
	return firstLine(in)
}

// firstLine reads a line, which may be the only one, without its end.
func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// readLine reads a line byte by byte: what follows is the next question's.
func readLine(r io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for {
		n, err := r.Read(b[:])
		switch {
		case n == 1 && b[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, b[0])
		case err != nil:
			return "", err
		}
	}
}
