package smb

import (
	"context"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// Rights that follow from others.
const (
	// everybodys are the rights of everybody who can reach an object: POSIX does not hide attributes.
	everybodys = wire.ReadControl | wire.FileReadAttributes | wire.Synchronize
	owners     = wire.WriteDAC | wire.WriteOwner | wire.FileWriteAttributes | wire.FileWriteEA
	writers    = wire.FileWriteData | wire.FileAppendData | wire.FileWriteAttributes | wire.FileWriteEA
	// changing are the rights that read-only shares do not grant.
	changing = wire.FileWriteData | wire.FileAppendData | wire.FileWriteEA | wire.FileWriteAttributes | wire.FileDeleteChild |
		wire.Delete | wire.WriteDAC | wire.WriteOwner
	// sharing are the rights to which share modes apply (MS-FSA 2.1.5.1.2.2).
	sharing = wire.FileReadData | wire.FileExecute | wire.FileWriteData | wire.FileAppendData | wire.Delete
	// undisturbing are the rights of opens that break no oplock, and that get no oplock on an existing file (MS-FSA
	// 2.1.5.1.2).
	undisturbing = wire.FileReadAttributes | wire.FileWriteAttributes | wire.Synchronize
	// beyondReadOnly are the rights that nobody has to a file with the read-only attribute (MS-FSA 2.1.5.1.2.1).
	beyondReadOnly = wire.FileWriteData | wire.FileAppendData | wire.FileDeleteChild

	sticky = 0o1000
)

// rights returns all rights that c has to an object with the attributes a (at least mode, uid and gid). dir is its
// directory, or nil for the root.
func (s *Share) rights(ctx context.Context, c *vfs.Cred, n, dir vfs.Node, a *vfs.Attr) (wire.AccessMask, error) {
	const all = vfs.AccessRead | vfs.AccessLookup | vfs.AccessModify | vfs.AccessExtend | vfs.AccessDelete | vfs.AccessExecute
	got, err := n.Access(ctx, c, all)
	if err != nil {
		return 0, err
	}
	m := everybodys
	if c.UID == 0 || c.UID == a.UID {
		m |= owners
	}
	if got&vfs.AccessRead != 0 {
		m |= wire.FileReadData | wire.FileReadEA
		if a.Kind != vfs.KindDirectory {
			m |= wire.FileExecute // to execute is to read: no program runs on the server
		}
	}
	if got&vfs.AccessModify != 0 {
		m |= writers | wire.FileDeleteChild // it has no meaning for a file, but is part of FILE_ALL_ACCESS
	}
	if a.Kind == vfs.KindDirectory && got&vfs.AccessLookup != 0 {
		m |= wire.FileTraverse
	}
	if dir == nil {
		dir = n // the root is never deleted, but those who may change it may open it with FILE_ALL_ACCESS
	}
	ok, err := deletable(ctx, c, dir, a)
	if err != nil {
		return 0, err
	}
	if ok {
		m |= wire.Delete
	}
	if s.readOnly() {
		m &^= changing
	}
	return m, nil
}

// deletable reports whether c may delete or rename an object with the attributes a in dir.
func deletable(ctx context.Context, c *vfs.Cred, dir vfs.Node, a *vfs.Attr) (bool, error) {
	got, err := dir.Access(ctx, c, vfs.AccessDelete)
	if err != nil || got&vfs.AccessDelete == 0 {
		return false, err
	}
	if c.UID == 0 || c.UID == a.UID {
		return true, nil
	}
	d, err := dir.GetAttr(ctx, vfs.AttrMode|vfs.AttrUID)
	return d.Mode&sticky == 0 || d.UID == c.UID, err
}

// claims returns an open's accesses and denials in the terms of the arbiter.
func claims(granted wire.AccessMask, share wire.ShareAccess) (access, deny lock.Access) {
	if granted&sharing == 0 {
		return 0, 0
	}
	if granted&(wire.FileReadData|wire.FileExecute) != 0 {
		access |= lock.Read
	}
	if granted&(wire.FileWriteData|wire.FileAppendData) != 0 {
		access |= lock.Write
	}
	if granted&wire.Delete != 0 {
		access |= lock.Delete
	}
	if share&wire.FileShareRead == 0 {
		deny |= lock.Read
	}
	if share&wire.FileShareWrite == 0 {
		deny |= lock.Write
	}
	if share&wire.FileShareDelete == 0 {
		deny |= lock.Delete
	}
	return access, deny
}
