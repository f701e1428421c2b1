package smb

import (
	"context"
	"strings"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/notify"
)

// renameStream gives a stream another name within its file. The new name begins with a colon (FileRenameInformation:
// MS-FSA 2.1.5.15.11.1).
func renameStream(ctx context.Context, _ *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	i, err := wire.ParseRenameInfo(q.Class, q.Input)
	switch {
	case err != nil && len(q.Input) < 20:
		return wire.StatusInfoLengthMismatch
	case err != nil, i.RootDirectory != 0:
		return wire.StatusInvalidParameter
	case o.share.readOnly():
		return wire.StatusMediaWriteProtected
	}
	replace := i.Flags&wire.RenameReplaceIfExists != 0
	if strings.EqualFold(i.Name, "::$DATA") {
		return o.stream.becomeMain(ctx, o, replace)
	}
	p, st := namespace.Parse(wire.AppendUTF16(nil, i.Name), false)
	switch {
	case st != wire.StatusSuccess:
		return st
	case p.Stream != namespace.StreamNamed:
		return wire.StatusInvalidParameter
	case len(p.Elems) > 0:
		return wire.StatusSharingViolation // Windows refuses this even if both streams are of the same file, which is open
	}
	old, _ := o.srv.streams.where(o.stream.s)
	if st = o.stream.rename(ctx, p.Name, replace); st == wire.StatusSuccess && old.Name != p.Name {
		o.streamed(ctx, notify.RemovedStream, old.Name)
		o.streamed(ctx, notify.AddedStream, p.Name)
	}
	return st
}

// rename moves the stream to another name. It replaces an empty stream that nobody has open, if replace is set.
func (f *streamFile) rename(ctx context.Context, name string, replace bool) wire.Status {
	f.s.io.Lock()
	defer f.s.io.Unlock()
	if f.s.main != nil {
		return wire.StatusInvalidParameter
	}
	old, data, err := f.loadLocked(ctx)
	if err != nil {
		return statusOf(err)
	}
	there, found, err := namespace.FindStream(ctx, f.node, name)
	ref, flags := namespace.NewStream(name), vfs.XattrCreate
	switch {
	case err != nil:
		return statusOf(err)
	case old == ref:
		return wire.StatusSuccess
	case !found || there == old:
		found = false
	case !replace:
		return wire.StatusObjectNameCollision
	default:
		if content, err := namespace.LoadStream(ctx, f.node, there); err == nil && len(content) > 0 {
			return wire.StatusInvalidParameter
		}
		ref, flags = there, 0
	}
	// From here on, a CREATE with the new name finds this stream.
	if _, ok := f.srv.streams.rename(f.s, ref); !ok {
		return wire.StatusInvalidParameter
	}
	if err = namespace.StoreStream(ctx, f.node, ref, data, flags); err == nil {
		if err = namespace.RemoveStream(ctx, f.node, old); err == nil {
			return wire.StatusSuccess
		}
		_ = namespace.RemoveStream(ctx, f.node, ref)
	}
	f.srv.streams.rename(f.s, old)
	return statusOf(err)
}

// becomeMain makes the stream's data the data of the file, which must be empty, and not open. The opens of the stream
// become opens of the file's data.
func (f *streamFile) becomeMain(ctx context.Context, o *Open, replace bool) wire.Status {
	f.s.io.Lock()
	defer f.s.io.Unlock()
	if !replace {
		return wire.StatusObjectNameCollision
	}
	access, deny := f.srv.cfg.Locks.Claims(o.link.key)
	a, err := f.node.GetAttr(ctx, vfs.AttrSize)
	switch {
	case err != nil:
		return statusOf(err)
	case f.s.main != nil, access|deny != 0, a.Size > 0, a.Kind != vfs.KindRegular:
		return wire.StatusInvalidParameter
	}
	if rc := f.srv.cfg.Locks.Recall(o.link.key, o.cacheKey(), lock.Caching(0)); rc != nil {
		return wire.StatusSharingViolation
	}
	ref, data, err := f.loadLocked(ctx)
	if err != nil {
		return statusOf(err)
	}
	main, err := f.node.Open(ctx, root, vfs.OpenRead|vfs.OpenWrite)
	if err != nil {
		return statusOf(err)
	}
	if _, err = main.WriteAt(ctx, data, 0, vfs.FileSync); err == nil {
		err = namespace.RemoveStream(ctx, f.node, ref)
	}
	if err != nil {
		_ = main.Close()
		return statusOf(err)
	}
	f.srv.streams.forget(f.s, false)
	f.s.main = main
	return wire.StatusSuccess
}
