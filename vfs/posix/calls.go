package posix

import (
	"context"
	"fmt"
	"sync"

	"fileserver/vfs"
)

// begin counts a call that may block in the kernel. It waits if too many calls are blocked already. fs.budget.Leave
// ends the call. The error is a [vfs.ErrTooManyFiles]. Only the methods that protocols call use it, and they do not
// call each other in between.
func (fs *FS) begin(ctx context.Context) error {
	if err := fs.budget.Enter(ctx); err != nil {
		return fmt.Errorf("%w: %w", vfs.ErrTooManyFiles, err)
	}
	return nil
}

// graveyard holds nodes that nothing refers to any more, until their descriptors are closed. Closing the last
// descriptor of a removed file may block, as any other call may.
type graveyard struct {
	mu     sync.Mutex
	nodes  []*node
	closed bool
}

// add adds the node and returns true. If the graveyard is closed it returns false, and the caller closes the node's
// descriptors.
func (g *graveyard) add(n *node) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.nodes = append(g.nodes, n)
	return true
}

// take removes all nodes and returns them.
func (g *graveyard) take() []*node {
	g.mu.Lock()
	defer g.mu.Unlock()
	nodes := g.nodes
	g.nodes = nil
	return nodes
}

// close removes all nodes and returns them; no node can be added afterwards.
func (g *graveyard) close() []*node {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	return g.take()
}

// bury closes the descriptors of a node that nothing refers to any more. If too many calls are blocked already, the
// janitor does it later, so that releasing a node does not block.
func (fs *FS) bury(n *node) {
	if fs.budget.TryEnter() {
		defer fs.budget.Leave()
		n.destroy()
		return
	}
	if !fs.graveyard.add(n) {
		n.destroy()
	}
}
