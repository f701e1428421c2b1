package guest

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOutOfMappings has a program in a guest touch memory until the machine refuses it a mapping, and wants the error to say so.
func TestOutOfMappings(t *testing.T) {
	const variable = "GUEST_TEST_MAPPINGS"
	if os.Getenv(variable) != "" {
		touchScattered(t)
		return
	}
	host := ForTest(t)
	if host.Kind() != UML {
		t.Skip("QEMU emulates page tables and needs no mappings")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := host.BootForTest(t, Config{Script: variable + `=1 "$1" -test.run '^TestOutOfMappings$'`, Args: []string{program}})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for outOfMappings(g.cmd.Process.Pid) == "" {
		select {
		case <-g.ended:
			if r, err := g.Wait(ctx); err != nil || r.Status != 0 {
				t.Fatalf("status %d, %v\n%s", r.Status, err, r.Output)
			}
			t.Skip("this machine's limit is too high to be reached")
		case <-time.After(100 * time.Millisecond):
		}
	}
	cancel()
	if _, err := g.Wait(ctx); err == nil || !strings.Contains(err.Error(), "vm.max_map_count is ") {
		t.Errorf("%v", err)
	}
}

// touchScattered touches pages of two mappings in turn, so that few are contiguous in the guest's memory.
func touchScattered(t *testing.T) {
	const each = 160 << 20
	var maps [2][]byte
	for i := range maps {
		var err error
		if maps[i], err = syscall.Mmap(-1, 0, each, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE); err != nil {
			t.Fatal(err)
		}
	}
	for at := 0; at < each; at += os.Getpagesize() {
		maps[0][at], maps[1][at] = 1, 1
	}
}
