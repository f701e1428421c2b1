package v4

import (
	"strings"

	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
)

// Limits of extended attributes, bytes: those of Linux.
const (
	maxXattrName  = 255
	maxXattrValue = 64 << 10
)

// xattrs is the current filehandle's extended attributes, and the name that was asked for.
func (c *compound) xattrs(raw []byte) (vfs.Xattrer, string, proto.Status) {
	if c.cur.pseudo != nil {
		return nil, "", proto.ErrNotSupp
	}
	x, ok := c.cur.node.(vfs.Xattrer)
	name := string(raw)
	switch {
	case !ok:
		return nil, "", proto.ErrNotSupp
	case name == "" || strings.IndexByte(name, 0) >= 0:
		return nil, "", proto.ErrInval
	case len(name) > maxXattrName:
		return nil, "", proto.ErrNameTooLong
	}
	return x, name, proto.OK
}
