package smb

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"fileserver/smb/namespace"
	"fileserver/vfs"
)

// Limits of a session.
const (
	maxTrees = 4096
	maxOpens = 1 << 16
)

// Share is a share (MS-SMB2 3.3.1.6). It does not change once it has been given to [Server.SetShares].
type Share struct {
	Name     string
	Comment  string
	FS       vfs.FS // nil for IPC$, which the server provides itself
	ReadOnly bool
	Encrypt  bool           // requests must come encrypted
	Allow    []netip.Prefix // client addresses admitted; nil: all
	// CaseSensitive: a name is only found in its own case.
	CaseSensitive bool
	// HideDotFiles: names that begin with a dot have the hidden attribute.
	HideDotFiles bool
	// NoOplocks: clients may not cache, because files change without this server knowing.
	NoOplocks bool
	// FileMode and DirMode are the modes of new files and directories; 0: 0644 and 0755.
	FileMode, DirMode uint32

	gone atomic.Bool // the share was replaced or removed
	once sync.Once
	tree *namespace.View
}

// Same reports whether the shares have the same configuration.
func (s *Share) Same(o *Share) bool {
	return s.Name == o.Name && s.Comment == o.Comment && s.FS == o.FS && s.ReadOnly == o.ReadOnly && s.Encrypt == o.Encrypt &&
		slices.Equal(s.Allow, o.Allow) && (s.Allow == nil) == (o.Allow == nil) && s.CaseSensitive == o.CaseSensitive &&
		s.HideDotFiles == o.HideDotFiles && s.NoOplocks == o.NoOplocks && s.FileMode == o.FileMode && s.DirMode == o.DirMode
}

// admits reports whether clients at the address may connect.
func (s *Share) admits(a netip.Addr) bool {
	if s.Allow == nil || !a.IsValid() {
		return true
	}
	a = a.Unmap()
	for _, p := range s.Allow {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Tree is a session's connection to a share (MS-SMB2 3.3.1.9). It does not change.
type Tree struct {
	id      uint32
	session *Session
	share   *Share
}

// ipc reports whether the tree is IPC$, which has named pipes and no files.
func (t *Tree) ipc() bool { return t.share.FS == nil }

// SetShares replaces the shares of the server. It disconnects the trees of shares that are not in the list any more,
// which ends their opens and releases what these claim (MS-SMB2 3.3.4.13); requests to these trees fail with
// STATUS_NETWORK_NAME_DELETED. A caller that wants to keep a share passes the same *Share again.
func (s *Server) SetShares(shares []*Share) {
	next := map[string]*Share{}
	for _, sh := range shares {
		next[strings.ToLower(sh.Name)] = sh
	}
	s.mu.Lock()
	old := s.shares
	next[ipcName] = s.ipc
	s.shares = next
	sessions := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	for name, sh := range old {
		if next[name] == sh {
			continue
		}
		sh.gone.Store(true)
		for _, ss := range sessions {
			ss.removeShare(s.ctx, sh)
		}
	}
}

// Admits reports whether any share admits the client address. The share of named pipes does not count.
func (s *Server) Admits(a netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range s.shares {
		if sh != s.ipc && sh.admits(a) {
			return true
		}
	}
	return false
}

// ipcName is the share of named pipes.
const ipcName = "ipc$"

// share finds a share by its name, in any case.
func (s *Server) share(name string) *Share {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shares[strings.ToLower(name)]
}
