package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
)

// deallocate is DEALLOCATE (RFC 7862 15.4).
func (c *compound) deallocate() proto.Status { return c.reserve(vfs.Allocator.Deallocate) }
