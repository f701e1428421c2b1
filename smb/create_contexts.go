package smb

import (
	"fileserver/smb/secdesc"
	"fileserver/smb/wire"
)

// createContexts are the create contexts of a CREATE that the server knows; it ignores the others (MS-SMB2 3.3.5.9).
type createContexts struct {
	maximal    bool // MxAc
	maximalFor wire.Filetime
	diskID     bool // QFid
	allocate   uint64
	ea         wire.EAs
	security   *secdesc.Descriptor
	posix      bool
	mode       uint32
}

// parse reads the contexts. A request for a lease or a durable handle succeeds without one, because the server grants
// none; a request to reconnect to a durable open fails.
func (c *createContexts) parse(list wire.CreateContexts, posix bool) (st wire.Status) {
	for name, data := range list.All() {
		var err error
		switch string(name) {
		case wire.CreateQueryMaximalAccess:
			c.maximal = true
			c.maximalFor, err = wire.ParseMaximalAccess(data)
		case wire.CreateQueryOnDiskID:
			c.diskID = true
		case wire.CreateAllocationSize:
			c.allocate, err = wire.ParseAllocationSize(data)
		case wire.CreateEABuffer:
			c.ea, err = wire.ParseEAs(data)
		case wire.CreateSDBuffer:
			c.security, err = secdesc.Parse(data)
		case wire.CreateTimewarpToken:
			// There are no snapshots (MS-SMB2 3.3.5.9.5).
			if _, err = wire.ParseTimewarp(data); err == nil {
				st = wire.StatusObjectNameNotFound
			}
		case wire.CreateRequestLease:
			_, err = wire.ParseLease(data)
		case wire.CreateDurableHandleRequest:
			if len(data) != 16 {
				err = wire.ErrMalformed
			}
		case wire.CreateDurableHandleRequestV2:
			_, err = wire.ParseDurableRequestV2(data)
		case wire.CreateDurableHandleReconnect:
			if _, err = wire.ParseDurableReconnect(data); err == nil {
				st = wire.StatusObjectNameNotFound // MS-SMB2 3.3.5.9.7
			}
		case wire.CreateDurableHandleReconnect2:
			if _, err = wire.ParseDurableReconnectV2(data); err == nil {
				st = wire.StatusObjectNameNotFound // MS-SMB2 3.3.5.9.12
			}
		case wire.CreatePosix:
			if posix {
				c.posix = true
				c.mode, err = wire.ParsePosixCreate(data)
			}
		}
		if err != nil {
			return wire.StatusInvalidParameter
		}
	}
	return st
}

// answer builds the response's contexts.
func (c *createContexts) answer(o *Open, i *info, maximal wire.AccessMask) (list wire.CreateContexts) {
	if c.maximal {
		m := wire.MaximalAccess{Access: maximal}
		if c.maximalFor != 0 && c.maximalFor == i.times.Change {
			m = wire.MaximalAccess{Status: wire.StatusNoneMapped}
		}
		list.Add(wire.CreateQueryMaximalAccess, m.Append)
	}
	if c.diskID {
		fsid := o.share.FS.Caps().FSID
		id := wire.OnDiskID{DiskFileID: i.attr.FileID, VolumeID: le.Uint64(fsid[:])}
		list.Add(wire.CreateQueryOnDiskID, id.Append)
	}
	if c.posix {
		p := wire.PosixCreated{
			Links: i.links(), ReparseTag: i.tag(), Mode: posixMode(&i.attr),
			Owner: secdesc.UnixUser(i.attr.UID).Append(nil), Group: secdesc.UnixGroup(i.attr.GID).Append(nil),
		}
		list.Add(wire.CreatePosix, p.Append)
	}
	return list
}
