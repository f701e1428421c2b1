package guest

import (
	"context"
	"os"
	"testing"
)

// ForTest returns a host of the default kind, or of the kind that FILESERVER_GUEST_KIND (uml, qemu) names, for one test. Under
// -short it skips the test; a missing kernel or program fails it.
func ForTest(t testing.TB) *Host {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves the guest tests out")
	}
	kind, err := ParseKind(os.Getenv("FILESERVER_GUEST_KIND"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FindKernel(kind); err != nil {
		t.Fatal(err)
	}
	h, err := NewHost(kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// BootForTest boots a guest, and makes sure that it is gone when the test is.
func (h *Host) BootForTest(t testing.TB, cfg Config) *Guest {
	t.Helper()
	g, err := h.Boot(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.kill)
	return g
}

// Check waits for the guest and fails the test unless the script ended with status 0 and the kernel has nothing to complain about.
func (g *Guest) Check(ctx context.Context, t testing.TB) Result {
	t.Helper()
	r, err := g.Wait(ctx)
	r.Check(t, err)
	return r
}

// Check does the same with what [Guest.Wait] has returned.
func (r Result) Check(t testing.TB, err error) {
	t.Helper()
	if err != nil || r.Status != 0 {
		t.Errorf("script: status %d, %v\n%s\nkernel, on its transports:\n%s", r.Status, err, r.Output, r.Kernel.Transport())
		if r.Output == "" {
			t.Logf("console:\n%s", r.Boot)
		}
	}
	for _, line := range r.Kernel.Known() {
		t.Logf("the guest's kernel, left out of its complaints: %s", line)
	}
	if c := r.Kernel.Complaints(); c != "" {
		t.Errorf("the guest's kernel complains:\n%s", c)
	}
}
