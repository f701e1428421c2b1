package guest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Lines that separate the script's output from the kernel's output before and after it.
const (
	readyLine = "guest ready"
	doneLine  = "guest done"
)

// A kernel that panics prints a line with panicLine. If the cause is a BUG, a line with bugLine comes just before.
const (
	panicLine = "Kernel panic - not syncing"
	bugLine   = "BUG: failure at "
)

// markPrefix begins a line by which the script says that it has reached a certain point: "MARK name text".
const markPrefix = "MARK "

// console parses a guest's console output, line by line.
type console struct {
	tee io.Writer // may be nil; receives the script's lines at once

	mu      sync.Mutex // guards the fields below
	rest    []byte     // an unfinished line
	ready   bool
	done    bool
	boot    bytes.Buffer // before readyLine
	out     bytes.Buffer // after it
	marks   []mark       // those that wait has not returned yet
	ended   bool
	bug     string        // the last bugLine
	panic   string        // panicLine, after bug if there was one
	changed chan struct{} // closed and replaced at every mark, at a panic and at the end
}

type mark struct{ name, text string }

func newConsole(tee io.Writer) *console {
	return &console{tee: tee, changed: make(chan struct{})}
}

// Write receives the output of the guest's console. It never fails.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = append(c.rest, p...)
	for {
		line, rest, found := bytes.Cut(c.rest, []byte{'\n'})
		if !found {
			return len(p), nil
		}
		c.lineLocked(strings.TrimRight(string(line), "\r"))
		c.rest = rest
	}
}

// lineLocked handles one line, without its line end.
func (c *console) lineLocked(s string) {
	switch {
	case strings.Contains(s, bugLine):
		c.bug = s + "; "
	case strings.Contains(s, panicLine) && c.panic == "":
		c.panic = c.bug + s
		c.wakeLocked()
	}
	switch {
	case c.done:
	case c.ready && s == doneLine:
		c.done = true
		c.out.Truncate(c.out.Len() - 1) // the line end that job adds in case the script left it out
	case c.ready:
		c.out.WriteString(s + "\n")
		if c.tee != nil {
			_, _ = io.WriteString(c.tee, s+"\n")
		}
		if rest, ok := strings.CutPrefix(s, markPrefix); ok {
			name, text, _ := strings.Cut(rest, " ")
			c.marks = append(c.marks, mark{name, text})
			c.wakeLocked()
		}
	case s == readyLine:
		c.ready = true
		c.wakeLocked()
	default:
		c.boot.WriteString(s + "\n")
	}
}

// await calls f with mu held, at once and after every change, until f returns true or the output has ended. It returns f's
// last result.
func (c *console) await(f func() bool) bool {
	for {
		c.mu.Lock()
		ok, ended, changed := f(), c.ended, c.changed
		c.mu.Unlock()
		if ok || ended {
			return ok
		}
		<-changed
	}
}

func (c *console) wakeLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// end handles the end of the output.
func (c *console) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rest) > 0 {
		c.lineLocked(string(c.rest))
		c.rest = nil
	}
	c.ended = true
	c.wakeLocked()
}

// output returns the output before and after the script's start.
func (c *console) output() (boot, script string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boot.String(), c.out.String()
}

// wait waits for a mark of that name and returns its text. It returns each mark once, the oldest first.
func (c *console) wait(ctx context.Context, name string) (string, error) {
	for {
		c.mu.Lock()
		for i, m := range c.marks {
			if m.name == name {
				c.marks = append(c.marks[:i], c.marks[i+1:]...)
				c.mu.Unlock()
				return m.text, nil
			}
		}
		ended, changed := c.ended, c.changed
		c.mu.Unlock()
		if ended {
			return "", fmt.Errorf("guest: the script ended without mark %s", name)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", fmt.Errorf("%w: the script has not reached mark %s", ErrTimeout, name)
		}
	}
}
