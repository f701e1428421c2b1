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
	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// errInterrupted is the error of a question that the user answers with Ctrl-C.
var errInterrupted = errors.New("interrupted; nothing has been changed")

// ask writes the prompt and reads a line from a terminal without echo. Ctrl-C ends the question and switches
// the echo on again.
func ask(in *os.File, out io.Writer, prompt string) (string, error) {
	fd := int(in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	fmt.Fprint(out, prompt)
	go func() {
		line, err := term.ReadPassword(fd)
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		fmt.Fprintln(out)
		return string(a.line), a.err
	case <-interrupted:
		fmt.Fprintln(out)
		return "", errors.Join(errInterrupted, term.Restore(fd, before))
	}
}

// secret asks once if standard input is a terminal, and otherwise reads its first line.
func secret(c *cobra.Command) (string, error) {
	in := c.InOrStdin()
	if f, ok := in.(*os.File); ok && isTerminal(f) {
		return ask(f, c.ErrOrStderr(), "password: ")
	}
	return firstLine(in)
}

// firstLine reads the first line, without the line end, which may be missing.
func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
