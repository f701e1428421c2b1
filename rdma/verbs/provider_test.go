//go:build linux && cgo && rdmacore

package verbs

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"fileserver/rdma"
)

// TestShut: a provider is not closed under what has been made with it, and closed only once.
func TestShut(t *testing.T) {
	p := bareProvider(t)
	d := bareDevice(p, "d")
	p.devices[d.ctx.key] = d
	id := bareID(p, d, true)
	if first, err := p.shut(); first || !errors.Is(err, rdma.ErrBusy) {
		t.Errorf("with a connection: %v, %v", first, err)
	}
	p.drop(id.number)
	if first, err := p.shut(); first || !errors.Is(err, rdma.ErrBusy) {
		t.Errorf("with an object of a device: %v, %v", first, err)
	}
	d.removeID(id)
	if p.add(&remains{}) == p.add(&boundID{}) { // which nobody owns
		t.Error("two targets of one number")
	}
	if first, err := p.shut(); !first || err != nil {
		t.Errorf("unused: %v, %v", first, err)
	}
	if first, err := p.shut(); first || err != nil {
		t.Errorf("again: %v, %v", first, err)
	}
	if _, err := p.Listen(t.Context(), addrPortOf("127.0.0.1:0")); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("Listen: %v", err)
	}
	if _, err := p.Resolve(t.Context(), addrPortOf("127.0.0.1:1")); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("Resolve: %v", err)
	}
}

// TestOnReadable: events are taken until there are none, interruptions do not count, and an error ends it.
func TestOnReadable(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	broken := errors.New("broken")
	script := []error{nil, syscall.EINTR, nil, syscall.EAGAIN, nil, broken}
	calls := 0
	_, _ = w.Write([]byte{1})
	err = onReadable(r, func() error {
		calls++
		if script[calls-1] == syscall.EAGAIN {
			_, _ = w.Write([]byte{1}) // an event that comes later
		}
		return script[calls-1]
	})
	if !errors.Is(err, broken) || calls != len(script) {
		t.Errorf("%v after %d calls", err, calls)
	}
}
