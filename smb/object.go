package smb

import (
	"sync/atomic"

	"fileserver/vfs"
)

// object is the node that an open is about. FSCTL_SET_REPARSE_POINT puts another one in its place, once; the first is kept for
// the requests that have it in hand.
type object struct {
	first    vfs.Node
	replaced atomic.Pointer[vfs.Node] // nil: it has not been replaced
}

// object is the node that the open is about. It is valid as long as the caller's reference to the open.
func (o *Open) object() vfs.Node {
	if n := o.about.replaced.Load(); n != nil {
		return *n
	}
	return o.about.first
}

// replace puts n in the node's place and takes over the reference to it. It fails if that has been done before.
func (b *object) replace(n vfs.Node) bool { return b.replaced.CompareAndSwap(nil, &n) }

// release lets go of the nodes.
func (b *object) release() {
	if n := b.replaced.Load(); n != nil {
		(*n).Release()
	}
	b.first.Release()
}
