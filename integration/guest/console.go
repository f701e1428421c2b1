package guest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Lines that separate what the script prints from what the kernel says before and after it.
const (
	readyLine = "guest ready"
	doneLine  = "guest done"
)

// panicLine and bugLine are in what a kernel says at its end, and just before it where that is a BUG.
const (
	panicLine = "Kernel panic - not syncing"
	bugLine   = "BUG: failure at "
)

// markPrefix starts a line that says that the script has come to a point of interest: "MARK name text".
const markPrefix = "MARK "

// console takes a guest's console output, line by line.
type console struct {
	tee io.Writer // may be nil; the script's lines as they come

	mu      sync.Mutex // guards the rest
	rest    []byte     // an unfinished line
	ready   bool
	done    bool
	boot    bytes.Buffer // before readyLine
	out     bytes.Buffer // after it
	marks   []mark       // seen and not yet asked for
	ended   bool
	bug     string        // the last bugLine
	panic   string        // panicLine, after bug if there was one
	changed chan struct{} // closed and replaced at every mark, and at the end
}

type mark struct{ name, text string }

func newConsole(tee io.Writer) *console {
	return &console{tee: tee, changed: make(chan struct{})}
}

// Write takes what the guest's console prints; it never fails.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = append(c.rest, p...)
	for {
		line, rest, found := bytes.Cut(c.rest, []byte{'\n'})
		if !found {
			return len(p), nil
		}
		c.line(strings.TrimRight(string(line), "\r"))
		c.rest = rest
	}
}

// line takes one line without its end. c.mu is held.
func (c *console) line(s string) {
	switch {
	case strings.Contains(s, bugLine):
		c.bug = s + "; "
	case strings.Contains(s, panicLine) && c.panic == "":
		c.panic = c.bug + s
		c.wake()
	}
	switch {
	case c.done:
	case c.ready && s == doneLine:
		c.done = true
		c.out.Truncate(c.out.Len() - 1) // the line's end that the script may have left out
	case c.ready:
		c.out.WriteString(s + "\n")
		if c.tee != nil {
			_, _ = io.WriteString(c.tee, s+"\n")
		}
		if rest, ok := strings.CutPrefix(s, markPrefix); ok {
			name, text, _ := strings.Cut(rest, " ")
			c.marks = append(c.marks, mark{name, text})
			c.wake()
		}
	case s == readyLine:
		c.ready = true
		c.wake()
	default:
		c.boot.WriteString(s + "\n")
	}
}

// await calls f with the lock held, again whenever something changes, until f is true or nothing will change any more.
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

func (c *console) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// end says that nothing will be written any more.
func (c *console) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rest) > 0 {
		c.line(string(c.rest))
		c.rest = nil
	}
	c.ended = true
	c.wake()
}

// output returns what came before and after the script's start.
func (c *console) output() (boot, script string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boot.String(), c.out.String()
}

// wait returns the text of the oldest mark of that name that no earlier call returned.
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
			return "", fmt.Errorf("%w: the script has not come to mark %s", ErrTimeout, name)
		}
	}
}
