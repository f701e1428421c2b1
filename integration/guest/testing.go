package guest

import (
	"context"
	"os"
	"testing"
)

// ForTest returns a host for one test, of the default kind or of the kind that FILESERVER_GUEST_KIND (uml, qemu) names. Under
// -short it skips the test. A missing kernel or program fails it.
func ForTest(t testing.TB) *Host {
	t.Helper()
	if testing.Short() {
		t.Skip("-short skips the guest tests")
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

// BootForTest boots a guest and makes sure that it ends with the test.
func (h *Host) BootForTest(t testing.TB, cfg Config) *Guest {
	t.Helper()
	g, err := h.Boot(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.kill)
	return g
}

// Check waits for the guest. It fails the test unless the script ended with status 0 and the kernel logged no complaint.
func (g *Guest) Check(ctx context.Context, t testing.TB) Result {
	t.Helper()
	r, err := g.Wait(ctx)
	r.Check(t, err)
	return r
}

// Check does the same with the results of [Guest.Wait].
func (r Result) Check(t testing.TB, err error) {
	t.Helper()
	if err != nil || r.Status != 0 {
		t.Errorf("script: status %d, %v\n%s\nkernel, on its transports:\n%s", r.Status, err, r.Output, r.Kernel.Transport())
		if r.Output == "" {
			t.Logf("console:\n%s", r.Boot)
		}
	}
	for _, line := range r.Kernel.Known() {
		t.Logf("a known warning of the guest's kernel: %s", line)
	}
	if c := r.Kernel.Complaints(); c != "" {
		t.Errorf("the guest's kernel complains:\n%s", c)
	}
}
