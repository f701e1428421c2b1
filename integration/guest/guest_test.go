package guest_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fileserver/integration/guest"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv("GUEST_TEST_SERVER"); addr != "" {
		greet(addr)
	}
	goleak.VerifyTestMain(m)
}

// greet sends "hello" on every connection. It is the program that TestServer runs outside the guest.
func greet(addr string) {
	l, err := net.Listen("tcp", addr)
	for err == nil {
		var c net.Conn
		if c, err = l.Accept(); err == nil {
			_, _ = c.Write([]byte("hello\n"))
			c.Close()
		}
	}
	panic(err)
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestScript runs a script that uses every feature of a guest.
func TestScript(t *testing.T) {
	h := guest.ForTest(t)
	out := t.TempDir()
	g := h.BootForTest(t, guest.Config{
		CPUs: 2,
		Script: `set -e
			[ "$1" = "an 'argument'" ] && [ "$COLOUR" = "deep blue" ]
			cmp $GUEST/data <(printf 'some\ndata')
			touch /usr/written /tmp/written # stays in the guest's memory
			mark first with text
			await go
			echo result >/out/result
			[ $(nproc) = 2 ] || [ $GUEST_KIND = uml ] # older User Mode Linux has only one processor
			mark second
			echo "oops: no" >&2
			exit 3`,
		Args:  []string{"an 'argument'"},
		Env:   []string{"COLOUR=deep blue"},
		Files: map[string]string{"data": "some\ndata"},
		Out:   out,
	})
	ctx := within(t, 2*time.Minute)
	if text, err := g.Mark(ctx, "first"); err != nil || text != "with text" {
		t.Errorf("Mark: %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(out, "result")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the script did not wait for the signal: %v", err)
	}
	if err := g.Signal("go"); err != nil {
		t.Fatal(err)
	}
	r, err := g.Wait(ctx)
	if err != nil || r.Status != 3 {
		t.Errorf("status %d, %v\n%s%s", r.Status, err, r.Boot, r.Output)
	}
	if want := "MARK first with text\nMARK second\noops: no\n"; r.Output != want {
		t.Errorf("output %q, want %q", r.Output, want)
	}
	if text, err := os.ReadFile(filepath.Join(out, "result")); string(text) != "result\n" {
		t.Errorf("result %q, %v", text, err)
	}
	if _, err := os.Stat("/usr/written"); err == nil {
		t.Error("the guest wrote to the machine's own root")
	}
	if !strings.Contains(r.Kernel.String(), "Linux version") || r.Kernel.Complaints() != "" {
		t.Errorf("kernel log:\n%s", r.Kernel)
	}
	if _, err := g.Mark(ctx, "third"); err == nil {
		t.Error("Mark returned a mark that the script never made")
	}
}

// TestTimeout wants a guest killed whose script does not end in time.
func TestTimeout(t *testing.T) {
	h := guest.ForTest(t)
	g := h.BootForTest(t, guest.Config{Script: "mark there; exec sleep 1000"})
	if _, err := g.Mark(within(t, time.Minute), "there"); err != nil {
		t.Fatal(err)
	}
	_, err := g.Wait(within(t, time.Second))
	if !errors.Is(err, guest.ErrTimeout) || !strings.Contains(err.Error(), "sleep 1000") {
		t.Errorf("error %v, want a timeout that names the sleep", err)
	}
}

// TestPanic wants errors from a guest that powers off early and from one whose kernel panics.
func TestPanic(t *testing.T) {
	h := guest.ForTest(t)
	g := h.BootForTest(t, guest.Config{Script: "kill -KILL $$"})
	r, err := g.Wait(within(t, time.Minute))
	if err != nil || r.Status != 137 {
		t.Errorf("killed script: status %d, %v", r.Status, err)
	}
	g = h.BootForTest(t, guest.Config{Script: "$GUEST/busybox poweroff -f"})
	if _, err := g.Wait(within(t, time.Minute)); err == nil {
		t.Error("no error from a guest that ended without its script's status")
	}
	g = h.BootForTest(t, guest.Config{MemMiB: 256, Script: "echo 2 >/proc/sys/vm/panic_on_oom; mark there; tail /dev/zero"})
	ctx, cancel := g.Within(within(t, time.Minute))
	defer cancel()
	if _, err := g.Mark(ctx, "there"); err != nil {
		t.Error(err)
	}
	if _, err := g.Mark(ctx, "never"); err == nil || errors.Is(err, guest.ErrTimeout) {
		t.Errorf("a mark after the kernel's panic: %v", err)
	}
	r, err = g.Wait(within(t, time.Minute))
	if err == nil || errors.Is(err, guest.ErrTimeout) || !strings.Contains(r.Panic, "Out of memory") || !strings.Contains(err.Error(), r.Panic) {
		t.Errorf("a panic: %q, %v", r.Panic, err)
	}
	if ctx.Err() == nil {
		t.Error("the guest's context has not ended with the guest")
	}
}

// TestServer connects to a program outside, kills it, and starts it again.
func TestServer(t *testing.T) {
	h := guest.ForTest(t)
	ctx := within(t, 2*time.Minute)
	server, err := h.Start([]string{"GUEST_TEST_SERVER=" + h.Listen() + ":2049"}, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := h.WaitTCP(ctx, server, "2049"); err != nil {
		t.Fatal(err)
	}
	g := h.BootForTest(t, guest.Config{
		Env: []string{"SERVER=" + h.Addr()},
		Script: `exec 3<>/dev/tcp/$SERVER/2049; cat <&3; mark one
			await down
			if (exec 3<>/dev/tcp/$SERVER/2049) 2>/dev/null; then echo "still there"; fi
			mark two
			await up
			exec 3<>/dev/tcp/$SERVER/2049; cat <&3`,
	})
	step := func(mark, signal string, act func()) {
		t.Helper()
		if _, err := g.Mark(ctx, mark); err != nil {
			t.Fatal(err)
		}
		act()
		if err := g.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	step("one", "down", server.Kill)
	step("two", "up", func() {
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		if err := h.WaitTCP(ctx, server, "2049"); err != nil {
			t.Fatal(err)
		}
	})
	r := g.Check(ctx, t)
	if want := "hello\nMARK one\nMARK two\nhello\n"; r.Output != want {
		t.Errorf("output %q, want %q", r.Output, want)
	}
}

// TestCapture looks for the guest's traffic in the capture.
func TestCapture(t *testing.T) {
	h := guest.ForTest(t)
	pcap := filepath.Join(t.TempDir(), "pcap")
	g := h.BootForTest(t, guest.Config{
		Pcap:   pcap,
		Env:    []string{"SERVER=" + h.Addr()},
		Script: `echo needle-in-the-hay >/dev/udp/$SERVER/9`,
	})
	g.Check(within(t, time.Minute), t)
	text, err := os.ReadFile(pcap)
	if err != nil || !strings.Contains(string(text), "needle-in-the-hay") {
		t.Errorf("%d bytes of capture without the packet, %v", len(text), err)
	}
}
