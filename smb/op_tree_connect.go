package smb

import (
	"context"
	"strings"

	"fileserver/smb/wire"
)

// maxPath is the longest path of a TREE_CONNECT, bytes: a server's name and a share's (MS-SMB2 2.2.9, MS-DTYP 2.2.57).
const maxPath = 2 * (2 + 255 + 1 + 80)

// treeConnectRequest is a TREE_CONNECT (MS-SMB2 3.3.5.7).
type treeConnectRequest struct {
	needsNothing
	wire.TreeConnectRequest
}

func parseTreeConnect(r *request) (operation, error) {
	q, err := wire.ParseTreeConnectRequest(r.msg)
	if err == nil && len(q.Path) > maxPath {
		err = wire.StatusInvalidParameter
	}
	return &treeConnectRequest{TreeConnectRequest: q}, err
}

func (q *treeConnectRequest) run(ctx context.Context, r *request) wire.Status {
	if u := r.session.who(); r.conn.dialect() == wire.Dialect311 && !u.Guest && !u.Anonymous && !r.sign && !r.encrypted() {
		r.conn.log.Warn("smb: TREE_CONNECT neither signed nor encrypted", "user", u.Name)
		return statusDrop
	}
	path, err := wire.UTF16(q.Path)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	name, ok := shareOf(path)
	if !ok {
		return wire.StatusBadNetworkName
	}
	sh := r.conn.srv.share(name)
	if sh == nil {
		return wire.StatusBadNetworkName
	}
	if !sh.admits(r.conn.info.RemoteAddr.Addr()) || sh.Encrypt && (r.session.sealOut == nil || !r.session.who().authenticated()) {
		r.conn.log.Warn("smb: share refused", "share", sh.Name, "user", r.session.who().Name)
		return wire.StatusAccessDenied
	}
	t := r.session.addTree(sh)
	if t == nil {
		return wire.StatusInsufficientResources
	}
	if sh.gone.Load() { // SetShares may not have seen the tree
		r.session.removeTree(ctx, t)
		return wire.StatusBadNetworkName
	}
	r.tree, r.compound.tree, r.hdr.TreeID = t, t, t.id
	resp := wire.TreeConnectResponse{ShareType: wire.ShareTypeDisk, MaximalAccess: t.maximalAccess()}
	if t.ipc() {
		resp.ShareType, resp.ShareFlags = wire.ShareTypePipe, wire.ShareFlagNoCaching
	}
	if sh.Encrypt {
		resp.ShareFlags |= wire.ShareFlagEncryptData
	}
	return r.reply(&resp)
}

// shareOf is the share's name in \\server\share.
func shareOf(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, `\\`)
	if !ok {
		return "", false
	}
	server, share, ok := strings.Cut(rest, `\`)
	return share, ok && server != "" && share != "" && !strings.Contains(share, `\`)
}

// maximalAccess is the most that opens of the tree can be granted; what a file grants is another thing.
func (t *Tree) maximalAccess() wire.AccessMask {
	if t.share.ReadOnly || t.ipc() {
		return wire.FileGenericRead | wire.FileGenericExecute
	}
	return wire.FileAllAccess
}
