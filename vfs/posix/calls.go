package posix

import (
	"context"
	"fmt"
	"sync"

	"fileserver/vfs"
)

// begin counts a call that may block in the kernel, and waits where too many do already; fs.budget.Leave
// ends it. The error is a [vfs.ErrTooManyFiles]. It is for the methods that protocols call, which do
// not call each other between the two.
func (fs *FS) begin(ctx context.Context) error {
	if err := fs.budget.Enter(ctx); err != nil {
		return fmt.Errorf("%w: %w", vfs.ErrTooManyFiles, err)
	}
	return nil
}

// graveyard holds the nodes that nobody knows any more and whose descriptors are not closed yet:
// to close the last one of a file that was removed may block, as any other call may.
type graveyard struct {
	mu     sync.Mutex
	nodes  []*node
	closed bool
}

// add reports whether the node was taken; otherwise the caller closes what it holds.
func (g *graveyard) add(n *node) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.nodes = append(g.nodes, n)
	return true
}

// take empties the graveyard.
func (g *graveyard) take() []*node {
	g.mu.Lock()
	defer g.mu.Unlock()
	nodes := g.nodes
	g.nodes = nil
	return nodes
}

// close empties the graveyard for good.
func (g *graveyard) close() []*node {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	return g.take()
}

// bury closes what a node holds that nobody knows any more. Where too many calls are blocked already the
// janitor does it later, so that those who release nodes do not block, too.
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
