package v3

import (
	"context"
	"encoding/binary"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// CreateMode is createmode3 (RFC 1813 3.3.8).
type CreateMode uint32

// Modes of CREATE.
const (
	Unchecked CreateMode = 0
	Guarded   CreateMode = 1
	Exclusive CreateMode = 2
)

// CreateArgs is CREATE3args (RFC 1813 3.3.8).
type CreateArgs struct {
	Where DirOp
	Mode  CreateMode
	Attr  SetAttr          // Unchecked, Guarded
	Verf  [cookieVerf]byte // Exclusive
}

// Decode consumes the arguments.
func (a *CreateArgs) Decode(d *xdr.Decoder) {
	a.Where.decode(d)
	switch a.Mode = CreateMode(d.Uint32()); a.Mode {
	case Unchecked, Guarded:
		a.Attr.decode(d)
	case Exclusive:
		copy(a.Verf[:], d.Fixed(cookieVerf))
	default:
		d.Fail(xdr.ErrBadValue)
	}
}

// Append appends the arguments.
func (a *CreateArgs) Append(b []byte) []byte {
	b = xdr.AppendUint32(a.Where.append(b), uint32(a.Mode))
	if a.Mode == Exclusive {
		return append(b, a.Verf[:]...)
	}
	return a.Attr.append(b)
}

// CreateRes is the results of the procedures that make an object: CREATE3res, MKDIR3res, SYMLINK3res and
// MKNOD3res (RFC 1813 3.3.8 to 3.3.11).
type CreateRes struct {
	Status Status
	Object Handle // nil: not told
	Attr   PostOpAttr
	Dir    WccData
}

// Decode consumes the results.
func (r *CreateRes) Decode(d *xdr.Decoder) {
	if r.Status = Status(d.Uint32()); r.Status == OK {
		r.Object.decodeOptional(d)
		r.Attr.decode(d)
	}
	r.Dir.decode(d)
}

// Append appends the results.
func (r *CreateRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	if r.Status == OK {
		b = r.Attr.append(r.Object.appendOptional(b))
	}
	return r.Dir.append(b)
}

func (s *server) create(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a CreateArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	return s.make(ctx, c, r, &a.Where, &a.Attr, func(dir *object, v *vfs.SetAttr) (vfs.Node, error) {
		if a.Mode == Exclusive {
			return s.createExclusive(ctx, dir, &a)
		}
		return s.createFile(ctx, dir, &a, v)
	})
}

// make is the common part of all procedures that create an object; do creates it.
func (s *server) make(ctx context.Context, c *rpc.Call, r *rpc.Reply, where *DirOp, attr *SetAttr, do func(dir *object, v *vfs.SetAttr) (vfs.Node, error)) rpc.AcceptStat {
	var res CreateRes
	dir, st := s.resolveChange(ctx, c, where.Dir)
	defer dir.release()
	v, bad := attr.vfs()
	switch {
	case st != OK:
	case bad != OK:
		st = bad
	case where.Name == "." || where.Name == "..":
		st = ErrExist
	}
	if res.Status = st; st != OK {
		res.Dir.After = dir.attr(ctx)
		return reply(c, r, st, res.Append(r.Head))
	}
	change := s.beginChange(ctx, &dir, &res.Dir)
	n, err := do(&dir, &v)
	res.Dir.After = dir.attr(ctx)
	change.end()
	if res.Status = statusOf(err); err == nil {
		child := object{dir.export, n, dir.cred}
		defer child.release()
		res.Status = dir.syncMeta(ctx, dir.node, n)
		res.Object, res.Attr = dir.fileHandle(n), child.attr(ctx)
	}
	return reply(c, r, res.Status, res.Append(r.Head))
}

// createFile is CREATE with UNCHECKED or GUARDED: an unchecked one truncates what is there, if it is told a size.
func (s *server) createFile(ctx context.Context, dir *object, a *CreateArgs, v *vfs.SetAttr) (vfs.Node, error) {
	n, created, err := dir.node.Create(ctx, dir.cred, a.Where.Name, a.Mode == Guarded, v)
	if err != nil || created {
		s.made(ctx, dir, a.Where.Name, vfs.KindRegular, err)
		return n, err
	}
	if n.Kind() != vfs.KindRegular {
		n.Release()
		return nil, vfs.ErrExist
	}
	if v.Mask&vfs.AttrSize != 0 {
		there := object{dir.export, n, dir.cred}
		if st := s.checkIO(ctx, &there, v.Size, maxFileSize, true); st != OK {
			n.Release()
			if st == ErrJukebox {
				return nil, vfs.ErrTooManyFiles
			}
			return nil, vfs.ErrShareViolation
		}
		if err := n.SetAttr(ctx, dir.cred, &vfs.SetAttr{Mask: vfs.AttrSize, Size: v.Size}); err != nil {
			n.Release()
			return nil, err
		}
		s.changes(dir).Set(ctx, n, vfs.AttrSize)
	}
	return n, nil
}

// made reports the new object to those who watch, if there is one.
func (s *server) made(ctx context.Context, dir *object, name string, k vfs.Kind, err error) {
	if err == nil {
		s.changes(dir).Added(ctx, dir.node, name, k)
	}
}

// createExclusive makes a file that is told from others by the verifier, which its times hold until the client sets
// them (RFC 1813 3.3.8): when the call comes again the file is the one it has made.
func (s *server) createExclusive(ctx context.Context, dir *object, a *CreateArgs) (vfs.Node, error) {
	// One bit less of each half: no backend must take them for times before 1970.
	atime := vfs.Time{Sec: int64(binary.BigEndian.Uint32(a.Verf[:4]) &^ (1 << 31))}
	mtime := vfs.Time{Sec: int64(binary.BigEndian.Uint32(a.Verf[4:]) &^ (1 << 31))}
	v := vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrAtime | vfs.AttrMtime, Atime: atime, Mtime: mtime}
	n, created, err := dir.node.Create(ctx, dir.cred, a.Where.Name, false, &v)
	if err != nil || created {
		s.made(ctx, dir, a.Where.Name, vfs.KindRegular, err)
		return n, err
	}
	attr, err := n.GetAttr(ctx, vfs.AttrSize|vfs.AttrAtime|vfs.AttrMtime)
	if err == nil && (n.Kind() != vfs.KindRegular || attr.Size != 0 || attr.Atime != atime || attr.Mtime != mtime) {
		err = vfs.ErrExist
	}
	if err != nil {
		n.Release()
		return nil, err
	}
	return n, nil
}
