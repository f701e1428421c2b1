package rdma

import (
	"fmt"

	"fileserver/internal/slab"
)

// Window opens a part of one buffer to the peer, under a key of its own, for the
// time of one request: what a client states in its segments (RFC 8166 3.4). It may
// be opened again once the key is invalid, either because the peer has invalidated it
// ([Window.Invalidated]) or because we have ([Window.Close]). A Window is used by one
// goroutine at a time.
type Window struct {
	m  *Memory
	mr MR
}

// NewWindow returns a closed window on buffers of m.
func NewWindow(m *Memory) *Window { return &Window{m: m} }

// Open opens n bytes of b from off with the remote rights in access, and returns
// the segment by which the peer names them. It fails with [ErrBusy] while the
// previous key is valid. The caller keeps b until the window is closed.
func (w *Window) Open(b *slab.Buf, off, n int, access Access) (Segment, error) {
	checkRange(b, off, n)
	if w.mr != nil {
		return Segment{}, fmt.Errorf("%w: the window's key 0x%x is still valid", ErrBusy, w.mr.RKey())
	}
	if access&AccessRemoteWrite != 0 {
		access |= AccessLocalWrite
	}
	mem := b.Arena().Mem[b.Offset()+off:][:n:n]
	mr, err := w.m.pd.RegMR(mem, access)
	if err != nil {
		return Segment{}, err
	}
	w.mr = mr
	return Segment{Addr: mr.Addr(), Length: uint32(n), RKey: mr.RKey()}, nil
}

// Key is the key the peer may use; ok is false while the window is closed.
func (w *Window) Key() (key uint32, ok bool) {
	if w.mr == nil {
		return 0, false
	}
	return w.mr.RKey(), true
}

// Invalidated handles a key that the peer has invalidated ([EndpointHandler].Received).
// If it is the window's key Invalidated closes the window and returns true.
func (w *Window) Invalidated(key uint32) (bool, error) {
	if k, ok := w.Key(); !ok || k != key {
		return false, nil
	}
	return true, w.Close()
}

// Close invalidates the key: when it returns the peer cannot reach the memory any more.
// Closing a closed window does nothing.
func (w *Window) Close() error {
	if w.mr == nil {
		return nil
	}
	mr := w.mr
	w.mr = nil
	return mr.Deregister()
}
