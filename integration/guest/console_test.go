package guest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestConsole writes a boot's output in pieces of every size.
func TestConsole(t *testing.T) {
	const text = "Linux version\r\nbooting\r\nguest ready\r\nhello\r\nMARK one two three\r\nMARK bare\r\nMARKER\r\nlast\r\n\r\nguest done\r\nreboot: Power down\r\n"
	for size := 1; size <= len(text); size++ {
		var tee strings.Builder
		c := newConsole(&tee)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			_, _ = c.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		c.end()
		boot, out := c.output()
		if boot != "Linux version\nbooting\n" || out != "hello\nMARK one two three\nMARK bare\nMARKER\nlast\n" {
			t.Fatalf("pieces of %d: boot %q, output %q", size, boot, out)
		}
		if !strings.HasPrefix(tee.String(), out) {
			t.Fatalf("pieces of %d: streamed %q", size, tee.String())
		}
		for _, m := range []mark{{"bare", ""}, {"one", "two three"}} {
			if text, err := c.wait(t.Context(), m.name); err != nil || text != m.text {
				t.Fatalf("mark %s: %q, %v", m.name, text, err)
			}
		}
		if _, err := c.wait(t.Context(), "one"); err == nil {
			t.Fatal("a mark was returned twice")
		}
	}
}

// TestConsolePanic wants the BUG and the first panic reported, and no later panic.
func TestConsolePanic(t *testing.T) {
	const bug, last = "BUG: failure at fs/x.c:1/f()!", "Kernel panic - not syncing: BUG!"
	c := newConsole(nil)
	_, _ = c.Write([]byte(readyLine + "\nwell\n" + bug + "\r\n" + last + "\r\nCPU: 0\nKernel panic - not syncing: again\n"))
	if !c.await(func() bool { return c.panic == bug+"; "+last }) {
		t.Errorf("panic %q", c.panic)
	}
	c.end()
	if c.await(func() bool { return false }) {
		t.Error("await returned true after the end")
	}
	if _, out := c.output(); !strings.Contains(out, "CPU: 0") {
		t.Errorf("output %q", out)
	}
}

// TestConsoleWait waits for a mark that comes later, and for one that never comes.
func TestConsoleWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConsole(nil)
		go func() {
			time.Sleep(time.Second)
			_, _ = c.Write([]byte(readyLine + "\nMARK late\n"))
			time.Sleep(time.Hour)
			_, _ = c.Write([]byte("cut off"))
			c.end()
		}()
		if _, err := c.wait(t.Context(), "late"); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.wait(ctx, "never"); !errors.Is(err, ErrTimeout) {
			t.Errorf("never: %v", err)
		}
		if _, err := c.wait(t.Context(), "never"); err == nil || errors.Is(err, ErrTimeout) {
			t.Errorf("never, until the end of the output: %v", err)
		}
		if _, out := c.output(); out != "MARK late\ncut off\n" {
			t.Errorf("output %q", out)
		}
	})
}
