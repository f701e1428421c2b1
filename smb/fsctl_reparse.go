package smb

import (
	"context"
	"strings"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// Clients see the objects that only POSIX has as reparse points: symbolic links as those of Windows, all others as
// those of NFS (MS-FSCC 2.1.2.4, 2.1.2.6).

// reparseTags are the reparse tags, by kind of object.
var reparseTags = [...]uint32{
	vfs.KindSymlink: wire.ReparseTagSymlink, vfs.KindBlock: wire.ReparseTagNFS, vfs.KindChar: wire.ReparseTagNFS,
	vfs.KindSocket: wire.ReparseTagNFS, vfs.KindFIFO: wire.ReparseTagNFS,
}

// nfsTypes are the types of NFS reparse points, by kind of object.
var nfsTypes = [...]uint64{
	vfs.KindBlock: wire.NFSSpecFileBlock, vfs.KindChar: wire.NFSSpecFileChar, vfs.KindSocket: wire.NFSSpecFileSocket, vfs.KindFIFO: wire.NFSSpecFileFIFO,
}

// fsctlGetReparsePoint returns the target of a symbolic link, or the type of a special file (MS-FSA 2.1.5.10.14).
func fsctlGetReparsePoint(ctx context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	n := r.open.object()
	p := wire.Reparse{Tag: reparseTags[n.Kind()]}
	switch p.Tag {
	case 0:
		return nil, wire.StatusNotAReparsePoint
	case wire.ReparseTagSymlink:
		target, err := n.Readlink(ctx, r.cred())
		if err != nil {
			return nil, statusOf(err)
		}
		p.Data = reparseOf(target, r.open.posix)
	default:
		a, err := n.GetAttr(ctx, vfs.AttrRdev)
		if err != nil {
			return nil, statusOf(err)
		}
		p.Data = (&wire.NFSReparse{Type: nfsTypes[n.Kind()], Major: a.Rdev.Major, Minor: a.Rdev.Minor}).Append(nil)
	}
	out := p.Append(nil)
	if len(out) > int(q.MaxOutputResponse) {
		if q.MaxOutputResponse < 8 {
			return nil, wire.StatusBufferTooSmall
		}
		return out[:q.MaxOutputResponse], wire.StatusBufferOverflow
	}
	return out, wire.StatusSuccess
}

// reparseOf returns the data of the reparse point that stands for a symbolic link (MS-FSCC 2.1.2.4). With the POSIX
// extensions the target is the one on disk, unchanged.
func reparseOf(target string, posix bool) []byte {
	shown := target
	if !posix {
		shown, _ = wire.UTF16(namespace.AppendName(nil, target)) // AppendName always returns valid UTF-16
	}
	s := wire.SymlinkReparse{Substitute: shown, Print: shown}
	if !strings.HasPrefix(target, "/") {
		s.Flags = wire.SymlinkRelative
	}
	return s.Append(nil)
}

// special describes an object to be created: a symbolic link, or a special file.
type special struct {
	kind   vfs.Kind
	target string
	dev    vfs.Dev
}

// fsctlSetReparsePoint replaces an empty file or directory, which the client has created for this, by a symbolic link
// or a special file (MS-FSA 2.1.5.10.33).
func fsctlSetReparsePoint(ctx context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	o := r.open
	p, err := wire.ParseReparse(q.Input)
	switch {
	case err != nil:
		return nil, wire.StatusIOReparseDataInvalid
	case o.granted&(wire.FileWriteData|wire.FileWriteAttributes) == 0:
		return nil, wire.StatusAccessDenied
	case o.stream != nil:
		return nil, wire.StatusInvalidParameter
	case o.share.readOnly():
		return nil, wire.StatusMediaWriteProtected
	}
	s, st := specialOf(&p, o.posix)
	if st != wire.StatusSuccess {
		return nil, st
	}
	if st := o.mayReplace(ctx); st != wire.StatusSuccess {
		return nil, st
	}
	dir, name, st := o.parent(ctx)
	if st != wire.StatusSuccess {
		return nil, st
	}
	defer dir.Release()
	n, err := s.replace(ctx, r.cred(), dir, name, o)
	if err != nil {
		return nil, statusOf(err)
	}
	if !o.about.replace(n) {
		n.Release()
	}
	o.changed(ctx, notify.Attributes)
	return nil, wire.StatusSuccess
}

// mayReplace checks that no data gets lost: a file must be empty, and must have only this name. Whether a directory
// is empty is found out when it is removed.
func (o *Open) mayReplace(ctx context.Context) wire.Status {
	a, err := o.object().GetAttr(ctx, vfs.AttrSize|vfs.AttrNlink)
	switch {
	case err != nil:
		return statusOf(err)
	case o.about.replaced.Load() != nil:
		return wire.StatusInvalidParameter
	case a.Kind == vfs.KindDirectory:
	case a.Kind != vfs.KindRegular:
		return wire.StatusNotSupported
	case a.Size != 0 || a.Nlink != 1:
		return wire.StatusIOReparseDataInvalid
	}
	return wire.StatusSuccess
}

// specialOf returns the object that a reparse point stands for.
func specialOf(p *wire.Reparse, posix bool) (s special, st wire.Status) {
	switch p.Tag {
	case wire.ReparseTagSymlink:
		l, err := wire.ParseSymlinkReparse(p.Data)
		if err != nil || l.Substitute == "" {
			return s, wire.StatusIOReparseDataInvalid
		}
		if s = (special{kind: vfs.KindSymlink, target: l.Substitute}); !posix {
			s.target = targetOf(l.Substitute)
		}
		return s, wire.StatusSuccess
	case wire.ReparseTagLXSymlink:
		if len(p.Data) < 5 || le.Uint32(p.Data) != wire.LXSymlinkVersion {
			return s, wire.StatusIOReparseDataInvalid
		}
		return special{kind: vfs.KindSymlink, target: string(p.Data[4:])}, wire.StatusSuccess
	case wire.ReparseTagLXFIFO:
		return special{kind: vfs.KindFIFO}, wire.StatusSuccess
	case wire.ReparseTagAFUnix:
		return special{kind: vfs.KindSocket}, wire.StatusSuccess
	case wire.ReparseTagNFS:
		f, err := wire.ParseNFSReparse(p.Data)
		if err != nil {
			return s, wire.StatusIOReparseDataInvalid
		}
		if f.Type == wire.NFSSpecFileLink {
			return special{kind: vfs.KindSymlink, target: f.Target}, wire.StatusSuccess
		}
		for k, t := range nfsTypes {
			if t == f.Type {
				return special{kind: vfs.Kind(k), dev: vfs.Dev{Major: f.Major, Minor: f.Minor}}, wire.StatusSuccess
			}
		}
	}
	return s, wire.StatusNotSupported
}

// targetOf returns a link's target in the notation of POSIX.
func targetOf(s string) string {
	elems := strings.Split(s, `\`)
	for i := range elems {
		elems[i] = namespace.OnDisk(elems[i])
	}
	return strings.Join(elems, "/")
}

// replace creates the object under a temporary name and moves it over the open's file, if the name still leads to
// that file.
func (s *special) replace(ctx context.Context, c *vfs.Cred, dir vfs.Node, name string, o *Open) (n vfs.Node, err error) {
	defer o.srv.cfg.Locks.LockNames(dir.Identity()).Unlock()
	there, err := dir.Lookup(ctx, c, name)
	if err != nil {
		return nil, err
	}
	same := there.Handle() == o.about.first.Handle() // if two requests run at the same time, the second finds the object of the first
	there.Release()
	if !same {
		return nil, vfs.ErrStale
	}
	tmp := tempName()
	if s.kind == vfs.KindSymlink {
		n, err = dir.Symlink(ctx, c, tmp, s.target, &vfs.SetAttr{})
	} else {
		n, err = dir.Mknod(ctx, c, tmp, s.kind, s.dev, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: o.share.mode(false)})
	}
	if err != nil {
		return nil, err
	}
	if o.dir {
		err = dir.Remove(ctx, c, name, true)
	}
	if err == nil {
		err = dir.Rename(ctx, c, tmp, dir, name)
	}
	if err != nil {
		_ = dir.Remove(ctx, c, tmp, false)
		n.Release()
		return nil, err
	}
	return n, nil
}
