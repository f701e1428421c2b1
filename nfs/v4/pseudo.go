package v4

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"fileserver/nfs"
	"fileserver/vfs"
)

// pseudoID is the export ID in the handles of the pseudo file system.
const pseudoID = ^uint32(0)

const maxPseudoName = 255

// pseudoTree is the pseudo file system of a set of exports (RFC 8881 7.3). It is immutable.
type pseudoTree struct {
	of       []*nfs.Export
	root     *pseudoNode
	byHandle map[[16]byte]*pseudoNode
	byExport map[*nfs.Export]*pseudoNode
	change   uint64
}

// pseudoNode is a directory of the pseudo file system, or the place of an export in it.
type pseudoNode struct {
	tree     *pseudoTree
	name     string
	handle   [16]byte // of the path: the same after a restart
	parent   *pseudoNode
	children []*pseudoNode // by name
	export   *nfs.Export   // what covers it, or nil
	rootOf   vfs.Handle    // the handle of that export's root
}

// tree is the pseudo file system of the exports of the moment.
func (s *Server) tree(ctx context.Context) *pseudoTree {
	list := s.cfg.Exports.List()
	if t := s.pseudo.Load(); t != nil && slices.Equal(t.of, list) {
		return t
	}
	t := newPseudoTree(ctx, list)
	if old := s.pseudo.Load(); old != nil {
		t.change = old.change + 1
	} else {
		t.change = uint64(s.started.UnixNano())
	}
	s.pseudo.Store(t)
	return t
}

func newPseudoTree(ctx context.Context, list []*nfs.Export) *pseudoTree {
	t := &pseudoTree{of: list, byHandle: map[[16]byte]*pseudoNode{}, byExport: map[*nfs.Export]*pseudoNode{}}
	t.root = t.node(nil, "")
	for _, e := range list {
		n := t.root
		for name := range strings.SplitSeq(e.Path, "/") {
			if name == "" {
				continue
			}
			c := n.child(name)
			if c == nil {
				c = t.node(n, name)
				n.children = append(n.children, c)
				slices.SortFunc(n.children, func(a, b *pseudoNode) int { return strings.Compare(a.name, b.name) })
			}
			n = c
		}
		n.export = e
		if r, err := e.FS.Root(ctx); err == nil {
			n.rootOf = r.Handle()
			r.Release()
		}
		t.byExport[e] = n
	}
	return t
}

func (t *pseudoTree) node(parent *pseudoNode, name string) *pseudoNode {
	n := &pseudoNode{tree: t, name: name, parent: parent}
	path := "/"
	for p := n; p.parent != nil; p = p.parent {
		path = "/" + p.name + path
	}
	sum := sha256.Sum256([]byte(path))
	copy(n.handle[:], sum[:])
	t.byHandle[n.handle] = n
	return n
}

func (n *pseudoNode) child(name string) *pseudoNode {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// fileID is never 0.
func (n *pseudoNode) fileID() uint64 { return binary.BigEndian.Uint64(n.handle[:])>>1 | 1 }

func (n *pseudoNode) appendHandle(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, pseudoID), n.handle[:]...)
}

// visible reports whether the client may use an export here or below.
func (c *compound) visible(n *pseudoNode) bool {
	return n.export != nil && c.sees(n.export) || slices.ContainsFunc(n.children, c.visible)
}

// enter is the target of a pseudo node: what covers it, if that is an export.
func (c *compound) enter(n *pseudoNode) (target, error) {
	if n.export == nil || !c.sees(n.export) {
		return target{pseudo: n}, nil
	}
	r, err := n.export.FS.Root(c.ctx)
	if err != nil {
		return target{}, err
	}
	return c.hold(n.export, r), nil
}

// covered is the pseudo node that a target covers: it is an export's root; or nil.
func (c *compound) covered(t *target) *pseudoNode {
	if t.node == nil || t.node.Kind() != vfs.KindDirectory {
		return nil
	}
	n := c.srv.tree(c.ctx).byExport[t.export]
	if n != nil && t.node.Handle() == n.rootOf {
		return n
	}
	return nil
}
