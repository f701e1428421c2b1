package fusetest

import (
	"fmt"
	"syscall"

	"fileserver/vfs"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// enter answers with a node that was found or made.
func (r *raw) enter(n vfs.Node, err error, out *fuse.EntryOut) fuse.Status {
	if err != nil {
		return status(err)
	}
	a, err := n.GetAttr(ctx, vfs.AttrStat)
	if err != nil {
		n.Release()
		return status(err)
	}
	fill(&a, &out.Attr)
	out.Generation = 1
	out.NodeId = r.remember(n)
	return fuse.OK
}

func withMode(m uint32) *vfs.SetAttr { return &vfs.SetAttr{Mask: vfs.AttrMode, Mode: m & 0o7777} }

// Lookup implements [fuse.RawFileSystem].
func (r *raw) Lookup(cancel <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	n, err := r.node(in.NodeId).Lookup(ctx, cred(in), name)
	return r.enter(n, err, out)
}

// Mkdir implements [fuse.RawFileSystem].
func (r *raw) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	n, err := r.node(in.NodeId).Mkdir(ctx, cred(&in.InHeader), name, withMode(in.Mode))
	return r.enter(n, err, out)
}

// Mknod implements [fuse.RawFileSystem].
func (r *raw) Mknod(cancel <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	dir, c := r.node(in.NodeId), cred(&in.InHeader)
	if in.Mode&syscall.S_IFMT == syscall.S_IFREG {
		n, _, err := dir.Create(ctx, c, name, true, withMode(in.Mode))
		return r.enter(n, err, out)
	}
	var kind vfs.Kind
	for k, bits := range kindBits {
		if in.Mode&syscall.S_IFMT == bits {
			kind = k
		}
	}
	dev := vfs.Dev{Major: unix.Major(uint64(in.Rdev)), Minor: unix.Minor(uint64(in.Rdev))}
	n, err := dir.Mknod(ctx, c, name, kind, dev, withMode(in.Mode))
	return r.enter(n, err, out)
}

// Symlink implements [fuse.RawFileSystem].
func (r *raw) Symlink(cancel <-chan struct{}, in *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	n, err := r.node(in.NodeId).Symlink(ctx, cred(in), name, target, &vfs.SetAttr{})
	return r.enter(n, err, out)
}

// Readlink implements [fuse.RawFileSystem].
func (r *raw) Readlink(cancel <-chan struct{}, in *fuse.InHeader) ([]byte, fuse.Status) {
	s, err := r.node(in.NodeId).Readlink(ctx, cred(in))
	return []byte(s), status(err)
}

// Link implements [fuse.RawFileSystem].
func (r *raw) Link(cancel <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	dir, c := r.node(in.NodeId), cred(&in.InHeader)
	if err := dir.Link(ctx, c, name, r.node(in.Oldnodeid)); err != nil {
		return status(err)
	}
	n, err := dir.Lookup(ctx, c, name)
	return r.enter(n, err, out)
}

// Unlink implements [fuse.RawFileSystem].
func (r *raw) Unlink(cancel <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return status(r.node(in.NodeId).Remove(ctx, cred(in), name, false))
}

// Rmdir implements [fuse.RawFileSystem].
func (r *raw) Rmdir(cancel <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return status(r.node(in.NodeId).Remove(ctx, cred(in), name, true))
}

// Rename implements [fuse.RawFileSystem]. The flags of renameat2(2) fail with EINVAL, as where a file system lacks them.
func (r *raw) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	if in.Flags != 0 {
		return fuse.EINVAL
	}
	return status(r.node(in.NodeId).Rename(ctx, cred(&in.InHeader), from, r.node(in.Newdir), to))
}

// OpenDir implements [fuse.RawFileSystem].
func (r *raw) OpenDir(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	got, err := r.node(in.NodeId).Access(ctx, cred(&in.InHeader), vfs.AccessRead)
	if err == nil && got == 0 {
		return fuse.EACCES
	}
	return status(err)
}

// ReadDir implements [fuse.RawFileSystem]. The cookies 1 and 2, which vfs leaves free, are those of "." and "..".
func (r *raw) ReadDir(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	n := r.node(in.NodeId)
	cookie := in.Offset
	if cookie < 2 {
		a, err := n.GetAttr(ctx, vfs.AttrFileID)
		if err != nil {
			return status(err)
		}
		if cookie == 0 {
			out.AddDirEntry(fuse.DirEntry{Name: ".", Mode: syscall.S_IFDIR, Ino: a.FileID, Off: 1})
		}
		out.AddDirEntry(fuse.DirEntry{Name: "..", Mode: syscall.S_IFDIR, Ino: r.up(n), Off: 2})
	}
	if cookie <= 2 {
		cookie = 0
	}
	// Who opened the directory may read it, whatever became of its mode.
	_, err := n.ReadDir(ctx, &vfs.Cred{}, cookie, 0, false, func(d *vfs.DirEntry) bool {
		return out.AddDirEntry(fuse.DirEntry{Name: d.Name, Mode: kindBits[d.Kind], Ino: d.FileID, Off: d.Cookie})
	})
	return status(err)
}

// up is the file id of the directory above.
func (r *raw) up(n vfs.Node) uint64 {
	p, err := n.Parent(ctx, &vfs.Cred{})
	if err != nil {
		return 1
	}
	defer p.Release()
	a, err := p.GetAttr(ctx, vfs.AttrFileID)
	if err != nil {
		return 1
	}
	return a.FileID
}

// FsyncDir implements [fuse.RawFileSystem].
func (r *raw) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return status(r.fs.SyncMeta(ctx, r.node(in.NodeId)))
}

// tmpName is a name for a file that will have none.
func (r *raw) tmpName() string { return fmt.Sprintf(".fusetest-%d-%d", r.client, r.tmp.Add(1)) }
