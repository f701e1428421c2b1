package smb

import (
	"sync/atomic"

	"fileserver/vfs"
)

// object is the node of an open. FSCTL_SET_REPARSE_POINT may replace it once by another; the first node is kept for
// the requests that already use it.
type object struct {
	first    vfs.Node
	replaced atomic.Pointer[vfs.Node] // nil: it has not been replaced
}

// object returns the open's node, which is valid as long as the caller's reference to the open.
func (o *Open) object() vfs.Node {
	if n := o.about.replaced.Load(); n != nil {
		return *n
	}
	return o.about.first
}

// replace sets the node to n and takes over the reference to n. It returns false if the node has been replaced
// before.
func (b *object) replace(n vfs.Node) bool { return b.replaced.CompareAndSwap(nil, &n) }

// release releases the nodes.
func (b *object) release() {
	if n := b.replaced.Load(); n != nil {
		(*n).Release()
	}
	b.first.Release()
}
