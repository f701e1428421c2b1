// Package nfs is what MOUNT, NFSv3 and NFSv4 share: exports, squashing and file handles.
package nfs

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"fileserver/nfs/rpc"
	"fileserver/vfs"
)

// Squash says which identities become the anonymous one (exports(5)).
type Squash uint8

// Squashing.
const (
	SquashRoot Squash = iota // uid 0 and gid 0
	SquashNone
	SquashAll
)

// Export is a directory published over NFS. It is immutable; a reload makes new ones.
type Export struct {
	ID       uint32 // in every file handle; the same after a restart
	Path     string // "/data"
	FS       vfs.FS
	ReadOnly bool
	Clients  []netip.Prefix // who may use it; empty: nobody
	Squash   Squash
	AnonUID  uint32
	AnonGID  uint32
	Flavors  []rpc.Flavor // in order of preference
	// PrivilegedPorts: callers that state their own uid must call from a reserved port. Only root of the client can have
	// opened that; any other user could claim to be anybody.
	PrivilegedPorts bool
}

// Allows reports whether the client at addr may use the export.
func (e *Export) Allows(addr netip.Addr) bool {
	addr = addr.Unmap()
	for _, p := range e.Clients {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// AllowsFlavor reports whether calls of the flavor may use the export.
func (e *Export) AllowsFlavor(f rpc.Flavor) bool { return slices.Contains(e.Flavors, f) }

// Admits reports whether the client and the flavor of the call may use the export.
func (e *Export) Admits(c *rpc.Call) bool {
	return e.Allows(c.Conn.RemoteAddr.Addr()) && e.AllowsFlavor(c.Flavor)
}

// AllowsPort reports whether the port that the call comes from is good enough for the export (see PrivilegedPorts).
func (e *Export) AllowsPort(c *rpc.Call) bool {
	return !e.PrivilegedPorts || c.Conn.Privileged() || c.Flavor == rpc.AuthNone && e.AllowsFlavor(rpc.AuthNone)
}

// FSID is the file system's identity in 64 bits, as NFSv3 and the minor number of NFSv4 have it.
func (e *Export) FSID() uint64 {
	id := e.FS.Caps().FSID
	return binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])
}

// Cred is the call's credential after the export's squashing. The result is the call's, and valid until
// Cred is asked again for the same call; c.Cred itself stays as the client stated it, so that a
// compound that crosses from one export into another is squashed by the rules of each.
func (e *Export) Cred(c *rpc.Call) *vfs.Cred {
	m := c.MappedCred()
	if e.Squash == SquashAll || c.Flavor == rpc.AuthNone {
		m.UID, m.GID = e.AnonUID, e.AnonGID
		return m
	}
	m.UID, m.GID = c.Cred.UID, c.Cred.GID
	root := e.Squash == SquashRoot
	if root && m.UID == 0 {
		m.UID = e.AnonUID
	}
	if root && m.GID == 0 {
		m.GID = e.AnonGID
	}
	for _, g := range c.Cred.Groups {
		if root && g == 0 {
			g = e.AnonGID
		}
		if !slices.Contains(m.Groups, g) {
			m.Groups = append(m.Groups, g)
		}
	}
	return m
}

// Exports is the current set of exports, replaced as a whole.
type Exports struct {
	// RefusedPort, unless nil, is called for every call refused for its port. It is set before the first call, and must
	// not block.
	RefusedPort func(*Export, *rpc.Call)

	set atomic.Pointer[exportSet]
}

type exportSet struct {
	list       []*Export // by path
	byID       map[uint32]*Export
	privileged bool // there is one with PrivilegedPorts
}

// Replace publishes another set.
func (x *Exports) Replace(list []*Export) {
	s := &exportSet{list: slices.Clone(list), byID: make(map[uint32]*Export, len(list))}
	slices.SortFunc(s.list, func(a, b *Export) int { return strings.Compare(a.Path, b.Path) })
	for _, e := range list {
		s.byID[e.ID] = e
		s.privileged = s.privileged || e.PrivilegedPorts
	}
	x.set.Store(s)
}

// ByID finds the export of a file handle, or nil.
func (x *Exports) ByID(id uint32) *Export {
	if s := x.set.Load(); s != nil {
		return s.byID[id]
	}
	return nil
}

// ByPath finds the export published as path, or nil.
func (x *Exports) ByPath(path string) *Export {
	if s := x.set.Load(); s != nil {
		for _, e := range s.list {
			if e.Path == path {
				return e
			}
		}
	}
	return nil
}

// List returns the exports by path. It must not be changed.
func (x *Exports) List() []*Export {
	if s := x.set.Load(); s != nil {
		return s.list
	}
	return nil
}

// Admits reports whether any export allows the client at addr. If none does, its connections are closed at accept, and its
// operations that concern no export are refused.
func (x *Exports) Admits(addr netip.Addr) bool {
	return slices.ContainsFunc(x.List(), func(e *Export) bool { return e.Allows(addr) })
}

// CheckPort is [Export.AllowsPort], and calls RefusedPort if the port is refused.
func (x *Exports) CheckPort(e *Export, c *rpc.Call) bool {
	if e.AllowsPort(c) {
		return true
	}
	if x.RefusedPort != nil {
		x.RefusedPort(e, c)
	}
	return false
}

// Welcomes reports whether any export admits the caller: its address and its port. Calls that concern no export ask this.
func (x *Exports) Welcomes(c *rpc.Call) bool {
	var refused *Export
	for _, e := range x.List() {
		if e.Allows(c.Conn.RemoteAddr.Addr()) {
			if e.AllowsPort(c) {
				return true
			}
			refused = e
		}
	}
	return refused != nil && x.CheckPort(refused, c)
}

// PrivilegedPorts reports whether any export wants reserved ports. Then the port distinguishes root of a client from its
// users.
func (x *Exports) PrivilegedPorts() bool {
	s := x.set.Load()
	return s != nil && s.privileged
}
